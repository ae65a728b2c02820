package manifest

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Stored is a work as Maestro keeps it.
type Stored struct {
	// ID of the resource bundle.
	ID       string
	Consumer string
	// Version is Maestro's, from 1, raised by every accepted update.
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// DeletedAt is set from the acceptance of a delete until the cluster has confirmed it.
	DeletedAt *time.Time
	// Work has the executor and the deleteOption restored and none of the product's own bookkeeping.
	Work *workv1.ManifestWork
	// Orphaning: the stored deleteOption is Orphan, for a deletion that leaves the objects, and not Work's.
	Orphaning bool
	// Fence of the mutex that wrote the work, 0 when none did; see [Fenced].
	Fence int64
	// Status as the cluster reported it last; Reported is false before the first report.
	Status Status
}

// Generation of the stored work, 0 when it carries none that can be read.
func (s *Stored) Generation() int64 {
	generation, err := contract.ParseGeneration(s.Work.Annotations[contract.AnnotationGeneration])
	if err != nil {
		return 0
	}
	return generation
}

// Newest is the highest generation that the stored work or one of its manifests holds, and whose it is; 0 when there is
// none.
func (s *Stored) Newest() (generation int64, of string) {
	generation, of = s.Generation(), "the work"
	removed, _ := readTombstones(s.Work) // see removals
	for _, manifest := range s.Work.Spec.Workload.Manifests {
		h, err := readHead(manifest)
		if err != nil {
			continue // another writer's
		}
		if held := removed.held(h); held > generation {
			generation, of = held, h.identity().String()
		}
	}
	return generation, of
}

// Write says what has to be published.
type Write int

// Writes.
const (
	WriteNothing Write = iota
	WriteCreate
	WriteUpdate
)

// Desired prepares a parsed work for publishing: the consumer as its namespace and the generation, when there is one,
// as its annotation. The argument is not changed.
func Desired(work *workv1.ManifestWork, consumer string, generation int64) *workv1.ManifestWork {
	desired := work.DeepCopy()
	desired.Namespace = consumer
	if generation > 0 {
		if desired.Annotations == nil {
			desired.Annotations = map[string]string{}
		}
		desired.Annotations[contract.AnnotationGeneration] = strconv.FormatInt(generation, 10)
	}
	return desired
}

// Settled is the desired work as it would be written over the stored one, which may be nil. What the product keeps in a
// work's annotations goes on: the generation, when the desired work has none, so that a late request of an older one is
// still refused after a write by hand; and the record of the manifests' generations, with those that this write removes
// or puts without one.
func Settled(stored *Stored, desired *workv1.ManifestWork) *workv1.ManifestWork {
	if stored == nil {
		return desired
	}
	settled := desired
	want, _ := contract.ParseGeneration(desired.Annotations[contract.AnnotationGeneration])
	if have := stored.Generation(); want == 0 && have > 0 {
		settled = Desired(desired, desired.Namespace, have)
	}
	removed := removals(stored, desired, want)
	if len(removed) == 0 {
		return settled
	}
	if settled == desired {
		settled = desired.DeepCopy()
	}
	if err := removed.writeTo(settled); err != nil {
		panic(err) // texts and numbers always encode
	}
	return settled
}

// removals are the tombstones that a work has after a whole write of a generation. A record that cannot be read is given
// up: the whole work is new.
func removals(stored *Stored, desired *workv1.ManifestWork, generation int64) tombstones {
	removed, err := readTombstones(stored.Work)
	if err != nil {
		removed = nil
	}
	held := map[Identity]int64{}
	for _, manifest := range stored.Work.Spec.Workload.Manifests {
		if h, err := readHead(manifest); err == nil {
			held[h.identity()] = removed.held(h)
		}
	}
	given := map[Identity]bool{}
	for _, manifest := range desired.Spec.Workload.Manifests {
		id, err := Identify(manifest)
		if err != nil {
			continue
		}
		given[id] = true
		// The work's generation judges the manifests that have none of their own.
		if generation > 0 || generationOf(manifest) > 0 {
			removed = removed.without(id)
		} else {
			removed = removed.with(id, held[id])
		}
	}
	for _, manifest := range stored.Work.Spec.Workload.Manifests {
		if id, err := Identify(manifest); err == nil && !given[id] {
			removed = removed.with(id, max(cmp.Or(held[id], stored.Generation()), generation))
		}
	}
	if generation > stored.Generation() {
		// What is left was removed before, and the newer work does not hold it, either.
		for index := range removed {
			removed[index].Generation = max(removed[index].Generation, generation)
		}
	}
	return removed
}

// older names a manifest that the stored work holds in a newer generation than the desired one says, or that was
// removed at one; "" when there is none. A manifest without a generation of its own has the work's.
func older(stored *Stored, desired *workv1.ManifestWork) string {
	have := map[Identity]int64{}
	removed, _ := readTombstones(stored.Work) // see removals
	for _, manifest := range stored.Work.Spec.Workload.Manifests {
		if h, err := readHead(manifest); err == nil {
			have[h.identity()] = removed.held(h)
		}
	}
	whole, _ := contract.ParseGeneration(desired.Annotations[contract.AnnotationGeneration])
	given := map[Identity]bool{}
	for _, manifest := range desired.Spec.Workload.Manifests {
		id, err := Identify(manifest)
		given[id] = true
		want := generationOf(manifest)
		if want == 0 {
			want = whole
		}
		if err != nil || want == 0 {
			continue
		}
		if want < have[id] {
			return fmt.Sprintf("%s holds generation %d, this request's is %d", id, have[id], want)
		}
		if _, there := have[id]; there {
			continue
		}
		if gone := removed.of(id); want <= gone {
			return fmt.Sprintf("%s was removed at generation %d, this request's is %d", id, gone, want)
		}
	}
	for _, manifest := range stored.Work.Spec.Workload.Manifests {
		if id, err := Identify(manifest); err == nil && !given[id] && whole > 0 && whole < have[id] {
			return fmt.Sprintf("%s, which it does not hold, is of generation %d, this request's is %d", id, have[id], whole)
		}
	}
	return ""
}

// Decide compares the stored work (nil when there is none) with the desired one and says what to publish, and the work
// to publish. Refusals are typed: UnderDeletion, OwnershipConflict, Superseded, GenerationConflict.
//
// The work to publish is the [Settled] one.
func Decide(stored *Stored, desired *workv1.ManifestWork, force bool) (Write, *workv1.ManifestWork, error) {
	if stored == nil {
		return WriteCreate, desired, nil
	}
	if stored.DeletedAt != nil {
		return WriteNothing, nil, underDeletion(stored)
	}
	if err := Owned(stored, desired.Labels[contract.LabelOwner], force); err != nil {
		return WriteNothing, nil, err
	}
	have := stored.Generation()
	want, _ := contract.ParseGeneration(desired.Annotations[contract.AnnotationGeneration])
	given := desired
	desired = Settled(stored, desired)
	if want > 0 && want < have {
		return WriteNothing, nil, contract.Errorf(contract.ErrSuperseded,
			"work %s on %s already holds generation %d, this request is generation %d", desired.Name, stored.Consumer, have, want)
	}
	if Same(stored.Work, desired) && !stored.Orphaning {
		return WriteNothing, desired, nil
	}
	if text := older(stored, given); text != "" {
		return WriteNothing, nil, contract.Errorf(contract.ErrSuperseded, "work %s on %s: %s", desired.Name, stored.Consumer, text)
	}
	if want > 0 && want == have && !force {
		return WriteNothing, nil, contract.Errorf(contract.ErrGenerationConflict,
			"work %s on %s already holds generation %d with other content", desired.Name, stored.Consumer, want)
	}
	return WriteUpdate, desired, nil
}

// Owned refuses to touch a stored work that carries another owner's label, unless forced.
func Owned(stored *Stored, owner string, force bool) error {
	holder := stored.Work.Labels[contract.LabelOwner]
	if force || holder == "" || holder == owner {
		return nil
	}
	return contract.Errorf(contract.ErrOwnershipConflict, "work %s on %s belongs to %s=%s, this request's is %q",
		stored.Work.Name, stored.Consumer, contract.LabelOwner, holder, owner)
}

func underDeletion(stored *Stored) error {
	return contract.Errorf(contract.ErrUnderDeletion, "work %s on %s is being deleted since %s and the cluster has not confirmed it",
		stored.Work.Name, stored.Consumer, stored.DeletedAt.UTC().Format(time.RFC3339))
}
