package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	workv1 "open-cluster-management.io/api/work/v1"
)

// ChangeOp is what happens to a value.
type ChangeOp string

// Operations of a change.
const (
	Added   ChangeOp = "added"
	Removed ChangeOp = "removed"
	Changed ChangeOp = "changed"
	// Moved: a list keeps its items in another order.
	Moved ChangeOp = "moved"
)

// Change is one difference between a stored and a desired work.
type Change struct {
	// Manifest is the [Identity] of the manifest, "" for the work itself.
	Manifest string `json:"manifest,omitempty"`
	// Path within the manifest or the work, like spec.template.spec.containers[name=web].image; "" for the manifest as
	// a whole.
	Path string   `json:"path,omitempty"`
	Op   ChangeOp `json:"op"`
	// Old is absent for what is added, New for what is removed. Secret values are [Masked]. For a move they are the
	// names of the items, in both orders.
	Old json.RawMessage `json:"old,omitempty"`
	New json.RawMessage `json:"new,omitempty"`
}

// Diff gives what a write of desired changes in stored, nil for a work that does not exist. It finds something exactly
// when [Same] says that the two differ, and compares as it does. The order is fixed: the work itself, the manifests in
// the desired order, those that go; in each the fields by name.
//
// Manifests are matched by their [Identity]; several of one identity, which another tool may have stored, in their
// order. Items of lists are matched by their name, type or key where all of them have one of their own, others by their
// position. A manifest whose identity cannot be read is an error.
func Diff(stored, desired *workv1.ManifestWork) ([]Change, error) {
	if stored == nil {
		stored = &workv1.ManifestWork{}
	}
	d := differ{same: sameText}
	if err := d.work(stored, desired); err != nil {
		return nil, err
	}
	d.same = sameNumber
	if err := d.manifests(stored, desired); err != nil {
		return nil, err
	}
	return d.changes, nil
}

// differ collects the changes of one manifest after the other.
type differ struct {
	manifest string
	changes  []Change
	// same compares the texts of two numbers.
	same func(stored, desired string) bool
}

// sameText: the work's own fields do not pass through a double.
func sameText(stored, desired string) bool { return stored == desired }

// work compares everything but the manifests.
func (d *differ) work(stored, desired *workv1.ManifestWork) error {
	have, err := workFields(stored)
	if err != nil {
		return err
	}
	want, err := workFields(desired)
	if err != nil {
		return err
	}
	for _, field := range []string{"metadata.labels", "metadata.annotations"} {
		d.objects(field, have[field].(map[string]any), want[field].(map[string]any), open)
	}
	const configs = "spec.manifestConfigs"
	for _, field := range []string{"metadata.ownerReferences", "spec.deleteOption", "spec.executor"} {
		d.member(field, have, want, field, open)
	}
	d.items(configs, have[configs].([]any), want[configs].([]any), configNames(stored), configNames(desired), open)
	return nil
}

// workFields gives the fields that a write carries, as [Same] reads them: empty labels, annotations, lists and delete
// options are absent.
func workFields(work *workv1.ManifestWork) (map[string]any, error) {
	fields := map[string]any{"metadata.labels": textMap(work.Labels), "metadata.annotations": textMap(work.Annotations), "spec.manifestConfigs": []any{}}
	typed := map[string]any{}
	if len(work.OwnerReferences) > 0 {
		typed["metadata.ownerReferences"] = work.OwnerReferences
	}
	if option := deleteOption(work); !equality.Semantic.DeepEqual(option, workv1.DeleteOption{}) {
		typed["spec.deleteOption"] = option
	}
	if work.Spec.Executor != nil {
		typed["spec.executor"] = work.Spec.Executor
	}
	if len(work.Spec.ManifestConfigs) > 0 {
		typed["spec.manifestConfigs"] = withoutNulls(work.Spec.ManifestConfigs)
	}
	for field, value := range typed {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", field, err)
		}
		if fields[field], err = decodeExact(raw); err != nil {
			return nil, fmt.Errorf("decode %s: %w", field, err)
		}
	}
	return fields, nil
}

func textMap(in map[string]string) map[string]any {
	out := make(map[string]any, len(in))
	for key, value := range in {
		out[key] = value
	}
	return out
}

// withoutNulls writes the one list that is never left out as empty instead of null.
func withoutNulls(configs []workv1.ManifestConfigOption) []workv1.ManifestConfigOption {
	configs = slices.Clone(configs)
	for i := range configs {
		configs[i].ConditionRules = slices.Clone(configs[i].ConditionRules)
		for j, rule := range configs[i].ConditionRules {
			if rule.CelExpressions == nil {
				configs[i].ConditionRules[j].CelExpressions = []string{}
			}
		}
	}
	return configs
}

func configNames(work *workv1.ManifestWork) []string {
	names := make([]string, 0, len(work.Spec.ManifestConfigs))
	for _, config := range work.Spec.ManifestConfigs {
		of := config.ResourceIdentifier
		names = append(names, Identity{Group: of.Group, Kind: of.Resource, Namespace: of.Namespace, Name: of.Name}.String())
	}
	return names
}

// manifests says the order once, and then what happens to each manifest.
func (d *differ) manifests(stored, desired *workv1.ManifestWork) error {
	have, err := Identities(stored)
	if err != nil {
		return fmt.Errorf("stored work: %w", err)
	}
	want, err := Identities(desired)
	if err != nil {
		return fmt.Errorf("desired work: %w", err)
	}
	pairs, gone, moved := match(have, want)
	if moved {
		d.moved("spec.workload.manifests", texts(have), texts(want))
	}
	old, latest := stored.Spec.Workload.Manifests, desired.Spec.Workload.Manifests
	for index, partner := range pairs {
		d.manifest = want[index].String()
		if partner < 0 {
			err = d.whole(Added, latest[index])
		} else {
			err = d.object(old[partner], latest[index])
		}
		if err != nil {
			return fmt.Errorf("manifest %d, %s: %w", index, d.manifest, err)
		}
	}
	for _, index := range gone {
		d.manifest = have[index].String()
		if err := d.whole(Removed, old[index]); err != nil {
			return fmt.Errorf("stored manifest %d, %s: %w", index, d.manifest, err)
		}
	}
	return nil
}

// whole says that a manifest is added or removed.
func (d *differ) whole(op ChangeOp, manifest workv1.Manifest) error {
	value, err := decodeExact(manifest.Raw)
	if err != nil {
		return err
	}
	d.one(op, "", value, open)
	return nil
}

func (d *differ) object(stored, desired workv1.Manifest) error {
	if string(stored.Raw) == string(desired.Raw) {
		return nil
	}
	have, err := decodeExact(stored.Raw)
	if err != nil {
		return fmt.Errorf("as stored: %w", err)
	}
	want, err := decodeExact(desired.Raw)
	if err != nil {
		return err
	}
	d.value("", have, want, open)
	return nil
}

// value compares two values that are both there.
func (d *differ) value(path string, have, want any, s shade) {
	s = s.sharpened(have, want) // what was or becomes a Secret is one on both sides
	switch desired := want.(type) {
	case map[string]any:
		if stored, ok := have.(map[string]any); ok && s != hidden {
			d.objects(path, stored, desired, s)
			return
		}
	case []any:
		if stored, ok := have.([]any); ok && (s == open || s == secretItems) {
			d.lists(path, stored, desired, s)
			return
		}
	}
	if !d.equal(have, want) {
		d.changes = append(d.changes, Change{Manifest: d.manifest, Path: path, Op: Changed, Old: encodeMasked(have, s), New: encodeMasked(want, s)})
	}
}

// equal compares values of which nothing inside is told apart.
func (d *differ) equal(have, want any) bool {
	stored, isNumber := have.(json.Number)
	if desired, both := want.(json.Number); isNumber && both {
		return d.same(string(stored), string(desired))
	}
	return sameValue(have, want)
}

func (d *differ) objects(path string, have, want map[string]any, s shade) {
	names := slices.Collect(maps.Keys(want))
	for name := range have {
		if _, both := want[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		d.member(under(path, name), have, want, name, s.under(name))
	}
}

// member compares what two maps hold under a key, if anything: null is something.
func (d *differ) member(path string, have, want map[string]any, key string, s shade) {
	stored, was := have[key]
	desired, is := want[key]
	switch {
	case was && is:
		d.value(path, stored, desired, s)
	case was:
		d.one(Removed, path, stored, s)
	case is:
		d.one(Added, path, desired, s)
	}
}

func (d *differ) lists(path string, have, want []any, s shade) {
	for _, key := range []string{"name", "type", "key"} {
		old, unique := itemNames(have, key)
		latest, uniqueToo := itemNames(want, key)
		if unique && uniqueToo {
			d.items(path, have, want, old, latest, s)
			return
		}
	}
	for index := range max(len(have), len(want)) {
		switch {
		case index >= len(want):
			d.one(Removed, at(path, index), have[index], s.item())
		case index >= len(have):
			d.one(Added, at(path, index), want[index], s.item())
		default:
			d.value(at(path, index), have[index], want[index], s.item())
		}
	}
}

// itemNames are the values of a key that tells the items of a list apart, in the form key=value.
func itemNames(list []any, key string) (names []string, unique bool) {
	seen := make(map[string]bool, len(list))
	for _, item := range list {
		object, _ := item.(map[string]any)
		name, _ := object[key].(string)
		if name == "" || seen[name] {
			return nil, false
		}
		seen[name] = true
		names = append(names, key+"="+name)
	}
	return names, true
}

// items compares two lists whose items have names.
func (d *differ) items(path string, have, want []any, old, latest []string, s shade) {
	pairs, gone, moved := match(old, latest)
	if moved {
		d.moved(path, old, latest)
	}
	for index, partner := range pairs {
		inner := path + "[" + latest[index] + "]"
		if partner < 0 {
			d.one(Added, inner, want[index], s.item())
		} else {
			d.value(inner, have[partner], want[index], s.item())
		}
	}
	for _, index := range gone {
		d.one(Removed, path+"["+old[index]+"]", have[index], s.item())
	}
}

// match gives for each wanted name the index of the stored one, or -1, the stored ones that nothing matches, and
// whether those that match stand in another order. Equal names are matched in their order.
func match[K comparable](have, want []K) (pairs, gone []int, moved bool) {
	places := make(map[K][]int, len(have))
	for index, name := range have {
		places[name] = append(places[name], index)
	}
	matched := make([]bool, len(have))
	last := -1
	for _, name := range want {
		place := places[name]
		if len(place) == 0 {
			pairs = append(pairs, -1)
			continue
		}
		pairs, places[name], matched[place[0]] = append(pairs, place[0]), place[1:], true
		moved = moved || place[0] < last
		last = place[0]
	}
	for index := range have {
		if !matched[index] {
			gone = append(gone, index)
		}
	}
	return pairs, gone, moved
}

// one records a value that is there on one side only.
func (d *differ) one(op ChangeOp, path string, value any, s shade) {
	change := Change{Manifest: d.manifest, Path: path, Op: op}
	if op == Added {
		change.New = encodeMasked(value, s)
	} else {
		change.Old = encodeMasked(value, s)
	}
	d.changes = append(d.changes, change)
}

func (d *differ) moved(path string, old, latest []string) {
	names := func(list []string) json.RawMessage {
		values := make([]any, len(list))
		for index, name := range list {
			values[index] = name
		}
		return encodeMasked(values, open)
	}
	d.changes = append(d.changes, Change{Manifest: d.manifest, Path: path, Op: Moved, Old: names(old), New: names(latest)})
}

func texts(identities []Identity) []string {
	out := make([]string, len(identities))
	for index, identity := range identities {
		out[index] = identity.String()
	}
	return out
}
