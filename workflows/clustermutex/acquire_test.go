package clustermutex_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/clustermutex"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// acquire plays a workflow that acquires until a minute has passed, with a mutex that answers by a function.
func acquire(t *testing.T, answer func(env *testsuite.TestWorkflowEnvironment, message contract.TicketMessage, nth int)) (kinds []string, took time.Duration, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterActivityWithOptions(func(_ context.Context, params contract.SubmitTicketParams) error {
		kinds = append(kinds, string(params.Message.Kind))
		answer(env, params.Message, len(kinds))
		return nil
	}, activity.RegisterOptions{Name: contract.ActivitySubmitTicket})
	began := env.Now()
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		_, err = clustermutex.Acquire(ctx, clustermutex.HoldOptions{Source: "s", Consumer: "c", Until: workflow.Now(ctx).Add(time.Minute)})
		return nil
	})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	return kinds, env.Now().Sub(began), err
}

func TestAcquireGivesUpInTimeAlthoughTheMutexIsSilent(t *testing.T) {
	kinds, took, err := acquire(t, func(*testsuite.TestWorkflowEnvironment, contract.TicketMessage, int) {})
	assert.Equal(t, contract.ErrExpired, contract.TypeOf(err))
	assert.Equal(t, []string{"submit", "submit", "cancel"}, kinds)
	assert.Less(t, took, 2*time.Minute)
}

// A workflow that was away finds the grant and its end in its history.
func TestAcquireDoesNotTakeAHoldThatHasEnded(t *testing.T) {
	for name, events := range map[string][]contract.TicketEvent{
		"and was revoked": {{Outcome: contract.TicketGranted, LeaseUntil: time.Now().Add(time.Hour)}, {Outcome: contract.TicketRevoked, Type: contract.ErrExpired, Message: "its lease has ended"}},
		"by its time":     {{Outcome: contract.TicketGranted, LeaseUntil: time.Now().Add(-time.Hour)}},
	} {
		_, _, err := acquire(t, func(env *testsuite.TestWorkflowEnvironment, message contract.TicketMessage, nth int) {
			switch nth {
			case 1:
				for _, event := range events {
					event.TicketID = message.TicketID
					env.SignalWorkflow(contract.SignalMutexEvent, event)
				}
			case 2:
				env.SignalWorkflow(contract.SignalMutexEvent, contract.TicketEvent{TicketID: message.TicketID, Outcome: contract.TicketRevoked, Type: contract.ErrExpired, Message: "its lease has ended"})
			}
		})
		assert.Equal(t, contract.ErrExpired, contract.TypeOf(err), "%s: %v", name, err)
	}
}
