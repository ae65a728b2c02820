//go:build integration

package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/operation"
)

// A frozen worker holds the Build task when it is killed: a second worker, which runs workflows only, has scheduled it.
func TestWorkerKilledInBuild(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	victim := spawnDirectWorker(t, queue)
	eventually(t, "the worker polls for activities", func() bool { return activityPollers(t, queue) == 1 })
	victim.Signal(syscall.SIGSTOP)
	decider := worker.New(temporal, queue, worker.Options{LocalActivityWorkerOnly: true})
	decider.RegisterWorkflowWithOptions(operation.ManifestWorkOperation, workflow.RegisterOptions{Name: contract.WorkflowOperation})
	require.NoError(t, decider.Start())
	defer decider.Stop()

	op := start(t, queue, contract.Request{Consumer: consumer, Work: configMap("built", "a", nil), Wait: "Available", Timeout: "3m"})
	eventually(t, "the frozen worker holds Build", func() bool {
		state, _ := pendingActivity(t, op, contract.ActivityBuild)
		return state == enumspb.PENDING_ACTIVITY_STATE_STARTED
	})
	victim.Kill()
	spawnDirectWorker(t, queue)

	result, err := outcome(t, op)
	require.NoError(t, err)
	assert.Equal(t, contract.StatusAvailable, result.Status)
	assert.EqualValues(t, 1, stored(t, consumer, "built").Version)
	requireDeadlineUnmoved(t, op, 3*time.Minute)
}

// Maestro has stored the work, the answer is on its way, and the worker dies: the next attempt finds its own write.
func TestWorkerKilledInApply(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	grpc := newProxy(t, stack.MaestroGRPCAddress())
	victim := spawnWorker(t, queue, grpc.address(), stack.MaestroURL())
	// The first operation opens the worker's connection: gRPC would wait for an answer before it sends the publish.
	_, err := outcome(t, start(t, queue, contract.Request{Consumer: consumer, Work: configMap("before", "a", nil)}))
	require.NoError(t, err)
	grpc.hold()

	op := start(t, queue, contract.Request{Consumer: consumer, Work: configMap("applied", "a", nil), Wait: "Available", Timeout: "3m"})
	eventually(t, "Maestro has stored the work", func() bool {
		_, err := server.Get(t.Context(), consumer, "applied")
		return err == nil
	})
	require.True(t, grpc.heldBack(), "the answer was kept back")
	victim.Kill()
	grpc.cut()
	spawnDirectWorker(t, queue)

	result, err := outcome(t, op)
	require.NoError(t, err)
	assert.Equal(t, contract.StatusAvailable, result.Status)
	assert.Equal(t, contract.ReasonConditionMet, result.Reason)
	assert.EqualValues(t, 1, result.Version)
	assert.GreaterOrEqual(t, result.Attempts, 2, "the first attempt died with its worker")
	assert.EqualValues(t, 1, stored(t, consumer, "applied").Version, "one version was published")
	requireDeadlineUnmoved(t, op, 3*time.Minute)
}

func TestWorkerKilledInWait(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	victim := spawnDirectWorker(t, queue)
	op := start(t, queue, contract.Request{
		Consumer: consumer, Work: configMap("waited", "a", script{"available-delay": "6s"}), Wait: "Available", Timeout: "3m",
	})
	parked(t, op, 0)
	victim.Kill()
	spawnDirectWorker(t, queue)

	result, err := outcome(t, op)
	require.NoError(t, err)
	assert.Equal(t, contract.StatusAvailable, result.Status)
	assert.EqualValues(t, 1, stored(t, consumer, "waited").Version)
	requireDeadlineUnmoved(t, op, 3*time.Minute)
}

// Two workers are killed one after the other in a wait that can never be met: the time-out comes when it was due.
func TestRestartsDoNotExtendTheDeadline(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	const timeout = 20 * time.Second
	victim := spawnDirectWorker(t, queue)
	op := start(t, queue, contract.Request{
		Consumer: consumer, Work: configMap("never", "a", script{"available": "False"}), Wait: "Available", Timeout: timeout.String(),
	})
	var attempt int32
	for range 2 {
		// Each worker has looked before it is killed.
		attempt = parked(t, op, attempt)
		victim.Kill()
		victim = spawnDirectWorker(t, queue)
	}
	result, err := outcome(t, op)
	require.Equal(t, contract.ErrWaitTimeout, contract.TypeOf(err))
	assert.Equal(t, contract.StatusTimedOut, result.Status)
	assert.Contains(t, result.Message, "Available is False", "the message says what was missing")
	events := history(t, op)
	took := events[len(events)-1].GetEventTime().AsTime().Sub(events[0].GetEventTime().AsTime())
	assert.InDelta(t, timeout.Seconds(), took.Seconds(), 5)
	requireDeadlineUnmoved(t, op, timeout)
}

// Nobody looks at the deadline and for longer than the wait's own margin after it. The work has become available in
// time: the first worker that comes back says so instead of what was seen before.
func TestWaitThatNobodyLookedAtEndsWithTheTruth(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	victim := spawnDirectWorker(t, queue)
	op := start(t, queue, contract.Request{
		Consumer: consumer, Work: configMap("late", "a", script{"available-delay": "3s"}), Wait: "Available", Timeout: "6s",
	})
	parked(t, op, 0)
	victim.Kill()
	eventually(t, "the wait's activity has timed out", func() bool {
		description, err := temporal.DescribeWorkflow(t.Context(), op.WorkflowID, op.RunID)
		return err == nil && len(description.RawResponse.GetPendingActivities()) == 0
	})
	spawnDirectWorker(t, queue)
	result, err := outcome(t, op)
	require.NoError(t, err)
	assert.Equal(t, contract.StatusAvailable, result.Status)
	assert.EqualValues(t, 1, result.ObservedVersion)
}

func activityPollers(t *testing.T, queue string) int {
	t.Helper()
	description, err := temporal.DescribeTaskQueue(t.Context(), queue, enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	if err != nil {
		return 0
	}
	return len(description.GetPollers())
}
