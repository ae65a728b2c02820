package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Part is what a request merges into a work.
type Part struct {
	// Work has the name and the consumer (as its namespace) of the target, the manifests of the part, and of the other
	// fields those that the part sets: a nil deleteOption or executor and absent labels, annotations and configs stay as
	// they are stored.
	Work *workv1.ManifestWork
	// Render gives further manifests that depend on the stored ones; nil when there are none.
	Render func(stored []workv1.Manifest) ([]workv1.Manifest, error)
	// Cluster is the one that rendered NodePools belong to; "" when none are rendered.
	Cluster string
	// Remove are manifests to take out of the work.
	Remove []Identity
	// Owner is the adapter that merges, whose label each manifest of the part gets; "" when only the label of Work may
	// say it, or nothing.
	Owner string
	// Generation that the part belongs to, 0 when it has none: then the manifests' own annotations count.
	Generation int64
	Strategy   contract.Strategy
	// Force overrides another owner's label, other content of an equal generation, an unreadable record of removals, and
	// the refusal to remove everything that the owner has. It never lets an older generation replace a newer one.
	Force bool
}

// Merged is the outcome of a merge.
type Merged struct {
	// Write says what has to be published, Work is what.
	Write Write
	Work  *workv1.ManifestWork
	// Warnings are for people: they do not stop anything.
	Warnings []string
}

// Merge puts a part into the stored work (nil when there is none) and says what to publish, and the merged work.
//
// It is deterministic, keeps the stored order, and merging twice changes nothing. A manifest's generation (its
// annotation hyperfleet.io/generation, set from the part's) never decreases: an older part is refused as Superseded as
// a whole, one of an equal generation with other content as GenerationConflict. A removed manifest leaves a record of
// its generation, so that an older add that comes late is refused too. A part without a generation is always newer and
// keeps the stored one. Other refusals: UnderDeletion, OwnershipConflict, InvalidManifest, InvalidInput, TooLarge.
func Merge(stored *Stored, part Part) (Merged, error) {
	m, err := newMerger(stored, part)
	if err != nil {
		return Merged{}, err
	}
	for _, step := range []func() error{m.render, m.put, m.replace, m.remove, m.configs, m.fields} {
		if err := step(); err != nil {
			return Merged{}, err
		}
	}
	if err := mergeable(m.work); err != nil {
		return Merged{}, err
	}
	out := Merged{Write: WriteUpdate, Work: m.work, Warnings: m.leftovers()}
	switch {
	case stored == nil:
		out.Write = WriteCreate
	case Same(stored.Work, m.work) && !stored.Orphaning:
		out.Write = WriteNothing
	}
	return out, nil
}

type merger struct {
	part Part
	// owner who merges: the part's, else its work's.
	owner    string
	stored   *Stored
	work     *workv1.ManifestWork
	incoming []workv1.Manifest
	ids      []Identity
	given    map[Identity]bool
	// at is where each stored manifest that can be identified stands; a doubled one is never touched.
	at      map[Identity]int
	doubled map[Identity]bool
	// labelled are the stored NodePools with a cluster's label.
	labelled map[Identity]bool
	removed  tombstones
	gone     map[int]bool
}

func newMerger(stored *Stored, part Part) (*merger, error) {
	m := &merger{part: part, owner: cmp.Or(part.Owner, part.Work.Labels[contract.LabelOwner]), stored: stored, at: map[Identity]int{}, doubled: map[Identity]bool{}, labelled: map[Identity]bool{}, given: map[Identity]bool{}, gone: map[int]bool{}}
	if stored == nil {
		m.work = &workv1.ManifestWork{TypeMeta: part.Work.TypeMeta}
		m.work.Name, m.work.Namespace = part.Work.Name, part.Work.Namespace
		return m, nil
	}
	if stored.DeletedAt != nil {
		return nil, underDeletion(stored)
	}
	if m.owner != "" {
		if err := Owned(stored, m.owner, part.Force); err != nil {
			return nil, err
		}
	}
	m.work = stored.Work.DeepCopy()
	m.work.Namespace = part.Work.Namespace
	for index, manifest := range m.work.Spec.Workload.Manifests {
		id, err := Identify(manifest)
		if err != nil {
			continue // another writer's; it stays as it is
		}
		if _, found := m.at[id]; found {
			m.doubled[id] = true
			continue
		}
		m.at[id] = index
		if id.isNodepool() {
			m.labelled[id] = labelOf(manifest, labelCluster) != ""
		}
	}
	var err error
	if m.removed, err = readTombstones(m.work); err != nil && !part.Force {
		return nil, err
	}
	return m, nil
}

// render collects the part's manifests, with the owner's label and the generation that they are merged with.
func (m *merger) render() error {
	incoming := m.part.Work.Spec.Workload.Manifests
	if m.part.Render != nil {
		rendered, err := m.part.Render(m.work.Spec.Workload.Manifests)
		if err != nil {
			return err
		}
		incoming = append(incoming[:len(incoming):len(incoming)], rendered...)
	}
	for index, manifest := range incoming {
		id, err := Identify(manifest)
		if err != nil {
			return contract.Errorf(contract.ErrInvalidManifest, "manifest %d of the part: %w", index, err)
		}
		if m.given[id] {
			return contract.Errorf(contract.ErrInvalidManifest, "%s is given twice; the API version does not tell objects apart", id)
		}
		if m.doubled[id] {
			return contract.Errorf(contract.ErrInvalidManifest, "the stored work %s holds %s twice: apply the whole work with one of them", m.work.Name, id)
		}
		m.given[id] = true
		stamped, err := m.stamp(manifest)
		if err != nil {
			return contract.Errorf(contract.ErrInvalidManifest, "%s: %w", id, err)
		}
		m.incoming, m.ids = append(m.incoming, stamped), append(m.ids, id)
	}
	return nil
}

func (m *merger) stamp(manifest workv1.Manifest) (workv1.Manifest, error) {
	raw := manifest.Raw
	var err error
	if m.part.Owner != "" && labelOf(manifest, contract.LabelOwner) == "" {
		if raw, err = setText(raw, [3]string{"metadata", "labels", contract.LabelOwner}, m.part.Owner); err != nil {
			return manifest, err
		}
	}
	if m.part.Generation > 0 {
		raw, err = withGeneration(raw, m.part.Generation)
	}
	manifest.Raw = raw
	return manifest, err
}

// put replaces and appends.
func (m *merger) put() error {
	var late, conflicts []string
	manifests := m.work.Spec.Workload.Manifests
	for index, manifest := range m.incoming {
		id := m.ids[index]
		at, found := m.at[id]
		if !found {
			if generation := generationOf(manifest); generation > 0 && generation <= m.removed.of(id) {
				late = append(late, fmt.Sprintf("%s was removed at generation %d", id, m.removed.of(id)))
				continue
			}
			added, err := keepGeneration(id, manifest, m.removed.of(id))
			if err != nil {
				return err
			}
			m.removed = m.removed.without(id)
			manifests = append(manifests, added)
			continue
		}
		merged, err := m.settle(id, manifests[at], manifest)
		switch contract.TypeOf(err) {
		case "":
			manifests[at] = merged
			if generationOf(merged) > 0 {
				m.removed = m.removed.without(id) // the manifest says it
			}
		case contract.ErrSuperseded:
			late = append(late, err.Error())
		case contract.ErrGenerationConflict:
			conflicts = append(conflicts, err.Error())
		default:
			return err
		}
	}
	late = append(late, m.newerPools()...)
	if len(late) > 0 {
		return contract.Errorf(contract.ErrSuperseded, "work %s on %s: %s; this request is %s",
			m.work.Name, m.work.Namespace, strings.Join(late, ", "), m.generation())
	}
	if len(conflicts) > 0 {
		return contract.Errorf(contract.ErrGenerationConflict, "work %s on %s: %s", m.work.Name, m.work.Namespace, strings.Join(conflicts, ", "))
	}
	m.work.Spec.Workload.Manifests = manifests
	return nil
}

// newerPools are the stored NodePools of a pool that the part holds with other zones, and an older generation: adding the
// part's would give the pool nodes twice.
func (m *merger) newerPools() []string {
	pools := map[[2]string]int64{}
	for _, manifest := range m.incoming {
		if h, _ := readHead(manifest); h.Metadata.Labels[labelNodepool] != "" {
			pools[[2]string{h.Metadata.Labels[labelCluster], h.Metadata.Labels[labelNodepool]}] = h.generation()
		}
	}
	var late []string
	for id, at := range m.at {
		h, _ := readHead(m.work.Spec.Workload.Manifests[at])
		want, found := pools[[2]string{h.Metadata.Labels[labelCluster], h.Metadata.Labels[labelNodepool]}]
		if held := m.removed.held(h); found && want > 0 && want < held && !m.given[id] {
			late = append(late, fmt.Sprintf("%s of the same pool holds generation %d", id, held))
		}
	}
	slices.Sort(late)
	return late
}

func (m *merger) generation() string {
	if m.part.Generation > 0 {
		return fmt.Sprintf("generation %d", m.part.Generation)
	}
	return "older by its manifests' annotations"
}

// settle decides between a stored manifest and the one that is given for it.
func (m *merger) settle(id Identity, stored, given workv1.Manifest) (workv1.Manifest, error) {
	there, _ := readHead(stored)
	fresh, _ := readHead(given)
	if err := m.owned(id, there, cmp.Or(m.part.Owner, fresh.Metadata.Labels[contract.LabelOwner], m.owner)); err != nil {
		return stored, err
	}
	if cluster := there.Metadata.Labels[labelCluster]; id.isNodepool() && cluster != "" && m.part.Cluster != "" && cluster != m.part.Cluster && !m.part.Force {
		return stored, contract.Errorf(contract.ErrOwnershipConflict, "%s in work %s on %s belongs to the cluster %s, this request's is %q",
			id, m.work.Name, m.work.Namespace, cluster, m.part.Cluster)
	}
	for _, label := range []string{labelCluster, labelNodepool} {
		if have, other := there.Metadata.Labels[label], fresh.Metadata.Labels[label]; have != "" && other != "" && have != other && !m.part.Force {
			return stored, contract.Errorf(contract.ErrOwnershipConflict, "%s in work %s on %s belongs to %s=%s, this request's is %q",
				id, m.work.Name, m.work.Namespace, label, have, other)
		}
	}
	have, want := m.removed.held(there), fresh.generation()
	if whole := m.stored.Generation(); have == 0 && want > 0 && want < whole {
		return stored, contract.Errorf(contract.ErrSuperseded, "%s is of the work's generation %d", id, whole)
	}
	if want > 0 && want < have {
		return stored, contract.Errorf(contract.ErrSuperseded, "%s holds generation %d", id, have)
	}
	if holder := there.Metadata.Labels[contract.LabelOwner]; holder == m.owner && fresh.Metadata.Labels[contract.LabelOwner] == "" && holder != "" {
		raw, err := setText(given.Raw, [3]string{"metadata", "labels", contract.LabelOwner}, holder)
		if err != nil {
			return stored, contract.Errorf(contract.ErrInvalidManifest, "%s: %w", id, err)
		}
		given.Raw = raw
	}
	if sameJSON(stored.Raw, given.Raw) {
		return stored, nil
	}
	given, err := keepGeneration(id, given, have)
	if err != nil || sameJSON(stored.Raw, given.Raw) {
		return stored, err
	}
	if want > 0 && want == have && !m.part.Force && !sameBut(stored, given) {
		return stored, contract.Errorf(contract.ErrGenerationConflict, "%s holds generation %d with other content", id, have)
	}
	return given, nil
}

// sameBut: the manifests differ in nothing but what a merge adds, as after a write by hand.
func sameBut(stored, given workv1.Manifest) bool {
	one, errOne := unstamped(stored.Raw)
	other, errOther := unstamped(given.Raw)
	return errOne == nil && errOther == nil && sameJSON(one, other)
}

// keepGeneration gives a manifest without a generation the one that was held.
func keepGeneration(id Identity, manifest workv1.Manifest, held int64) (workv1.Manifest, error) {
	if held == 0 || generationOf(manifest) > 0 {
		return manifest, nil
	}
	raw, err := withGeneration(manifest.Raw, held)
	if err != nil {
		return manifest, contract.Errorf(contract.ErrInvalidManifest, "%s: %w", id, err)
	}
	manifest.Raw = raw
	return manifest, nil
}

// owned refuses to touch a manifest that carries another owner's label, unless forced.
func (m *merger) owned(id Identity, stored head, owner string) error {
	holder := stored.Metadata.Labels[contract.LabelOwner]
	if holder == "" || holder == owner || m.part.Force {
		return nil
	}
	return contract.Errorf(contract.ErrOwnershipConflict, "%s in work %s on %s belongs to %s=%s, this request's adapter is %q",
		id, m.work.Name, m.work.Namespace, contract.LabelOwner, holder, owner)
}

// replace removes what the owner has and the part does not hold.
func (m *merger) replace() error {
	if m.part.Strategy != contract.StrategyReplace || m.stored == nil {
		return nil
	}
	kinds := map[[2]string]bool{}
	for _, id := range m.ids {
		kinds[[2]string{id.Group, id.Kind}] = true
	}
	kept := false
	var lacking []Identity
	for _, manifest := range m.stored.Work.Spec.Workload.Manifests {
		id, err := Identify(manifest)
		if err != nil {
			continue
		}
		if cluster := labelOf(manifest, labelCluster); id.isNodepool() && cluster != "" && m.part.Cluster != "" && cluster != m.part.Cluster {
			continue
		}
		owner := labelOf(manifest, contract.LabelOwner)
		if owner != "" && owner != m.owner || owner == "" && !kinds[[2]string{id.Group, id.Kind}] {
			continue
		}
		if m.given[id] {
			kept = true
			continue
		}
		lacking = append(lacking, id)
	}
	if len(lacking) > 0 && !kept && !m.part.Force {
		return contract.Errorf(contract.ErrInvalidInput, "strategy replace would remove all %d manifests that this owner has in work %s on %s (%s): force it if that is meant",
			len(lacking), m.work.Name, m.work.Namespace, first(lacking))
	}
	return m.take(lacking)
}

func (m *merger) remove() error { return m.take(m.part.Remove) }

// take removes manifests and leaves a tombstone for each.
func (m *merger) take(ids []Identity) error {
	for _, id := range ids {
		if m.doubled[id] {
			return contract.Errorf(contract.ErrInvalidManifest, "the stored work %s holds %s twice: apply the whole work with one of them", m.work.Name, id)
		}
		generation := m.part.Generation
		at, found := m.at[id]
		if found {
			there, _ := readHead(m.work.Spec.Workload.Manifests[at])
			if err := m.owned(id, there, m.owner); err != nil {
				return err
			}
			have := m.removed.held(there)
			if have == 0 {
				have = m.stored.Generation()
			}
			if generation > 0 && have > generation {
				return contract.Errorf(contract.ErrSuperseded, "work %s on %s: %s holds generation %d, its removal is of generation %d",
					m.work.Name, m.work.Namespace, id, have, generation)
			}
			generation = max(generation, have)
			m.gone[at] = true
		}
		m.removed = m.removed.with(id, generation)
	}
	return nil
}

func first(ids []Identity) string {
	const most = 3
	texts := make([]string, 0, most)
	for _, id := range ids[:min(len(ids), most)] {
		texts = append(texts, id.String())
	}
	if len(ids) > most {
		texts = append(texts, fmt.Sprintf("and %d more", len(ids)-most))
	}
	return strings.Join(texts, ", ")
}
