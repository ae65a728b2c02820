package manifest

import (
	"encoding/json"
	"fmt"
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
		d.objects(field, have[field].(map[string]any), want[field].(map[string]any), shadeOpen)
	}
	const configs = "spec.manifestConfigs"
	for _, field := range []string{"metadata.ownerReferences", "spec.deleteOption", "spec.executor"} {
		d.member(field, have, want, field, shadeOpen)
	}
	d.items(configs, have[configs].([]any), want[configs].([]any), configNames(stored), configNames(desired), shadeOpen)
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
	pairs, gone, moved := pairUp(have, want)
	if moved {
		d.moved("spec.workload.manifests", identityTexts(have), identityTexts(want))
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
	d.one(op, "", value, shadeOpen)
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
	d.value("", have, want, shadeOpen)
	return nil
}

func identityTexts(identities []Identity) []string {
	out := make([]string, len(identities))
	for index, identity := range identities {
		out[index] = identity.String()
	}
	return out
}
