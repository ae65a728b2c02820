//go:build integration

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/clustermutex"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// counter is somebody else's code, which reads a work, counts, and writes it back while it holds the mutex.
type counter struct {
	consumer, productQueue string
	maestro                *maestro.Client
	holders                atomic.Int64
	together               atomic.Bool
}

type countParams struct {
	Client, Number int
}

func (c *counter) Count(ctx workflow.Context, params countParams) error {
	hold, err := clustermutex.Acquire(ctx, clustermutex.HoldOptions{
		Source: source, Consumer: c.consumer, TaskQueue: c.productQueue, Reason: fmt.Sprintf("client %d counts", params.Client), Lease: time.Minute,
	})
	if err != nil {
		return err
	}
	defer func() {
		if err := hold.Release(ctx); err != nil {
			workflow.GetLogger(ctx).Warn("not released", "error", err)
		}
	}()
	// What was begun under the hold ends under it.
	held, release := workflow.NewDisconnectedContext(ctx)
	defer release()
	step := workflow.WithActivityOptions(held, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: &sdk.RetryPolicy{MaximumAttempts: 1}})
	return workflow.ExecuteActivity(step, c.Add, params).Get(step, nil)
}

// Add reads, counts and writes without a retry: a second writer would make it fail.
func (c *counter) Add(ctx context.Context, _ countParams) error {
	if c.holders.Add(1) > 1 {
		c.together.Store(true)
	}
	defer c.holders.Add(-1)
	stored, err := c.maestro.Get(ctx, c.consumer, "shared")
	if err != nil {
		return err
	}
	work := stored.Work.DeepCopy()
	var object map[string]any
	if err := json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &object); err != nil {
		return err
	}
	data := object["data"].(map[string]any)
	count := 0
	if _, err := fmt.Sscan(data["count"].(string), &count); err != nil {
		return err
	}
	data["count"] = fmt.Sprint(count + 1)
	if work.Spec.Workload.Manifests[0].Raw, err = json.Marshal(object); err != nil {
		return err
	}
	return c.maestro.Update(ctx, source, stored, work)
}

// Thirty clients take turns three hundred times while waiters are cancelled, all workers are killed, and the mutex
// continues as new at every opportunity.
func TestHoldersTakeTurns(t *testing.T) {
	const clients, each, cancels, events = 30, 10, 20, 150
	consumer, queue, foreign := unique("cluster"), unique("queue"), unique("foreign")
	fake := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{consumer}})
	direct, err := maestro.New(fakeConfig(fake))
	require.NoError(t, err)
	t.Cleanup(func() { _ = direct.Close() })
	spawn := func() interface{ Kill() } { return spawnWorker(t, queue, fake.GRPCAddress(), fake.HTTPURL()) }
	victims := []interface{ Kill() }{spawn(), spawn()}
	_, err = outcome(t, start(t, queue, contract.Request{Consumer: consumer, Work: workOf("shared", map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("counter", nil), "data": map[string]any{"count": "0"},
	})}))
	require.NoError(t, err)
	c := &counter{consumer: consumer, productQueue: queue, maestro: direct}
	w := worker.New(temporal, foreign, worker.Options{})
	w.RegisterWorkflow(c.Count)
	w.RegisterActivity(c.Add)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	operateMutex(t, queue, consumer, contract.UpdateSetLimits, contract.LimitsRequest{By: "test", Reason: "many runs", Limits: contract.MutexLimits{Events: events}}, nil)

	var counted, cancelled atomic.Int64
	var done sync.WaitGroup
	random := rand.New(rand.NewPCG(1, 2))
	for n := range clients {
		doomed := map[int]bool{}
		if n < cancels {
			doomed[random.IntN(each)] = true
		}
		done.Go(func() {
			for number := range each {
				run, err := temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
					ID: fmt.Sprintf("%s-%d-%d", consumer, n, number), TaskQueue: foreign,
				}, c.Count, countParams{n, number})
				if !assert.NoError(t, err) {
					return
				}
				if doomed[number] {
					assert.NoError(t, temporal.CancelWorkflow(t.Context(), run.GetID(), ""))
				}
				switch err := run.Get(t.Context(), nil); {
				case err == nil:
					counted.Add(1)
				case sdk.IsCanceledError(err):
					cancelled.Add(1)
				default:
					assert.NoError(t, err)
				}
			}
		})
	}
	eventually(t, "a third has had its turn", func() bool { return counted.Load() > clients*each/3 })
	for _, victim := range victims {
		victim.Kill()
	}
	outage(t, 2*time.Second)
	spawn()
	spawn()
	done.Wait()

	work := storedIn(t, fakeConfig(fake), consumer, "shared")
	var object struct{ Data map[string]string }
	require.NoError(t, json.Unmarshal(work.Work.Spec.Workload.Manifests[0].Raw, &object))
	assert.Equal(t, fmt.Sprint(counted.Load()), object.Data["count"], "each turn counted once")
	assert.EqualValues(t, clients*each, counted.Load()+cancelled.Load(), "each ended")
	assert.False(t, c.together.Load(), "never two at once")
	assert.LessOrEqual(t, cancelled.Load(), int64(cancels))
	status := mutexStatus(t, consumer)
	assert.Empty(t, status.Queue)
	assert.Nil(t, status.Hold)
	longest, runs, open := mutexRuns(t, consumer)
	assert.LessOrEqual(t, longest, 2*events, "no run is much longer than its limit")
	assert.Equal(t, 1, open, "one idle mutex")
	t.Logf("%d counted, %d cancelled, %d runs of the mutex, the longest of %d events", counted.Load(), cancelled.Load(), runs, longest)
}

// mutexRuns counts the runs of a consumer's mutex: the most events of one, all, and those that are open.
func mutexRuns(t *testing.T, consumer string) (longest, runs, open int) {
	t.Helper()
	eventually(t, "the runs are listed", func() bool {
		longest, runs, open = 0, 0, 0
		listed, err := temporal.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			PageSize: 1000, Query: fmt.Sprintf("WorkflowId = '%s'", contract.MutexID(source, consumer)),
		})
		if err != nil {
			return false
		}
		for _, one := range listed.GetExecutions() {
			runs++
			length := int(one.GetHistoryLength())
			if one.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
				open++
				described, err := temporal.DescribeWorkflow(t.Context(), contract.MutexID(source, consumer), "")
				if err != nil {
					return false
				}
				length = int(described.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength())
			}
			longest = max(longest, length)
		}
		return open == 1 && int64(runs) == mutexStatus(t, consumer).Stats.Runs+1
	})
	return longest, runs, open
}
