package manifest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	k8sjson "sigs.k8s.io/json"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Identity names one object on a cluster. The API version does not count: two versions of one object are the same
// object.
type Identity struct {
	Group, Kind, Namespace, Name string
}

func (i Identity) String() string {
	kind := i.Kind
	if i.Group != "" {
		kind += "." + i.Group
	}
	if i.Namespace == "" {
		return kind + "/" + i.Name
	}
	return kind + "/" + i.Namespace + "/" + i.Name
}

// ParseIdentity reads what [Identity.String] wrote: Kind[.group]/name or Kind[.group]/namespace/name.
func ParseIdentity(text string) (Identity, error) {
	parts := strings.Split(text, "/")
	kind, group, _ := strings.Cut(parts[0], ".")
	id := Identity{Group: group, Kind: kind, Name: parts[len(parts)-1]}
	if len(parts) == 3 {
		id.Namespace = parts[1]
	}
	if len(parts) < 2 || len(parts) > 3 || !kindName.MatchString(parts[0]) || !objectName.MatchString(id.Name) || len(parts) == 3 && !objectName.MatchString(id.Namespace) {
		return Identity{}, fmt.Errorf("manifest %q: give Kind/name or Kind/namespace/name, with the group behind the kind where there is one, like Deployment.apps/default/web", text)
	}
	return id, nil
}

// head is what every Kubernetes object carries.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name         string   `json:"name"`
		Namespace    string   `json:"namespace"`
		GenerateName string   `json:"generateName"`
		Labels       texts    `json:"labels"`
		Annotations  texts    `json:"annotations"`
		Finalizers   []string `json:"finalizers"`
	} `json:"metadata"`
}

// texts are the members of an object that are texts. The others are named one by one, with their paths, elsewhere.
type texts map[string]string

// UnmarshalJSON takes an object with values of any kind.
func (t *texts) UnmarshalJSON(raw []byte) error {
	if kind := kindOf(raw); kind != "an object" && kind != "null" {
		return &json.UnmarshalTypeError{Value: kind, Type: reflect.TypeFor[texts]()}
	}
	*t = texts{}
	for member := range members(raw) {
		if kindOf(member.value) == "a text" {
			(*t)[member.key()] = textOf(member.value)
		}
	}
	return nil
}

// readHead takes the exact names only, as Maestro and Kubernetes do.
func readHead(manifest workv1.Manifest) (head, error) {
	h, err := headOf(manifest.Raw)
	if err != nil {
		return h, fmt.Errorf("not a Kubernetes object: %s", plainError(err))
	}
	return h, nil
}

func headOf(raw []byte) (head, error) {
	var h head
	err := k8sjson.UnmarshalCaseSensitivePreserveInts(raw, &h)
	return h, err
}

func (h head) group() string {
	if group, _, found := strings.Cut(h.APIVersion, "/"); found {
		return group
	}
	return ""
}

func (h head) identity() Identity {
	return Identity{Group: h.group(), Kind: h.Kind, Namespace: h.Metadata.Namespace, Name: h.Metadata.Name}
}

// Identify reads the identity of a manifest; one that cannot be read is an error.
func Identify(manifest workv1.Manifest) (Identity, error) {
	h, err := readHead(manifest)
	if err != nil {
		return Identity{}, err
	}
	if h.APIVersion == "" || h.Kind == "" || h.Metadata.Name == "" {
		return Identity{}, fmt.Errorf("no identity: apiVersion %q, kind %q, name %q", h.APIVersion, h.Kind, h.Metadata.Name)
	}
	return h.identity(), nil
}

// Identities of a work's manifests, in their order. A manifest whose identity cannot be read is an error.
func Identities(work *workv1.ManifestWork) ([]Identity, error) {
	identities := make([]Identity, 0, len(work.Spec.Workload.Manifests))
	for index, manifest := range work.Spec.Workload.Manifests {
		identity, err := Identify(manifest)
		if err != nil {
			return nil, fmt.Errorf("manifest %d: %w", index, err)
		}
		identities = append(identities, identity)
	}
	return identities, nil
}

// SameSet reports whether an update from stored to desired keeps what servers before 2026-02-11 demand: the same
// number of manifests, and index by index the same apiVersion, kind, name and namespace.
func SameSet(stored, desired *workv1.ManifestWork) bool {
	have, want := stored.Spec.Workload.Manifests, desired.Spec.Workload.Manifests
	if len(have) != len(want) {
		return false
	}
	for index := range have {
		a, errA := readHead(have[index])
		b, errB := readHead(want[index])
		if errA != nil || errB != nil || a.APIVersion != b.APIVersion || a.identity() != b.identity() {
			return false
		}
	}
	return true
}

// IdentifyRaw is [Identify] for the JSON of a manifest.
func IdentifyRaw(raw []byte) (Identity, error) {
	return Identify(workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
}

// Is reports whether a person means this manifest: by its name, Kind/name or Kind/namespace/name, with or without the
// group behind the kind.
func (i Identity) Is(text string) bool {
	if text == i.Name || text == i.String() {
		return true
	}
	withoutGroup := i
	withoutGroup.Group = ""
	return text == withoutGroup.String() || text == i.Kind+"/"+i.Name || i.Group != "" && text == i.Kind+"."+i.Group+"/"+i.Name
}

// Only is a work with those of its manifests that are meant, the configs for them, and nothing else of it but its name
// and its owner's label. ids are those of all its manifests.
func Only(work *workv1.ManifestWork, meant func(Identity) bool) (part *workv1.ManifestWork, ids []Identity, err error) {
	if ids, err = Identities(work); err != nil {
		return nil, nil, err
	}
	part = &workv1.ManifestWork{TypeMeta: work.TypeMeta}
	part.Name, part.Namespace = work.Name, work.Namespace
	if owner := work.Labels[contract.LabelOwner]; owner != "" {
		part.Labels = map[string]string{contract.LabelOwner: owner}
	}
	for index, id := range ids {
		if !meant(id) {
			continue
		}
		part.Spec.Workload.Manifests = append(part.Spec.Workload.Manifests, work.Spec.Workload.Manifests[index])
		for _, config := range work.Spec.ManifestConfigs {
			if configures(config.ResourceIdentifier, id) {
				part.Spec.ManifestConfigs = append(part.Spec.ManifestConfigs, config)
			}
		}
	}
	return part, ids, nil
}
