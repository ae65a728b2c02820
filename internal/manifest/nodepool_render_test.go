package manifest

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func storedSample(t testing.TB) []workv1.Manifest {
	t.Helper()
	var manifests []workv1.Manifest
	require.NoError(t, json.Unmarshal(sample(t, "cases/nodepools/stored.json"), &manifests))
	return manifests
}

// storedPool is a stored NodePool with a spec in JSON.
func storedPool(namespace, name, spec string) workv1.Manifest {
	return workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(fmt.Sprintf(
		`{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{"name":%q,"namespace":%q},"spec":%s}`, name, namespace, spec))}}
}

// rendered gives the objects, each on its line.
func rendered(t testing.TB, config *NodepoolConfig, template *NodepoolTemplate, stored ...workv1.Manifest) []string {
	t.Helper()
	manifests, err := config.Render(template, stored)
	require.NoError(t, err)
	lines := make([]string, len(manifests))
	for index, manifest := range manifests {
		lines[index] = string(manifest.Raw)
	}
	return lines
}

func customTemplate(t testing.TB, text string) *NodepoolTemplate {
	t.Helper()
	template, err := ParseNodepoolTemplate("own.tmpl", []byte(text))
	require.NoError(t, err)
	return template
}

func TestRenderSwitchesBetweenReplicasAndAutoScaling(t *testing.T) {
	const head = `{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{"name":"workers","namespace":"pools-a1",` +
		`"labels":{"hyperfleet.io/nodepool-name":"workers","hyperfleet.io/cluster-name":"cluster-a1"}},"spec":{"clusterName":"a1",`
	const tail = `,"management":{"upgradeType":"Replace","autoRepair":true},"platform":{"type":"AWS","aws":{"instanceType":"m5.large"}},` +
		`"release":{"image":"registry.example.test/ocp/release:4.17.9"}}}`
	for file, size := range map[string]string{"auto.json": `"autoScaling":{"min":2,"max":6}`, "replicas.json": `"replicas":3`} {
		config := pools(t, string(sample(t, "cases/nodepools/"+file)))
		lines := rendered(t, config, DefaultNodepoolTemplate(), storedSample(t)...)
		require.Len(t, lines, 1)
		assert.JSONEq(t, head+size+tail, lines[0])
	}
}

func TestRenderNewPoolInZones(t *testing.T) {
	config := pools(t, poolConfig(sizedPool("w", `zones: [b, a]`, `labels: {x.test/b: "1", a: "true"}`, "taints: [{key: k, effect: NoSchedule}]"), sizedPool("empty", "zones: [a]")))
	object := func(name, pool, zone string, replicas int, more string) string {
		return `{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{"name":"` + name + `","namespace":"clusters",` +
			`"labels":{"hyperfleet.io/nodepool-name":"` + pool + `","hyperfleet.io/cluster-name":"a1"}},"spec":{"clusterName":"a1","replicas":` + fmt.Sprint(replicas) +
			`,"management":{"upgradeType":"Replace","autoRepair":true},"platform":{"type":"AWS","aws":{"instanceType":"m5.large",` +
			`"subnet":{"filters":[{"name":"availability-zone","values":["` + zone + `"]}]}}},"release":{"image":"quay.io/openshift-release-dev/ocp-release:4.17-multi"}` + more + `}}`
	}
	const more = `,"nodeLabels":{"a":"true","x.test/b":"1"},"taints":[{"key":"k","effect":"NoSchedule"}]`
	assert.Equal(t, []string{object("a1-w-a", "w", "a", 2, more), object("a1-w-b", "w", "b", 1, more), object("a1-empty", "empty", "a", 3, "")},
		rendered(t, config, DefaultNodepoolTemplate()))

	long := strings.Repeat("c", 64)
	config = pools(t, strings.Replace(poolConfig("name: w, instanceType: m, replicas: 0"), "a1", long, 1))
	line := rendered(t, config, DefaultNodepoolTemplate())[0]
	assert.Contains(t, line, `"labels":{"hyperfleet.io/nodepool-name":"w"}},"spec":{"clusterName":"`+long+`","replicas":0,`)
	assert.NotContains(t, line, "subnet")

	config = pools(t, poolConfig(sizedPool(strings.Repeat("p", 60), "zones: [west, east]")))
	assert.Contains(t, rendered(t, config, DefaultNodepoolTemplate())[0], `"name":"a1-`+strings.Repeat("p", 51)+"-")
}

func TestRenderKeepsWhatIsImmutable(t *testing.T) {
	field := func(t *testing.T, expression, zones string, stored ...workv1.Manifest) string {
		t.Helper()
		template := customTemplate(t, "apiVersion: v1\nkind: K\nmetadata: {name: {{.Name}}}\ngot: {{json "+expression+"}}\n")
		line := rendered(t, pools(t, poolConfig(sizedPool("w", "zones: "+zones))), template, stored...)[0]
		var object struct {
			Got json.RawMessage `json:"got"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &object))
		return string(object.Got)
	}
	const public, filter = `"quay.io/openshift-release-dev/ocp-release:4.17-multi"`, `{"filters":[{"name":"availability-zone","values":["a"]}]}`
	image := func(image string) string { return `{"release":{"image":"` + image + `"}}` }
	for _, sample := range []struct{ expression, zones, name, spec, want string }{
		{".Namespace", "[]", "other", "{}", `"here"`},
		{".Namespace", "[]", "w", "{}", `"here"`},
		{".ClusterName", "[]", "w", "{}", `"a1"`},
		{".ClusterName", "[]", "w", `{"clusterName":"b1"}`, `"b1"`},
		{".ClusterName", "[]", "other", `{"clusterName":"b1"}`, `"b1"`},
		{".AutoRepair", "[]", "w", `{"management":{"autoRepair":false}}`, "false"},
		{".AutoRepair", "[]", "other", `{"management":{"autoRepair":false}}`, "true"},
		{".ClusterName", "[]", "w", `{"clusterName":7}`, `"a1"`},
		{".UpgradeType", "[]", "w", `{"management":{"upgradeType":"InPlace"}}`, `"InPlace"`},
		{".Arch", "[]", "w", `{"arch":"arm64"}`, `"arm64"`},
		{".ReleaseImage", "[]", "w", image("r.test:5000/x:4.17"), `"r.test:5000/x:4.17"`},
		{".ReleaseImage", "[]", "w", image("r.test/x:4.17.9-multi"), `"r.test/x:4.17.9-multi"`},
		{".ReleaseImage", "[]", "w", image("r.test/x:4.17-rc.1@sha256:00"), `"r.test/x:4.17-rc.1@sha256:00"`},
		{".ReleaseImage", "[]", "w", image("r.test/x:4.170"), public},
		{".ReleaseImage", "[]", "w", image("r.test/x:4.16.9"), public},
		{".ReleaseImage", "[]", "w", image("r.test:4.17/x"), public},
		{".ReleaseImage", "[]", "w", image("r.test/x@sha256:00"), `"r.test/x@sha256:00"`},
		{".Subnet", "[]", "other", "{}", "null"},
		{".Subnet", "[a]", "other", "{}", filter},
		{".Subnet", "[a]", "w", "{}", "null"},
		{".Subnet", "[a]", "w", `{"platform":{"aws":{"subnet":{"id":"s"}}}}`, `{"id":"s"}`},
		{".Subnet", "[a, b]", "w-a", "{}", filter},
		{".Stored.spec.n", "[]", "w", `{"n":9007199254740993}`, "9007199254740993"},
		{"(len .Stored)", "[]", "other", "{}", "0"},
	} {
		assert.Equal(t, sample.want, field(t, sample.expression, sample.zones, storedPool("here", sample.name, sample.spec)), "%+v", sample)
	}
}

func TestRenderRefusesWhatItCannotTell(t *testing.T) {
	config := pools(t, poolConfig(sizedPool("w")))
	for _, sample := range []struct {
		stored []workv1.Manifest
		want   string
	}{
		{[]workv1.Manifest{storedPool("b", "w", "{}"), storedPool("a", "w", "{}")},
			`pools.yaml: pool "w": the stored work holds 2 NodePools named w, in the namespaces a, b: which one is meant cannot be told`},
		{[]workv1.Manifest{storedPool("b", "w", `{"platform":{"type":"Azure"}}`)},
			`nodepool.yaml.tmpl:31: pool "w": executing "nodepool" at <fail (print "the stored NodePool is of platform " .Platform ", which is immutable; this template renders AWS")>: ` +
				`error calling fail: the stored NodePool is of platform Azure, which is immutable; this template renders AWS`},
	} {
		_, err := config.Render(DefaultNodepoolTemplate(), sample.stored)
		assert.ErrorContains(t, err, sample.want)
		assert.Equal(t, contract.ErrInvalidManifest, contract.TypeOf(err))
	}
}

func TestCustomTemplate(t *testing.T) {
	template := customTemplate(t, `{{define "head"}}apiVersion: v1
kind: {{.}}
{{end}}{{template "head" "ConfigMap"}}metadata: {name: {{.Name}}}
data:
  region: {{quote (default "none" .Region)}}
  zone: {{default "none" .Zone}}
  replicas: {{quote (default 7 .Replicas)}} {{/* not where it lies */ -}}
  {{- ""}}
  printed: {{quote (print .Replicas .Pool.Replicas)}}
  format: {{printf "%03d" .Replicas | quote}}
  pool: {{quote .Pool}}
  text: {{json "\x7f <'\ufeff\U0001F600"}}
{{range $index, $taint := .Pool.Taints}}  taint-{{$index}}: {{printf "%s=%s" $taint.Key $taint.Effect}}
{{end}}---
# nothing
---
{{template "head" "Secret"}}metadata: {name: {{.Name}}}
`)
	config := pools(t, poolConfig("name: w, instanceType: m, replicas: 0, taints: [{key: a, effect: NoSchedule}, {key: b, effect: NoExecute}]"))
	assert.Equal(t, []string{
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a1-w"},"data":{"region":"eu-x-1","zone":"none","replicas":"0","printed":"0 0","format":"000",` +
			`"pool":"{\"name\":\"w\",\"instanceType\":\"m\",\"replicas\":0,\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"},{\"key\":\"b\",\"effect\":\"NoExecute\"}]}",` +
			`"text":"` + "\x7f \\u003c'\ufeff\U0001F600" + `","taint-0":"a=NoSchedule","taint-1":"b=NoExecute"}}`,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a1-w"}}`,
	}, rendered(t, config, template))
}

func TestTemplateProblemsNameFileLineAndPool(t *testing.T) {
	const head = "apiVersion: v1\nkind: K\n"
	doubling := `{{$x := "0123456789abcdef"}}` + strings.Repeat("{{$x = print $x $x}}", 40)
	for name, sample := range map[string]struct{ text, want string }{
		"unknown function":  {"\n{{now}}", `own.tmpl:2: function "now" not defined`},
		"not closed":        {"\n\n{{if .Zone}}", "own.tmpl:3: unexpected EOF"},
		"unknown field":     {head + "metadata: {name: {{.Nam}}}", `own.tmpl:3: pool "w": executing "nodepool" at <.Nam>: can't evaluate field Nam in type manifest.NodepoolData`},
		"missing key":       {head + "metadata: {name: {{.Stored.x}}}", `own.tmpl:3: pool "w": executing "nodepool" at <.Stored.x>: map has no entry for key "x"`},
		"broken YAML":       {head + "{{if true}}\nmetadata: {name: {{.Name}}\n{{end}}\n", `own.tmpl:3: pool "w": not YAML as rendered: did not find expected ',' or '}': correct the YAML`},
		"hidden anchor":     {head + "metadata: {name: {{.Name}}}\ndata: {password: *hunter2}", `own.tmpl:4: pool "w": not YAML as rendered: an alias (* and a name) without its anchor (& and the name): write a text that begins with * in quotes`},
		"doubled key":       {head + "{{- range .Pool.Zones}}{{end}}\nmetadata: {name: w}\nkind: L\n", `own.tmpl:5: pool "w": not YAML as rendered: key "kind" is already set on line 2`},
		"no kind":           {"# first\n---\n{{- if true}}\n\napiVersion: v1\nmetadata: {name: {{.Name}}}\n{{end}}", `own.tmpl:5: pool "w": the rendered object lacks kind`},
		"no identity":       {"a: b", `own.tmpl:1: pool "w": the rendered object lacks apiVersion and kind and metadata.name`},
		"a list":            {"- a: b", `own.tmpl:1: pool "w": the rendered object: not a Kubernetes object: `},
		"nothing":           {"{{if .Zone}}x{{end}}# no zone", `own.tmpl: pool "w": the template renders no object`},
		"one name for all":  {head + "metadata: {name: x}", `own.tmpl:1: pool "v": K/x is rendered twice, for pool "w" before: make its name of .Name`},
		"fails":             {"\n{{fail \"no zones\"}}", `own.tmpl:2: pool "w": executing "nodepool" at <fail "no zones">: error calling fail: no zones`},
		"too long":          {"x\n{{define \"x\"}}{{range 100000}}0123456789abcdef\n{{end}}{{end}}{{template \"x\"}}", `own.tmpl:2: pool "w": stopped: the objects are more than 1048576 bytes together`},
		"endless":           {"\n{{range 9000000000000000000}}{{end}}", `own.tmpl:2: pool "w": stopped after 500000 steps: the template does not end, or loops too often`},
		"endless of itself": {"{{define \"x\"}}{{template \"x\"}}{{end}}\n{{template \"x\"}}", `own.tmpl:1: pool "w": executing "x" at <{{template "x"}}>: exceeded maximum template depth (100000)`},
		"endless by names": {`{{define "0"}}{{end}}` + func() (text string) {
			for level := 1; level < 60; level++ {
				text += fmt.Sprintf(`{{define "%d"}}{{template "%d"}}{{template "%d"}}{{end}}`, level, level-1, level-1)
			}
			return text
		}() + `{{template "59"}}`, `own.tmpl:1: pool "w": stopped after 500000 steps: the template does not end, or loops too often`},
		"endless by merges": {`{{range $i := 9}}---
apiVersion: v1
kind: K
metadata: {name: x{{$i}}}
a: &a {k: v}
b: &b {<<: [` + strings.Repeat("*a,", 300) + `]}
c: {<<: [` + strings.Repeat("*b,", 300) + `]}
{{end}}`, `pool "w": not YAML as rendered: larger than 1048576 bytes with its aliases expanded: use fewer aliases`},
		"doubling":      {doubling, `own.tmpl:1: pool "w": stopped: its functions made more than 16777216 bytes`},
		"wide":          {`{{printf "%0999999d" 1}}`, `printf: widths and precisions have at most two digits here`},
		"wide by value": {`{{printf "%*d" 999999 1}}`, `printf: widths and precisions have at most two digits here`},
		"many verbs":    {`{{$x := "0123456789abcdef"}}{{range 20}}{{$x = printf "%[1]s%[1]s%[1]s%[1]s" $x}}{{end}}`, `stopped: its functions made more than 16777216 bytes`},
	} {
		t.Run(name, func(t *testing.T) {
			template, err := ParseNodepoolTemplate("own.tmpl", []byte(sample.text))
			if err == nil {
				_, err = pools(t, poolConfig(sizedPool("w"), sizedPool("v"))).Render(template, nil)
			}
			require.Len(t, problemsOf(t, err), 1)
			assert.ErrorContains(t, err, sample.want)
		})
	}
	_, err := ParseNodepoolTemplate("own.tmpl", make([]byte, contract.MaxTemplateBytes+1))
	assert.Equal(t, contract.ErrTooLarge, contract.TypeOf(err))
}

func TestRenderIsDeterministic(t *testing.T) {
	t.Parallel()
	rounds := 10_000
	if raceDetector {
		rounds = 500
	}
	labels := []string{"a: \"1\"", "b: \"2\"", "c.test/d: \"3\"", "e: \"4\"", "f: \"5\""}
	zones := []string{"a", "b"}
	template := DefaultNodepoolTemplate()
	random := rand.New(rand.NewSource(1))
	stored := []workv1.Manifest{storedPool("n", "w-b", `{"platform":{"aws":{"subnet":{"z":1,"y":2,"x":{"c":1,"b":2}}}}}`)}
	var want, wantJSON string
	for range rounds {
		random.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
		random.Shuffle(len(zones), func(i, j int) { zones[i], zones[j] = zones[j], zones[i] })
		config := pools(t, poolConfig(sizedPool("w", "zones: ["+strings.Join(zones, ", ")+"]", "labels: {"+strings.Join(labels, ", ")+"}")))
		got := strings.Join(rendered(t, config, template, stored...), "\n")
		if want == "" {
			want, wantJSON = got, string(config.JSON())
		}
		require.Equal(t, want, got)
		require.Equal(t, wantJSON, string(config.JSON()))
	}
}

func FuzzNodepools(f *testing.F) {
	for _, name := range []string{"auto", "replicas", "both", "typo", "doubled-pool", "doubled-key"} {
		f.Add(sample(f, "cases/nodepools/"+name+".json"))
	}
	f.Add([]byte(poolConfig(sizedPool("w", "zones: [b, a]", "labels: {a: b}", "taints: [{key: k, value: v, effect: NoSchedule}]"), "name: g, instanceType: m, autoScaling: &a {min: 0, max: 1}")))
	f.Add([]byte("nodepools: &p [{<<: {name: w}, name: v}, *p]\nmetadata: {? [a] : b}\n"))
	template := DefaultNodepoolTemplate()
	stored := storedSample(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		within(t, func() {
			config, err := ParseNodepools("pools", data)
			if err != nil {
				require.Contains(t, []contract.ErrorType{contract.ErrInvalidManifest, contract.ErrTooLarge}, contract.TypeOf(err))
				return
			}
			again, err := ParseNodepools("again", config.JSON())
			require.NoError(t, err)
			require.Equal(t, config.JSON(), again.JSON())

			manifests, err := config.Render(template, stored)
			if err != nil {
				require.Equal(t, contract.ErrInvalidManifest, contract.TypeOf(err))
				return
			}
			require.GreaterOrEqual(t, len(manifests), len(config.Nodepools))
			work := &workv1.ManifestWork{}
			work.Spec.Workload.Manifests = manifests
			identities, err := Identities(work)
			require.NoError(t, err)
			seen := map[Identity]bool{}
			for _, identity := range identities {
				require.False(t, seen[identity])
				seen[identity] = true
			}
		})
	})
}
