package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// endingAs lets the operation of each work end in its own way; any other work is available.
func endingAs(results map[string]contract.StatusResult) *fakeTemporal {
	var mutex sync.Mutex
	return &fakeTemporal{start: func(ctx context.Context, request contract.Request) (operation, error) {
		mutex.Lock()
		defer mutex.Unlock()
		result, found := results[request.WorkName()]
		if !found {
			result = available()
		}
		return ending(time.Millisecond, result)(ctx, request)
	}}
}

func TestBuildStartsOneOperationForEachPool(t *testing.T) {
	path := stale(t)
	b := &bench{temporal: endingAs(nil)}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", manifestFile(t, twoPools), "--apply", "--wait", "--generation", "4", "--timeout", "3m", "--results-path", path)...), b.stderr.String())
	require.Len(t, b.temporal.requests, 2)
	ids := map[string]bool{}
	for _, request := range b.temporal.requests {
		ids[request.WorkflowID()] = true
		assert.Equal(t, contract.ActionMerge, request.Action)
		assert.Equal(t, "Available", request.Wait)
		assert.Equal(t, int64(4), request.Generation)
		assert.Equal(t, "3m", request.Timeout)
		assert.NoError(t, request.Check())
	}
	assert.Equal(t, map[string]bool{"op/maestro-cli/cluster-a1/west-1-nodepool-workers/workers": true, "op/maestro-cli/cluster-a1/west-1-nodepool-gpu/gpu": true}, ids)
	got := readResults(t, path)
	assert.Equal(t, "success", got.Status)
	assert.Equal(t, "west-1-nodepool-workers, west-1-nodepool-gpu", got.Details.ManifestWorkName)
}

func TestBuildFailsWhenOneOfItsOperationsDoes(t *testing.T) {
	for name, sample := range map[string]struct {
		result contract.StatusResult
		exit   int
	}{
		"failed":     {contract.StatusResult{Status: contract.StatusFailed, Reason: string(contract.ErrApplyFailed), Message: "no quota"}, 1},
		"timed out":  {contract.StatusResult{Status: contract.StatusTimedOut, Reason: string(contract.ErrWaitTimeout), Message: "no quota"}, 3},
		"superseded": {contract.StatusResult{Status: contract.StatusSuperseded, Reason: string(contract.ErrSuperseded), Message: "no quota"}, 4},
	} {
		for _, work := range []string{"west-1-nodepool-workers", "west-1-nodepool-gpu"} {
			t.Run(name+" "+work, func(t *testing.T) {
				path := stale(t)
				b := &bench{temporal: endingAs(map[string]contract.StatusResult{work: sample.result})}
				assert.Equal(t, sample.exit, b.run(buildOf("--nodepool-file", manifestFile(t, twoPools), "--apply", "--wait", "--results-path", path)...))
				got := readResults(t, path)
				assert.Equal(t, "failure", got.Status)
				assert.Equal(t, sample.result.Reason, got.Reason)
				assert.Contains(t, got.Message, "1 of 2 works failed")
				assert.Contains(t, got.Message, work+": "+sample.result.Reason+": no quota")
				assert.Contains(t, b.stderr.String(), "1 of 2 works failed")
			})
		}
	}
}

func TestBuildPutsPoolsThatShareIntoOneRequest(t *testing.T) {
	for name, sample := range map[string]struct {
		flags []string
		work  string
	}{
		"a name":  {[]string{"--name", "shared"}, "shared"},
		"adapter": {[]string{"--granularity", "adapter", "--adapter", "np"}, "hyperfleet-west-1-np"},
		"cluster": {[]string{"--granularity", "cluster"}, "hyperfleet-west-1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{temporal: endingAs(nil)}
			require.Equal(t, 0, b.run(buildOf(append(sample.flags, "--nodepool-file", manifestFile(t, twoPools), "--strategy", "replace", "--force", "--apply")...)...), b.stderr.String())
			require.Len(t, b.temporal.requests, 1)
			request := b.temporal.requests[0]
			assert.Equal(t, sample.work, request.WorkName())
			assert.Equal(t, contract.StrategyReplace, request.Strategy)
			assert.True(t, request.Force)
			assert.Contains(t, request.Part(), "replace.")
		})
	}
}

func TestManifestNameChoosesOne(t *testing.T) {
	work := manifestFile(t, strings.Replace(workYAML, "metadata:\n  name: web\n", "metadata:\n  name: web\n  labels: {hyperfleet.io/adapter: dns, team: blue}\n  annotations: {hyperfleet.io/generation: \"7\"}\n", 1)+
		"    - {apiVersion: v1, kind: Service, metadata: {name: web, namespace: demo}}\n    - {apiVersion: v1, kind: Service, metadata: {name: other, namespace: demo}}\n"+
		"  deleteOption: {propagationPolicy: Orphan}\n"+
		"  manifestConfigs:\n"+
		"  - {resourceIdentifier: {resource: services, namespace: demo, name: other}, feedbackRules: [{type: JSONPaths, jsonPaths: [{name: ip, path: .spec.clusterIP}]}]}\n"+
		"  - {resourceIdentifier: {resource: services, namespace: demo, name: web}, feedbackRules: [{type: JSONPaths, jsonPaths: [{name: ip, path: .spec.clusterIP}]}]}\n")
	for _, command := range [][]string{{"apply", "--manifest-file", work}, {"build", "--source-file", work, "--apply"}} {
		for _, name := range []string{"other", "Service/other", "Service/demo/other"} {
			b := &bench{temporal: endingAs(nil)}
			require.Equal(t, 0, b.run(append(command, "--consumer", "cluster-a1", "--manifest-name", name)...), b.stderr.String())
			request := b.temporal.requests[0]
			assert.Equal(t, contract.ActionMerge, request.Action)
			assert.Equal(t, "web", request.WorkName())
			assert.Contains(t, request.WorkflowID(), "/web/service.other.")
			assert.Contains(t, string(request.Work), `"name":"other"`)
			assert.NotContains(t, string(request.Work), "ConfigMap")
			assert.NotContains(t, string(request.Work), `"propagationPolicy"`, "the rest of the work is not meant")
			assert.Equal(t, 1, strings.Count(string(request.Work), "resourceIdentifier"))
			assert.Contains(t, string(request.Work), `"hyperfleet.io/adapter":"dns"`, "whose it is still counts")
			if command[0] == "apply" {
				assert.Equal(t, int64(7), request.Generation, "the manifest is of the work's generation")
			}
		}
		b := &bench{}
		assert.Equal(t, 2, b.run(append(command, "--consumer", "cluster-a1", "--manifest-name", "web")...))
		assert.Contains(t, b.stderr.String(), `--manifest-name "web": 2 manifests are called that, the files hold ConfigMap/demo/web, Service/demo/web, Service/demo/other`)
	}
	b := &bench{temporal: endingAs(nil)}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", manifestFile(t, twoPools), "--manifest-name", "gpu", "--apply")...), b.stderr.String())
	require.Len(t, b.temporal.requests, 1)
	assert.Equal(t, "west-1-nodepool-gpu", b.temporal.requests[0].WorkName())
}

// Too large at each of the limits: the measured size and the limit are said, nothing is started, the outcome is written.
func TestTooLargeIsSaidWithSizeAndLimit(t *testing.T) {
	large := func(manifests, size int) string {
		var text strings.Builder
		text.WriteString("apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: large}\nspec:\n  workload:\n    manifests:\n")
		for index := range manifests {
			fmt.Fprintf(&text, "    - {apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: demo}, data: {x: %s}}\n", index, strings.Repeat("x", size))
		}
		return manifestFile(t, text.String())
	}
	fits := large(4, 127_000)
	b := &bench{temporal: endingAs(nil)}
	assert.Equal(t, 0, b.run("validate", "--manifest-file", fits), b.stderr.String())
	assert.Equal(t, 0, b.run("apply", "--manifest-file", fits, "--consumer", "cluster-a1"), b.stderr.String())
	for path, says := range map[string]string{
		large(6, 100_000):   "600",
		large(3, 1_000_000): "30003",
	} {
		for _, command := range [][]string{{"validate", "--manifest-file", path}, {"apply", "--manifest-file", path, "--consumer", "cluster-a1"}, {"build", "--source-file", path, "--consumer", "cluster-a1", "--apply"}} {
			results := filepath.Join(t.TempDir(), "results.json")
			b := &bench{}
			assert.Equal(t, 2, b.run(append(command, "--results-path", results)...))
			assert.Regexp(t, says+`\d+ bytes, the limit is (512000|1048576)`, b.stderr.String())
			if command[0] != "validate" {
				assert.Equal(t, string(contract.ErrTooLarge), readResults(t, results).Reason)
			}
		}
	}
}

func TestWaitThatNoRuleAnswersIsRefused(t *testing.T) {
	job := manifestFile(t, strings.NewReplacer("ConfigMap", "Job", "apiVersion: v1\n", "apiVersion: batch/v1\n").Replace(workYAML))
	b := &bench{}
	assert.Equal(t, 2, b.run("apply", "--manifest-file", job, "--consumer", "cluster-a1", "--wait=Job/web:Complete"))
	assert.Contains(t, b.stderr.String(), "nothing reports Complete for Job.batch/demo/web")
}
