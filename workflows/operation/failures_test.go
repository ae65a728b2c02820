package operation_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// ends of an operation whose step failed with a type.
func statusOf(failure contract.ErrorType) contract.Status {
	switch failure {
	case contract.ErrSuperseded:
		return contract.StatusSuperseded
	case contract.ErrCancelled:
		return contract.StatusCancelled
	case contract.ErrWaitTimeout, contract.ErrDeletionUnconfirmed, contract.ErrExpired:
		return contract.StatusTimedOut
	case contract.ErrVanished:
		return contract.StatusNotFound
	default:
		return contract.StatusFailed
	}
}

func TestFailedWriteKeepsItsTypeAndText(t *testing.T) {
	for failure, rule := range contract.Rules {
		t.Run(string(failure), func(t *testing.T) {
			s := newStage(t)
			s.commit = func(contract.CommitParams) (contract.CommitResult, error) {
				return contract.CommitResult{}, contract.Errorf(failure, "what Maestro said").Application()
			}
			s.play(apply("1", waiting, reporting))
			result, err := s.outcome()
			assert.Equal(t, string(failure), result.Reason)
			assert.Equal(t, statusOf(failure), result.Status)
			assert.Zero(t, result.Version)
			assert.NotContains(t, s.called, observe)
			require.Len(t, s.reports, 1, "every path reports")
			assert.Equal(t, string(failure), s.reports[0].Reason)
			took := result.FinishedAt.Sub(began) - buildTakes
			if rule.Retryable {
				assert.Regexp(t, `^gave up after \d+s: what Maestro said$`, result.Message)
				assert.Greater(t, len(s.commits), 3)
				assert.LessOrEqual(t, took, 30*time.Second+commitTakes, "the patience of the request")
			} else {
				assert.Equal(t, "what Maestro said", result.Message)
				assert.Len(t, s.commits, 1)
				assert.Equal(t, commitTakes, took)
			}
			if failure == contract.ErrCancelled {
				assert.True(t, temporal.IsCanceledError(err))
				return
			}
			var closed *temporal.ApplicationError
			require.ErrorAs(t, err, &closed)
			assert.Equal(t, string(failure), closed.Type())
			assert.Equal(t, result.Message, closed.Message())
			assert.True(t, closed.NonRetryable())
		})
	}
}

func TestPatienceIsNeverLongerThanTheTimeout(t *testing.T) {
	s := newStage(t)
	s.commit = func(contract.CommitParams) (contract.CommitResult, error) {
		return contract.CommitResult{}, contract.Errorf(contract.ErrUnavailable, "503").Application()
	}
	s.play(apply("1", waiting, func(r *contract.Request) { r.Timeout, r.Patience = "20s", "10m" }))
	result, _ := s.outcome()
	assert.Equal(t, string(contract.ErrUnavailable), result.Reason)
	assert.Regexp(t, `^gave up after 1\ds: 503$`, result.Message)
	assert.LessOrEqual(t, result.FinishedAt.Sub(began), 20*time.Second+commitTakes)
}

func TestFailureOfAnUnknownTypeIsADefect(t *testing.T) {
	s := newStage(t)
	s.commit = func(contract.CommitParams) (contract.CommitResult, error) {
		return contract.CommitResult{}, temporal.NewNonRetryableApplicationError("x", "y", errors.New("z"))
	}
	s.play(apply("1"))
	result, _ := s.outcome()
	assert.Equal(t, string(contract.ErrInternal), result.Reason)
}

func TestInvalidRequestFailsBeforeAnythingIsWrittenAndIsReported(t *testing.T) {
	for _, failure := range []contract.ErrorType{contract.ErrInvalidInput, contract.ErrInvalidManifest, contract.ErrTooLarge} {
		s := newStage(t)
		s.build = func(contract.BuildParams) (contract.BuildResult, error) {
			return contract.BuildResult{}, contract.Errorf(failure, "field by field").Application()
		}
		s.play(apply("1", waiting, reporting))
		result, err := s.outcome()
		assert.Equal(t, failure, contract.TypeOf(err))
		assert.Equal(t, "field by field", result.Message)
		assert.Equal(t, []string{build, report}, s.called)
		assert.Equal(t, []contract.Phase{contract.PhaseBuilding, contract.PhaseReporting, contract.PhaseFailed}, s.phases)
	}
}

func TestFailedWaitShowsWhatTheClusterSaid(t *testing.T) {
	for _, test := range []struct {
		outcome contract.ObserveOutcome
		failure contract.ErrorType
		phase   contract.Phase
	}{
		{contract.ObserveFailed, contract.ErrApplyFailed, contract.PhaseFailed},
		{contract.ObserveFailed, contract.ErrVanished, contract.PhaseFailed},
		{contract.ObserveFailed, contract.ErrUnderDeletion, contract.PhaseFailed},
		{contract.ObserveFailed, contract.ErrSuperseded, contract.PhaseSuperseded},
		{contract.ObserveTimedOut, contract.ErrWaitTimeout, contract.PhaseTimedOut},
	} {
		s := newStage(t)
		conditions := []contract.Condition{{Type: "Applied", Status: "False", Message: "immutable"}}
		resources := []contract.ResourceStatus{{Kind: "NodePool", Name: "workers", Conditions: conditions}}
		s.observe = func(contract.ObserveParams) (contract.ObserveResult, error) {
			return contract.ObserveResult{
				Outcome: test.outcome, Failure: test.failure, Message: "NodePool workers: immutable", Status: contract.StatusDegraded,
				Version: 4, ObservedVersion: 4, Conditions: conditions, Resources: resources,
			}, nil
		}
		s.play(apply("1", waiting))
		result, err := s.outcome()
		assert.Equal(t, test.failure, contract.TypeOf(err))
		assert.Equal(t, statusOf(test.failure), result.Status)
		assert.Equal(t, "NodePool workers: immutable", result.Message)
		assert.Equal(t, conditions, result.Conditions)
		assert.Equal(t, resources, result.Resources)
		assert.Equal(t, int64(4), result.Version)
		assert.Equal(t, test.phase, s.phases[len(s.phases)-1])
	}
}

func TestWaitOutcomeThatNobodyKnowsIsADefect(t *testing.T) {
	s := newStage(t)
	s.observe = func(contract.ObserveParams) (contract.ObserveResult, error) {
		return contract.ObserveResult{Outcome: "Perhaps"}, nil
	}
	s.play(apply("1", waiting))
	_, err := s.outcome()
	assert.Equal(t, contract.ErrInternal, contract.TypeOf(err))
}

// The activity itself answers TimedOut at the deadline. This is for a last look that does not end.
func TestDeadlineEndsAWaitWhoseLastLookFails(t *testing.T) {
	s := newStage(t)
	s.observe = func(contract.ObserveParams) (contract.ObserveResult, error) {
		return contract.ObserveResult{}, contract.Errorf(contract.ErrNotReady, "Available is not reported").Application()
	}
	s.play(apply("1", waiting, func(r *contract.Request) { r.Timeout = "2m" }))
	result, err := s.outcome()
	assert.Equal(t, contract.ErrWaitTimeout, contract.TypeOf(err))
	assert.Equal(t, contract.StatusTimedOut, result.Status)
	assert.Equal(t, "not met by 2026-03-02T10:02:00Z: Available is not reported", result.Message)
	assert.LessOrEqual(t, result.FinishedAt.Sub(began), 2*time.Minute+30*time.Second+observeTakes)
}

func TestFinalFailureOfALookEndsTheWaitAtOnce(t *testing.T) {
	s := newStage(t)
	s.observe = func(contract.ObserveParams) (contract.ObserveResult, error) {
		return contract.ObserveResult{}, contract.Errorf(contract.ErrUnauthorized, "token expired").Application()
	}
	s.play(apply("1", waiting))
	result, _ := s.outcome()
	assert.Equal(t, string(contract.ErrUnauthorized), result.Reason)
	assert.Equal(t, buildTakes+commitTakes+observeTakes, result.FinishedAt.Sub(began))
}

func TestDeadlineCountsFromTheStartOfTheRun(t *testing.T) {
	s := newStage(t)
	failures := 3
	s.commit = func(contract.CommitParams) (contract.CommitResult, error) {
		if failures--; failures >= 0 {
			return contract.CommitResult{}, contract.Errorf(contract.ErrUnavailable, "503").Application()
		}
		return contract.CommitResult{Outcome: contract.CommitCreated, Version: 1, Attempt: 4}, nil
	}
	s.play(apply("1", waiting, func(r *contract.Request) { r.Timeout = "60s" }))
	require.NoError(t, s.env.GetWorkflowError())
	assert.Equal(t, began.Add(time.Minute), s.observes[0].Until, "a slow write does not move it")
}
