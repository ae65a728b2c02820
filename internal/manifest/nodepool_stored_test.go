package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func specOf(t *testing.T, manifest string) map[string]any {
	t.Helper()
	var object struct{ Spec map[string]any }
	require.NoError(t, json.Unmarshal([]byte(manifest), &object))
	return object.Spec
}

// A config describes a few fields of an object that has many.
func TestRenderKeepsWhatTheConfigDoesNotKnow(t *testing.T) {
	stored := storedPool("here", "w", `{"zeta":9007199254740993,"replicas":3,"nodeDrainTimeout":null,"nodeLabels":{"old":"1"},"taints":[{"key":"t","effect":"NoSchedule"}],`+
		`"platform":{"type":"AWS","aws":{"instanceType":"m4.large","instanceProfile":"p","rootVolume":{"size":120},"securityGroups":[{"id":"sg"}]}},"management":{"autoRepair":false,"upgradeType":"InPlace"}}`)
	line := rendered(t, pools(t, poolConfig("name: w, instanceType: m5.large, autoScaling: {min: 2, max: 6}")), DefaultNodepoolTemplate(), stored)[0]
	spec := specOf(t, line)
	assert.NotContains(t, spec, "replicas", "replicas and autoScaling take each other's place")
	assert.Equal(t, map[string]any{"min": 2.0, "max": 6.0}, spec["autoScaling"])
	assert.Equal(t, map[string]any{"instanceType": "m5.large", "instanceProfile": "p", "rootVolume": map[string]any{"size": 120.0}, "securityGroups": []any{map[string]any{"id": "sg"}}},
		spec["platform"].(map[string]any)["aws"])
	assert.Equal(t, map[string]any{"autoRepair": false, "upgradeType": "InPlace"}, spec["management"])
	assert.Equal(t, map[string]any{"old": "1"}, spec["nodeLabels"], "labels that the config does not mention stay")
	assert.Contains(t, line, `"zeta":9007199254740993`)
	assert.Contains(t, line, `"nodeDrainTimeout":null`)

	spec = specOf(t, rendered(t, pools(t, poolConfig("name: w, instanceType: m5.large, replicas: 0, labels: {new: a}, taints: []")), DefaultNodepoolTemplate(),
		workv1.Manifest{RawExtension: stored.RawExtension})[0])
	assert.Equal(t, map[string]any{"new": "a"}, spec["nodeLabels"], "labels that it gives are all")
	assert.NotContains(t, spec, "taints")
	assert.Equal(t, 0.0, spec["replicas"])
	assert.NotContains(t, spec, "autoScaling")
}

func ofCluster(cluster string, manifest workv1.Manifest) workv1.Manifest {
	manifest.Raw, _ = setText(manifest.Raw, [3]string{"metadata", "labels", labelCluster}, cluster)
	return manifest
}

// The nodes of one hosted cluster live in its namespace.
func TestRenderPutsANewPoolBesideTheStoredOnes(t *testing.T) {
	config := pools(t, poolConfig("name: new, instanceType: m5.large, replicas: 1"))
	namespace := func(stored ...workv1.Manifest) (string, any) {
		line := rendered(t, config, DefaultNodepoolTemplate(), stored...)[0]
		var object struct{ Metadata struct{ Namespace string } }
		require.NoError(t, json.Unmarshal([]byte(line), &object))
		return object.Metadata.Namespace, specOf(t, line)["clusterName"]
	}
	for _, sample := range []struct {
		stored             []workv1.Manifest
		namespace, cluster string
	}{
		{nil, DefaultNodepoolNamespace, "a1"},
		{[]workv1.Manifest{storedPool("here", "x", `{"clusterName":"c"}`), storedPool("here", "y", `{"clusterName":"c"}`)}, "here", "c"},
		{[]workv1.Manifest{storedPool("here", "x", `{"clusterName":"c"}`), storedPool("there", "y", `{"clusterName":"d"}`)}, DefaultNodepoolNamespace, "a1"},
		{[]workv1.Manifest{storedPool("here", "x", `{"clusterName":"c"}`), storedPool("here", "y", `{}`)}, "here", "a1"},
		{[]workv1.Manifest{ofCluster("b2", storedPool("there", "x", `{"clusterName":"b2"}`))}, DefaultNodepoolNamespace, "a1"},
		{[]workv1.Manifest{ofCluster("b2", storedPool("there", "x", `{"clusterName":"b2"}`)), ofCluster("a1", storedPool("here", "y", `{"clusterName":"hosted-a1"}`))}, "here", "hosted-a1"},
	} {
		name, cluster := namespace(sample.stored...)
		assert.Equal(t, sample.namespace, name)
		assert.Equal(t, sample.cluster, cluster)
	}
}

func TestRenderTwiceOverItsOwnResultChangesNothing(t *testing.T) {
	config := pools(t, poolConfig("name: w, instanceType: m5.large, replicas: 3, zones: [a, b]", "name: x, instanceType: m5.large, autoScaling: {min: 1, max: 2}"))
	first, err := config.Render(DefaultNodepoolTemplate(), nil)
	require.NoError(t, err)
	second, err := config.Render(DefaultNodepoolTemplate(), first)
	require.NoError(t, err)
	assert.Equal(t, first, second)
}

// The NodePools of all hosted clusters share a namespace: two clusters may both have a pool called workers.
func TestNewPoolHasItsClusterInItsName(t *testing.T) {
	config := pools(t, poolConfig("name: w, instanceType: m5.large, replicas: 1"))
	for _, sample := range []struct {
		stored []string
		want   string
	}{
		{nil, "a1-w"},
		{[]string{"w"}, "w"},
		{[]string{"a1-w"}, "a1-w"},
		{[]string{"other"}, "w"}, // as its neighbours are called
		{[]string{"a1-other"}, "a1-w"},
		{[]string{"other", "a1-other"}, "a1-w"},
		{[]string{"w", "a1-other"}, "w"},
	} {
		var stored []workv1.Manifest
		for _, name := range sample.stored {
			stored = append(stored, storedPool("here", name, "{}"))
		}
		manifests, err := config.Render(DefaultNodepoolTemplate(), stored)
		require.NoError(t, err)
		id, err := Identify(manifests[0])
		require.NoError(t, err)
		assert.Equal(t, sample.want, id.Name, "%v", sample.stored)
	}
}

const bareTemplate = "apiVersion: hypershift.openshift.io/v1beta1\nkind: NodePool\nmetadata: {name: '%s', namespace: clusters}\nspec: {replicas: {{.Pool.Replicas}}}\n"

// Whatever a template makes of the names: the same merge finds its objects again, and a neighbour is called alike.
func TestMergeFindsItsNodepoolsWhateverTheyAreCalled(t *testing.T) {
	long := strings.Repeat("c", 60)
	for name, text := range map[string]string{
		"built in":          string(defaultNodepoolTemplate),
		"prefix":            fmt.Sprintf(bareTemplate, "np-{{ .Name }}"),
		"suffix":            fmt.Sprintf(bareTemplate, "{{ .Name }}-np"),
		"pool alone":        fmt.Sprintf(bareTemplate, "{{ .Pool.Name }}"),
		"cluster at end":    fmt.Sprintf(bareTemplate, "{{ .Pool.Name }}{{ if .Zone }}-{{ .Zone }}{{ end }}-of-{{ .Cluster }}"),
		"fails without one": "{{ if and .Stored (ne .Name .Stored.metadata.name) }}{{ fail \"x\" }}{{ end }}" + fmt.Sprintf(bareTemplate, "{{ .Name }}"),
	} {
		for _, cluster := range []string{"a1", long} {
			t.Run(name+"/"+cluster, func(t *testing.T) {
				template := customTemplate(t, text)
				part := func(pool string) Part {
					config := pools(t, strings.Replace(poolConfig(pool), "a1", cluster, 1))
					return Part{Work: partWork(), Owner: "nodepool", Cluster: cluster, Generation: 1, Render: func(stored []workv1.Manifest) ([]workv1.Manifest, error) {
						return config.Render(template, stored)
					}}
				}
				first, second := part("name: w, instanceType: m, replicas: 1"), part("name: v, instanceType: m, replicas: 2")
				stored := mergeAll(t, nil, first, second)
				require.Len(t, stored.Work.Spec.Workload.Manifests, 2)
				for _, part := range []Part{first, second} {
					write, work, err := merge(stored, part)
					require.NoError(t, err)
					assert.Equal(t, WriteNothing, write, "%s", raws(work))
				}
			})
		}
	}
}

func TestPlainlyNamedPoolsOfATemplateStayPlain(t *testing.T) {
	template := customTemplate(t, fmt.Sprintf(bareTemplate, "np-{{ .Name }}"))
	config := pools(t, poolConfig("name: w, instanceType: m, replicas: 1"))
	for stored, want := range map[string]string{"np-w": "np-w", "np-a1-w": "np-a1-w", "np-x": "np-w", "np-a1-x": "np-a1-w", "np-a1": "np-w"} {
		manifests, err := config.Render(template, []workv1.Manifest{storedPool("clusters", stored, "{}")})
		require.NoError(t, err)
		id, err := Identify(manifests[0])
		require.NoError(t, err)
		assert.Equal(t, want, id.Name, stored)
	}
}

// Pool a in zone b and pool a-b have one name.
func TestPoolDoesNotOverwriteAnotherOfItsName(t *testing.T) {
	for _, template := range []*NodepoolTemplate{DefaultNodepoolTemplate(), customTemplate(t, fmt.Sprintf(bareTemplate, "{{ .Name }}"))} {
		part := func(pool string) Part {
			config := pools(t, poolConfig(pool))
			return Part{Work: partWork(), Owner: "nodepool", Cluster: "a1", Render: func(stored []workv1.Manifest) ([]workv1.Manifest, error) {
				return config.Render(template, stored)
			}}
		}
		stored := mergeAll(t, nil, part("name: a-b, instanceType: m, replicas: 1"))
		late := part("name: a, instanceType: m, replicas: 2, zones: [b, c]")
		_, err := Merge(stored, late)
		assert.Equal(t, contract.ErrOwnershipConflict, contract.TypeOf(err))
		assert.ErrorContains(t, err, "hyperfleet.io/nodepool-name=a-b")
	}
}
