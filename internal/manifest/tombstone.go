package manifest

import (
	"encoding/json"
	"fmt"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// tombstone remembers the generation of a manifest that does not carry it: one that was removed from a work, so that an
// add that is late does not bring it back, or one that was written without a generation over one that had one. The
// work's annotation [contract.AnnotationRemoved] keeps the last [contract.MaxTombstones] of those that are not in the work,
// and those that are, up to [maxRecords]; the newest stand last.
type tombstone struct {
	Manifest string `json:"manifest"`
	// Generation up to which an add is too late.
	Generation int64 `json:"generation"`
}

type tombstones []tombstone

func readTombstones(work *workv1.ManifestWork) (tombstones, error) {
	text, found := work.Annotations[contract.AnnotationRemoved]
	if !found {
		return nil, nil
	}
	var list tombstones
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, contract.Errorf(contract.ErrInvalidManifest,
			"annotation %s of the stored work %s cannot be read, so that an add may be too late: correct it, or force the write", contract.AnnotationRemoved, work.Name)
	}
	return list, nil
}

// of gives the generation up to which an add of the manifest is too late; 0 when it is not.
func (t tombstones) of(id Identity) int64 {
	for _, one := range t {
		if one.Manifest == id.String() {
			return one.Generation
		}
	}
	return 0
}

// held is the generation of a manifest that is there: its annotation, else its record.
func (t tombstones) held(h head) int64 {
	if generation := h.generation(); generation > 0 || len(t) == 0 {
		return generation
	}
	return t.of(h.identity())
}

// without forgets a manifest that is there again.
func (t tombstones) without(id Identity) tombstones {
	kept := t[:0:0]
	for _, one := range t {
		if one.Manifest != id.String() {
			kept = append(kept, one)
		}
	}
	return kept
}

// with remembers a removal; without a generation there is nothing that a late add could be compared with.
func (t tombstones) with(id Identity, generation int64) tombstones {
	if generation <= 0 || t.of(id) >= generation {
		return t
	}
	return append(t.without(id), tombstone{Manifest: id.String(), Generation: generation})
}

// maxRecords bounds the records of manifests that are in the work: their bytes have to fit into a work's annotations, of
// which Kubernetes takes 256 KiB together.
const maxRecords = 1000

// bounded forgets the oldest.
func (t tombstones) bounded(work *workv1.ManifestWork) tombstones {
	there := map[string]bool{}
	for _, manifest := range work.Spec.Workload.Manifests {
		if id, err := Identify(manifest); err == nil {
			there[id.String()] = true
		}
	}
	left := map[bool]int{true: maxRecords, false: contract.MaxTombstones}
	var kept tombstones
	for _, one := range slices.Backward(t) {
		present := there[one.Manifest]
		if left[present]--; left[present] >= 0 {
			kept = append(kept, one)
		}
	}
	slices.Reverse(kept)
	return kept
}

func (t tombstones) writeTo(work *workv1.ManifestWork) error {
	t = t.bounded(work)
	if len(t) == 0 {
		delete(work.Annotations, contract.AnnotationRemoved)
		return nil
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("tombstones: %w", err)
	}
	if work.Annotations == nil {
		work.Annotations = map[string]string{}
	}
	work.Annotations[contract.AnnotationRemoved] = string(raw)
	return nil
}
