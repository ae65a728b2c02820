//go:build integration

package e2e

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/openshift-hyperfleet/maestro-workflows/activities"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// merges of one run of these tests.
const merges = 100

// most versions that they may take.
const mostVersions = 10

// mutexStatus asks the mutex of a consumer, running or closed.
func mutexStatus(t *testing.T, consumer string) contract.MutexStatus {
	t.Helper()
	var status contract.MutexStatus
	value, err := temporal.QueryWorkflow(t.Context(), contract.MutexID(source, consumer), "", contract.QueryStatus)
	require.NoError(t, err)
	require.NoError(t, value.Get(&status))
	return status
}

// operateMutex sends an update to the mutex of a consumer, which it starts when none runs.
func operateMutex(t *testing.T, queue, consumer, verb string, argument, answer any) {
	t.Helper()
	id := contract.MutexID(source, consumer)
	start := temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: id, TaskQueue: queue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, contract.WorkflowClusterMutex, contract.MutexInput{Source: source, Consumer: consumer})
	handle, err := temporal.UpdateWithStartWorkflow(t.Context(), client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions:          client.UpdateWorkflowOptions{UpdateName: verb, Args: []any{argument}, WaitForStage: client.WorkflowUpdateStageCompleted},
	})
	require.NoError(t, err)
	require.NoError(t, handle.Get(t.Context(), answer))
}

// pooled starts a merge of one nodepool into the shared work.
func poolMerge(consumer string, pool, replicas int) contract.Request {
	return contract.Request{
		Consumer: consumer, Action: contract.ActionMerge, Name: "shared", Generation: int64(replicas), Timeout: "4m",
		Nodepools: poolsConfig(poolEntry(fmt.Sprintf("pool-%d", pool), replicas)),
	}
}

// A hundred nodepools are added to one work at once, on a server that lets the set of manifests change. Workers are
// killed, and the server goes away for a while.
func TestHundredMergesOfDifferentNodepools(t *testing.T) {
	consumer, queue := unique("cluster"), unique("queue")
	fake := fakemaestro.New(t, fakemaestro.Options{Generation: fakemaestro.Loose, Consumers: []string{consumer}})
	spawn := func() interface{ Kill() } { return spawnWorker(t, queue, fake.GRPCAddress(), fake.HTTPURL()) }
	victims := []interface{ Kill() }{spawn()}
	want := map[string]int{}
	var group sync.WaitGroup
	for pool := range merges {
		want[fmt.Sprintf("west-1-pool-%d", pool)] = 3
		group.Go(func() {
			result, err := outcome(t, start(t, queue, poolMerge(consumer, pool, 3)))
			assert.NoError(t, err)
			assert.Equal(t, contract.ReasonPublished, result.Reason)
		})
	}
	eventually(t, "the mutex has work", func() bool {
		_, err := temporal.DescribeWorkflow(t.Context(), contract.MutexID(source, consumer), "")
		return err == nil
	})
	victims[0].Kill()
	victims = append(victims, spawn())
	require.NoError(t, fake.Faults().PauseGRPC())
	require.NoError(t, fake.Faults().PauseHTTP())
	outage(t, 3*time.Second)
	require.NoError(t, fake.Faults().ResumeHTTP())
	require.NoError(t, fake.Faults().ResumeGRPC())
	victims[1].Kill()
	spawn()
	group.Wait()
	work := storedIn(t, fakeConfig(fake), consumer, "shared")
	assert.Equal(t, want, replicasIn(t, work))
	assert.LessOrEqual(t, work.Version, int64(mostVersions))
	stats := mutexStatus(t, consumer).Stats
	assert.EqualValues(t, merges, stats.Committed)
	t.Logf("version %d, %d batches, the largest of %d tickets", work.Version, stats.Batches, stats.LargestBatch)
}

// Twenty nodepools of one work are changed five times each, on the real server, which restarts in between, as the workers do.
func TestHundredChangesOfTwentyNodepools(t *testing.T) {
	const pools, changes = 20, merges / 20
	consumer, queue := newConsumer(t), unique("queue")
	victim := spawnDirectWorker(t, queue)
	var entries []string
	for pool := range pools {
		entries = append(entries, poolEntry(fmt.Sprintf("pool-%d", pool), 0))
	}
	first := poolMerge(consumer, 0, 0)
	first.Nodepools, first.Generation = poolsConfig(entries...), 0
	_, err := outcome(t, start(t, queue, first))
	require.NoError(t, err)
	// What comes while the mutex is paused is one batch.
	for change := 1; change <= changes; change++ {
		operateMutex(t, queue, consumer, contract.UpdatePause, contract.Operator{By: "test", Reason: "let them queue"}, nil)
		var group sync.WaitGroup
		for pool := range pools {
			op := start(t, queue, poolMerge(consumer, pool, change))
			group.Go(func() {
				result, err := outcome(t, op)
				assert.NoError(t, err)
				assert.Contains(t, []string{contract.ReasonPublished, contract.ReasonUnchanged}, result.Reason, "unchanged, when the answer to the write was lost")
			})
		}
		eventually(t, "all wait", func() bool { return len(mutexStatus(t, consumer).Queue) == pools })
		operateMutex(t, queue, consumer, contract.UpdateResume, contract.Operator{By: "test", Reason: "they queue"}, nil)
		// The batch is being written, or its requesters are being told.
		switch change {
		case 2, 4:
			victim.Kill()
			victim = spawnDirectWorker(t, queue)
		case 3:
			killMaestro(t)
			startAgain(t, stack.StartMaestro)
		}
		group.Wait()
	}
	work := stored(t, consumer, "shared")
	for pool := range pools {
		assert.Equal(t, changes, replicasIn(t, work)[fmt.Sprintf("west-1-pool-%d", pool)])
	}
	assert.LessOrEqual(t, work.Version, int64(mostVersions))
	stats := mutexStatus(t, consumer).Stats
	assert.EqualValues(t, merges+1, stats.Committed)
	t.Logf("version %d, %d batches, the largest of %d tickets", work.Version, stats.Batches, stats.LargestBatch)
}

// fakeConfig is the way to a fake Maestro.
func fakeConfig(fake *fakemaestro.Server) maestro.Config {
	return maestro.Config{GRPCEndpoint: fake.GRPCAddress(), HTTPEndpoint: fake.HTTPURL(), Insecure: true, Source: source}
}

// A requester that fails, is terminated, or asks for what Maestro does not take holds up nobody, on its own cluster and on
// others.
func TestFailedRequesterHoldsUpNobody(t *testing.T) {
	consumer, other, queue := unique("cluster"), unique("cluster"), unique("queue")
	fake := fakemaestro.New(t, fakemaestro.Options{Generation: fakemaestro.Loose, Consumers: []string{consumer, other}})
	spawnWorker(t, queue, fake.GRPCAddress(), fake.HTTPURL())
	reasons := func(requests ...contract.Request) (reasons []string) {
		var ops []*starter.Operation
		for _, request := range requests {
			ops = append(ops, start(t, queue, request))
		}
		for _, op := range ops {
			result, _ := outcome(t, op)
			reasons = append(reasons, result.Reason)
		}
		return reasons
	}
	invalid := poolMerge(consumer, 1, 1)
	invalid.Nodepools = poolsConfig(`{"name":"pool-1","replicas":-3}`)
	hopeless := poolMerge(consumer, 1, 2)
	hopeless.Wait = "Deployment/web:Available"
	for n, bad := range []contract.Request{invalid, hopeless} {
		found := reasons(bad, poolMerge(consumer, 2, n+1), poolMerge(other, 1, n+1))
		assert.Contains(t, []string{string(contract.ErrInvalidInput), string(contract.ErrInvalidManifest)}, found[0])
		assert.Equal(t, []string{contract.ReasonPublished, contract.ReasonPublished}, found[1:])
	}

	terminated := poolMerge(consumer, 3, 1)
	operateMutex(t, queue, consumer, contract.UpdatePause, contract.Operator{By: "test", Reason: "let them queue"}, nil)
	op := start(t, queue, terminated)
	eventually(t, "it waits", func() bool { return len(mutexStatus(t, consumer).Queue) == 1 })
	require.NoError(t, temporal.TerminateWorkflow(t.Context(), op.WorkflowID, "", "a test"))
	operateMutex(t, queue, consumer, contract.UpdateResume, contract.Operator{By: "test", Reason: "they queue"}, nil)
	assert.Equal(t, []string{contract.ReasonPublished}, reasons(poolMerge(consumer, 4, 1)))
	assert.EqualValues(t, 1, mutexStatus(t, consumer).Stats.Abandoned)

	// Maestro answers 503 for longer than the first one has patience.
	fake.Faults().Inject(fakemaestro.HTTPStatus(503))
	impatient := poolMerge(consumer, 5, 1)
	impatient.Patience = "4s"
	failing := start(t, queue, impatient)
	waiting := start(t, queue, poolMerge(consumer, 6, 1))
	result, _ := outcome(t, failing)
	assert.Equal(t, string(contract.ErrUnavailable), result.Reason)
	require.NoError(t, fake.Faults().Clear())
	result, err := outcome(t, waiting)
	require.NoError(t, err)
	assert.Equal(t, contract.ReasonPublished, result.Reason)
	status := mutexStatus(t, consumer)
	assert.Nil(t, status.Hold)
	assert.Empty(t, status.Queue)
	assert.Empty(t, status.Works)
}

// A mutex that is terminated forgets its queue; its requesters come again.
func TestTerminatedMutexIsAskedAgain(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	operateMutex(t, queue, consumer, contract.UpdatePause, contract.Operator{By: "test", Reason: "let them queue"}, nil)
	op := start(t, queue, poolMerge(consumer, 1, 1))
	eventually(t, "it waits", func() bool { return len(mutexStatus(t, consumer).Queue) == 1 })
	explained, err := starter.New(temporal, queue).Explain(t.Context(), op.WorkflowID)
	require.NoError(t, err)
	assert.Equal(t, contract.PhaseQueued, explained.Phase)
	assert.Contains(t, explained.WaitsFor, "Queued, 0 before it: the mutex of "+consumer+" is paused by test (let them queue)")
	require.NoError(t, temporal.TerminateWorkflow(t.Context(), contract.MutexID(source, consumer), "", "a test"))
	result, err := outcome(t, op)
	require.NoError(t, err)
	assert.Equal(t, contract.ReasonPublished, result.Reason)
	assert.Equal(t, map[string]int{"west-1-pool-1": 1}, replicasOf(t, consumer, "shared"))
}

// manyTickets go through one mutex in TestManyTickets; make soak sends 20,000.
var manyTickets = flag.Int("tickets", 3000, "tickets that TestManyTickets sends through one mutex")

// Thousands of tickets go through one mutex, whose runs stay short, and none is lost.
func TestManyTickets(t *testing.T) {
	const pools, atOnce = 100, 4
	rounds := *manyTickets / pools
	consumer, queue := unique("cluster"), unique("queue")
	fake := fakemaestro.New(t, fakemaestro.Options{Generation: fakemaestro.Loose, Consumers: []string{consumer}})
	spawnWorker(t, queue, fake.GRPCAddress(), fake.HTTPURL())
	tickets := &activities.Tickets{Temporal: temporal, TaskQueue: queue}
	operateMutex(t, queue, consumer, contract.UpdateSetLimits, contract.LimitsRequest{By: "test", Reason: "many tickets", Limits: contract.MutexLimits{Queue: contract.MaxQueueLimit}}, nil)
	committed := func() int64 {
		stats := mutexStatus(t, consumer).Stats
		require.Zero(t, stats.Rejected+stats.Superseded+stats.Cancelled)
		return stats.Committed
	}
	var sent int64
	for round := range rounds {
		// Below the limit of the queue, or tickets are sent away and nobody is there to send them again.
		if sent-committed() > contract.MaxQueueLimit-2*pools {
			eventually(t, "the queue is short", func() bool { return sent-committed() < pools })
		}
		var group errgroup.Group
		group.SetLimit(atOnce)
		for pool := range pools {
			group.Go(func() error {
				request := poolMerge(consumer, pool, round+1)
				request.Source = source
				params := request.Commit("shared", request.Generation)
				id := fmt.Sprintf("pool-%d/%d", pool, round)
				return tickets.SubmitTicket(t.Context(), contract.SubmitTicketParams{Source: source, Consumer: consumer, Message: contract.TicketMessage{
					V: 1, Kind: contract.TicketSubmit, TicketID: id,
					Body: &contract.Ticket{ID: id, Work: "shared", Action: contract.ActionMerge, Generation: request.Generation, Write: &params, Digest: id},
				}})
			})
		}
		require.NoError(t, group.Wait())
		sent += pools
	}
	eventually(t, "all are committed", func() bool { return committed() == sent })
	found := replicasIn(t, storedIn(t, fakeConfig(fake), consumer, "shared"))
	require.Len(t, found, pools)
	for name, replicas := range found {
		assert.Equal(t, rounds, replicas, name)
	}
	longest, runs, _ := mutexRuns(t, consumer)
	assert.LessOrEqual(t, longest, 2*contract.DefaultMutexEvents, "no run is much longer than its limit")
	assert.Greater(t, runs, 1, "it has continued as new")
	stats := mutexStatus(t, consumer).Stats
	t.Logf("%d tickets in %d batches, the largest of %d; %d runs, the longest of %d events", sent, stats.Batches, stats.LargestBatch, runs, longest)
}
