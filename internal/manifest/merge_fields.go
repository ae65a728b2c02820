package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// configs takes the removed manifests out, with the manifestConfigs that are for them alone, and puts the part's
// configs in.
func (m *merger) configs() error {
	var kept []workv1.Manifest
	there, gone := map[[3]string][]Identity{}, map[[3]string][]Identity{}
	for index, manifest := range m.work.Spec.Workload.Manifests {
		target := gone
		if !m.gone[index] {
			kept = append(kept, manifest)
			target = there
		}
		if id, err := Identify(manifest); err == nil {
			key := [3]string{id.Group, id.Namespace, id.Name}
			target[key] = append(target[key], id)
		}
	}
	m.work.Spec.Workload.Manifests = kept
	var configs []workv1.ManifestConfigOption
	at := map[workv1.ResourceIdentifier]int{}
	for _, config := range m.work.Spec.ManifestConfigs {
		id := config.ResourceIdentifier
		key := [3]string{id.Group, id.Namespace, id.Name}
		named := func(other Identity) bool { return configures(id, other) }
		if slices.ContainsFunc(gone[key], named) && !slices.ContainsFunc(there[key], named) {
			continue
		}
		at[id] = len(configs)
		configs = append(configs, config)
	}
	for _, config := range m.part.Work.Spec.ManifestConfigs {
		if index, found := at[config.ResourceIdentifier]; found {
			configs[index] = config
			continue
		}
		configs = append(configs, config)
	}
	if len(configs) > 0 || m.work.Spec.ManifestConfigs != nil {
		m.work.Spec.ManifestConfigs = configs
	}
	return nil
}

// fields sets what the part says about the work as a whole. The owner's label is set on a new work only: merging into
// somebody's work does not take it over.
func (m *merger) fields() error {
	given := m.part.Work
	labels := maps.Clone(given.Labels)
	if m.stored != nil && !m.part.Force {
		delete(labels, contract.LabelOwner)
	}
	annotations := maps.Clone(given.Annotations)
	delete(annotations, contract.AnnotationGeneration) // the part's, which its manifests carry
	sets := len(labels)+len(annotations)+len(given.OwnerReferences)+len(given.Spec.ManifestConfigs) > 0 || given.Spec.DeleteOption != nil || given.Spec.Executor != nil
	if m.stored != nil && sets && m.part.Generation > 0 && m.part.Generation < m.stored.Generation() {
		return contract.Errorf(contract.ErrSuperseded, "work %s on %s holds generation %d, and this request of generation %d changes more of it than its manifests",
			m.work.Name, m.work.Namespace, m.stored.Generation(), m.part.Generation)
	}
	m.work.Labels = put(m.work.Labels, labels)
	m.work.Annotations = put(m.work.Annotations, annotations)
	if given.Spec.DeleteOption != nil {
		m.work.Spec.DeleteOption = given.Spec.DeleteOption.DeepCopy()
	}
	if given.Spec.Executor != nil {
		m.work.Spec.Executor = given.Spec.Executor.DeepCopy()
	}
	if len(given.OwnerReferences) > 0 {
		m.work.OwnerReferences = given.OwnerReferences
	}
	return m.removed.writeTo(m.work)
}

func put(into, values map[string]string) map[string]string {
	if len(values) == 0 {
		return into
	}
	if into == nil {
		into = map[string]string{}
	}
	maps.Copy(into, values)
	return into
}

// leftovers are the NodePools of a merged pool that the part does not hold any more: its zones have changed, and both the
// old and the new ones would have nodes.
func (m *merger) leftovers() []string {
	pools := map[string]bool{}
	for _, manifest := range m.incoming {
		if pool := labelOf(manifest, labelNodepool); pool != "" {
			pools[pool] = true
		}
	}
	warnings := append(m.hosted(), m.idleConfigs()...)
	for _, manifest := range m.work.Spec.Workload.Manifests {
		id, err := Identify(manifest)
		if err != nil || m.given[id] || id.Kind != nodepoolKind || id.Group != nodepoolGroup {
			continue
		}
		if pools[labelOf(manifest, labelNodepool)] || pools[id.Name] {
			warnings = append(warnings, fmt.Sprintf("%s is kept beside the other NodePools of its pool: remove it, or merge with strategy replace", id))
		}
	}
	return warnings
}

// idleConfigs are the part's manifestConfigs that match no manifest of the merged work.
func (m *merger) idleConfigs() []string {
	if len(m.part.Work.Spec.ManifestConfigs) == 0 {
		return nil
	}
	c := &checker{}
	for _, manifest := range m.work.Spec.Workload.Manifests {
		if h, err := readHead(manifest); err == nil {
			c.heads = append(c.heads, checkedHead{head: h})
		}
	}
	matcher := newMatcher(c.heads)
	for index, config := range m.part.Work.Spec.ManifestConfigs {
		c.identifier(place{path: at("spec.manifestConfigs", index)}.under("resourceIdentifier"), config.ResourceIdentifier, matcher, true)
	}
	var warnings []string
	for _, warning := range (source{}).problems(c.warnings) {
		warnings = append(warnings, warning.String())
	}
	return warnings
}

// hosted are the NodePools that get the label of one cluster and belong to a hosted cluster of another name: because they
// were stored without a label, or because the work's other NodePools do. Names may differ; a wrong work would look the same.
func (m *merger) hosted() []string {
	var warnings []string
	for index, manifest := range m.incoming {
		id, cluster := m.ids[index], labelOf(manifest, labelCluster)
		if !id.isNodepool() || cluster == "" || cluster != m.part.Cluster || m.labelled[id] {
			continue
		}
		value, _ := decodeExact(manifest.Raw)
		object, _ := value.(map[string]any)
		if name, _ := dig(object, "spec", "clusterName").(string); name != cluster {
			warnings = append(warnings, fmt.Sprintf("%s of %s is a NodePool of the hosted cluster %s, as the stored work has it", id, cluster, name))
		}
	}
	return warnings
}

// mergeable checks what a merge can break; the part and the stored work have been checked when they were written.
func mergeable(work *workv1.ManifestWork) error {
	if len(work.Spec.Workload.Manifests) == 0 {
		return contract.Errorf(contract.ErrInvalidManifest, "work %s on %s would be without manifests: delete the work instead, or give manifests", work.Name, work.Namespace)
	}
	size := 0
	for _, manifest := range work.Spec.Workload.Manifests {
		size += manifest.Size()
	}
	if size > contract.MaxManifestsBytes {
		return contract.Errorf(contract.ErrTooLarge, "work %s on %s would have %d bytes of manifests, the limit is %d", work.Name, work.Namespace, size, contract.MaxManifestsBytes)
	}
	return nil
}

func labelOf(manifest workv1.Manifest, key string) string {
	h, _ := readHead(manifest) // a manifest that cannot be read says nothing
	return h.Metadata.Labels[key]
}

// generationOf a manifest; 0 when it carries none that can be read.
func generationOf(manifest workv1.Manifest) int64 {
	h, _ := readHead(manifest)
	return h.generation()
}

func (h head) generation() int64 {
	generation, err := contract.ParseGeneration(h.Metadata.Annotations[contract.AnnotationGeneration])
	if err != nil {
		return 0
	}
	return generation
}

func withGeneration(raw json.RawMessage, generation int64) (json.RawMessage, error) {
	return setText(raw, [3]string{"metadata", "annotations", contract.AnnotationGeneration}, strconv.FormatInt(generation, 10))
}
