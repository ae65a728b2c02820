package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const caseWork = "tenant-c3-nodepool"

// served is a Maestro over HTTP that has these manifests, byte for byte, as version 3; more are further fields of the
// bundle and of its metadata.
func served(t *testing.T, manifests, metadata, more string) (*fakemaestro.Server, func(arguments ...string) (*bench, int)) {
	t.Helper()
	server := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"cluster-a1"}})
	id := fakemaestro.UID("maestro-cli", "cluster-a1", caseWork)
	require.NoError(t, server.PutRaw([]byte(fmt.Sprintf(
		`{"id":%q,"kind":"ResourceBundle","name":%q,"consumer_name":"cluster-a1","version":3,"metadata":{"name":%q,"namespace":"cluster-a1","uid":%q,`+
			`"resourceVersion":"3","creationTimestamp":"2026-03-01T09:00:00Z"%s},"manifests":[%s],"manifest_configs":[]%s}`,
		id, id, caseWork, id, metadata, manifests, more)), fakemaestro.OwnedBy("maestro-cli")))
	return server, func(arguments ...string) (*bench, int) {
		b := &bench{}
		code := b.run(append(arguments, "--http-endpoint", server.HTTPURL(), "--grpc-endpoint", server.GRPCAddress(), "--grpc-insecure")...)
		assert.Empty(t, server.Publishes(), "only read")
		return b, code
	}
}

func buildCase(name string, more ...string) []string {
	return append(buildOf("--name", caseWork, "--nodepool-file", caseFile(name, "pools.json")), more...)
}

// printedManifests of the one work on standard output, by their identity.
func printedManifests(t *testing.T, b *bench) (map[string]string, []string) {
	t.Helper()
	work := readAgain(t, b.stdout.String())[0].Work
	ids, err := manifest.Identities(work)
	require.NoError(t, err)
	raws, order := map[string]string{}, []string{}
	for index, id := range ids {
		order = append(order, id.String())
		raws[id.String()] = string(work.Spec.Workload.Manifests[index].Raw)
	}
	return raws, order
}

// A pool more is a manifest more, which an old Maestro refuses: the preview says so, and how to go on.
func TestCaseOfAGrownSetIsSaidBeforehand(t *testing.T) {
	_, run := served(t, readCase(t, "grown-set", "stored.json"), "", "")
	b, code := run(buildCase("grown-set", "--dry-run", "--output=json")...)
	require.Equal(t, 0, code, b.stderr.String())
	document := b.document(t)
	assert.Equal(t, true, document["setChanges"])
	assert.Contains(t, b.stderr.String(), contract.Rules[contract.ErrManifestSetImmutable].Act)
	assert.Contains(t, b.stderr.String(), "use one ManifestWork per nodepool")

	b, code = run(buildOf("--nodepool-file", caseFile("grown-set", "pools.json"), "--dry-run")...)
	require.Equal(t, 0, code, b.stderr.String())
	assert.NotContains(t, b.stderr.String(), "ManifestSetImmutable", "one work per nodepool changes no set")
	assert.Equal(t, 2, strings.Count(b.stdout.String(), "(not stored yet)"))
}

func TestCaseOfTwoGroupsKeepsBothObjectsAndOneVersion(t *testing.T) {
	_, run := served(t, readCase(t, "two-groups", "stored.json"), "", "")
	b, code := run(buildOf("--name", caseWork, "--resource-file", caseFile("two-groups", "objects.yaml"))...)
	require.Equal(t, 0, code, b.stderr.String())
	raws, order := printedManifests(t, b)
	const core, knative, pool = "Service/pools-c3/stats", "Service.serving.knative.dev/pools-c3/stats", "NodePool.hypershift.openshift.io/pools-c3/general"
	assert.Equal(t, []string{core, pool, knative}, order)
	assert.JSONEq(t, strings.Split(readCase(t, "two-groups", "stored.json"), "},\n{")[0]+"}", raws[core])
	assert.Contains(t, raws[pool], `"hypershift.openshift.io/v1beta1"`)
	assert.Contains(t, raws[pool], `"replicas":4`)

	b = &bench{}
	assert.Equal(t, 2, b.run("validate", "--manifest-file", caseFile("two-groups", "both-versions.yaml")))
	assert.Contains(t, b.stderr.String(), pool)
}

func TestCaseOfUntouchedNumbersPrintsThemExactly(t *testing.T) {
	_, run := served(t, readCase(t, "untouched-numbers", "stored.json"), "", "")
	for _, form := range []string{"yaml", "json"} {
		b, code := run(buildCase("untouched-numbers", "--output", form)...)
		require.Equal(t, 0, code, b.stderr.String())
		raws, _ := printedManifests(t, b)
		for _, number := range []string{`"accountId":9007199254740993`, `"maxBytes":1234567890123456789`, `"ratio":0.1`, `"burst":1e3`, `"step":1000001`} {
			assert.Contains(t, raws["TenantQuota.quota.example.test/pools-c3/tenant"], number, form)
		}
	}
	b, code := run(buildCase("untouched-numbers", "--dry-run")...)
	require.Equal(t, 0, code)
	assert.Contains(t, b.stdout.String(), "~ spec.replicas: 2 -> 5\n")
	assert.NotContains(t, b.stdout.String(), "TenantQuota")
}

func TestCaseOfSeparatorsLosesNoDocument(t *testing.T) {
	unix := readCase(t, "separators", "objects.yaml")
	for _, text := range []string{unix, strings.ReplaceAll(unix, "\n", "\r\n")} {
		_, run := served(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}`, "", "")
		b, code := run(buildOf("--name", caseWork, "--resource-file", manifestFile(t, text))...)
		require.Equal(t, 0, code, b.stderr.String())
		raws, order := printedManifests(t, b)
		assert.Equal(t, []string{"ConfigMap/other", "Namespace/tenant-b7", "ResourceQuota/tenant-b7/limits", "ConfigMap/tenant-b7/script"}, order)
		assert.Contains(t, raws["ConfigMap/tenant-b7/script"], `"echo first\n--- stays a text\necho second\n"`)
	}
	for _, command := range []string{"validate", "apply"} { // both of two works, or none
		b := &bench{}
		assert.Equal(t, 2, b.run(command, "--manifest-file", caseFile("separators", "two-works.yaml"), "--consumer", "cluster-a1"))
		assert.Contains(t, b.stderr.String(), "two-works.yaml:6: a second ManifestWork: give one per file")
	}
}

func TestCaseOfDoubledKeysIsRefusedByEveryCommand(t *testing.T) {
	work := caseFile("doubled-keys", "work.yaml")
	for _, arguments := range [][]string{
		{"validate", "--manifest-file", work}, {"apply", "--manifest-file", work, "--consumer", "cluster-a1"},
		{"diff", "--manifest-file", work, "--consumer", "cluster-a1"}, buildOf("--source-file", work), buildOf("--source-file", work, "--apply"),
	} {
		b := &bench{}
		assert.Equal(t, 2, b.run(arguments...))
		assert.Contains(t, b.stderr.String(), `work.yaml:15: spec.workload.manifests[0].metadata.labels: key "labels" is already set on line 13`)
		assert.Contains(t, b.stderr.String(), `work.yaml:20: spec.workload.manifests[0].spec.replicas: key "replicas" is already set on line 18`)
	}
	for _, more := range []string{"--dry-run", "--apply", "--apply=false"} {
		b := &bench{}
		assert.Equal(t, 2, b.run(buildCase("doubled-keys", more)...))
		assert.Contains(t, b.stderr.String(), "pools.json:2: ")
		assert.Contains(t, b.stderr.String(), `"replicas"`)
	}
}

func TestCaseOfTextsKeepsThemTexts(t *testing.T) {
	_, run := served(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}`, "", "")
	b, code := run(buildOf("--source-file", caseFile("texts", "work.yaml"))...)
	require.Equal(t, 0, code, b.stderr.String())
	raws, _ := printedManifests(t, b)
	var pool struct {
		Metadata struct{ Labels, Annotations map[string]string }
	}
	require.NoError(t, json.Unmarshal([]byte(raws["NodePool.hypershift.openshift.io/pools-c3/fast"]), &pool))
	assert.Equal(t, map[string]string{"gpu": "no", "rank": "01"}, pool.Metadata.Labels)
	assert.Equal(t, map[string]string{"billing-id": "87654321", "scrape": "true", "revision": "2e5"}, pool.Metadata.Annotations)
}

func TestCaseOfAutoscalingTakesTheReplicasPlace(t *testing.T) {
	const general, fast = "NodePool.hypershift.openshift.io/pools-c3/general", "NodePool.hypershift.openshift.io/pools-c3/fast"
	stored := readCase(t, "autoscaling", "stored.json")
	for _, config := range []string{"auto.json", "replicas.json"} { // and back again
		_, run := served(t, stored, "", "")
		b, code := run(buildOf("--name", caseWork, "--nodepool-file", caseFile("autoscaling", config))...)
		require.Equal(t, 0, code, b.stderr.String())
		raws, order := printedManifests(t, b)
		assert.Equal(t, []string{general, fast}, order)
		assert.Equal(t, config == "auto.json", strings.Contains(raws[general], `"autoScaling":{"min":2,"max":6}`), raws[general])
		assert.Equal(t, config == "replicas.json", strings.Contains(raws[general], `"replicas":3`))
		assert.JSONEq(t, `{`+strings.SplitN(readCase(t, "autoscaling", "stored.json"), ",\n{", 2)[1], raws[fast], "untouched")
		stored = raws[general] + "," + raws[fast]
	}
	for config, says := range map[string]string{
		"both.json": "replicas and autoScaling", "typo.json": "replica is not a known key", "doubled-pool.json": `"general"`,
	} {
		b := &bench{}
		assert.Equal(t, 2, b.run(buildOf("--name", caseWork, "--nodepool-file", caseFile("autoscaling", config))...))
		assert.Contains(t, b.stderr.String(), `pool "general"`)
		assert.Contains(t, b.stderr.String(), says)
	}
}

// Maestro's HTTP API has no executor: what the product keeps beside the work is printed as one again.
func TestCaseOfAnExecutorPrintsItAgain(t *testing.T) {
	input, err := manifest.ParseInput("work", []byte(readCase(t, "executor", "work.yaml")), manifest.Options{})
	require.NoError(t, err)
	executor, err := json.Marshal(input.Work.Spec.Executor)
	require.NoError(t, err)
	annotations, err := json.Marshal(map[string]string{contract.AnnotationExecutor: string(executor)})
	require.NoError(t, err)
	_, run := served(t, string(input.Manifests[0].Raw), `,"annotations":`+string(annotations), `,"delete_option":{"propagationPolicy":"Foreground"}`)
	b, code := run(buildCase("executor")...)
	require.Equal(t, 0, code, b.stderr.String())
	work := readAgain(t, b.stdout.String())[0].Work
	assert.Equal(t, input.Work.Spec.Executor, work.Spec.Executor)
	assert.Equal(t, input.Work.Spec.DeleteOption, work.Spec.DeleteOption)
	assert.NotContains(t, b.stdout.String(), contract.AnnotationExecutor)
	assert.Contains(t, b.stdout.String(), "replicas: 5")
	assert.Empty(t, work.ResourceVersion)

	b, code = run("diff", "--manifest-file", caseFile("executor", "work.yaml"), "--consumer", "cluster-a1")
	assert.Equal(t, 0, code, b.stdout.String())
}
