package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const configMapA = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`

func TestBareObjectsAreFoundInEveryForm(t *testing.T) {
	b := strings.Replace(configMapA, `"a"`, `"b"`, 1)
	for name, sample := range map[string]struct {
		data string
		want []string
	}{
		"one object":               {configMapA, []string{configMapA}},
		"two documents":            {"---\n" + configMapA + "\n---\n---\n" + b + "\n...\n", []string{configMapA, b}},
		"JSON after JSON":          {configMapA + "\n" + b, []string{configMapA, b}},
		"a list of JSON":           {"[" + configMapA + ", " + b + "]", []string{configMapA, b}},
		"a list of YAML":           {"- " + configMapA + "\n- " + b, []string{configMapA, b}},
		"a List":                   {"apiVersion: v1\nkind: List\nmetadata: {resourceVersion: ''}\nitems:\n- " + configMapA + "\n- " + b, []string{configMapA, b}},
		"a List in a List":         {`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[` + configMapA + `]},` + b + `]}`, []string{configMapA, b}},
		"a list of one kind":       {`{"apiVersion":"v1","kind":"ConfigMapList","items":[{"metadata":{"name":"a"}},` + b + `]}`, []string{configMapA, b}},
		"a kind that ends in List": {`{"apiVersion":"x.io/v1","kind":"AllowList","metadata":{"name":"a"},"items":[]}`, []string{`{"apiVersion":"x.io/v1","kind":"AllowList","metadata":{"name":"a"},"items":[]}`}},
		"escapes of JSON only":     {"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"\\ud83d\\ude00\\/\"}}\n--- # more\n" + b, []string{`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"\ud83d\ude00\/"}}`, b}},
	} {
		t.Run(name, func(t *testing.T) {
			input, _, _, err := checked("f", sample.data, Options{})
			require.NoError(t, err)
			assert.Nil(t, input.Work)
			var have []string
			for _, manifest := range input.Manifests {
				have = append(have, string(manifest.Raw))
			}
			assert.Equal(t, sample.want, have)
		})
	}
}

func TestAWorkInAListIsAWork(t *testing.T) {
	input, _, problems, err := checked("f", `{"apiVersion":"v1","kind":"List","items":[`+"\n"+configMapJSON(`{"k":1}`)+"]}", Options{})
	require.NoError(t, err, problems)
	assert.Equal(t, "sample", input.Work.Name)
	_, _, problems, _ = checked("f", `{"apiVersion":"v1","kind":"List","items":[`+"\n"+strings.Replace(configMapJSON(`{"k":1}`), `"name":"c"`, `"nam":"c"`, 1)+"]}", Options{})
	assert.Equal(t, []string{"f:2: items[0].spec.workload.manifests[0].metadata.name: required"}, problems)
}

func TestInputsAreRefusedWithPlaceAndAdvice(t *testing.T) {
	work := configMapWork("{k: v}")
	lists := func(n int) string {
		return strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, n) + configMapA + strings.Repeat("]}", n)
	}
	for name, sample := range map[string]struct {
		data     string
		problems []string
	}{
		"nothing":                  {"# nothing\n---\n", []string{"f: empty: give one ManifestWork, or Kubernetes objects"}},
		"an empty List":            {"apiVersion: v1\nkind: List\nitems: []\n", []string{"f: empty: give one ManifestWork, or Kubernetes objects"}},
		"a work beside an object":  {configMapA + "\n---\n" + work, []string{"f:1: ConfigMap/a beside a ManifestWork: put it among the work's manifests; the work begins on line 3"}},
		"no objects":               {"[1,\nnull,\n" + configMapA + "]", []string{"f:1: [0]: not a Kubernetes object, but a number: correct or remove it", "f:2: [1]: not a Kubernetes object, but null: correct or remove it"}},
		"too many Lists in Lists":  {lists(12), []string{"f:1: " + strings.TrimSuffix(strings.Repeat("items[0].", 10), ".") + ": lists in lists, more than 10 deep: give the objects themselves"}},
		"a second object":          {configMapA + "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: 7\n", []string{`f:6: metadata.name: a number, want a text: write it in quotes: "7"`}},
		"an item":                  {"apiVersion: v1\nkind: List\nitems:\n- " + configMapA + "\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {}\n", []string{"f:7: items[1].metadata.name: required"}},
		"the same object twice":    {configMapA + "\n---\n" + configMapA, []string{"f:3: ConfigMap/a is there twice (the API version does not tell objects apart): leave one out; the first is on line 1"}},
		"the same manifest twice":  {"apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: a}\nspec:\n  workload:\n    manifests:\n    - " + configMapA + "\n    - " + configMapA, []string{"f:8: spec.workload.manifests[1]: ConfigMap/a is there twice (the API version does not tell objects apart): leave one out; the first is spec.workload.manifests[0] on line 7"}},
		"a field of another type":  {"apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: a}\nspec:\n  workload:\n    manifests: 7\n", []string{"f:6: spec.workload.manifests: a number: want a list"}},
		"a list for an object":     {"apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: a}\nspec:\n  workload: []\n", []string{"f:5: spec.workload: a list: want an object"}},
		"a number for a text":      {"apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata:\n  name: 012\n", []string{`f:4: metadata.name: a number, want a text: write it in quotes: "012"`, "f:1: spec.workload.manifests: empty, give at least one manifest"}},
		"a List among manifests":   {strings.Replace(work, "kind: ConfigMap", "kind: List", 1), []string{"f:4: spec.workload.manifests[0].kind: a List is no object that a cluster keeps: give its items as manifests of their own"}},
		"labels of several kinds":  {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    a: 1.50\n    b:\n    c: {d: e}\n    f: [x]\n    g: off\n", []string{`f:6: metadata.labels.a: a number, want a text: write it in quotes: "1.50"`, `f:7: metadata.labels.b: null, want a text: write it in quotes: ""`, "f:8: metadata.labels.c: an object: want a text", "f:9: metadata.labels.f: a list: want a text", `f:10: metadata.labels.g: a boolean, want a text: write it in quotes: "off"`}},
		"labels of pods":           {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    metadata:\n      annotations:\n        scrape: true\n      labels: {v: 2}\n", []string{`f:8: spec.template.metadata.annotations.scrape: a boolean, want a text: write it in quotes: "true"`, `f:9: spec.template.metadata.labels.v: a number, want a text: write it in quotes: "2"`}},
		"a mask":                   {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  a: KG1hc2tlZCk=\nstringData: {data: (masked)}\n", []string{"f:5: data.a: (masked) is the mask that get and build print, not a value: give the value", "f:6: stringData.data: (masked) is the mask that get and build print, not a value: give the value"}},
		"a Secret":                 {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  data: eA==\n", []string{"f:4: data: Secrets would be readable in the workflow's history, because payloads are not encrypted yet; give --allow-plaintext-secrets if you accept that"}},
		"a Secret in an object":    {"apiVersion: x.io/v1\nkind: Holder\nmetadata: {name: a}\nspec:\n  objects:\n  - stringData: {a: b}\n    kind: Secret\n", []string{"f:6: spec.objects[0].stringData: Secrets would be readable in the workflow's history, because payloads are not encrypted yet; give --allow-plaintext-secrets if you accept that"}},
		"a problem in minified":    {"\n\n{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\n\"metadata\":{\"name\":\"\\ud83d\\ude00\",\n\"labels\":{\"a\":1}}}", []string{`f:5: metadata.labels.a: a number, want a text: write it in quotes: "1"`}},
		"a field under another's":  {strings.Replace(work, "metadata: {name: sample}", "metadata: {name: sample, uid: u}\nstatu: x", 1), []string{`f:4: statu: unknown field "statu": correct its name or leave it out`, "f:3: metadata.uid: set by a server: leave it out, or give --strip-server-fields"}},
		"a deletion grace period":  {strings.Replace(configMapA, `"name"`, `"deletionGracePeriodSeconds":0,"name"`, 1), []string{"f:1: metadata.deletionGracePeriodSeconds: set by a server: leave it out, or give --strip-server-fields"}},
		"a work of another API":    {strings.Replace(work, "io/v1", "io/v2", 1), []string{`f:1: apiVersion: "work.open-cluster-management.io/v2": want work.open-cluster-management.io/v1`}},
		"a YAML error after a key": {"a: 1\na: 2\n---\n{", []string{`f:2: a: key "a" is already set on line 1: keep one of the two`, "f:4: did not find expected node content: correct the YAML"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, problems, err := checked("f", sample.data, Options{})
			assert.Equal(t, sample.problems, problems)
			assert.Equal(t, contract.ErrInvalidManifest, contract.TypeOf(err))
		})
	}
}

func TestWhatDoesNoHarmIsAcceptedWithAWarningAtMost(t *testing.T) {
	for name, sample := range map[string]struct {
		data     string
		warnings []string
	}{
		"empty server fields":   {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"","uid":"","creationTimestamp":null,"generation":0,"managedFields":[]}}`, nil},
		"an empty status":       {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nstatus:\n  loadBalancer: {}\n", []string{"f:4: status: empty: leave it out, so that server-side apply does not take it from its controller"}},
		"an empty work status":  {configMapWork("{}") + "status: {}\n", []string{"f:5: status: empty: leave it out"}},
		"a null status":         {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nstatus:\n", []string{"f:4: status: empty: leave it out, so that server-side apply does not take it from its controller"}},
		"a Secret without data": {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: ''}\nstringData:\n", nil},
		"exact numbers":         {configMapWork("[0.1, 1e3, 1.0, 9007199254740992, 100000000000000000000000, -0, 0.30, 1.7976931348623157e308]"), nil},
		"inexact numbers":       {strings.Replace(configMapWork("[9007199254740993, 0.12345678901234567890, 1e-400]"), ", data:", ", spec:", 1), []string{"f:4: spec.workload.manifests[0].spec[0]: 9007199254740993 becomes 9007199254740992: Maestro keeps numbers as doubles; write it in quotes if the field takes a text", "f:4: spec.workload.manifests[0].spec[1]: 0.12345678901234567890 becomes 0.12345678901234568: Maestro keeps numbers as doubles; write it in quotes if the field takes a text", "f:4: spec.workload.manifests[0].spec[2]: 1e-400 becomes 0: Maestro keeps numbers as doubles; write it in quotes if the field takes a text"}},
	} {
		t.Run(name, func(t *testing.T) {
			input, warnings, problems, err := checked("f", sample.data, Options{})
			require.NoError(t, err, problems)
			assert.Equal(t, sample.warnings, warnings)
			require.NotEmpty(t, input.Manifests)
		})
	}
	input, _, _, err := checked("f", configMapWork("[9007199254740993]"), Options{})
	require.NoError(t, err)
	assert.Contains(t, string(input.Manifests[0].Raw), "9007199254740993", "a warning changes nothing")
}

func TestSecretsAreTakenWithAWarningWhenAsked(t *testing.T) {
	const data = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: ns}\ndata: {a: eA==}\n"
	input, warnings, _, err := checked("f", data, Options{AllowPlaintextSecrets: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"f:4: data: Secrets would be readable in the workflow's history, because payloads are not encrypted yet"}, warnings)
	_, warnings, _, err = checked("f", data, Options{Offline: true})
	require.NoError(t, err)
	assert.Empty(t, warnings, "it goes nowhere")
	_, err = Validate(workOf(string(input.Manifests[0].Raw)), "")
	assert.NoError(t, err, "the encryption of a request is its sender's business")
}

func TestStrippingKeepsEveryOtherByte(t *testing.T) {
	const before = `{"status":{"a":1},"kind":"ConfigMap","apiVersion":"v1","metadata":{"uid":"u","name":"a","labels":{"uid":"x","status":"y"},"generation":3},"data":{"n":1.50,"big":123456789012345678901234567890,"h":"\u003c"},"spec":{"status":1,"metadata":{"uid":"u"}}}`
	const after = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"uid":"x","status":"y"}},"data":{"n":1.50,"big":123456789012345678901234567890,"h":"\u003c"},"spec":{"status":1,"metadata":{"uid":"u"}}}`
	input, err := ParseInput("f", []byte(before), Options{StripServerFields: true})
	require.NoError(t, err)
	assert.Equal(t, after, string(input.Manifests[0].Raw))
	inWork := strings.Replace(configMapJSON(`{}`), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{}}`, before, 1)
	input, err = ParseInput("f", []byte(inWork), Options{StripServerFields: true})
	require.NoError(t, err)
	assert.Equal(t, after, string(input.Work.Spec.Workload.Manifests[0].Raw))
}

func TestProblemsAreListedUpToABound(t *testing.T) {
	var labels strings.Builder
	for index := range 120 {
		fmt.Fprintf(&labels, "    l%d: %d\n", index, index)
	}
	_, _, problems, _ := checked("f", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n"+labels.String(), Options{})
	require.Len(t, problems, maxProblems+1)
	assert.Equal(t, `f:55: metadata.labels.l49: a number, want a text: write it in quotes: "49"`, problems[49])
	assert.Equal(t, "f: and 70 more", problems[50])
}

func TestParseRefusesWhatOnlyValidateWouldNameLater(t *testing.T) {
	_, err := Parse("f", []byte(configMapWork("{}")+"colour: red\n"))
	assert.ErrorContains(t, err, `f:5: colour: unknown field "colour"`)
	_, err = ParseJSON([]byte(strings.Replace(configMapJSON("{}"), `"spec"`, `"colour":1,"spec"`, 1)))
	assert.EqualError(t, err, `work: colour: unknown field "colour": correct its name or leave it out`)
}

// Others build inputs without a file.
func TestAnInputWithoutAFileIsCheckedToo(t *testing.T) {
	work := workOf(object(`"uid":"u"`))
	_, err := (&Input{Name: "f", Work: work, Manifests: work.Spec.Workload.Manifests}).Validate(Options{})
	assert.EqualError(t, err, "f: spec.workload.manifests[0].metadata.uid: set by a server: leave it out, or give --strip-server-fields\n"+
		"f: spec.workload.manifests[0].metadata.name: required")
	_, err = (&Input{Name: "f", Manifests: work.Spec.Workload.Manifests}).Validate(Options{StripServerFields: true})
	assert.ErrorContains(t, err, "f: metadata.name: required")
}

func TestNoMessageShowsTheContentOfASecret(t *testing.T) {
	for _, value := range []string{"4711471147114711471", "{deep: [4711471147114711471]}", "4711e400"} {
		_, warnings, problems, _ := checked("f", "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: ns}\ndata: {a: "+value+"}\n", Options{})
		assert.NotContains(t, strings.Join(append(warnings, problems...), "\n"), "4711", value)
	}
}

func TestValuesOfWrongTypesDoNotHideEachOther(t *testing.T) {
	_, _, problems, err := checked("f", "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata:\n  name: w\n  uid: 123\n  ownerReferences: x\nspec:\n"+
		"  workload:\n    manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: Bad_Name, namespace: Bad_Namespace}}]\n  manifestConfigs:\n  - resourceIdentifier: {resource: configmaps, name: 7}\n  nothing: 1\n", Options{})
	require.Error(t, err)
	text := strings.Join(problems, "\n")
	for _, want := range []string{
		"f:5: metadata.uid: set by a server", "f:6: metadata.ownerReferences: a text: want a list", `f:11: spec.manifestConfigs[0].resourceIdentifier.name: a number, want a text: write it in quotes: "7"`,
		`f:12: spec.nothing: unknown field "nothing"`, "f:9: spec.workload.manifests[0].metadata.namespace",
	} {
		assert.Contains(t, text, want)
	}
}
