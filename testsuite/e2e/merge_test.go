//go:build integration

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func poolsConfig(pools ...string) json.RawMessage {
	return json.RawMessage(`{"nodepools":[` + strings.Join(pools, ",") + `],"metadata":{"cluster":"west-1","version":"4.17"}}`)
}

func poolEntry(name string, replicas int) string {
	return fmt.Sprintf(`{"name":%q,"instanceType":"m5.large","replicas":%d}`, name, replicas)
}

// replicasOf each NodePool of a stored work.
func replicasOf(t *testing.T, consumer, name string) map[string]int {
	t.Helper()
	return replicasIn(t, stored(t, consumer, name))
}

func replicasIn(t testing.TB, work *manifest.Stored) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, manifest := range work.Work.Spec.Workload.Manifests {
		var object struct {
			Metadata struct{ Name string }
			Spec     struct{ Replicas int }
		}
		require.NoError(t, json.Unmarshal(manifest.Raw, &object))
		out[object.Metadata.Name] = object.Spec.Replicas
	}
	return out
}

// Merges of different parts wait in one queue, and one write takes all that wait.
func TestConcurrentMergesOfOneWorkLoseNothing(t *testing.T) {
	const pools = 12
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	var entries []string
	for n := range pools {
		entries = append(entries, poolEntry(fmt.Sprintf("pool-%d", n), 0))
	}
	merge := func(config json.RawMessage) contract.Request {
		return contract.Request{Consumer: consumer, Action: contract.ActionMerge, Name: "shared", Nodepools: config, Wait: "Available", Timeout: "3m"}
	}
	_, err := outcome(t, start(t, queue, merge(poolsConfig(entries...))))
	require.NoError(t, err)

	want := map[string]int{}
	var group sync.WaitGroup
	for n := range pools {
		want[fmt.Sprintf("west-1-pool-%d", n)] = n + 1
		group.Go(func() {
			result, err := outcome(t, start(t, queue, merge(poolsConfig(poolEntry(fmt.Sprintf("pool-%d", n), n+1)))))
			assert.NoError(t, err)
			assert.Equal(t, contract.ReasonConditionMet, result.Reason)
		})
	}
	group.Wait()
	assert.Equal(t, want, replicasOf(t, consumer, "shared"))
	assert.LessOrEqual(t, stored(t, consumer, "shared").Version, int64(1+pools), "at most one version for each")
}

// Maestro has stored the merge, the answer is on its way, and the worker dies: the next attempt finds its own write.
func TestWorkerKilledInMerge(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	grpc := newProxy(t, stack.MaestroGRPCAddress())
	victim := spawnWorker(t, queue, grpc.address(), stack.MaestroURL())
	merge := func(replicas int) contract.Request {
		return contract.Request{Consumer: consumer, Action: contract.ActionMerge, Name: "shared", Nodepools: poolsConfig(poolEntry("workers", replicas)), Wait: "Available", Timeout: "3m"}
	}
	_, err := outcome(t, start(t, queue, merge(1)))
	require.NoError(t, err)
	grpc.hold()

	op := start(t, queue, merge(2))
	eventually(t, "Maestro has stored the merge", func() bool { return replicasOf(t, consumer, "shared")["west-1-workers"] == 2 })
	require.True(t, grpc.heldBack(), "the answer was kept back")
	victim.Kill()
	grpc.cut()
	spawnDirectWorker(t, queue)

	result, err := outcome(t, op)
	require.NoError(t, err)
	assert.EqualValues(t, 2, result.Version)
	assert.GreaterOrEqual(t, result.Attempts, 2, "the first attempt died with its worker")
	assert.EqualValues(t, 2, stored(t, consumer, "shared").Version, "one version was published for it")
	requireDeadlineUnmoved(t, op, 3*time.Minute)
}

// The life of nodepools, command by command, as the README has it.
func TestCommandsOnNodepools(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	folder := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	one := file("one.json", poolsConfig(poolEntry("workers", 2)))
	two := file("two.json", poolsConfig(poolEntry("workers", 3), poolEntry("gpu", 1)))
	scaled := file("scaled.json", poolsConfig(`{"name":"workers","instanceType":"m5.large","autoScaling":{"min":2,"max":6}}`))
	merged := filepath.Join(folder, "merged.yaml")
	on := []string{"--consumer", consumer}
	for _, step := range []struct {
		args []string
		exit int
		says string
	}{
		{[]string{"build", "--nodepool-file", two, "--apply", "--wait"}, 0, "west-1-nodepool-workers, west-1-nodepool-gpu"},
		{[]string{"build", "--nodepool-file", two, "--apply"}, 0, "nothing was published"},
		{[]string{"build", "--nodepool-file", one, "--name", "shared", "--generation", "4", "--apply", "--wait"}, 0, "ConditionMet"},
		{[]string{"build", "--nodepool-file", one, "--name", "shared", "--generation", "3", "--apply"}, 4, "holds generation 4"},
		{[]string{"build", "--nodepool-file", two, "--name", "shared", "--dry-run"}, 0, "ManifestSetImmutable"},
		{[]string{"build", "--nodepool-file", two, "--name", "shared", "--apply"}, 1, "ManifestSetImmutable"},
		{[]string{"build", "--nodepool-file", scaled, "--name", "shared", "--generation", "5", "--output", merged}, 0, ""},
		{[]string{"diff", "--manifest-file", merged}, 1, "- spec.replicas: 2"},
		{[]string{"build", "--nodepool-file", scaled, "--name", "shared", "--generation", "5", "--apply", "--wait"}, 0, "ConditionMet"},
		{[]string{"diff", "--manifest-file", merged}, 0, "no differences"},
		{[]string{"apply", "--manifest-file", merged}, 0, "nothing was published"},
		{[]string{"apply", "--manifest-file", merged, "--manifest-name", "NodePool/west-1-workers"}, 0, "nothing was published"},
	} {
		cmd := newCommand(t, queue, append(step.args, on...)...)
		require.Equal(t, step.exit, cmd.run(t), "%v\nstdout: %s\nstderr: %s", step.args, cmd.stdout.String(), cmd.stderr.String())
		require.Contains(t, cmd.stdout.String()+cmd.stderr.String(), step.says, "%v", step.args)
	}
}
