package operation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// told is the answer to an operator's message.
type told struct {
	answer       contract.OperatorAnswer
	refused, err error
	answered     bool
}

var ann = contract.Extension{By: "ann", Reason: "repair"}

// message sends an operator's message at a time.
func (s *stage) message(after time.Duration, verb string, argument contract.Extension) *told {
	answer := &told{}
	s.at(after, func() {
		s.env.UpdateWorkflow(verb, "", &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { answer.refused = err },
			OnComplete: func(result any, err error) {
				answer.answered, answer.err = true, err
				if result != nil {
					answer.answer = result.(contract.OperatorAnswer)
				}
			},
		}, argument)
	})
	return answer
}

// explained is the explanation at a time.
func (s *stage) explained(after time.Duration) *contract.Explanation {
	e := &contract.Explanation{}
	s.at(after, func() {
		value, err := s.env.QueryWorkflow(contract.QueryExplain)
		require.NoError(s.t, err)
		require.NoError(s.t, value.Get(e))
	})
	return e
}

// notReady is what a look says that finds the condition unmet.
func notReady(text string) error {
	return contract.Errorf(contract.ErrNotReady, "%s", text).Application()
}

func TestPokeEndsTheWaitAtOnceWhenTheConditionHolds(t *testing.T) {
	s := newStage(t)
	parked := true
	met := s.observe
	s.observe = func(params contract.ObserveParams) (contract.ObserveResult, error) {
		if parked {
			parked = false
			return contract.ObserveResult{}, (&contract.Error{Type: contract.ErrNotReady, Message: "not yet", Delay: 4 * time.Minute}).Application()
		}
		return met(params)
	}
	answer := s.message(20*time.Second, contract.UpdatePoke, ann)
	s.play(apply("a", waiting))
	result, err := s.outcome()
	require.NoError(t, err)
	assert.Equal(t, contract.ReasonConditionMet, result.Reason)
	assert.Equal(t, 20*time.Second+observeTakes, s.env.Now().Sub(began))
	assert.True(t, answer.answered)
	assert.NoError(t, answer.refused)
	assert.Equal(t, "holds", answer.answer.Message)
}

func TestPokeSaysWhatIsMissing(t *testing.T) {
	s := newStage(t)
	s.observe = func(params contract.ObserveParams) (contract.ObserveResult, error) {
		if s.env.Now().After(began.Add(time.Minute)) {
			return contract.ObserveResult{Outcome: contract.ObserveMet, Message: "holds"}, nil
		}
		return contract.ObserveResult{}, notReady("Available is False")
	}
	answer := s.message(5*time.Second, contract.UpdatePoke, ann)
	early := s.message(500*time.Millisecond, contract.UpdatePoke, ann)
	e := s.explained(30 * time.Second)
	s.play(apply("a", waiting))
	_, err := s.outcome()
	require.NoError(t, err)
	assert.Equal(t, "not yet: Available is False", answer.answer.Message)
	assert.ErrorContains(t, early.refused, "poke: nothing is waited for in phase Building")
	assert.Equal(t, "Available is False", e.LastSeen)
	assert.Equal(t, contract.PhaseWaiting, e.Phase)
	assert.Contains(t, e.WaitsFor, "Available on cluster-a1")
	assert.Equal(t, []string{"ann", contract.UpdatePoke, "repair"}, []string{e.Interventions[0].By, e.Interventions[0].Verb, e.Interventions[0].Reason})
	assert.Equal(t, began.Add(5*time.Minute), e.Deadline.UTC())
	assert.NotEmpty(t, e.Can)
}

func TestExtendMovesTheDeadlineOfAWait(t *testing.T) {
	s := newStage(t)
	s.observe = func(params contract.ObserveParams) (contract.ObserveResult, error) {
		now := s.env.Now()
		switch {
		case now.After(began.Add(8 * time.Minute)):
			return contract.ObserveResult{Outcome: contract.ObserveMet, Message: "holds"}, nil
		case !now.Before(params.Until):
			return contract.ObserveResult{Outcome: contract.ObserveTimedOut, Failure: contract.ErrWaitTimeout, Message: "not met", Version: 4}, nil
		}
		return contract.ObserveResult{}, notReady("Available is False")
	}
	extension := ann
	extension.For = "10m"
	answer := s.message(time.Minute, contract.UpdateExtend, extension)
	shorter := ann
	shorter.Until = began.Add(6 * time.Minute)
	refused := s.message(2*time.Minute, contract.UpdateExtend, shorter)
	s.play(apply("a", waiting))
	result, err := s.outcome()
	require.NoError(t, err, result.Message)
	assert.Equal(t, contract.ReasonConditionMet, result.Reason)
	assert.Equal(t, began.Add(11*time.Minute), answer.answer.Deadline.UTC())
	assert.ErrorContains(t, refused.refused, "2026-03-02T10:06:00Z is not later")
	last := s.observes[len(s.observes)-1]
	assert.Equal(t, began.Add(11*time.Minute), last.Until.UTC())
	assert.True(t, last.MustExist)
}

func TestExtensionsAreChecked(t *testing.T) {
	for says, argument := range map[string]contract.Extension{
		"by: required":                        {Reason: "x", For: "1h"},
		"reason: required":                    {By: "x", For: "1h"},
		"give the new deadline":               ann,
		`for "5": give a positive duration`:   {By: "a", Reason: "b", For: "5"},
		"give until or for, not both":         {By: "a", Reason: "b", For: "1h", Until: began},
		"the deadline is 2026-03-02T10:05:00": {By: "a", Reason: "b", For: "1m"},
	} {
		s := newStage(t)
		answer := s.message(4*time.Second, contract.UpdateExtend, argument)
		s.play(apply("a", waiting))
		assert.ErrorContains(t, answer.refused, says)
	}
}

func TestPauseHoldsTheWriteUntilItIsResumed(t *testing.T) {
	s := newStage(t)
	s.message(500*time.Millisecond, contract.UpdatePause, ann)
	twice := s.message(20*time.Second, contract.UpdatePause, contract.Extension{By: "bob", Reason: "me too"})
	e := s.explained(30 * time.Second)
	none := 0
	s.at(55*time.Second, func() { none = len(s.commits) })
	s.message(time.Minute, contract.UpdateResume, ann)
	s.play(apply("a", waiting))
	result, err := s.outcome()
	require.NoError(t, err)
	assert.Equal(t, contract.ReasonConditionMet, result.Reason)
	assert.Zero(t, none)
	assert.Len(t, s.commits, 1)
	assert.ErrorContains(t, twice.refused, "paused by ann since 2026-03-02T10:00:00Z already")
	require.NotNil(t, e.Paused)
	assert.Contains(t, e.WaitsFor, "resume: paused by ann (repair)")
}

// A pause does not move the deadline: nothing waits without one.
func TestPauseEndsAtTheDeadline(t *testing.T) {
	s := newStage(t)
	s.message(500*time.Millisecond, contract.UpdatePause, ann)
	s.play(apply("a", waiting))
	result, err := s.outcome()
	require.Error(t, err)
	assert.Equal(t, contract.StatusTimedOut, result.Status)
	assert.Contains(t, result.Message, "the operation was paused by ann (repair), nothing was written")
	assert.Empty(t, s.commits)
}

func TestPauseStopsLooking(t *testing.T) {
	s := newStage(t)
	s.observe = func(contract.ObserveParams) (contract.ObserveResult, error) {
		if s.env.Now().After(began.Add(3 * time.Minute)) {
			return contract.ObserveResult{Outcome: contract.ObserveMet, Message: "holds"}, nil
		}
		return contract.ObserveResult{}, notReady("no")
	}
	s.message(15*time.Second, contract.UpdatePause, ann)
	poked := s.message(20*time.Second, contract.UpdatePoke, ann)
	var before, after int
	s.at(30*time.Second, func() { before = len(s.observes) })
	s.at(2*time.Minute, func() { after = len(s.observes) })
	s.message(150*time.Second, contract.UpdateResume, ann)
	s.play(apply("a", waiting))
	result, err := s.outcome()
	require.NoError(t, err)
	assert.Equal(t, contract.ReasonConditionMet, result.Reason)
	assert.Equal(t, before, after)
	assert.ErrorContains(t, poked.refused, "the operation is paused: resume it")
}

func TestSkipWaitEndsWithoutTheCondition(t *testing.T) {
	for name, at := range map[string]time.Duration{"before it": 2 * time.Second, "in it": 20 * time.Second, "while paused": time.Minute} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.observe = func(contract.ObserveParams) (contract.ObserveResult, error) {
				return contract.ObserveResult{}, notReady("no")
			}
			s.message(30*time.Second, contract.UpdatePause, ann)
			answer := s.message(at, contract.UpdateSkipWait, ann)
			s.play(apply("a", waiting, reporting))
			result, err := s.outcome()
			require.NoError(t, err)
			assert.NoError(t, answer.refused)
			assert.Equal(t, contract.ReasonWaitSkipped, result.Reason)
			assert.NotEqual(t, contract.StatusAvailable, result.Status)
			assert.Equal(t, "the wait for Available was skipped by ann (repair); version 4 is stored, nothing is known about the cluster", result.Message)
			assert.Equal(t, contract.ReasonWaitSkipped, s.reports[0].Reason)
		})
	}
}

func TestOperatorMessagesThatMakeNoSenseAreRefused(t *testing.T) {
	s := newStage(t)
	skip := s.message(500*time.Millisecond, contract.UpdateSkipWait, ann)
	resume := s.message(500*time.Millisecond, contract.UpdateResume, ann)
	late := s.message(3500*time.Millisecond, contract.UpdatePause, ann) // while it reports
	s.play(apply("a", reporting))
	assert.ErrorContains(t, skip.refused, "skip-wait: the operation does not wait")
	assert.ErrorContains(t, resume.refused, "resume: the operation is not paused")
	assert.ErrorContains(t, late.refused, "pause: the operation has ended, or is about to")
}

// A signal has the effect of the update, and no answer.
func TestSignalsOfOperators(t *testing.T) {
	s := newStage(t)
	s.at(500*time.Millisecond, func() { s.env.SignalWorkflow(contract.UpdatePause, ann) })
	s.at(time.Second, func() { s.env.SignalWorkflow(contract.UpdatePause, contract.Extension{By: "bob", Reason: "x"}) })
	s.at(time.Minute, func() { s.env.SignalWorkflow(contract.UpdateResume, ann) })
	e := s.explained(30 * time.Second)
	s.play(apply("a"))
	_, err := s.outcome()
	require.NoError(t, err)
	require.Len(t, e.Interventions, 2)
	assert.Contains(t, e.Interventions[1].Ignored, "paused by ann")
	assert.Equal(t, time.Minute+commitTakes, s.env.Now().Sub(began))
}

func TestExtensionReachesAWriteUnderWay(t *testing.T) {
	s := newStage(t)
	s.commit = func(contract.CommitParams) (contract.CommitResult, error) {
		if s.env.Now().Before(began.Add(90 * time.Second)) {
			return contract.CommitResult{}, contract.Errorf(contract.ErrUnavailable, "away").Application()
		}
		return contract.CommitResult{Outcome: contract.CommitUpdated, Version: 4}, nil
	}
	s.message(30*time.Second, contract.UpdateExtend, contract.Extension{By: "ann", Reason: "outage", For: "10m"})
	s.play(apply("a", func(r *contract.Request) { r.Timeout, r.Patience = "1m", "5m" }))
	result, err := s.outcome()
	require.NoError(t, err, result.Message)
	assert.Equal(t, contract.ReasonPublished, result.Reason)
}
