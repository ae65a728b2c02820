package contract_test

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
)

// mutation is one kind of change to a good work. All its values meet the same answers.
type mutation struct {
	name   string
	apply  func(m *mutant, value string)
	values []string
	// stricter says why the product refuses what the server and its client library take. Nothing else of that sort may
	// be refused.
	stricter string
	// looseRefuses: of the two generations only the newer one refuses it, too.
	looseRefuses bool
}

// mutant is a work on its way to a bad one. Values may be malformed in ways that no Go value can hold, so manifests
// stay JSON.
type mutant struct {
	work *workv1.ManifestWork
	// target is the manifest that is changed.
	target int
}

func (m *mutant) raw() []byte { return m.work.Spec.Workload.Manifests[m.target].Raw }

func (m *mutant) replace(raw string) {
	m.work.Spec.Workload.Manifests[m.target] = workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}
}

// replaced puts something else in the place of the whole manifest.
func replaced(m *mutant, value string) { m.replace(value) }

// field sets a field of the manifest, or drops it for the value "".
func field(path ...string) func(*mutant, string) {
	return func(m *mutant, value string) { m.replace(withField(m.raw(), value, path...)) }
}

// withField of an object; anything else stays what it is.
func withField(raw []byte, value string, path ...string) string {
	if len(path) == 0 {
		return value
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return string(raw)
	}
	if object == nil {
		object = map[string]json.RawMessage{}
	}
	inner := withField(object[path[0]], value, path[1:]...)
	switch {
	case inner != "":
		object[path[0]] = json.RawMessage(inner)
	case len(path) == 1:
		delete(object, path[0])
	default: // there was nothing to go into
		object[path[0]] = json.RawMessage(withField([]byte(`{}`), value, path[1:]...))
	}
	changed, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", value, err))
	}
	return string(changed)
}

// inSpec sets a field of the work's spec.
func inSpec(name string) func(*mutant, string) {
	return func(m *mutant, value string) {
		spec := &m.work.Spec
		switch name {
		case "manifestConfigs":
			spec.ManifestConfigs = nil
		case "deleteOption":
			spec.DeleteOption = nil
		case "executor":
			spec.Executor = nil
		}
		mustDecode(fmt.Sprintf(`{%q:%s}`, name, value), spec)
	}
}

// inMetadata sets a field of the work's metadata.
func inMetadata(name string) func(*mutant, string) {
	return func(m *mutant, value string) { mustDecode(fmt.Sprintf(`{%q:%s}`, name, value), &m.work.ObjectMeta) }
}

// config gives the work one manifestConfig, for its first manifest, with these fields.
func config(m *mutant, fields string) {
	inSpec("manifestConfigs")(m, `[{"resourceIdentifier":{"group":"","resource":"configmaps","namespace":"demo","name":"settings"},`+fields+`}]`)
}

func mustDecode(text string, into any) {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
}

// again adds a copy of the manifest with one field set, as path=value.
func again(m *mutant, change string) {
	manifests := m.work.Spec.Workload.Manifests
	twin := string(m.raw())
	if change != "" {
		path, value, _ := strings.Cut(change, "=")
		twin = withField([]byte(twin), value, strings.Split(path, ".")...)
	}
	m.work.Spec.Workload.Manifests = append(manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(twin)}})
}

// anotherVersion of the same object.
func anotherVersion(m *mutant, suffix string) {
	var head struct{ APIVersion string }
	if err := json.Unmarshal(m.raw(), &head); err == nil {
		again(m, fmt.Sprintf("apiVersion=%q", head.APIVersion+suffix))
	}
}

func renamed(m *mutant, value string) {
	if strings.Contains(value, "%s") {
		value = fmt.Sprintf(value, m.work.Name)
	}
	m.work.Name = value
}

func serverSet(m *mutant, name string) {
	meta := &m.work.ObjectMeta
	switch now := metav1.Unix(1, 0); name {
	case "generateName":
		meta.GenerateName = "web-"
	case "resourceVersion":
		meta.ResourceVersion = "7"
	case "uid":
		meta.UID = types.UID("5a1c6f3e-0000-4000-8000-000000000001")
	case "creationTimestamp":
		meta.CreationTimestamp = now
	case "generation":
		meta.Generation = 3
	case "managedFields":
		meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	case "selfLink":
		meta.SelfLink = "/x" //nolint:staticcheck // old exports carry it
	case "deletionGracePeriodSeconds":
		period := int64(1)
		meta.DeletionGracePeriodSeconds = &period
	case "status":
		m.work.Status.Conditions = []metav1.Condition{{Type: "Applied"}}
	default:
		panic(name)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

// nested is a value with this many brackets around it.
func nested(open, closed string) func(*mutant, string) {
	return func(m *mutant, depth string) {
		var n int
		mustDecode(depth, &n)
		field("data")(m, `"@"`)
		m.replace(strings.Replace(string(m.raw()), `"@"`, strings.Repeat(open, n)+"1"+strings.Repeat(closed, n), 1))
	}
}

// filled brings the manifests to a total of this many bytes, as they are counted.
func filled(m *mutant, total string) {
	var want int
	mustDecode(total, &want)
	sum := func() (sum int) {
		for _, manifest := range m.work.Spec.Workload.Manifests {
			sum += manifest.Size()
		}
		return sum
	}
	field("data")(m, `{"k":"`+long(70_000)+`"}`)
	field("data")(m, `{"k":"`+long(70_000+want-sum())+`"}`)
	if sum() != want {
		panic(fmt.Sprintf("%d bytes, not %d", sum(), want))
	}
}
