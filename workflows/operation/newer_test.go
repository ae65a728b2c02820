package operation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestNewerRequestTakesOverInEveryPhase(t *testing.T) {
	for name, after := range map[string]time.Duration{
		"build": buildTakes / 2,
		"apply": buildTakes + commitTakes/2,
		"wait":  buildTakes + commitTakes + observeTakes/2,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			newer := apply("2", generation(2))
			answer := s.offer(after, newer)
			s.play(apply("1", generation(1), waiting, reporting))
			require.NoError(t, answer.refused)
			require.NoError(t, answer.err)
			assert.True(t, answer.answered)
			assert.False(t, answer.Attached)
			assert.NotEmpty(t, answer.RunID)
			require.NotNil(t, s.next(), "the run continues as new")
			assert.Equal(t, newer, *s.next())
			assert.Equal(t, contract.PhaseSuperseded, s.phases[len(s.phases)-1])
			require.Len(t, s.reports, 1, "the older request has its own outcome, reported once")
			assert.Equal(t, string(contract.ErrSuperseded), s.reports[0].Reason)
			assert.Equal(t, contract.StatusSuperseded, s.reports[0].Status)
		})
	}
}

func TestSupersededRequestSaysWhichVersionStays(t *testing.T) {
	s := newStage(t)
	s.offer(buildTakes+commitTakes+time.Second, apply("2"))
	s.play(apply("1", waiting, reporting))
	require.Len(t, s.reports, 1)
	assert.Equal(t, "a newer request has taken over; version 4 stays stored", s.reports[0].Message)
}

func TestNewestOfSeveralRequestsIsNext(t *testing.T) {
	s := newStage(t)
	at := buildTakes + commitTakes/2 // while the write holds the run open
	second := s.offer(at, apply("2", generation(2)))
	third := s.offer(at+time.Millisecond, apply("3", generation(3)))
	late := s.offer(at+2*time.Millisecond, apply("2", generation(2)))
	s.play(apply("1", generation(1), reporting))
	assert.NoError(t, second.refused)
	assert.NoError(t, third.refused)
	assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(late.refused), "it is compared with the newest")
	require.NotNil(t, s.next())
	assert.Equal(t, int64(3), s.next().Generation)
}

func TestRequestWithoutGenerationIsAlwaysNewer(t *testing.T) {
	s := newStage(t)
	s.offer(buildTakes/2, apply("2"))
	s.play(apply("1"))
	require.NotNil(t, s.next())
	assert.Contains(t, string(s.next().Work), `"value":"2"`)
}

func TestDeleteTakesOverFromAnApply(t *testing.T) {
	s := newStage(t)
	s.offer(buildTakes+time.Second, remove())
	s.play(apply("1", waiting))
	require.NotNil(t, s.next())
	assert.Equal(t, contract.ActionDelete, s.next().Action)
}

func TestOtherWaitOfTheSameContentTakesOver(t *testing.T) {
	s := newStage(t)
	answer := s.offer(buildTakes+commitTakes+time.Second, apply("1", generation(1), func(r *contract.Request) { r.Wait = "Applied" }))
	s.play(apply("1", generation(1), waiting))
	require.NoError(t, answer.refused)
	require.NotNil(t, s.next())
	assert.Equal(t, "Applied", s.next().Wait)
}

func TestEqualRequestAttaches(t *testing.T) {
	for name, after := range map[string]time.Duration{
		"build": buildTakes / 2, "apply": buildTakes + commitTakes/2, "wait": buildTakes + commitTakes + observeTakes/2,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			answer := s.offer(after, apply("1", generation(1), waiting, func(r *contract.Request) { r.Timeout = "1h" }))
			s.play(apply("1", generation(1), waiting))
			require.NoError(t, answer.refused)
			assert.True(t, answer.Attached, "the times do not make it another request")
			result, err := s.outcome()
			require.NoError(t, err)
			assert.Equal(t, result.RunID, answer.RunID)
			assert.Equal(t, contract.ReasonConditionMet, result.Reason)
			assert.Equal(t, []string{build, commit, observe}, s.called, "nothing is done twice")
		})
	}
}

func TestRequestEqualToTheNextOneJoinsIt(t *testing.T) {
	s := newStage(t)
	at := buildTakes + commitTakes/2
	s.offer(at, apply("2", generation(2)))
	again := s.offer(at+time.Millisecond, apply("2", generation(2)))
	s.play(apply("1", generation(1), reporting))
	require.NoError(t, again.refused)
	assert.False(t, again.Attached, "this run does not work for it, the next one will")
	require.NotNil(t, s.next())
	assert.Equal(t, int64(2), s.next().Generation)
}

func TestRefusedRequestLeavesTheOperationAlone(t *testing.T) {
	other := apply("2", generation(5))
	other.Work = []byte(`{"metadata":{"name":"other"},"spec":{}}`)
	for name, test := range map[string]struct {
		offered contract.Request
		failure contract.ErrorType
		text    string
	}{
		"older":           {apply("2", generation(4)), contract.ErrSuperseded, "a newer generation than 4 is being applied"},
		"conflicting":     {apply("2", generation(5)), contract.ErrGenerationConflict, "generation 5 is being applied with other content"},
		"of another work": {other, contract.ErrInvalidInput, "this request belongs to workflow op/hyperfleet/cluster-a1/other, not to op/hyperfleet/cluster-a1/web"},
		"malformed":       {contract.Request{Source: "hyperfleet"}, contract.ErrInvalidInput, "consumer"},
		"bad generation": {apply("2", func(r *contract.Request) {
			r.Work = []byte(`{"metadata":{"name":"web","annotations":{"hyperfleet.io/generation":"x"}}}`)
		}), contract.ErrInvalidInput, "generation"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			answer := s.offer(buildTakes+commitTakes+time.Second, test.offered)
			s.play(apply("1", generation(5), waiting))
			require.Error(t, answer.refused, "by the validator, so that nothing is stored")
			assert.Equal(t, test.failure, contract.TypeOf(answer.refused))
			assert.ErrorContains(t, answer.refused, test.text)
			assert.False(t, answer.answered)
			require.NoError(t, s.env.GetWorkflowError())
			assert.Equal(t, []string{build, commit, observe}, s.called)
		})
	}
}

func TestForcedRequestOfTheSameGenerationTakesOver(t *testing.T) {
	s := newStage(t)
	answer := s.offer(buildTakes/2, apply("2", generation(5), func(r *contract.Request) { r.Force = true }))
	s.play(apply("1", generation(5)))
	require.NoError(t, answer.refused)
	require.NotNil(t, s.next())
}

// A run that has its outcome keeps it: neither does an equal request get an outcome from before its time, nor does a
// newer one turn the outcome that was reported into Superseded.
func TestRequestOfferedDuringTheReportIsAskedToComeAgain(t *testing.T) {
	for name, offered := range map[string]contract.Request{
		"equal": apply("1", generation(1), reporting),
		"newer": apply("2", generation(2)),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			answer := s.offer(buildTakes+commitTakes+reportTakes/2, offered)
			s.play(apply("1", generation(1), reporting))
			assert.Equal(t, contract.ErrClosing, contract.TypeOf(answer.refused))
			require.NoError(t, s.env.GetWorkflowError(), "the run closes with its own outcome")
			require.Len(t, s.reports, 1)
			assert.Equal(t, contract.ReasonPublished, s.reports[0].Reason)
		})
	}
}

// The cancel is for the newer request: its caller knows this run only.
func TestCancelAfterANewerRequestWasAcceptedCancelsThat(t *testing.T) {
	s := newStage(t)
	newer := apply("2", generation(2), reporting)
	s.offer(buildTakes+commitTakes/2, newer)
	s.env.RegisterDelayedCallback(s.env.CancelWorkflow, buildTakes+commitTakes*3/4)
	s.play(apply("1", generation(1), reporting))
	require.Nil(t, s.next(), "the newer request is not delivered")
	require.Len(t, s.reports, 2)
	assert.Equal(t, contract.StatusSuperseded, s.reports[0].Status)
	assert.Equal(t, contract.StatusCancelled, s.reports[1].Status)
	assert.Equal(t, newer.Digest(), s.reports[1].RequestDigest)
	assert.True(t, temporal.IsCanceledError(s.env.GetWorkflowError()))
}

// An equal request that wants the outcome delivered elsewhere gets it there.
func TestReportOfAnAttachedRequestIsDelivered(t *testing.T) {
	s := newStage(t)
	answer := s.offer(buildTakes/2, apply("1", generation(1), reporting))
	s.play(apply("1", generation(1)))
	require.NoError(t, answer.refused)
	assert.True(t, answer.Attached)
	assert.Len(t, s.reports, 1)
}

// The update can be in the first task, before the operation has begun.
func TestRequestThatComesWithTheStartTakesOverAtOnce(t *testing.T) {
	s := newStage(t)
	newer := apply("2", generation(2))
	s.offer(0, newer)
	s.play(apply("1", generation(1), waiting, reporting))
	require.NotNil(t, s.next())
	assert.Equal(t, newer, *s.next())
	assert.Equal(t, []string{report}, s.called, "nothing is done for the older one but its report")
	assert.Equal(t, string(contract.ErrSuperseded), s.reports[0].Reason)
}

// A request that waits for the run to make room has one report: whoever has another one comes again, to be heard by its run.
func TestRequestDoesNotLoseItsReportToTheNextOne(t *testing.T) {
	to := func(file string) func(*contract.Request) {
		return func(r *contract.Request) { r.Report = &contract.Report{ResultsFile: file} }
	}
	for name, test := range map[string]struct {
		next, offered contract.Request
		refused       bool
	}{
		"equal, no report":       {apply("2", generation(2), to("a")), apply("2", generation(2)), false},
		"equal, the same report": {apply("2", generation(2), to("a")), apply("2", generation(2), to("a")), false},
		"equal, another report":  {apply("2", generation(2), to("a")), apply("2", generation(2), to("b")), true},
		"equal, first report":    {apply("2", generation(2)), apply("2", generation(2), to("b")), true},
		"newer, the same report": {apply("2", generation(2), to("a")), apply("3", generation(3), to("a")), false},
		"newer, another report":  {apply("2", generation(2), to("a")), apply("3", generation(3), to("b")), true},
		"newer, no report":       {apply("2", generation(2), to("a")), apply("3", generation(3)), true},
		"newer, first report":    {apply("2", generation(2)), apply("3", generation(3), to("b")), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			at := buildTakes + commitTakes/2
			s.offer(at, test.next)
			answer := s.offer(at+time.Millisecond, test.offered)
			s.play(apply("1", generation(1), reporting))
			require.NotNil(t, s.next())
			if test.refused {
				assert.Equal(t, contract.ErrClosing, contract.TypeOf(answer.refused))
				assert.Equal(t, int64(2), s.next().Generation)
				return
			}
			require.NoError(t, answer.refused)
			assert.Equal(t, test.offered.Generation, s.next().Generation)
		})
	}
}
