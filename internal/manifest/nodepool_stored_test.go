package manifest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"
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
