package manifest

import (
	"bytes"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// labelNodepool is the label of a NodePool that names its pool in the config; the built-in template sets it.
const labelNodepool = "hyperfleet.io/nodepool-name"

// labelCluster is the label that names the hosted cluster of an object.
const labelCluster = "hyperfleet.io/cluster-name"

// storedNodepools are the NodePools of a stored work.
type storedNodepools struct {
	// byName are the cluster's own: those that no label calls another cluster's.
	byName map[string][]storedNodepool
	// namespace and clusterName of the cluster's own; "" when they do not agree, or when there are none. A new pool
	// belongs to the same hosted cluster, whose namespace it must have.
	namespace, cluster string
}

type storedNodepool struct {
	namespace string
	object    map[string]any
	raw       json.RawMessage
}

func findNodepools(stored []workv1.Manifest, cluster string) storedNodepools {
	pools := storedNodepools{byName: map[string][]storedNodepool{}}
	namespaces, clusters := map[string]bool{}, map[string]bool{}
	for _, manifest := range stored {
		id, err := Identify(manifest)
		if err != nil || !id.isNodepool() {
			continue // another writer's
		}
		value, err := decodeExact(manifest.Raw)
		object, ok := value.(map[string]any)
		if err != nil || !ok {
			continue
		}
		if other := labelOf(manifest, labelCluster); other != "" && other != cluster {
			continue
		}
		pools.byName[id.Name] = append(pools.byName[id.Name], storedNodepool{namespace: id.Namespace, object: object, raw: manifest.Raw})
		name, _ := dig(object, "spec", "clusterName").(string)
		namespaces[id.Namespace], clusters[name] = true, true
	}
	pools.namespace, pools.cluster = only(namespaces), only(clusters)
	return pools
}

// objects of a pool, with the names that the stored work has for it. The NodePools of all hosted clusters share one
// namespace, so that a new one has its cluster in its name, unless the work's others have not. names gives those of the
// NodePools that the template makes of the objects, which may be others than the objects' own.
func (s storedNodepools) objects(pool Nodepool, cluster string, names func([]nodepoolObject) []string) []nodepoolObject {
	prefixed := pool.objects(cluster)
	if len(s.byName) == 0 {
		return prefixed
	}
	plain := pool.objects("")
	for _, objects := range [][]nodepoolObject{prefixed, plain} {
		for _, name := range names(objects) {
			if s.holds(name, pool.Name) {
				return objects
			}
		}
	}
	for name := range s.byName {
		if hasCluster(name, cluster) {
			return prefixed
		}
	}
	return plain
}

// holds: there is a NodePool of the name, and it is not labelled as another pool's.
func (s storedNodepools) holds(name, pool string) bool {
	for _, stored := range s.byName[name] {
		if label := labelOf(workv1.Manifest{RawExtension: runtime.RawExtension{Raw: stored.raw}}, labelNodepool); label == "" || label == pool {
			return true
		}
	}
	return false
}

// hasCluster: a NodePool's name holds its cluster, be it behind a template's own prefix. What a long cluster leaves of
// itself in a shortened name is enough.
func hasCluster(name, cluster string) bool {
	const kept = 48
	if len(cluster) > kept {
		return strings.Contains(name, cluster[:kept])
	}
	return strings.Contains("-"+name, "-"+cluster+"-")
}

func (i Identity) isNodepool() bool { return i.Group == nodepoolGroup && i.Kind == nodepoolKind }

func only(texts map[string]bool) string {
	if len(texts) == 1 {
		for text := range texts {
			return text
		}
	}
	return ""
}

// keep puts each rendered NodePool over the stored one: what the template says changes, the other fields stay, because a
// config describes a few fields of an object that has many. A config's replicas and autoScaling take each other's place,
// and labels and taints that it gives, be they empty, are all that the nodes have. Owner and generation are the merge's.
//
// A NodePool that the template does not label is labelled with its pool and cluster, which say whose it is: pool a in
// zone b and pool a-b have one name.
func (s storedNodepools) keep(pool Nodepool, cluster string, rendered []workv1.Manifest) error {
	for index, manifest := range rendered {
		id, err := Identify(manifest)
		if err != nil || !id.isNodepool() {
			continue
		}
		for _, own := range [][2]string{{labelNodepool, pool.Name}, {labelCluster, cluster}} {
			label, value := own[0], own[1]
			if labelOf(manifest, label) != "" || len(validation.IsValidLabelValue(value)) > 0 {
				continue
			}
			if manifest.Raw, err = setText(manifest.Raw, [3]string{"metadata", "labels", label}, value); err != nil {
				return contract.Errorf(contract.ErrInvalidManifest, "%s of %s: %w", id, poolTitle(pool.Name), err)
			}
		}
		rendered[index] = manifest
		for _, stored := range s.byName[id.Name] {
			if stored.namespace != id.Namespace {
				continue
			}
			raw, err := overlaid(pool, stored.raw, manifest.Raw)
			if err != nil {
				return contract.Errorf(contract.ErrInvalidManifest, "%s over the stored one: %w", id, err)
			}
			rendered[index].Raw = raw
		}
	}
	return nil
}

// unstamped is a manifest without what a merge adds: owner and generation.
func unstamped(raw json.RawMessage) (json.RawMessage, error) {
	for _, path := range [][3]string{{"metadata", "labels", contract.LabelOwner}, {"metadata", "annotations", contract.AnnotationGeneration}} {
		var err error
		if raw, err = setText(raw, path, ""); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

func overlaid(pool Nodepool, stored, rendered json.RawMessage) (json.RawMessage, error) {
	stored, err := unstamped(stored)
	if err != nil {
		return nil, err
	}
	root, err := readObject(stored)
	if err != nil {
		return nil, err
	}
	spec, err := readOptional(root.get("spec"))
	if err != nil {
		return nil, err
	}
	if pool.AutoScaling != nil {
		spec = spec.without("replicas")
	} else {
		spec = spec.without("autoScaling")
	}
	if len(pool.Labels) > 0 && spec.get("nodeLabels") != nil {
		spec = spec.with("nodeLabels", json.RawMessage("{}"))
	} else if pool.Labels != nil {
		spec = spec.without("nodeLabels")
	}
	if pool.Taints != nil && len(pool.Taints) == 0 {
		spec = spec.without("taints")
	}
	return overlay(root.with("spec", spec.raw()).raw(), rendered), nil
}

// overlay sets every field of over in under, objects field by field and everything else as a whole.
func overlay(under, over json.RawMessage) json.RawMessage {
	have, errHave := readObject(under)
	want, errWant := readObject(over)
	if errHave != nil || errWant != nil {
		return over
	}
	for _, m := range want {
		if value := have.get(m.key()); value != nil && bytes.HasPrefix(m.value, []byte("{")) {
			m.value = overlay(value, m.value)
		}
		have = have.with(m.key(), m.value)
	}
	return have.raw()
}
