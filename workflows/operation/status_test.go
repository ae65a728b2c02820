package operation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const tell = contract.ActivityReportStatus

// down is a HyperFleet API that does not answer.
func down(contract.ReportStatusParams) (contract.ReportStatusResult, error) {
	return contract.ReportStatusResult{}, contract.Errorf(contract.ErrHyperFleetUnavailable, "HyperFleet answers 503").Application()
}

func (s *stage) tellings() []string {
	var reasons []string
	for _, params := range s.told {
		reasons = append(reasons, params.Result.Reason)
	}
	return reasons
}

func TestHyperFleetIsToldOnEveryPath(t *testing.T) {
	fails := func(errorType contract.ErrorType) error { return contract.Errorf(errorType, "so it is").Application() }
	waitingTold := contract.ReasonRunning
	for name, test := range map[string]struct {
		request contract.Request
		arrange func(*stage)
		told    []string
	}{
		"success": {apply("1", waiting, telling), nil, []string{waitingTold, contract.ReasonConditionMet}},
		"no wait": {apply("1", telling), nil, []string{contract.ReasonPublished}},
		"bad input": {apply("1", waiting, telling), func(s *stage) {
			s.build = func(contract.BuildParams) (contract.BuildResult, error) {
				return contract.BuildResult{}, fails(contract.ErrInvalidInput)
			}
		}, []string{string(contract.ErrInvalidInput)}},
		"failed write": {apply("1", waiting, telling), func(s *stage) {
			s.commit = func(contract.CommitParams) (contract.CommitResult, error) {
				return contract.CommitResult{}, fails(contract.ErrConsumerNotFound)
			}
		}, []string{string(contract.ErrConsumerNotFound)}},
		"time-out": {apply("1", waiting, telling), func(s *stage) {
			s.observe = func(contract.ObserveParams) (contract.ObserveResult, error) {
				return contract.ObserveResult{Outcome: contract.ObserveTimedOut, Failure: contract.ErrWaitTimeout, Message: "late"}, nil
			}
		}, []string{waitingTold, string(contract.ErrWaitTimeout)}},
		"cancel": {apply("1", waiting, telling), func(s *stage) {
			s.at(buildTakes+commitTakes+observeTakes/2, s.env.CancelWorkflow)
		}, []string{waitingTold, string(contract.ErrCancelled)}},
		"cancel before the wait": {apply("1", waiting, telling), func(s *stage) {
			s.at(buildTakes/2, s.env.CancelWorkflow)
		}, []string{string(contract.ErrCancelled)}},
		"superseded": {apply("1", waiting, telling), func(s *stage) {
			s.offer(buildTakes+commitTakes+observeTakes/2, apply("2", waiting, telling, generation(4)))
		}, []string{waitingTold, string(contract.ErrSuperseded)}},
		"deletion": {remove(waiting, telling), nil, []string{waitingTold, contract.ReasonDeleted}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if test.arrange != nil {
				test.arrange(s)
			}
			s.play(test.request)
			assert.Equal(t, test.told, s.tellings())
			for _, params := range s.told {
				assert.Equal(t, *cluster(), params.Target)
				assert.Equal(t, int64(3), params.Result.Generation, "of the operation, not the latest one")
				assert.Equal(t, test.request.Action == contract.ActionDelete, params.Finalizing)
			}
			assert.NotContains(t, s.called, report, "there is no file to write")
			last := s.told[len(s.told)-1]
			assert.NotNil(t, last.Result.FinishedAt)
		})
	}
}

func TestRequestWithoutATargetTellsNobody(t *testing.T) {
	s := newStage(t)
	s.play(apply("1", waiting, reporting))
	assert.NotContains(t, s.called, tell)
}

func TestTimesOfReportsGrowWithinARun(t *testing.T) {
	s := newStage(t)
	at := began.Add(time.Hour) // of a worker whose clock is ahead
	s.tell = func(contract.ReportStatusParams) (contract.ReportStatusResult, error) {
		return contract.ReportStatusResult{Outcome: contract.ReportStored, Time: at}, nil
	}
	s.play(apply("1", waiting, telling))
	require.Len(t, s.told, 2)
	assert.True(t, s.told[0].Last.IsZero())
	assert.Equal(t, at, s.told[1].Last)
}

// The wait neither waits for a report, nor does it end with one.
func TestWaitGoesOnBesideTheReport(t *testing.T) {
	s := newStage(t)
	s.tell = func(params contract.ReportStatusParams) (contract.ReportStatusResult, error) {
		if params.Result.Reason == contract.ReasonRunning {
			return down(params)
		}
		return contract.ReportStatusResult{Outcome: contract.ReportStored}, nil
	}
	s.play(apply("1", waiting, telling))
	result, err := s.outcome()
	require.NoError(t, err)
	assert.Equal(t, buildTakes+commitTakes+observeTakes, result.FinishedAt.Sub(began))
	assert.Equal(t, contract.ReasonConditionMet, s.told[len(s.told)-1].Result.Reason)
	assert.Empty(t, result.Warnings)
}

func TestOutcomeIsThereWhileItsReportIsRetried(t *testing.T) {
	s := newStage(t)
	s.tell = down
	file := func(r *contract.Request) { r.Report.ResultsFile = "result.json" }
	asked := false
	s.at(5*time.Minute, func() {
		value, err := s.env.QueryWorkflow(contract.QueryStatus)
		require.NoError(t, err)
		var result contract.StatusResult
		require.NoError(t, value.Get(&result))
		assert.Equal(t, contract.ReasonPublished, result.Reason)
		require.NotNil(t, result.FinishedAt)
		assert.Equal(t, buildTakes+commitTakes, result.FinishedAt.Sub(began))
		assert.Equal(t, []string{build, commit, report}, s.called[:3], "the results file is written before")
		asked = true
	})
	s.play(apply("1", telling, file))
	assert.True(t, asked)
	result, err := s.outcome()
	require.NoError(t, err, "a report that fails does not change the outcome")
	require.Len(t, result.Warnings, 1)
	assert.Equal(t, "report to HyperFleet: HyperFleet answers 503", result.Warnings[0])
	assert.Greater(t, s.env.Now().Sub(began), 5*time.Minute) // the test environment makes ten attempts at most
}

func TestRefusedReportIsAWarning(t *testing.T) {
	s := newStage(t)
	s.tell = func(contract.ReportStatusParams) (contract.ReportStatusResult, error) {
		return contract.ReportStatusResult{}, contract.Errorf(contract.ErrHyperFleetRefused, "HyperFleet answers 405").Application()
	}
	s.play(apply("1", waiting, telling))
	result, err := s.outcome()
	require.NoError(t, err)
	assert.Equal(t, []string{"report to HyperFleet: HyperFleet answers 405"}, result.Warnings)
	assert.Len(t, s.told, 2, "nothing is tried again")
}

// A day of retries must not keep a newer generation out, nor take the outcome from the caller of this one.
func TestRequestEndsTheRetriesOfAReport(t *testing.T) {
	for name, offered := range map[string]contract.Request{
		"newer":                          apply("2", telling, generation(4)),
		"equal":                          apply("1", telling),
		"equal generation, corrected":    apply("2", telling),
		"without a target or generation": apply("2"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.tell = down
			older := s.offer(2*time.Minute, apply("0", generation(2)))
			answer := s.offer(4*time.Minute, offered)
			s.play(apply("1", telling))
			assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(older.refused), "an older one ends nothing")
			require.NoError(t, answer.refused)
			assert.Equal(t, contract.ErrClosing, contract.TypeOf(answer.err), "the caller submits it again")
			assert.Nil(t, s.next())
			result, err := s.outcome()
			require.NoError(t, err)
			assert.Equal(t, contract.ReasonPublished, result.Reason)
			assert.Equal(t, []string{"report to HyperFleet: given up for another request, Cluster c keeps its last status"}, result.Warnings)
			assert.Equal(t, 4*time.Minute, s.env.Now().Sub(began).Round(time.Minute))
		})
	}
}

func TestSupersededReportDoesNotHoldUpTheNewerRequest(t *testing.T) {
	s := newStage(t)
	s.tell = down
	s.offer(buildTakes+commitTakes+observeTakes/2, apply("2", telling, generation(4)))
	s.play(apply("1", waiting, telling))
	require.NotNil(t, s.next())
	assert.Less(t, s.env.Now().Sub(began), time.Minute)
	assert.Equal(t, string(contract.ErrSuperseded), s.told[len(s.told)-1].Result.Reason)
}

func TestCancelDoesNotStopTheReportToHyperFleet(t *testing.T) {
	s := newStage(t)
	s.at(buildTakes+commitTakes+statusTakes/2, s.env.CancelWorkflow)
	s.play(apply("1", telling))
	result, err := s.outcome()
	require.NoError(t, err)
	assert.Empty(t, result.Warnings)
	assert.Equal(t, []string{build, commit, tell}, s.called)
}

func TestAttachedRequestsTargetIsToldOnce(t *testing.T) {
	other := func(r *contract.Request) {
		telling(r)
		r.Report.HyperFleet.Adapter = "other"
	}
	s := newStage(t)
	s.offer(buildTakes/2, apply("1", telling))
	s.offer(buildTakes/2, apply("1", telling, func(r *contract.Request) { r.Report.ResultsFile = "result.json" }))
	answer := s.offer(buildTakes/2+time.Millisecond, apply("1", other))
	s.play(apply("1", telling))
	assert.True(t, answer.Attached)
	require.Len(t, s.told, 2)
	assert.ElementsMatch(t, []string{"pools", "other"}, []string{s.told[0].Target.Adapter, s.told[1].Target.Adapter})
	assert.Equal(t, []string{build, commit, report, tell, tell}, s.called)
}

func TestNewerRequestThatIsCancelledGoesOnFromTheTimesOfTheOlder(t *testing.T) {
	s := newStage(t)
	at := began.Add(time.Hour)
	s.tell = func(contract.ReportStatusParams) (contract.ReportStatusResult, error) {
		return contract.ReportStatusResult{Outcome: contract.ReportStored, Time: at}, nil
	}
	s.offer(buildTakes+commitTakes/2, apply("2", telling, generation(4)))
	s.at(buildTakes+commitTakes/2+time.Millisecond, s.env.CancelWorkflow)
	s.play(apply("1", telling))
	_, err := s.outcome()
	require.True(t, temporal.IsCanceledError(err))
	require.Equal(t, []string{string(contract.ErrSuperseded), string(contract.ErrCancelled)}, s.tellings())
	assert.Equal(t, at, s.told[1].Last)
	assert.Equal(t, int64(4), s.told[1].Result.Generation)
}

// A write that Maestro's outage holds up is reported while it lasts, one that is quick is not.
func TestSlowWriteIsReportedWhileItLasts(t *testing.T) {
	s := newStage(t)
	s.commit = func(contract.CommitParams) (contract.CommitResult, error) {
		if s.env.Now().Before(began.Add(time.Minute)) {
			return contract.CommitResult{}, contract.Errorf(contract.ErrUnavailable, "away").Application()
		}
		return contract.CommitResult{Outcome: contract.CommitUpdated, Version: 4}, nil
	}
	told := 0
	s.at(30*time.Second, func() { told = len(s.told) })
	s.play(apply("1", telling, func(r *contract.Request) { r.Patience = "5m" }))
	_, err := s.outcome()
	require.NoError(t, err)
	assert.Equal(t, 1, told, "before anything is written")
	assert.Equal(t, []string{contract.ReasonRunning, contract.ReasonPublished}, s.tellings())
}
