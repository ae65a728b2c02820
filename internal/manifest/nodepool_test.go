package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const poolMetadata = "metadata: {cluster: a1, region: eu-x-1, version: \"4.17\"}\n"

// poolConfig is a config in YAML, each pool in flow style on a line from line 3 on.
func poolConfig(pools ...string) string {
	text := poolMetadata + "nodepools:\n"
	for _, pool := range pools {
		text += "- {" + pool + "}\n"
	}
	return text
}

// sizedPool is a sound pool with more fields.
func sizedPool(name string, fields ...string) string {
	return strings.Join(append([]string{"name: " + name, "instanceType: m5.large", "replicas: 3"}, fields...), ", ")
}

func pools(t testing.TB, data string) *NodepoolConfig {
	t.Helper()
	config, err := ParseNodepools("pools.yaml", []byte(data))
	require.NoError(t, err)
	return config
}

// problemsOf gives the lines of a refusal.
func problemsOf(t testing.TB, err error) []string {
	t.Helper()
	require.Error(t, err)
	assert.Equal(t, contract.ErrInvalidManifest, contract.TypeOf(err))
	var problems Problems
	require.ErrorAs(t, err, &problems)
	return strings.Split(problems.Error(), "\n")
}

func TestParseNodepools(t *testing.T) {
	config := pools(t, poolConfig(
		"name: workers, instanceType: m5.large, replicas: 0, zones: [b, a], labels: {x.test/gpu: \"true\"}, taints: [{key: k, value: v, effect: NoSchedule}, {key: k, effect: NoExecute}]",
		"name: gpu, instanceType: p3.2xlarge, autoScaling: {min: 0, max: 1}, zones: null, labels: {}, taints: []"))
	want := `{"nodepools":[` +
		`{"name":"workers","instanceType":"m5.large","replicas":0,"zones":["a","b"],"labels":{"x.test/gpu":"true"},"taints":[{"key":"k","value":"v","effect":"NoSchedule"},{"key":"k","effect":"NoExecute"}]},` +
		`{"name":"gpu","instanceType":"p3.2xlarge","autoScaling":{"min":0,"max":1},"labels":{},"taints":[]}],` +
		`"metadata":{"cluster":"a1","region":"eu-x-1","version":"4.17"}}`
	assert.Equal(t, want, string(config.JSON()))

	again, err := ParseNodepools("request", config.JSON())
	require.NoError(t, err)
	assert.Equal(t, want, string(again.JSON()))
	withMark, err := ParseNodepools("request", append([]byte("\xef\xbb\xbf"), want...))
	require.NoError(t, err)
	assert.Equal(t, want, string(withMark.JSON()))
}

func TestParseNodepoolsNamesFileLinePoolAndKey(t *testing.T) {
	for file, want := range map[string][]string{
		"auto.json": nil, "replicas.json": nil,
		"both.json": {`both.json:7: nodepools[0].autoScaling: pool "workers": replicas and autoScaling exclude each other: keep one`},
		"typo.json": {
			`typo.json:3: nodepools[0]: pool "workers": neither replicas nor autoScaling: give one of them`,
			`typo.json:6: nodepools[0].replica: pool "workers": replica is not a known key: did you mean replicas?`,
		},
		"doubled-pool.json": {`doubled-pool.json:4: nodepools[1].name: pool "workers": the name is doubled: nodepools[0] on line 3 has it too; keep one or rename one`},
		"doubled-key.json":  {`doubled-key.json:5: nodepools[0].replicas: "replicas" is set twice, on line 4 and on line 5: keep one`},
	} {
		_, err := ParseNodepools(file, sample(t, "cases/nodepools/"+file))
		if want == nil {
			assert.NoError(t, err)
			continue
		}
		assert.Equal(t, want, problemsOf(t, err))
	}
}

func TestParseNodepoolsRefuses(t *testing.T) {
	const label = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character " +
		"(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
	size := func(fields string) string { return poolConfig("name: w, instanceType: m5.large, " + fields) }
	many := make([]string, 51)
	for index := range many {
		many[index] = fmt.Sprintf("{key: k%d, effect: NoSchedule}", index)
	}
	for name, sample := range map[string]struct {
		data string
		want []string
	}{
		"nothing":       {"# nothing\n---\n", []string{"pools.yaml: empty: give nodepools and metadata"}},
		"two documents": {poolConfig(sizedPool("w")) + "---\n" + poolConfig(sizedPool("w")), []string{"pools.yaml:1: 2 documents: give one config per file"}},
		"a list":        {"- name: w\n", []string{"pools.yaml:1: a list: want a mapping with the keys metadata, nodepools"}},
		"no keys":       {"{}", []string{"pools.yaml:1: metadata: metadata is missing: give its cluster and version", "pools.yaml:1: nodepools: no nodepools: give at least one"}},
		"no pools":      {poolMetadata + "nodepools: []\n", []string{"pools.yaml:2: nodepools: no nodepools: give at least one"}},
		"pools mapping": {poolMetadata + "nodepools: {}\n", []string{"pools.yaml:2: nodepools: nodepools: a mapping: want a list"}},
		"not a pool":    {poolMetadata + "nodepools:\n- workers\n", []string{`pools.yaml:3: nodepools[0]: pool 1: "workers" is a string: want a mapping with the keys autoScaling, instanceType, labels, name, replicas, taints, zones`}},
		"metadata": {"nodepools: [{" + sizedPool("w") + "}]\nmetadata:\n  Cluster: a1\n  region: a b\n  version: 4.10\n", []string{
			`pools.yaml:2: metadata.cluster: cluster is missing`,
			`pools.yaml:3: metadata.Cluster: Cluster is not a known key: did you mean cluster?`,
			`pools.yaml:4: metadata.region: region "a b": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
			`pools.yaml:5: metadata.version: version: 4.10 is a number: write it in quotes`,
		}},
		"cluster":         {strings.Replace(poolConfig(sizedPool("w")), "a1", "A1", 1), []string{`pools.yaml:1: metadata.cluster: cluster "A1": want at most 253 lower-case letters, digits and '-', beginning and ending with a letter or digit`}},
		"version":         {strings.Replace(poolConfig(sizedPool("w")), "4.17", "4.17@x", 1), []string{`pools.yaml:1: metadata.version: version "4.17@x": want a version like 4.17 or 4.17.9`}},
		"nameless":        {poolConfig("replicas: 1"), []string{"pools.yaml:3: nodepools[0].name: pool 1: name is missing", "pools.yaml:3: nodepools[0].instanceType: pool 1: instanceType is missing"}},
		"upper case":      {poolConfig(sizedPool("Work_ers")), []string{`pools.yaml:3: nodepools[0].name: pool "Work_ers": name "Work_ers": ` + label}},
		"too long a name": {poolConfig(sizedPool(strings.Repeat("a", 64))), []string{`pools.yaml:3: nodepools[0].name: pool "` + strings.Repeat("a", 64) + `": name "` + strings.Repeat("a", 64) + `": must be no more than 63 characters`}},
		"instance type":   {poolConfig("name: w, instanceType: m5 large, replicas: 1"), []string{`pools.yaml:3: nodepools[0].instanceType: pool "w": instanceType "m5 large": want a name like m5.large`}},
		"quoted":          {size(`replicas: "3"`), []string{`pools.yaml:3: nodepools[0].replicas: pool "w": replicas: "3" is a string: write the number without quotes`}},
		"word":            {size(`replicas: three`), []string{`pools.yaml:3: nodepools[0].replicas: pool "w": replicas: "three" is a string: want a whole number`}},
		"fraction":        {size(`replicas: 2.5`), []string{`pools.yaml:3: nodepools[0].replicas: pool "w": replicas: 2.5 is not a whole number`}},
		"negative":        {size(`replicas: -1`), []string{`pools.yaml:3: nodepools[0].replicas: pool "w": replicas: -1 is less than 0`}},
		"beyond 32 bits":  {size(`replicas: 2147483648`), []string{`pools.yaml:3: nodepools[0].replicas: pool "w": replicas: 2147483648 is more than 2147483647`}},
		"beyond 64 bits":  {size(`replicas: 99999999999999999999`), []string{`pools.yaml:3: nodepools[0].replicas: pool "w": replicas: 99999999999999999999 is more than 2147483647`}},
		"below 64 bits":   {size(`replicas: -99999999999999999999`), []string{`pools.yaml:3: nodepools[0].replicas: pool "w": replicas: -99999999999999999999 is less than 0`}},
		"no size":         {size(`replicas: null`), []string{`pools.yaml:3: nodepools[0]: pool "w": neither replicas nor autoScaling: give one of them`}},
		"min above max":   {size(`autoScaling: {min: 3, max: 2}`), []string{`pools.yaml:3: nodepools[0].autoScaling.min: pool "w": autoScaling.min 3 is more than autoScaling.max 2`}},
		"max below zones": {size(`autoScaling: {min: 0, max: 2}, zones: [a, b, c]`), []string{`pools.yaml:3: nodepools[0].autoScaling.max: pool "w": autoScaling.max 2 is less than the 3 zones, each of which has at least 1: raise it, or name fewer zones`}},
		"no max":          {size(`autoScaling: {min: 3, maximum: 4}`), []string{`pools.yaml:3: nodepools[0].autoScaling.maximum: pool "w": maximum is not a known key: known are max, min`, `pools.yaml:3: nodepools[0].autoScaling.max: pool "w": autoScaling.max is missing: give min and max`}},
		"bounds":          {size(`autoScaling: {min: -1, max: 0}`), []string{`pools.yaml:3: nodepools[0].autoScaling.min: pool "w": autoScaling.min: -1 is less than 0`, `pools.yaml:3: nodepools[0].autoScaling.max: pool "w": autoScaling.max: 0 is less than 1`}},
		"autoscaling":     {size(`autoscaling: {min: 1, max: 2}`), []string{`pools.yaml:3: nodepools[0].autoscaling: pool "w": autoscaling is not a known key: did you mean autoScaling?`, `pools.yaml:3: nodepools[0]: pool "w": neither replicas nor autoScaling: give one of them`}},
		"doubled zone":    {poolConfig(sizedPool("w", "zones: [a, b, a]")), []string{`pools.yaml:3: nodepools[0].zones[2]: pool "w": zones: "a" is doubled, see zones[0]: keep one`}},
		"zone":            {poolConfig(sizedPool("w", "zones: [1, a_b]")), []string{`pools.yaml:3: nodepools[0].zones[0]: pool "w": zones: 1 is a number: write it in quotes`, `pools.yaml:3: nodepools[0].zones[1]: pool "w": zones "a_b": ` + label}},
		"zones":           {poolConfig(sizedPool("w", "zones: a")), []string{`pools.yaml:3: nodepools[0].zones: pool "w": zones: "a" is a string: want a list`}},
		"labels": {poolConfig(sizedPool("w", "labels: {x.test/gpu: true, a b: c, e: null}")), []string{
			`pools.yaml:3: nodepools[0].labels[a b]: pool "w": labels: key "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
			`pools.yaml:3: nodepools[0].labels.e: pool "w": labels: e: nothing is given: write it in quotes`,
			`pools.yaml:3: nodepools[0].labels[x.test/gpu]: pool "w": labels: x.test/gpu: true is a boolean: write it in quotes`,
		}},
		"taints": {poolConfig(sizedPool("w", "taints: [{key: a, value: 1, effect: Never}, {effects: NoSchedule}, {key: b, effect: NoSchedule}, {key: b, value: c, effect: NoSchedule}]")), []string{
			`pools.yaml:3: nodepools[0].taints[0].value: pool "w": taints: value: 1 is a number: write it in quotes`,
			`pools.yaml:3: nodepools[0].taints[0].effect: pool "w": taints: effect "Never": want NoSchedule, PreferNoSchedule, NoExecute`,
			`pools.yaml:3: nodepools[0].taints[1].effects: pool "w": effects is not a known key: did you mean effect?`,
			`pools.yaml:3: nodepools[0].taints[1].key: pool "w": key is missing`,
			`pools.yaml:3: nodepools[0].taints[1].effect: pool "w": effect is missing`,
			`pools.yaml:3: nodepools[0].taints[3]: pool "w": taints: key b with effect NoSchedule is doubled, see taints[2]: keep one`,
		}},
		"too many taints": {poolConfig(sizedPool("w", "taints: ["+strings.Join(many, ", ")+"]")), []string{`pools.yaml:3: nodepools[0].taints: pool "w": taints: 51 are given, HyperShift takes at most 50`}},
		"colliding pools": {poolConfig(sizedPool("a", "zones: [c, b]"), sizedPool("a-b")), []string{`pools.yaml:4: nodepools[1]: pool "a-b" and pool "a" both become an object named a-b: rename one of them`}},
		"doubled keys, and more": {"nodepools:\n- name: w\n  instanceType: m5.large\n  replicas: 1\n  name: v\n  replica: 2\n" + poolMetadata + "nodepools: []\n", []string{
			`pools.yaml:5: nodepools[0].name: "name" is set twice, on line 2 and on line 5: keep one`,
			`pools.yaml:6: nodepools[0].replica: pool "w": replica is not a known key: did you mean replicas?`,
			`pools.yaml:8: nodepools: "nodepools" is set twice, on line 1 and on line 8: keep one`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseNodepools("pools.yaml", []byte(sample.data))
			assert.Equal(t, sample.want, problemsOf(t, err))
		})
	}
}

func TestParseNodepoolsSaysWhatTheReaderSays(t *testing.T) {
	for data, want := range map[string]string{
		"nodepools: [\n": "pools.yaml:1: did not find expected node content",
		"a: *b\n":        "pools.yaml:1: an alias (* and a name) without its anchor",
		"a: &b [*b]\n":   `pools.yaml:1: anchor "b"`,
	} {
		_, err := ParseNodepools("pools.yaml", []byte(data))
		require.Len(t, problemsOf(t, err), 1)
		assert.ErrorContains(t, err, want)
	}
}

func TestParseNodepoolsCountsWhatNobodyReads(t *testing.T) {
	_, err := ParseNodepools("p", []byte(poolConfig(strings.Split(strings.Repeat("replicas: 1\n", 200), "\n")...)))
	lines := problemsOf(t, err)
	require.Len(t, lines, maxConfigProblems+1)
	assert.Equal(t, "p: and 303 more problems", lines[maxConfigProblems])

	_, err = ParseNodepools("p", make([]byte, contract.MaxWorkBytes+1))
	assert.Equal(t, contract.ErrTooLarge, contract.TypeOf(err))
}

func TestNodepoolSharesAddUp(t *testing.T) {
	for _, sample := range []struct{ replicas, least, most, zones, want string }{
		{"7", "4", "8", "[c, a, b]", "w-a 3 2..3 w-b 2 1..3 w-c 2 1..2"},
		{"0", "0", "2", "[a, b]", "w-a 0 0..1 w-b 0 0..1"},
		{"1", "1", "1", "[b]", "w 1 1..1"},
		{"5", "2", "6", "[]", "w 5 2..6"},
	} {
		fixed := pools(t, poolConfig("name: w, instanceType: m, replicas: "+sample.replicas+", zones: "+sample.zones)).Nodepools[0].objects("")
		scaled := pools(t, poolConfig("name: w, instanceType: m, autoScaling: {min: "+sample.least+", max: "+sample.most+"}, zones: "+sample.zones)).Nodepools[0].objects("")
		var got []string
		for index, object := range fixed {
			bounds := scaled[index].share.autoScaling
			got = append(got, fmt.Sprintf("%s %d %d..%d", object.name, *object.share.replicas, bounds.Min, bounds.Max))
		}
		assert.Equal(t, sample.want, strings.Join(got, " "))
	}
}
