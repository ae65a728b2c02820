package contract_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var contentChecks = []check{
	{"a created work reads back as written", createdWorkReadsBack},
	{"an updated work reads back as written", updatedWorkReadsBack},
	{"manifests keep nulls, empty values and the order of lists", manifestsKeepTheirMeaning},
	{"optional fields can be added and removed", optionalFieldsComeAndGo},
	{"an empty delete option reads back as equal", emptyDeleteOption},
	{"strings survive", stringsSurvive},
	{"numbers read back as equal", numbersReadBack},
	{"a changed number is a change", changedNumberIsAChange},
}

// fullWork has every field that a source can set.
const fullWork = `{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork",
"metadata":{"name":"web",
 "labels":{"hyperfleet.io/owner":"adapter","empty":""},
 "annotations":{"hyperfleet.io/generation":"7","note":"two\nlines \"quoted\" <&>"},
 "ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"5a1c6f3e-0000-4000-8000-000000000001","controller":true}]},
"spec":{
 "workload":{"manifests":[
  {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"demo"}},
  {"kind":"Deployment","apiVersion":"apps/v1","metadata":{"namespace":"demo","name":"web","labels":{"b":"1","a":"2"}},
   "spec":{"replicas":0,"paused":false,"template":null,"args":[],"nested":{"empty":{},"list":[null,0,"",false,[],{}]},"order":["c","a","b"]}}]},
 "deleteOption":{"propagationPolicy":"SelectivelyOrphan","ttlSecondsAfterFinished":0,
  "selectivelyOrphans":{"orphaningRules":[{"group":"","resource":"namespaces","namespace":"","name":"demo"}]}},
 "manifestConfigs":[{"resourceIdentifier":{"group":"apps","resource":"deployments","namespace":"demo","name":"web"},
  "feedbackRules":[{"type":"JSONPaths","jsonPaths":[{"name":"ready","path":".status.readyReplicas"}]},{"type":"WellKnownStatus"}],
  "updateStrategy":{"type":"ServerSideApply","serverSideApply":{"force":true,"fieldManager":"work-agent"}},
  "conditionRules":[{"condition":"Complete","type":"CEL","celExpressions":["object.status.done == true"],"message":"done"}]}],
 "executor":{"subject":{"type":"ServiceAccount","serviceAccount":{"namespace":"demo","name":"applier"}}}}}`

// parse reads a work as the product does.
func (s *scene) parse(work string) *workv1.ManifestWork {
	s.Helper()
	parsed, err := manifest.ParseJSON([]byte(work))
	require.NoError(s, err)
	return manifest.Desired(parsed, s.consumer, 0)
}

func createdWorkReadsBack(s *scene) {
	desired := s.parse(fullWork)
	stored := s.create(desired)
	assert.EqualValues(s, 1, stored.Version)
	s.assertFullWork(stored, desired)
	assert.Nil(s, stored.DeletedAt)
	assert.False(s, stored.Status.Reported)

	again, err := s.client.Get(s.ctx(), s.consumer, workName)
	require.NoError(s, err)
	assert.Equal(s, stored, again, "Get uses the configured source")
}

func updatedWorkReadsBack(s *scene) {
	desired := s.parse(fullWork)
	created := s.create(s.parse(strings.ReplaceAll(fullWork, `"replicas":0`, `"replicas":3`)))
	stored := s.change(desired)
	assert.EqualValues(s, 2, stored.Version)
	assert.Equal(s, created.ID, stored.ID)
	assert.Equal(s, created.CreatedAt, stored.CreatedAt)
	assert.True(s, stored.UpdatedAt.After(created.UpdatedAt))
	s.assertFullWork(stored, desired)
}

func (s *scene) assertFullWork(stored *manifest.Stored, desired *workv1.ManifestWork) {
	s.Helper()
	work := stored.Work
	assert.Equal(s, s.consumer, stored.Consumer)
	assert.Equal(s, s.consumer, work.Namespace)
	assert.Equal(s, desired.Name, work.Name)
	assert.Equal(s, desired.Labels, work.Labels)
	assert.Equal(s, desired.Annotations, work.Annotations, "without the executor's annotation")
	assert.Equal(s, desired.OwnerReferences, work.OwnerReferences)
	assert.Equal(s, desired.Spec.DeleteOption, work.Spec.DeleteOption)
	assert.Equal(s, desired.Spec.ManifestConfigs, work.Spec.ManifestConfigs)
	assert.Equal(s, desired.Spec.Executor, work.Spec.Executor)
	assert.NotContains(s, work.Annotations, contract.AnnotationExecutor)
	require.Len(s, work.Spec.Workload.Manifests, len(desired.Spec.Workload.Manifests))
	for index, want := range desired.Spec.Workload.Manifests {
		assert.JSONEq(s, string(want.Raw), string(work.Spec.Workload.Manifests[index].Raw))
	}
	assert.EqualValues(s, 7, stored.Generation())
	s.assertSettled(stored, desired)
}

// Each of these means something else to a cluster, so none may be taken for another.
func manifestsKeepTheirMeaning(s *scene) {
	variants := []string{`{}`, `{"a":null}`, `{"a":[]}`, `{"a":{}}`, `{"a":""}`, `{"a":0}`, `{"a":false}`, `{"a":[null]}`,
		`{"a":[0,1]}`, `{"a":[1,0]}`, `{"a":["0",1]}`, `{"a":[[]]}`, `{"a":"null"}`, `{"a":{"b":null}}`}
	works := make([]*workv1.ManifestWork, len(variants))
	for index, variant := range variants {
		works[index] = s.work(fmt.Sprintf(`{"apiVersion":"v1","kind":"Variant","metadata":{"name":"v"},"spec":%s}`, variant))
	}
	s.create(s.work(`{"apiVersion":"v1","kind":"Variant","metadata":{"name":"v"}}`))
	for index, work := range works {
		stored := s.change(work)
		assert.EqualValues(s, index+2, stored.Version)
		for other := range works {
			assert.Equal(s, other == index, manifest.Same(stored.Work, works[other]), "stored %s, desired %s", variants[index], variants[other])
		}
	}
}

func optionalFieldsComeAndGo(s *scene) {
	const plain = `{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"web"},
"spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}]}}}`
	var full, bare map[string]map[string]any
	require.NoError(s, json.Unmarshal([]byte(strings.Replace(fullWork, `"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork",`, "", 1)), &full))
	s.create(s.parse(plain))
	for _, field := range []string{
		"metadata.labels", "metadata.annotations", "metadata.ownerReferences",
		"spec.deleteOption", "spec.manifestConfigs", "spec.executor",
	} {
		s.each(field, func(s *scene) {
			section, name, _ := strings.Cut(field, ".")
			raw := strings.Replace(plain, `"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork",`, "", 1)
			require.NoError(s, json.Unmarshal([]byte(raw), &bare))
			bare[section][name] = full[section][name]
			with := s.parse(text(map[string]any{
				"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata": bare["metadata"], "spec": bare["spec"],
			}))
			without := s.parse(plain)
			require.False(s, manifest.Same(s.read().Work, with))
			added := s.change(with)
			s.assertSettled(added, with)
			assert.False(s, manifest.Same(added.Work, without))
			removed := s.change(without)
			s.assertSettled(removed, without)
			assert.Equal(s, added.Version+1, removed.Version)
		})
	}
}

// The server gives an empty object for none.
func emptyDeleteOption(s *scene) {
	for index, option := range []*workv1.DeleteOption{nil, {}, {PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}} {
		desired := newWork(s.consumer, fmt.Sprintf("web-%d", index), configMap("a", "1"))
		desired.Spec.DeleteOption = option
		s.assertSettled(s.create(desired), desired)
	}
}

func stringsSurvive(s *scene) {
	values := []string{
		"", " ", "\t\r\n", `\`, `"`, "'", "<script>&amp;", "äöü", "日本語", "🚀", "\u2028\u2029", "\u200b", "\u0001\u001f", "\u007f",
		`{"not":"parsed"}`, "1", "1e3", "null", "true", "%s %d", "$(VAR)", "{{ .Values.x }}", "a\u0301", strings.Repeat("x", 100_000),
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]string{"name": "a", "namespace": "b"}, "data": values,
	})
	require.NoError(s, err)
	desired := s.work(string(raw))
	stored := s.create(desired)
	s.assertSettled(stored, desired)
	var read struct{ Data []string }
	require.NoError(s, json.Unmarshal(stored.Work.Spec.Workload.Manifests[0].Raw, &read))
	assert.Equal(s, values, read.Data)

	lone := s.work(configMapOf("lone", `"\ud800 alone"`))
	lone.Name = "lone"
	s.assertSettled(s.create(lone), lone)
}

func configMapOf(name, data string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"b"},"data":%s}`, name, data)
}
