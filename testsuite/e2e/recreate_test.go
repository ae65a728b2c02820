//go:build integration

package e2e

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// named is a ConfigMap of a name.
func named(name string, behaviour script) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name, behaviour), "data": map[string]any{"a": "b"}}
}

func identities(t *testing.T, work *manifest.Stored) []string {
	t.Helper()
	ids, err := manifest.Identities(work.Work)
	require.NoError(t, err)
	var out []string
	for _, id := range ids {
		out = append(out, id.String())
	}
	return out
}

// The servers of these tests keep the set of manifests. A worker dies while the work is deleted and not created yet.
func TestRecreateSurvivesItsWorker(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	victim := spawnDirectWorker(t, queue)
	request := contract.Request{Consumer: consumer, Work: workOf("web", named("a", script{"delete-delay": "4s"})), Wait: "Available", Timeout: "3m"}
	_, err := outcome(t, start(t, queue, request))
	require.NoError(t, err)

	request.Work = workOf("web", named("a", nil), named("b", nil))
	request.OnImmutable = contract.OnImmutableRecreate
	op := start(t, queue, request)
	eventually(t, "the work is being deleted", func() bool { return stored(t, consumer, "web").DeletedAt != nil })
	victim.Kill()
	require.NoError(t, op.Cancel(t.Context()), "nothing stops it now")
	spawnDirectWorker(t, queue)

	result, err := outcome(t, op)
	assert.Equal(t, contract.ErrCancelled, contract.TypeOf(err))
	assert.Contains(t, result.Message, "version 1 stays stored")
	work := stored(t, consumer, "web")
	assert.Equal(t, []string{"ConfigMap/default/a", "ConfigMap/default/b"}, identities(t, work))
	assert.EqualValues(t, 1, work.Version)
	assert.Nil(t, work.Work.Spec.DeleteOption)
	assert.False(t, work.Orphaning)
	left := clusters.Left(consumer)[maestro.UID(source, consumer, "web")]
	assert.Len(t, left.Manifests, 1, "the workload was left alone")
}

func TestRecreateOfAMerge(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	merge := func(pool string) contract.Request {
		return contract.Request{
			Consumer: consumer, Action: contract.ActionMerge, Name: "shared", Nodepools: poolsConfig(poolEntry(pool, 2)), Generation: 3,
			Wait: "Available", Timeout: "3m", OnImmutable: contract.OnImmutableRecreate,
		}
	}
	for _, pool := range []string{"workers", "gpu"} {
		result, err := outcome(t, start(t, queue, merge(pool)))
		require.NoError(t, err)
		assert.Equal(t, contract.ReasonConditionMet, result.Reason)
	}
	assert.Equal(t, map[string]int{"west-1-workers": 2, "west-1-gpu": 2}, replicasOf(t, consumer, "shared"))
	removal := contract.Request{
		Consumer: consumer, Action: contract.ActionRemove, Name: "shared", Remove: []string{"NodePool.hypershift.openshift.io/clusters/west-1-workers"},
		Generation: 4, Timeout: "3m", OnImmutable: contract.OnImmutableRecreate,
	}
	result, err := outcome(t, start(t, queue, removal))
	require.NoError(t, err)
	assert.Contains(t, result.Warnings, "NodePool.hypershift.openshift.io/clusters/west-1-workers stays on the cluster, which no work has any more: delete it there")
	_, err = outcome(t, start(t, queue, merge("workers")))
	assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err), "the record of the removal came along")
}

func TestDeletionThatLeavesTheObjects(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	request := contract.Request{Consumer: consumer, Work: configMap("web", "1", nil), Wait: "Available", Timeout: "3m"}
	_, err := outcome(t, start(t, queue, request))
	require.NoError(t, err)
	result, err := outcome(t, start(t, queue, contract.Request{Consumer: consumer, Action: contract.ActionDelete, Name: "web", Orphan: true, Wait: "Deleted", Timeout: "2m"}))
	require.NoError(t, err)
	assert.Equal(t, contract.StatusDeleted, result.Status)
	assert.Len(t, clusters.Left(consumer)[maestro.UID(source, consumer, "web")].Manifests, 1)
	_, err = server.Get(t.Context(), consumer, "web")
	assert.ErrorIs(t, err, maestro.ErrNotFound)
}

// What waits for one work is recreated once, not once for each, and the workload stays.
func TestOneRecreationForABatch(t *testing.T) {
	const pools = 5
	consumer, queue := newConsumer(t), unique("queue")
	spawnDirectWorker(t, queue)
	first := poolMerge(consumer, 0, 1)
	first.Wait = "Available"
	_, err := outcome(t, start(t, queue, first))
	require.NoError(t, err)
	operateMutex(t, queue, consumer, contract.UpdatePause, contract.Operator{By: "test", Reason: "let them queue"}, nil)
	var group sync.WaitGroup
	for pool := range pools {
		request := poolMerge(consumer, pool, 2) // pool 0 changes in place
		if pool > 0 {
			request.OnImmutable = contract.OnImmutableRecreate
		}
		op := start(t, queue, request)
		group.Go(func() {
			result, err := outcome(t, op)
			assert.NoError(t, err)
			assert.Equal(t, contract.ReasonPublished, result.Reason)
			assert.EqualValues(t, 1, result.Version)
		})
	}
	eventually(t, "all wait", func() bool { return len(mutexStatus(t, consumer).Queue) == pools })
	operateMutex(t, queue, consumer, contract.UpdateResume, contract.Operator{By: "test", Reason: "they queue"}, nil)
	group.Wait()
	work := stored(t, consumer, "shared")
	assert.Len(t, work.Work.Spec.Workload.Manifests, pools)
	for _, replicas := range replicasIn(t, work) {
		assert.Equal(t, 2, replicas)
	}
	assert.EqualValues(t, 1, work.Version, "created once more, and not written since")
	stats := mutexStatus(t, consumer).Stats
	assert.EqualValues(t, 2, stats.Batches)
	assert.Len(t, clusters.Left(consumer)[maestro.UID(source, consumer, "shared")].Manifests, 1, "the workload was left alone")
}
