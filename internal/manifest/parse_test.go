package manifest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return data
}

func parsed(t testing.TB, data string) *workv1.ManifestWork {
	t.Helper()
	work, err := Parse("sample", []byte(data))
	require.NoError(t, err)
	return work
}

// configMapWork is a work in YAML whose one manifest has value as its data.
func configMapWork(value string) string {
	return "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: sample}\n" +
		"spec: {workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: " + value + "}]}}\n"
}

// configMapJSON is the same in JSON.
func configMapJSON(value string) string {
	return `{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"sample"},` +
		`"spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":` + value + `}]}}}`
}

func dataOf(t testing.TB, work *workv1.ManifestWork) string {
	t.Helper()
	require.Len(t, work.Spec.Workload.Manifests, 1)
	var object struct {
		Data json.RawMessage `json:"data"`
	}
	require.NoError(t, json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &object))
	return string(object.Data)
}

func TestParseKeepsNumbersExactly(t *testing.T) {
	want := map[string]string{
		"aboveDouble": "9007199254740993", "long": "1234567890123456789", "unsigned": "18446744073709551615",
		"aboveUnsigned": "18446744073709551616", "thirtyDigits": "123456789012345678901234567890",
		"exponent": "1e3", "million": "1000001", "tenth": "0.1", "manyDigits": "0.12345678901234567890123", "whole": "1.0",
		"negative": "-9007199254740993",
		// What JSON does not know is written in its form.
		"hex": "16", "octal": "420", "grouped": "1000", "plus": "5", "bare": "0.5",
	}
	work := parsed(t, string(sample(t, "numbers.yaml")))
	var object struct {
		Values map[string]json.RawMessage `json:"values"`
	}
	require.NoError(t, json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &object))
	have := map[string]string{}
	for name, value := range object.Values {
		have[name] = string(value)
	}
	assert.Equal(t, want, have)

	again, err := Encode(work)
	require.NoError(t, err)
	fromJSON, err := ParseJSON(again)
	require.NoError(t, err)
	assert.Equal(t, string(work.Spec.Workload.Manifests[0].Raw), string(fromJSON.Spec.Workload.Manifests[0].Raw), "through a request")
}

func TestParseReadsScalarsAsKubectlDoes(t *testing.T) {
	for text, want := range map[string]string{
		"yes": "true", "off": "false", "True": "true", `"yes"`: `"yes"`, "!!str yes": `"yes"`, "~": "null", "": "null", "'~'": `"~"`,
		"2026-01-01": `"2026-01-01"`, "1:30": `"1:30"`, "1e400": `"1e400"`, "!!binary aGVsbG8=": `"hello"`, "!!str 12": `"12"`, "'12'": `"12"`,
		"<a>": `"\u003ca\u003e"`, "[{}, [], {x: }]": `[{},[],{"x":null}]`,
		"{1: a, 1.5: b, 0x10: d}":                                  `{"1":"a","1.5":"b","16":"d"}`,
		"{z: &z {a: 1, b: 2}, m: {<<: *z, b: 3}}":                  `{"z":{"a":1,"b":2},"m":{"b":3,"a":1}}`,
		"{m: {<<: [{a: 1}, {a: 2, b: 2}], c: 3}}":                  `{"m":{"c":3,"a":1,"b":2}}`,
		"{k: &k key, v: {*k : 1}}":                                 `{"k":"key","v":{"key":1}}`,
		"{list: &l [1, 2], again: *l, nested: [*l, *l]}":           `{"list":[1,2],"again":[1,2],"nested":[[1,2],[1,2]]}`,
		"{outer: &o {inner: &i {x: 1}}, a: *o, b: *i, c: [*i,*o]}": `{"outer":{"inner":{"x":1}},"a":{"inner":{"x":1}},"b":{"x":1},"c":[{"x":1},{"inner":{"x":1}}]}`,
	} {
		t.Run(text, func(t *testing.T) {
			assert.Equal(t, want, dataOf(t, parsed(t, configMapWork(text))))
		})
	}
}

func TestParseTakesTheJSONOfAnyEncoder(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"\ud83d\ude00","b":"a\/b"}`:                    `{"a":"\ud83d\ude00","b":"a\/b"}`,
		"{\n\t\"a\" :\t1\r\n}":                               `{"a":1}`,
		`{"<<":{"a":1},"y":true}`:                            `{"\u003c\u003c":{"a":1},"y":true}`,
		`[1.0,1e3,123456789012345678901234567890,-0,0.1000]`: `[1.0,1e3,123456789012345678901234567890,-0,0.1000]`,
		`{"z":1,"a":2}`:                                      `{"z":1,"a":2}`,
		`"yes"`:                                              `"yes"`,
		`{"a":{"k":1},"b":{"k":1},"c":[{"k":1},{"k":1}],"k":1}`: `{"a":{"k":1},"b":{"k":1},"c":[{"k":1},{"k":1}],"k":1}`,
	} {
		t.Run(text, func(t *testing.T) {
			assert.Equal(t, want, dataOf(t, parsed(t, configMapJSON(text))))
			assert.Equal(t, want, dataOf(t, parsed(t, "\xef\xbb\xbf"+configMapJSON(text)+"\n")), "with a byte order mark")
		})
	}
}

func TestParseReadsTheOneDocumentOfAFile(t *testing.T) {
	plain := string(sample(t, "templated.yaml"))
	script := "echo one\n--- not a separator\necho two\n"
	for name, data := range map[string]string{
		"plain":              plain,
		"Windows line ends":  strings.ReplaceAll(plain, "\n", "\r\n"),
		"byte order mark":    "\xef\xbb\xbf" + plain,
		"both":               "\xef\xbb\xbf" + strings.ReplaceAll(plain, "\n", "\r\n"),
		"null in front":      "---\nnull\n" + plain,
		"JSON after a mark":  "\xef\xbb\xbf" + string(asJSON(t, plain)),
		"JSON in a document": "---\n" + string(asJSON(t, plain)),
	} {
		t.Run(name, func(t *testing.T) {
			work := parsed(t, data)
			assert.Equal(t, "pool", work.Name)
			assert.Equal(t, map[string]string{contract.LabelOwner: "pools"}, work.Labels)
			var object struct {
				Data map[string]string `json:"data"`
			}
			require.NoError(t, json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &object))
			assert.Equal(t, script, object.Data["script"])
		})
	}
}

func asJSON(t testing.TB, yaml string) json.RawMessage {
	t.Helper()
	raw, err := Encode(parsed(t, yaml))
	require.NoError(t, err)
	return raw
}

func TestParseRefusesWhatIsNotOneManifestWork(t *testing.T) {
	head := "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\n"
	for name, sample := range map[string]struct{ data, says string }{
		"nothing":                  {"", "sample: empty: give one ManifestWork, or Kubernetes objects"},
		"comments only":            {"# nothing\n---\n# here\n", "sample: empty: give one ManifestWork, or Kubernetes objects"},
		"two works":                {string(sample(t, "two-works.yaml")), "sample:7: a second ManifestWork: give one per file; the first begins on line 2"},
		"two works from Windows":   {strings.ReplaceAll(string(sample(t, "two-works.yaml")), "\n", "\r\n"), "sample:7: a second ManifestWork"},
		"another kind":             {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "sample:1: ConfigMap/a, want one ManifestWork (apiVersion work.open-cluster-management.io/v1); maestro-cli build makes one of bare objects"},
		"another version":          {"apiVersion: work.open-cluster-management.io/v1alpha1\nkind: ManifestWork\n", `sample:1: apiVersion: "work.open-cluster-management.io/v1alpha1": want work.open-cluster-management.io/v1`},
		"no kind":                  {"a: b\n", "sample:1: an object without a kind, want one ManifestWork"},
		"a scalar":                 {"hello", "sample:1: not a Kubernetes object, but a text"},
		"a list":                   {"[]", "sample: empty"},
		"an unknown field":         {head + "spec: {workLoad: {}}\n", `sample:3: spec.workLoad: unknown field "workLoad": correct its name or leave it out`},
		"every unknown field":      {head + "colour: red\nspec: {shape: round}\n", `sample:3: colour: unknown field "colour": correct its name or leave it out` + "\n" + `sample:4: spec.shape: unknown field "shape"`},
		"a field in another case":  {head + "Spec: {}\n", `sample:3: Spec: unknown field "Spec"`},
		"a number for a label":     {head + "metadata: {name: a, labels: {a: 01}}\n", `sample:3: metadata.labels.a: a number, want a text: write it in quotes: "01"`},
		"a broken document":        {head + "spec: {\n", "did not find expected node content"},
		"a second broken document": {head + "---\n{", "did not find expected node content"},
		"an infinite number":       {configMapWork("{a: .inf}"), "sample:4: spec.workload.manifests[0].data.a: the value is not a number that JSON knows"},
		"a list as a key":          {configMapWork("{[a]: b}"), "sample:4: spec.workload.manifests[0].data: a key must be a string"},
		"a null key":               {configMapWork("{~: b}"), "sample:4: spec.workload.manifests[0].data: a key must be a string"},
		"a merge of a scalar":      {configMapWork("{<<: b}"), "sample:4: spec.workload.manifests[0].data: << merges a mapping or a list of mappings"},
		"an unknown anchor":        {configMapWork("*nobody"), "sample:4: an alias (* and a name) without its anchor"},
		"invalid text":             {configMapJSON("\"\xff\""), "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("sample", []byte(sample.data))
			require.Error(t, err)
			assert.Equal(t, contract.ErrInvalidManifest, contract.TypeOf(err))
			assert.Contains(t, err.Error(), sample.says)
			assert.True(t, strings.HasPrefix(err.Error(), "sample:"), err.Error())
		})
	}
}

func TestParseNamesAllDoubledKeys(t *testing.T) {
	_, err := Parse("pool.yaml", sample(t, "doubled-keys.yaml"))
	require.Error(t, err)
	assert.Equal(t, contract.ErrInvalidManifest, contract.TypeOf(err))
	assert.Equal(t, "pool.yaml:14: spec.workload.manifests[0].metadata.labels: key \"labels\" is already set on line 12: keep one of the two\n"+
		"pool.yaml:19: spec.workload.manifests[0].spec.replicas: key \"replicas\" is already set on line 17: keep one of the two", err.Error())

	_, err = Parse("pool.json", []byte(configMapJSON("{\"a\":{\"x\":1,\n\"x\":1},\"b\":[0,{\"y\":1,\"y\":2}]}")))
	require.Error(t, err)
	assert.Equal(t, `pool.json:2: spec.workload.manifests[0].data.a.x: key "x" is already set on line 1: keep one of the two`+"\n"+
		`pool.json:2: spec.workload.manifests[0].data.b[1].y: key "y" is already set on line 2: keep one of the two`, err.Error())

	for name, data := range map[string]string{
		"YAML": configMapWork("{" + strings.Repeat("a: b,", 1000) + "}"),
		"JSON": configMapJSON(`{"a":1` + strings.Repeat(`,"a":1`, 1000) + `}`),
	} {
		_, err := Parse(name, []byte(data))
		require.Error(t, err, name)
		assert.Equal(t, maxProblems, strings.Count(err.Error(), "\n"), "%s: the message stays readable", name)
	}
}

func TestParseRefusesMoreThanTheLimit(t *testing.T) {
	frame := len(configMapWork(`""`))
	_, err := Parse("big", []byte(configMapWork(`"`+strings.Repeat("x", contract.MaxWorkBytes-frame)+`"`)))
	require.NoError(t, err)
	_, err = Parse("big", []byte(configMapWork(`"`+strings.Repeat("x", contract.MaxWorkBytes-frame+1)+`"`)))
	require.Error(t, err)
	assert.Equal(t, contract.ErrTooLarge, contract.TypeOf(err))
	assert.Equal(t, "big: 1048577 bytes, the limit is 1048576: split the work", err.Error())
}

func TestEncodeLeavesOutTheStatus(t *testing.T) {
	raw, err := Encode(parsed(t, string(sample(t, "exported.yaml"))))
	require.NoError(t, err)
	var keys map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &keys))
	assert.NotContains(t, keys, "status")
	assert.Contains(t, keys, "spec")
	assert.True(t, bytes.Contains(raw, []byte(`"replicas":2`)))
}

func TestKeyThatYAMLTakesForABooleanIsRefused(t *testing.T) {
	for key, value := range map[string]string{"y": "true", "no": "false", "On": "true", "off": "false"} {
		_, err := Parse("sample", []byte(configMapWork("{"+key+": a}")))
		assert.ErrorContains(t, err, "sample:4: spec.workload.manifests[0].data: key "+key+" means "+value+" in YAML: write it in quotes")
		work, err := Parse("sample", []byte(configMapWork("{\""+key+"\": a, true: b}")))
		require.NoError(t, err)
		assert.Contains(t, string(work.Spec.Workload.Manifests[0].Raw), `{"`+key+`":"a","true":"b"}`)
	}
}

// What cannot be read may be a secret: no message repeats it.
func TestMessagesDoNotRepeatValues(t *testing.T) {
	for data, says := range map[string]string{
		"*hunter2":      "sample:4: an alias (* and a name) without its anchor",
		"!!int hunter2": "the value is not a number that JSON knows",
		"-.inf":         "the value is not a number that JSON knows",
	} {
		_, err := Parse("sample", []byte(secretWork(data)))
		require.Error(t, err, data)
		assert.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "hunter2")
		assert.NotContains(t, err.Error(), "inf")
	}
}

func secretWork(data string) string {
	return strings.Replace(configMapWork("{pw: "+data+"}"), "ConfigMap", "Secret", 1)
}
