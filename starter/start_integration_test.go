//go:build integration

package starter_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestStartedOperationHasTheRequestsOutcome(t *testing.T) {
	w := newWorld(t).works()
	request := w.request("1", 7, "Available")
	w.takes("1")
	operation := w.start(request)
	assert.Equal(t, request.WorkflowID(), operation.WorkflowID)
	assert.False(t, operation.Attached)
	result := w.succeeds(operation, request)
	assert.Equal(t, operation.RunID, result.RunID)
	assert.Equal(t, contract.StatusAvailable, result.Status)
}

func TestStartNeedsNoWorker(t *testing.T) {
	w := newWorld(t)
	request := w.request("1", 0, "")
	operation, err := w.starter.Start(w.soon(), request)
	require.NoError(t, err)
	w.works()
	w.succeeds(operation, request)
}

func TestEqualRequestJoinsTheRunningOperation(t *testing.T) {
	w := newWorld(t).works()
	request := w.request("1", 7, "Available")
	first := w.start(request)
	second := w.start(request)
	assert.True(t, second.Attached)
	assert.Equal(t, first.RunID, second.RunID)
	w.takes("1")
	assert.Equal(t, w.succeeds(first, request), w.succeeds(second, request))
	assert.Equal(t, []string{"1"}, w.written())
}

func TestCallerThatDiedFindsItsOperationAgain(t *testing.T) {
	w := newWorld(t).works()
	request := w.request("1", 7, "Available")
	before := w.start(request)
	after, err := starter.New(w.temporal, w.queue).Start(w.ctx, request)
	require.NoError(t, err)
	assert.True(t, after.Attached)
	assert.Equal(t, before.RunID, after.RunID)
	w.takes("1")
	w.succeeds(after, request)

	again := w.start(request)
	assert.NotEqual(t, before.RunID, again.RunID, "the first one has closed: the same again")
	w.succeeds(again, request)
	assert.Equal(t, []string{"1"}, w.written(), "and nothing is written twice")
}

func TestNewerRequestTakesOverAndBothCallersKnowAtOnce(t *testing.T) {
	w := newWorld(t).works()
	olderRequest, newerRequest := w.request("1", 1, "Available"), w.request("2", 2, "Available")
	older := w.start(olderRequest)
	w.waits(older)
	newer := w.start(newerRequest)
	assert.False(t, newer.Attached)

	result, err := older.Wait(w.soon())
	assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err))
	assert.Equal(t, contract.StatusSuperseded, result.Status)
	assert.Equal(t, olderRequest.Digest(), result.RequestDigest)
	assert.Equal(t, older.RunID, result.RunID)

	w.takes("2")
	result = w.succeeds(newer, newerRequest)
	assert.NotEqual(t, older.RunID, result.RunID, "it has its own run")
	assert.Equal(t, int64(2), result.Generation)
	assert.Equal(t, []string{"1", "2"}, w.written())
}

func TestRefusedRequestLeavesNoTrace(t *testing.T) {
	w := newWorld(t).works()
	request := w.request("5", 5, "Available")
	operation := w.start(request)
	w.waits(operation)
	before := w.events(operation)

	_, err := w.starter.Start(w.soon(), w.request("4", 4, ""))
	assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err))
	assert.ErrorContains(t, err, "a newer generation than 4 is being applied")
	_, err = w.starter.Start(w.soon(), w.request("other", 5, ""))
	assert.Equal(t, contract.ErrGenerationConflict, contract.TypeOf(err))

	for _, event := range w.events(operation)[len(before):] {
		assert.NotContains(t, event.String(), "Update")
	}
	w.takes("5")
	w.succeeds(operation, request)
	assert.Equal(t, []string{"5"}, w.written())
}

func (w *world) events(operation *starter.Operation) (types []enumspb.EventType) {
	w.t.Helper()
	events := w.temporal.GetWorkflowHistory(w.ctx, operation.WorkflowID, operation.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(w.t, err)
		types = append(types, event.GetEventType())
	}
	return types
}

func TestInvalidRequestReachesNoServer(t *testing.T) {
	w := newWorld(t)
	request := w.request("1", 0, "")
	request.Consumer = "Not A Label"
	_, err := w.starter.Start(w.ctx, request)
	assert.Equal(t, contract.ErrInvalidInput, contract.TypeOf(err))
	_, err = w.temporal.DescribeWorkflow(w.ctx, request.WorkflowID(), "")
	assert.Error(t, err)
}

func TestCancelledOperationEndsAsCancelled(t *testing.T) {
	w := newWorld(t).works()
	request := w.request("1", 0, "Available")
	operation := w.start(request)
	w.waits(operation)
	require.NoError(t, w.starter.Cancel(w.ctx, operation.WorkflowID))
	result, err := operation.Wait(w.soon())
	assert.Equal(t, contract.ErrCancelled, contract.TypeOf(err))
	assert.Equal(t, contract.StatusCancelled, result.Status)
	assert.Equal(t, request.Digest(), result.RequestDigest)
	assert.Contains(t, result.Message, "version 1 stays stored")

	again := w.start(request)
	assert.False(t, again.Attached, "a cancelled operation can be started again")
	w.takes("1")
	w.succeeds(again, request)
}

func TestStatusOfARunningAndOfAClosedOperation(t *testing.T) {
	w := newWorld(t).works()
	request := w.request("1", 0, "Available")
	operation := w.start(request)
	w.waits(operation)
	running, err := w.starter.Status(w.ctx, operation.WorkflowID)
	require.NoError(t, err)
	assert.Equal(t, contract.StatusInProgress, running.Status)
	assert.False(t, running.Succeeded())
	assert.Nil(t, running.FinishedAt)
	w.takes("1")
	outcome := w.succeeds(operation, request)
	closed, err := w.starter.Status(w.ctx, operation.WorkflowID)
	require.NoError(t, err)
	assert.Equal(t, outcome, closed)

	_, err = w.starter.Status(w.ctx, "op/hyperfleet/cluster-a1/never-started")
	assert.Error(t, err)
	assert.NotErrorIs(t, err, starter.ErrTemporalUnavailable)
}

func TestCallerThatGivesUpIsNotToldThatTemporalIsDown(t *testing.T) {
	w := newWorld(t).works()
	request := w.request("1", 0, "Available")
	operation := w.start(request)
	ctx, cancel := context.WithTimeout(w.ctx, 300*time.Millisecond)
	defer cancel()
	_, err := operation.Wait(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NotErrorIs(t, err, starter.ErrTemporalUnavailable)
	w.takes("1")
	w.succeeds(operation, request)
}
