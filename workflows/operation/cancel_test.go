package operation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestCancelEndsTheStepUnderWayAndIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		after   time.Duration
		message string
		version int64
	}{
		"build": {buildTakes / 2, "cancelled while checking the request", 0},
		"apply": {buildTakes + commitTakes/2, "cancelled while writing to Maestro", 0},
		"wait":  {buildTakes + commitTakes + observeTakes/2, "cancelled while waiting for Available until 2026-03-02T10:05:00Z; version 4 stays stored", 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.at(test.after, s.env.CancelWorkflow)
			s.play(apply("1", waiting, reporting))
			result, err := s.outcome()
			require.True(t, temporal.IsCanceledError(err))
			assert.Equal(t, contract.StatusCancelled, result.Status)
			assert.Equal(t, string(contract.ErrCancelled), result.Reason)
			assert.Equal(t, test.message, result.Message)
			assert.Equal(t, test.version, result.Version)
			assert.Equal(t, test.after, result.FinishedAt.Sub(began), "at once")
			assert.Equal(t, contract.PhaseCancelled, s.phases[len(s.phases)-1])
			require.Len(t, s.reports, 1)
			assert.Equal(t, contract.StatusCancelled, s.reports[0].Status)
		})
	}
}

func TestCancelDoesNotStopTheReport(t *testing.T) {
	s := newStage(t)
	s.at(buildTakes+commitTakes+reportTakes/2, s.env.CancelWorkflow)
	s.play(apply("1", reporting))
	result, err := s.outcome()
	require.NoError(t, err, "the operation had ended already")
	assert.Equal(t, contract.ReasonPublished, result.Reason)
	assert.Equal(t, []string{build, commit, report}, s.called)
	assert.Empty(t, result.Warnings)
}

func TestCancelThatComesWithTheStartBeginsNothing(t *testing.T) {
	s := newStage(t)
	s.at(0, s.env.CancelWorkflow)
	s.play(apply("1", waiting, reporting))
	result, err := s.outcome()
	require.True(t, temporal.IsCanceledError(err))
	assert.Equal(t, "cancelled while checking the request", result.Message)
	assert.Equal(t, []string{report}, s.called)
}
