//go:build integration

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	maestroOutage  = 20 * time.Second
	temporalOutage = 10 * time.Second
)

// outage lasts for as long as the name says: it is the subject of the test, not a wait for something.
func outage(t *testing.T, duration time.Duration) {
	t.Helper()
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// killMaestro also makes sure that the next test finds a server, however this one ends.
func killMaestro(t *testing.T) {
	t.Helper()
	stack.KillMaestro()
	t.Cleanup(func() {
		if stack.MaestroPID() == 0 {
			startAgain(t, stack.StartMaestro)
		}
	})
}

func killTemporal(t *testing.T) {
	t.Helper()
	stack.KillTemporal()
	t.Cleanup(func() {
		if stack.TemporalPID() == 0 {
			startAgain(t, stack.StartTemporal)
		}
	})
}

// startAgain does not use the test's context, which has ended when a clean-up runs.
func startAgain(t *testing.T, component func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, component(ctx))
}

// Maestro stores the work and dies before its answer is out. For 20 s every attempt fails; then the operation finds
// its own write and goes on.
func TestMaestroKilledInApply(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	grpc := newProxy(t, stack.MaestroGRPCAddress())
	spawnWorker(t, queue, grpc.address(), stack.MaestroURL())
	_, err := outcome(t, start(t, queue, contract.Request{Consumer: consumer, Work: configMap("before", "a", nil)}))
	require.NoError(t, err)
	grpc.hold()

	op := start(t, queue, contract.Request{Consumer: consumer, Work: configMap("applied", "a", nil), Wait: "Available", Timeout: "3m"})
	eventually(t, "Maestro has stored the work", func() bool {
		_, err := server.Get(t.Context(), consumer, "applied")
		return err == nil
	})
	killMaestro(t)
	grpc.cut()
	outage(t, maestroOutage)
	_, attempt := pendingActivity(t, op, contract.ActivityCommit)
	require.Greater(t, attempt, int32(1), "the write is being retried")
	startAgain(t, stack.StartMaestro)

	result, err := outcome(t, op)
	require.NoError(t, err)
	assert.Equal(t, contract.StatusAvailable, result.Status)
	assert.EqualValues(t, 1, stored(t, consumer, "applied").Version, "one version was published")
	requireDeadlineUnmoved(t, op, 3*time.Minute)
}

func TestMaestroKilledInWait(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	spawnDirectWorker(t, queue)
	op := start(t, queue, contract.Request{
		Consumer: consumer, Work: configMap("waited", "a", script{"available-delay": "8s"}), Wait: "Available", Timeout: "3m",
	})
	parked(t, op, 0)
	killMaestro(t)
	outage(t, maestroOutage)
	startAgain(t, stack.StartMaestro)

	result, err := outcome(t, op)
	require.NoError(t, err)
	assert.Equal(t, contract.StatusAvailable, result.Status)
	assert.EqualValues(t, 1, stored(t, consumer, "waited").Version)
	requireDeadlineUnmoved(t, op, 3*time.Minute)
}

// The wait is over while Temporal is down: the worker's answer and the caller's question both come through afterwards.
func TestTemporalKilledInWait(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	spawnDirectWorker(t, queue)
	op := start(t, queue, contract.Request{
		Consumer: consumer, Work: configMap("waited", "a", script{"available-delay": "6s"}), Wait: "Available", Timeout: "3m",
	})
	type answer struct {
		result contract.StatusResult
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		result, err := op.Wait(t.Context())
		answers <- answer{result, err}
	}()
	parked(t, op, 0)
	killTemporal(t)
	outage(t, temporalOutage)
	startAgain(t, stack.StartTemporal)

	select {
	case got := <-answers:
		require.NoError(t, got.err, "a caller that waits through the outage gets the outcome")
		assert.Equal(t, contract.StatusAvailable, got.result.Status)
	case <-time.After(2 * time.Minute):
		t.Fatal("the caller got no outcome")
	}
	assert.EqualValues(t, 1, stored(t, consumer, "waited").Version)
	requireDeadlineUnmoved(t, op, 3*time.Minute)
}

// The work is stored while Temporal is down, so that the worker cannot say so: the write is repeated and finds itself.
func TestTemporalKilledInApply(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	grpc := newProxy(t, stack.MaestroGRPCAddress())
	spawnWorker(t, queue, grpc.address(), stack.MaestroURL())
	_, err := outcome(t, start(t, queue, contract.Request{Consumer: consumer, Work: configMap("before", "a", nil)}))
	require.NoError(t, err)
	grpc.hold()
	op := start(t, queue, contract.Request{Consumer: consumer, Work: configMap("applied", "a", nil), Wait: "Available", Timeout: "3m"})
	eventually(t, "Maestro has stored the work", func() bool {
		_, err := server.Get(t.Context(), consumer, "applied")
		return err == nil
	})
	killTemporal(t)
	grpc.cut()
	outage(t, temporalOutage)
	startAgain(t, stack.StartTemporal)

	result, err := outcome(t, op)
	require.NoError(t, err)
	assert.Equal(t, contract.StatusAvailable, result.Status)
	assert.EqualValues(t, 1, stored(t, consumer, "applied").Version, "one version was published")
	requireDeadlineUnmoved(t, op, 3*time.Minute)
}
