package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Trouble from the field, by the kind of trouble: what build must make of a stored work and an input.

// built runs build over a stored work ("" for none) and reads what it wrote.
func built(t *testing.T, stored string, flags ...string) *workv1.ManifestWork {
	t.Helper()
	b, path := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}}, filepath.Join(t.TempDir(), "merged.yaml")
	if stored != "" {
		b.maestro = storing(t, stored)
	}
	require.Equal(t, 0, b.run(buildOf(append(flags, "--name", "west-pools", "--output", path)...)...), b.stderr.String())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	work, err := manifest.Parse("merged", text)
	require.NoError(t, err, "%s", text)
	return work
}

func identities(t *testing.T, work *workv1.ManifestWork) []string {
	t.Helper()
	ids, err := manifest.Identities(work)
	require.NoError(t, err)
	var texts []string
	for _, id := range ids {
		texts = append(texts, id.String())
	}
	return texts
}

const smallPool = "NodePool.hypershift.openshift.io/west/small"

// A server that keeps the set of manifests: the preview says so before anything is sent.
func TestBuildSaysBeforehandThatTheSetChanges(t *testing.T) {
	b := &bench{maestro: storing(t, readCase(t, "manifest-set", "stored.yaml"))}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", caseFile("manifest-set", "pools.json"), "--name", "west-pools", "--dry-run")...), b.stderr.String())
	assert.Contains(t, b.stderr.String(), "refuses that with ManifestSetImmutable: use one ManifestWork per nodepool")
	assert.Contains(t, b.stdout.String(), "+ NodePool.hypershift.openshift.io/west/big\n")
	assert.NotContains(t, b.stdout.String(), "Namespace")

	b = &bench{maestro: storing(t, readCase(t, "manifest-set", "stored.yaml"))}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", caseFile("autoscaling", "fixed.json"), "--name", "west-pools", "--dry-run", "--format", "json")...))
	var document diffDocument
	require.NoError(t, json.Unmarshal(b.stdout.Bytes(), &document))
	assert.False(t, document.SetChanges, "in place it does not")
	assert.True(t, document.Differs)
}

// The group counts, the version does not.
func TestBuildKnowsObjectsByGroupKindNamespaceAndName(t *testing.T) {
	work := built(t, readCase(t, "identity", "stored.yaml"), "--resource-file", caseFile("identity", "objects.yaml"))
	assert.Equal(t, []string{"Service/west/probe", smallPool, "Service.serving.knative.dev/west/probe"}, identities(t, work))
	assert.Contains(t, string(work.Spec.Workload.Manifests[1].Raw), `"apiVersion":"hypershift.openshift.io/v1beta1"`)
	assert.Contains(t, string(work.Spec.Workload.Manifests[1].Raw), `"replicas":4`)
	assert.Contains(t, string(work.Spec.Workload.Manifests[0].Raw), `{"ports":[{"port":9090}]}`)
}

func TestBuildLeavesTheNumbersOfOthersAlone(t *testing.T) {
	const spec = `"spec":{"account":9007199254740995,"bytes":1234567890123456787,"ratio":0.1,"burst":1e3,"step":1000003}`
	stored := readCase(t, "shared-numbers", "stored.yaml")
	assert.Contains(t, string(built(t, stored, "--nodepool-file", caseFile("shared-numbers", "pools.json")).Spec.Workload.Manifests[0].Raw), spec)
	b := &bench{maestro: storing(t, stored)}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", caseFile("shared-numbers", "pools.json"), "--name", "west-pools", "--output", "json")...))
	for _, number := range []string{": 9007199254740995,", ": 1234567890123456787,", ": 0.1,", ": 1e3,", ": 1000003\n"} {
		assert.Contains(t, b.stdout.String(), number)
	}
	b = &bench{maestro: storing(t, stored)}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", caseFile("shared-numbers", "pools.json"), "--name", "west-pools", "--dry-run")...))
	assert.Contains(t, b.stdout.String(), "~ spec.replicas: 2 -> 5")
	assert.NotContains(t, b.stdout.String(), "TenantQuota")
}

func TestBuildReadsEveryDocument(t *testing.T) {
	text := readCase(t, "separators", "objects.yaml")
	windows := manifestFile(t, strings.ReplaceAll(text, "\n", "\r\n"))
	for _, path := range []string{caseFile("separators", "objects.yaml"), windows} {
		work := built(t, "", "--resource-file", path)
		assert.Equal(t, []string{"Namespace/west", "ResourceQuota/west/limits", "ConfigMap/west/script"}, identities(t, work))
		assert.Contains(t, string(work.Spec.Workload.Manifests[2].Raw), `"run":"echo first\n--- not a separator\necho last\n"`)
	}
}

func TestBuildKeepsTextsThatLookLikeSomethingElse(t *testing.T) {
	work := built(t, "", "--resource-file", caseFile("strings", "objects.yaml"))
	assert.Contains(t, string(work.Spec.Workload.Manifests[0].Raw), `"labels":{"spot":"no","rank":"01"},"annotations":{"owner":"12345678","scrape":"true","build":"1e3"}`)
}

func TestBuildSwitchesAPoolBetweenReplicasAndAutoScaling(t *testing.T) {
	stored := readCase(t, "autoscaling", "stored.yaml")
	work := built(t, stored, "--nodepool-file", caseFile("autoscaling", "auto.json"))
	small, gpu := string(work.Spec.Workload.Manifests[0].Raw), string(work.Spec.Workload.Manifests[1].Raw)
	require.Len(t, work.Spec.Workload.Manifests, 2)
	assert.Contains(t, small, `"autoScaling":{"min":2,"max":6}`)
	assert.NotContains(t, small, "replicas")
	assert.Contains(t, small, `"instanceProfile":"nodes"`, "what the config does not know stays")
	before, err := manifest.Parse("stored", []byte(stored))
	require.NoError(t, err)
	assert.Equal(t, string(before.Spec.Workload.Manifests[1].Raw), gpu, "the other pool is untouched")

	raw, err := manifest.Encode(work)
	require.NoError(t, err)
	small = string(built(t, string(raw), "--nodepool-file", caseFile("autoscaling", "fixed.json")).Spec.Workload.Manifests[0].Raw)
	assert.Contains(t, small, `"replicas":4`)
	assert.NotContains(t, small, "autoScaling")
}

func TestBuildRefusesConfigsByPoolAndKey(t *testing.T) {
	for file, says := range map[string][]string{
		"both.json":        {`pool "small"`, "replicas and autoScaling exclude each other"},
		"typo.json":        {`pool "small"`, "replica is not a known key: did you mean replicas?"},
		"doubled.json":     {`pool "small"`, "the name is doubled"},
		"doubled-key.json": {"replicas", "is set twice, on line 1"},
	} {
		for _, more := range [][]string{nil, {"--apply"}} {
			b := &bench{} // no server is asked
			assert.Equal(t, 2, b.run(buildOf(append(more, "--nodepool-file", caseFile("autoscaling", file), "--name", "west-pools")...)...))
			for _, text := range says {
				assert.Contains(t, b.stderr.String(), text, file)
			}
		}
	}
}

// The HTTP API gives the executor back through an annotation only; a merge must neither lose nor change it.
func TestBuildKeepsExecutorDeleteOptionAndConfigs(t *testing.T) {
	work := built(t, readCase(t, "executor", "stored.yaml"), "--nodepool-file", caseFile("executor", "pools.json"))
	require.NotNil(t, work.Spec.Executor)
	assert.Equal(t, "applier", work.Spec.Executor.Subject.ServiceAccount.Name)
	assert.Equal(t, workv1.DeletePropagationPolicyTypeOrphan, work.Spec.DeleteOption.PropagationPolicy)
	require.Len(t, work.Spec.ManifestConfigs, 1)
	assert.Equal(t, workv1.UpdateStrategyTypeCreateOnly, work.Spec.ManifestConfigs[0].UpdateStrategy.Type)
	assert.NotContains(t, work.Annotations, contract.AnnotationExecutor)
}
