package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// fakeMutex answers every call with its answers and notes what it was asked.
type fakeMutex struct {
	status   contract.MutexStatus
	hold     contract.HoldAnswer
	err      error
	asked    []any
	released []contract.HoldRelease
}

func (f *fakeMutex) Status(context.Context) (contract.MutexStatus, error) { return f.status, f.err }
func (f *fakeMutex) Hold(_ context.Context, request contract.HoldRequest) (contract.HoldAnswer, error) {
	f.asked = append(f.asked, request)
	return f.hold, f.err
}

func (f *fakeMutex) Release(_ context.Context, request contract.HoldRelease) (contract.MutexAnswer, error) {
	f.released = append(f.released, request)
	return contract.MutexAnswer{State: contract.MutexIdle, Message: "released"}, f.err
}

func (f *fakeMutex) operator(operator contract.Operator) (contract.MutexAnswer, error) {
	f.asked = append(f.asked, operator)
	return contract.MutexAnswer{State: contract.MutexPaused, Message: "done"}, f.err
}

func (f *fakeMutex) ForceRelease(_ context.Context, operator contract.Operator) (contract.MutexAnswer, error) {
	return f.operator(operator)
}

func (f *fakeMutex) Pause(_ context.Context, operator contract.Operator) (contract.MutexAnswer, error) {
	return f.operator(operator)
}

func (f *fakeMutex) Resume(_ context.Context, operator contract.Operator) (contract.MutexAnswer, error) {
	return f.operator(operator)
}

func steering(server *fakeMutex) *bench {
	return &bench{temporal: &fakeTemporal{steered: server}, maestro: &fakeMaestro{}}
}

func TestMutexStatusIsADocument(t *testing.T) {
	server := &fakeMutex{status: contract.MutexStatus{Phase: contract.MutexHeld, Message: "held by ann", MutexState: contract.MutexState{V: 1}}}
	b := steering(server)
	assert.Equal(t, 0, b.run("mutex", "status", "--consumer", "cluster-a1", "--output", "json"), b.stderr.String())
	assert.Equal(t, "Held", b.document(t)["phase"])
	assert.Equal(t, "cluster-a1", b.temporal.requests[0].Consumer)
	assert.Zero(t, b.maestro.dialled, "Temporal knows")
	assert.True(t, b.temporal.closed)
}

// A misspelled consumer has no mutex, and must not look like an idle one.
func TestMutexRefusesAnUnknownConsumer(t *testing.T) {
	for _, command := range [][]string{{"status"}, {"hold", "--reason", "x"}, {"pause", "--reason", "x"}} {
		b := steering(&fakeMutex{})
		b.maestro.unknown = contract.Errorf(contract.ErrConsumerNotFound, "Maestro has no consumer cluster-a1")
		assert.Equal(t, 1, b.run(append([]string{"mutex", "--consumer", "cluster-a1"}, command...)...))
		assert.Contains(t, b.stderr.String(), "ConsumerNotFound")
		assert.Empty(t, b.temporal.steered.(*fakeMutex).asked)
	}
	b := steering(&fakeMutex{hold: contract.HoldAnswer{Held: true}})
	b.maestro.unknown = contract.Errorf(contract.ErrUnavailable, "down")
	assert.Equal(t, 0, b.run("mutex", "hold", "--consumer", "cluster-a1", "--reason", "x", "--by", "ann"), "writes can be stopped while Maestro is down")
	assert.Contains(t, b.stderr.String(), "warning: ")
}

func TestMutexCommandsSayWhoAndWhy(t *testing.T) {
	ann := contract.Operator{By: "ann", Reason: "repair"}
	for command, want := range map[string]any{
		"pause": ann, "resume": ann,
		"hold": contract.HoldRequest{By: "ann", Reason: "repair", Lease: "15m"},
	} {
		server := &fakeMutex{hold: contract.HoldAnswer{Held: true}}
		b := steering(server)
		arguments := []string{"mutex", command, "--consumer", "cluster-a1", "--by", "ann", "--reason", "repair"}
		if command == "hold" {
			arguments = append(arguments, "--lease", "15m")
		}
		assert.Equal(t, 0, b.run(arguments...), b.stderr.String())
		assert.Equal(t, []any{want}, server.asked)
	}
	server := &fakeMutex{}
	assert.Equal(t, 0, steering(server).run("mutex", "release", "--consumer", "cluster-a1", "--by", "ann", "--reason", "repair"))
	assert.Equal(t, []contract.HoldRelease{{By: "ann", Reason: "repair"}}, server.released)
	assert.Equal(t, 0, steering(server).run("mutex", "release", "--force", "--consumer", "cluster-a1", "--by", "ann", "--reason", "repair"))
	assert.Equal(t, []any{ann}, server.asked)
	for _, command := range []string{"hold", "release", "pause", "resume"} {
		b := steering(&fakeMutex{})
		assert.Equal(t, 2, b.run("mutex", command, "--consumer", "cluster-a1"))
		assert.Equal(t, []string{"maestro-cli: mutex " + command + ": InvalidInput: --reason is required; correct the request and send it again"}, b.said())
		b = steering(&fakeMutex{})
		assert.Equal(t, 2, b.run("mutex", command, "--reason", "x"))
		assert.Contains(t, b.stderr.String(), "--consumer is required")
	}
}

func TestMutexHoldWaitsForItsTurnOrIsTakenBack(t *testing.T) {
	queued := contract.HoldAnswer{TicketID: "hold/ann", Ahead: 2, Message: "queued: 2 before it"}
	arguments := []string{"mutex", "hold", "--consumer", "cluster-a1", "--by", "ann", "--reason", "repair", "--output", "json"}
	held := contract.MutexStatus{Phase: contract.MutexHeld, Message: "held by ann", MutexState: contract.MutexState{
		V: 1, Hold: &contract.MutexHold{Ticket: contract.Ticket{ID: "hold/ann"}, Fence: 7},
	}}

	b := steering(&fakeMutex{hold: queued, status: held})
	require.Equal(t, 0, b.run(arguments...), b.stderr.String())
	assert.Equal(t, true, b.document(t)["held"])
	assert.EqualValues(t, 7, b.document(t)["fence"])
	assert.Contains(t, b.stderr.String(), "2 before it")

	server := &fakeMutex{hold: queued}
	b = steering(server)
	assert.Equal(t, 3, b.run(append(arguments, "--timeout", "1s")...))
	assert.Empty(t, b.stdout.String())
	require.Len(t, server.released, 1, "nothing is left that holds later, when nobody looks")
	assert.Equal(t, "hold/ann", server.released[0].TicketID)

	server = &fakeMutex{hold: queued}
	b = steering(server)
	assert.Equal(t, 0, b.run(append(arguments, "--detach")...))
	assert.Equal(t, false, b.document(t)["held"])
	assert.Empty(t, server.released)

	ctx, interrupt := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer interrupt()
	server = &fakeMutex{hold: queued}
	b = steering(server)
	b.ctx = ctx
	assert.Equal(t, 130, b.run(arguments...))
	assert.Len(t, server.released, 1)
}

func TestMutexSaysWhatIsMissing(t *testing.T) {
	for name, one := range map[string]struct {
		err  error
		code int
		text string
	}{
		"worker":   {errNoWorker, 3, "no worker answers"},
		"Temporal": {starter.ErrTemporalUnavailable, 5, "start Temporal"},
		"refusal":  {contract.Errorf(contract.ErrInvalidInput, "resume: it is not paused"), 2, "it is not paused"},
	} {
		b := steering(&fakeMutex{err: one.err})
		assert.Equal(t, one.code, b.run("mutex", "resume", "--consumer", "cluster-a1", "--by", "ann", "--reason", "x"), name)
		assert.Contains(t, b.stderr.String(), one.text, name)
		assert.Empty(t, b.stdout.String(), name)
	}
}
