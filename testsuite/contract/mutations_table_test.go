package contract_test

import "strings"

// Reasons to refuse what the server takes.
const (
	becauseAgents  = "no agent could ever do it; the server does not look"
	becauseCluster = "every cluster refuses it; the server does not look"
	becauseNames   = "the product builds IDs of it; the server does not look"
	becauseServer  = "only a server sets it: an object exported from a cluster"
	becauseType    = "the server reads a field of another type as an absent one, the cluster refuses it"
)

// mutations are all kinds, by what they change.
var mutations = [][]mutation{headMutations, metadataMutations, contentMutations, wholeMutations, workMutations, configMutations}

var headMutations = []mutation{
	{name: "apiVersion: good", apply: field("apiVersion"), values: []string{`"v1"`, `"v2alpha1"`, `"a.b.c/v1beta1"`, `"x/y"`, `"0-9/v1"`,
		`"` + long(63) + `"`, `"` + strings.Repeat("a.", 126) + `b/v1"`}},
	{name: "apiVersion: bad", apply: field("apiVersion"), values: []string{`""`, ``, `null`, `"/"`, `"/v1"`, `"apps/"`, `"a/b/v1"`, `"Apps/v1"`, `"apps/V1"`,
		`"apps/1"`, `"1"`, `"v1."`, `"v_1"`, `" v1"`, `"v1 "`, `"a..b/v1"`, `"-a/v1"`, `"ü/v1"`, `"` + long(64) + `"`, `"` + strings.Repeat("a.", 126) + `bc/v1"`,
		`5`, `[]`, `{}`, `true`}},
	{name: "kind: good", apply: field("kind"), values: []string{`"lower"`, `"With Space"`, `"K8s"`, `"ü"`, `"a/b"`, `"` + long(300) + `"`}},
	{name: "kind: bad", apply: field("kind"), values: []string{``, `""`, `null`, `5`, `{}`, `["Pod"]`}},
	{name: "kind: List", apply: replaced, values: []string{
		`{"apiVersion":"v1","kind":"List","metadata":{"name":"l"},"items":[]}`,
		`{"apiVersion":"v1","kind":"List","metadata":{"name":"l"},"items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]}`,
		`{"apiVersion":"v1","kind":"List","metadata":{"name":"l"}}`,
	}, stricter: becauseCluster},
	{name: "kind: a list of one kind", apply: replaced, values: []string{
		`{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"name":"l"},"items":[]}`,
		`{"apiVersion":"x.io/v1","kind":"List","metadata":{"name":"l"},"items":[]}`,
	}},
	{name: "head: names in another case beside the right ones", apply: func(m *mutant, value string) { field(value)(m, `"other"`) },
		values: []string{"Kind", "APIVersion", "ApiVersion", "Metadata", "KIND"}},
	{name: "head: names in another case only", apply: replaced, values: []string{
		`{"apiversion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, `{"apiVersion":"v1","Kind":"ConfigMap","metadata":{"name":"a"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","Metadata":{"name":"a"}}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"Name":"a"}}`,
	}},
	{name: "head: a key twice", apply: replaced, values: []string{
		`{"apiVersion":"v1","kind":"","kind":"ConfigMap","metadata":{"name":"a"}}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":""},"metadata":{"name":"a"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":"b"}}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{},"data":{"b":"3"}}`,
	}, stricter: "one of the two would be lost without a word"},
	{name: "keys: twice below the head", apply: field("data"), values: []string{`{"a":"1","a":"2"}`, `{"a":{"b":1},"a":{"c":2}}`, `{"a":1,"a":null}`}},
	{name: "head: the empty one of a key twice is the last", apply: replaced, values: []string{
		`{"apiVersion":"v1","kind":"ConfigMap","kind":"","metadata":{"name":"a"}}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"metadata":{"namespace":"b"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":""}}`, `{"apiVersion":"v1","kind":"ConfigMap","kind":null,"metadata":{"name":"a"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":null}}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"metadata":null}`,
	}},
}

var metadataMutations = []mutation{
	{name: "metadata: bad", apply: field("metadata"), values: []string{``, `null`, `{}`, `[]`, `"x"`, `5`, `[{"name":"a"}]`}},
	{name: "name: good", apply: field("metadata", "name"), values: []string{`"Upper"`, `"a.b"`, `"a/b"`, `"ü"`, `" "`, `"system:node"`, `"` + long(300) + `"`}},
	{name: "name: bad", apply: field("metadata", "name"), values: []string{``, `""`, `null`, `5`, `true`, `{}`, `["a"]`}},
	{name: "namespace: good", apply: field("metadata", "namespace"), values: []string{``, `null`, `""`, `"a-b"`, `"1"`, `"` + long(63) + `"`}},
	{name: "namespace: bad", apply: field("metadata", "namespace"), values: []string{`"A"`, `"a.b"`, `"-a"`, `"a-"`, `"a_b"`, `" "`, `"ü"`, `"` + long(64) + `"`}},
	{name: "namespace: another type", apply: field("metadata", "namespace"), values: []string{`5`, `true`, `{}`, `["a"]`}, stricter: becauseType},
	{name: "generateName: good", apply: field("metadata", "generateName"), values: []string{`null`, `""`}},
	{name: "generateName: bad", apply: field("metadata", "generateName"), values: []string{`"a-"`, `" "`}},
	{name: "generateName: another type", apply: field("metadata", "generateName"), values: []string{`5`, `{}`}, stricter: becauseType},
	{name: "resourceVersion: good", apply: field("metadata", "resourceVersion"), values: []string{`null`, `""`}},
	{name: "resourceVersion: bad", apply: field("metadata", "resourceVersion"), values: []string{`"1"`, `"x"`}},
	{name: "resourceVersion: another type", apply: field("metadata", "resourceVersion"), values: []string{`1`, `{"a":1}`}, stricter: becauseType},
	{name: "server fields: empty", apply: func(m *mutant, value string) { field("metadata", value)(m, "null") },
		values: []string{"uid", "creationTimestamp", "generation", "managedFields", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}},
	{name: "server fields: set", apply: func(m *mutant, value string) {
		name, value, _ := strings.Cut(value, "=")
		field("metadata", name)(m, value)
	}, values: []string{`uid="u"`, `creationTimestamp="2026-01-01T00:00:00Z"`, `generation=3`, `managedFields=[{"manager":"kubectl"}]`, `selfLink="/x"`,
		`deletionTimestamp="2026-01-01T00:00:00Z"`, `deletionGracePeriodSeconds=0`, `deletionGracePeriodSeconds=30`, `deletionGracePeriodSeconds="30"`}, stricter: becauseServer},
	{name: "status: empty", apply: field("status"), values: []string{`null`, `{}`, `{"conditions":[]}`}},
	{name: "status: set", apply: field("status"), values: []string{`{"phase":"Active"}`, `{"replicas":0}`, `"x"`}, stricter: becauseServer},
	{name: "labels: good", apply: field("metadata", "labels"), values: []string{`null`, `{}`, `{"a":""}`, `{"a.b/c":"d_e.f-g"}`, `{"` + long(63) + `":"` + long(63) + `"}`}},
	{name: "labels: bad", apply: field("metadata", "labels"), values: []string{`{"":"v"}`, `{"-k":"v"}`, `{"a/b/c":"v"}`, `{"A_/k":"v"}`, `{"/k":"v"}`, `{"k/":"v"}`, `{"k k":"v"}`, `{"ü":"v"}`,
		`{"k":"not a label!"}`, `{"k":"-v"}`, `{"k":"v."}`, `{"k":"ü"}`, `{"k":"` + long(64) + `"}`, `{"` + long(64) + `":"v"}`, `{"` + strings.Repeat("a.", 126) + `bc/k":"v"}`}},
	{name: "labels: another type", apply: field("metadata", "labels"), values: []string{`5`, `"a=b"`, `[]`, `{"a":5}`, `{"a":null}`, `{"a":true}`, `{"a":{}}`, `{"a":"b","-":1}`}, stricter: becauseType},
	{name: "annotations: good", apply: field("metadata", "annotations"), values: []string{`null`, `{}`, `{"a":""}`, `{"A.B/c":"any thing\n ü"}`, `{"k":"` + long(262_000) + `"}`}},
	{name: "annotations: bad", apply: field("metadata", "annotations"), values: []string{`{"":"v"}`, `{"-k":"v"}`, `{"a/b/c":"v"}`, `{"a_b/k":"v"}`, `{"k k":"v"}`, `{"` + long(64) + `":"v"}`,
		`{"k":"` + long(262_144) + `"}`}},
	{name: "annotations: another type", apply: field("metadata", "annotations"), values: []string{`5`, `"a=b"`, `[]`, `{"a":5}`, `{"a":null}`, `{"a":[]}`}, stricter: becauseType},
	{name: "finalizers: good", apply: field("metadata", "finalizers"), values: []string{`null`, `[]`, `["a.b/c"]`, `["orphan"]`, `["foregroundDeletion"]`, `["a","a"]`}},
	{name: "finalizers: bad", apply: field("metadata", "finalizers"), values: []string{`[""]`, `["not qualified!"]`, `["a/b/c"]`, `["a","-"]`, `["` + long(64) + `"]`, `["orphan","foregroundDeletion"]`}},
	{name: "finalizers: another type", apply: field("metadata", "finalizers"), values: []string{`"a"`, `5`, `{}`, `[5]`}, stricter: becauseType},
	{name: "ownerReferences", apply: field("metadata", "ownerReferences"), values: []string{`null`, `[]`, `[{}]`, `[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]`, `"x"`, `5`}},
}

var contentMutations = []mutation{
	{name: "text: kept", apply: field("data"), values: []string{`{"k":"\u0001\u001f\u007f"}`, `{"k":"🚀 日本 \u2028"}`, `{"k":"\ud83d\ude80"}`, `{"k":"\ud800"}`, `{"k":"\\u0000"}`,
		"{\"k\":\"\xff\xfe\"}", `{"k":"<&>"}`, `{"k":"` + long(200_000) + `"}`, `{"a":"` + "\ufeff" + `"}`}},
	{name: "text: NUL", apply: field("data"), values: []string{`{"k":"a\u0000b"}`, `{"k":"\u0000"}`, `[["\u0000"]]`, `{"a\u0000":"v"}`, `{"k":"\\\u0000"}`, `"\u0000"`}},
	{name: "text: NUL in the head", apply: replaced, values: []string{
		`{"apiVersion":"v1","kind":"Config\u0000Map","metadata":{"name":"a"}}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a\u0000"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","annotations":{"k":"\u0000"}}}`,
	}},
	{name: "keys", apply: field("data"), values: []string{`{"":"v"}`, `{" ":"v"}`, `{"a.b/c":"v"}`, `{"ü🚀":"v"}`, `{"` + long(100_000) + `":"v"}`, `{"__proto__":{"constructor":1}}`, `{"$ref":"#"}`, `{"a":{"":{"":1}}}`}},
	{name: "numbers: kept or rounded", apply: field("data"), values: []string{`{"n":9007199254740993}`, `{"n":-9223372036854775808}`, `{"n":18446744073709551616}`, `{"n":1e308}`, `{"n":-0}`, `{"n":1.0}`,
		`{"n":1e-400}`, `{"n":0e999999}`, `{"n":` + strings.Repeat("9", 300) + `}`, `{"n":0.` + strings.Repeat("3", 400) + `}`, `{"n":5e-324}`, `{"n":1.7976931348623157e308}`}},
	{name: "numbers: beyond a double", apply: field("data"), values: []string{`{"n":1e400}`, `{"n":-1e400}`, `[1e309]`, `{"n":1.8e308}`, `{"n":` + strings.Repeat("9", 310) + `}`, `1e999999999`}},
	{name: "nesting: deep", apply: nested("[", "]"), values: []string{"100", "1000", "3000", "5000"}},
	{name: "nesting: deep objects", apply: nested(`{"a":`, "}"), values: []string{"100", "1000", "3000", "5000"}},
	{name: "nesting: as deep as allowed", apply: nested("[", "]"), values: []string{"9899"}},
	{name: "nesting: nearly too deep", apply: nested("[", "]"), values: []string{"9900", "9990"}, stricter: "manifests travel within other objects, not only to the server"},
	{name: "nesting: too deep", apply: nested("[", "]"), values: []string{"9999", "10000", "20000"}},
	{name: "nesting: too deep objects", apply: nested(`{"a":`, "}"), values: []string{"9999", "12000"}},
	{name: "data of any type", apply: field("data"), values: []string{`null`, `[]`, `{}`, `"x"`, `5`, `true`, `[null,[],{}]`}},
}

var wholeMutations = []mutation{
	{name: "manifest: no object", apply: replaced, values: []string{`null`, `[]`, `[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]`, `"x"`, `""`, `5`, `true`, `{}`, ` `, ``}},
	{name: "manifest: no JSON", apply: replaced, values: []string{`{`, `{"a":}`, `apiVersion: v1`, `{"apiVersion":"v1"} {}`, `{"n":01}`, `{"n":NaN}`, "{\"k\":\"a\x00b\"}", `{'a':1}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}} trailing`}},
	{name: "manifest: white space around", apply: func(m *mutant, value string) {
		m.replace(strings.ReplaceAll(value, "_", string(m.raw())))
	}, values: []string{" _ ", "\n\t_\n", "\r\n_"}},
	{name: "manifest: twice", apply: again, values: []string{"", "data={\"other\":\"content\"}"},
		stricter: "agents apply both, one over the other; servers since 2026-02-11 refuse it, too", looseRefuses: true},
	{name: "manifest: twice in two versions", apply: anotherVersion, values: []string{"beta1", "alpha2"},
		stricter: "the API version does not tell objects apart on a cluster"},
	{name: "manifest: another one of nearly the same identity", apply: again, values: []string{`kind="Other"`, `metadata.name="other"`, `metadata.namespace="other"`, `apiVersion="other.io/v1"`}},
	{name: "manifests: none", apply: func(m *mutant, value string) { mustDecode(value, &m.work.Spec.Workload.Manifests) }, values: []string{`null`, `[]`}},
	{name: "size: within the limit", apply: filled, values: []string{"511999", "512000"}},
	{name: "size: beyond the limit", apply: filled, values: []string{"512001", "600000"}},
}
