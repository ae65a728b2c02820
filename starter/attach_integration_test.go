//go:build integration

package starter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var ann = contract.Extension{By: "ann", Reason: "repair"}

func TestAttachFindsWhatSomebodyElseStarted(t *testing.T) {
	w := newWorld(t).works()
	request := w.request("1", 7, "Available")
	_, err := w.starter.Attach(w.ctx, request.WorkflowID())
	require.ErrorIs(t, err, starter.ErrNoOperation)
	started, err := w.starter.Apply(w.ctx, request)
	require.NoError(t, err)
	attached, err := w.starter.Attach(w.ctx, request.WorkflowID())
	require.NoError(t, err)
	assert.Equal(t, started.RunID, attached.RunID)
	w.takes("1")
	w.succeeds(attached, request)
	closed, err := w.starter.Attach(w.ctx, request.WorkflowID())
	require.NoError(t, err)
	w.succeeds(closed, request)
}

func TestCallsAreForOneAction(t *testing.T) {
	w := newWorld(t)
	request := w.request("1", 7, "")
	request.Action = contract.ActionDelete
	_, err := w.starter.Apply(w.ctx, request)
	assert.Equal(t, contract.ErrInvalidInput, contract.TypeOf(err))
	_, err = w.starter.Delete(w.ctx, request)
	assert.ErrorContains(t, err, "work: not allowed for delete")
}

// The failure of the parked look is Temporal's; Explain puts it beside what the workflow knows.
func TestExplainSaysWhatIsMissing(t *testing.T) {
	w := newWorld(t).works()
	request := w.request("1", 7, "Available")
	operation := w.start(request)
	w.waits(operation)
	require.Eventually(t, func() bool {
		e, err := w.starter.Explain(w.ctx, operation.WorkflowID)
		return err == nil && e.LastSeen == "the cluster has not taken 1" && e.Phase == contract.PhaseWaiting && !e.NextWake.IsZero()
	}, patience, 10*time.Millisecond)
	w.takes("1")
	w.succeeds(operation, request)
	e, err := w.starter.Explain(w.ctx, operation.WorkflowID)
	require.NoError(t, err)
	assert.Equal(t, contract.PhaseSucceeded, e.Phase)
	_, err = w.starter.Explain(w.ctx, "op/hyperfleet/cluster-a1/never")
	assert.ErrorIs(t, err, starter.ErrNoOperation)
}

func TestOperatorsAreAnswered(t *testing.T) {
	w := newWorld(t).works()
	request := w.request("1", 7, "Available")
	operation := w.start(request)
	w.waits(operation)
	_, err := w.starter.Tell(w.ctx, operation.WorkflowID, contract.UpdateResume, ann)
	assert.Equal(t, contract.ErrInvalidInput, contract.TypeOf(err))
	assert.ErrorContains(t, err, "resume: the operation is not paused")
	answer, err := w.starter.Tell(w.ctx, operation.WorkflowID, contract.UpdatePoke, ann)
	require.NoError(t, err)
	assert.Equal(t, "not yet: the cluster has not taken 1", answer.Message)
	answer, err = w.starter.Tell(w.ctx, operation.WorkflowID, contract.UpdatePause, ann)
	require.NoError(t, err)
	assert.Equal(t, contract.PhaseWaiting, answer.Phase)
	w.takes("1")
	_, err = w.starter.Tell(w.ctx, operation.WorkflowID, contract.UpdateResume, ann)
	require.NoError(t, err)
	w.succeeds(operation, request)
	_, err = w.starter.Tell(w.ctx, operation.WorkflowID, contract.UpdatePoke, ann)
	assert.ErrorIs(t, err, starter.ErrNoOperation)
}
