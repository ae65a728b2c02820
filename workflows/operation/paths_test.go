package operation_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	build   = contract.ActivityBuild
	commit  = contract.ActivityCommit
	observe = contract.ActivityObserve
	report  = contract.ActivityReport
)

func TestOperationSucceeds(t *testing.T) {
	commits := func(outcome contract.CommitOutcome, version int64) func(*stage) {
		return func(s *stage) {
			s.commit = func(contract.CommitParams) (contract.CommitResult, error) {
				return contract.CommitResult{Outcome: outcome, Version: version, Attempt: 2}, nil
			}
		}
	}
	for name, test := range map[string]struct {
		request contract.Request
		arrange func(*stage)
		called  []string
		phases  []contract.Phase
		status  contract.Status
		reason  string
		message string
	}{
		"apply": {
			request: apply("1"), called: []string{build, commit},
			phases: []contract.Phase{contract.PhaseBuilding, contract.PhaseApplying, contract.PhaseSucceeded},
			status: contract.StatusInProgress, reason: contract.ReasonPublished,
			message: "version 4 is published; nothing is known about the cluster yet",
		},
		"apply and wait": {
			request: apply("1", waiting), called: []string{build, commit, observe},
			phases: []contract.Phase{contract.PhaseBuilding, contract.PhaseApplying, contract.PhaseWaiting, contract.PhaseSucceeded},
			status: contract.StatusAvailable, reason: contract.ReasonConditionMet, message: "holds",
		},
		"apply what is stored": {
			request: apply("1"), arrange: commits(contract.CommitUnchanged, 3), called: []string{build, commit},
			phases: []contract.Phase{contract.PhaseBuilding, contract.PhaseApplying, contract.PhaseSucceeded},
			status: contract.StatusInProgress, reason: contract.ReasonUnchanged, message: "version 3 already is as wanted, nothing was published",
		},
		"apply, wait and report": {
			request: apply("1", waiting, reporting), called: []string{build, commit, observe, report},
			phases: []contract.Phase{contract.PhaseBuilding, contract.PhaseApplying, contract.PhaseWaiting, contract.PhaseReporting, contract.PhaseSucceeded},
			status: contract.StatusAvailable, reason: contract.ReasonConditionMet, message: "holds",
		},
		"delete": {
			request: remove(), called: []string{build, commit},
			phases: []contract.Phase{contract.PhaseBuilding, contract.PhaseApplying, contract.PhaseSucceeded},
			status: contract.StatusInProgress, reason: contract.ReasonDeletionRequested,
			message: "deletion is requested; the work is gone when the cluster has confirmed it",
		},
		"delete and wait": {
			request: remove(waiting), called: []string{build, commit, observe},
			phases: []contract.Phase{contract.PhaseBuilding, contract.PhaseApplying, contract.PhaseWaiting, contract.PhaseDeleted},
			status: contract.StatusDeleted, reason: contract.ReasonDeleted, message: "gone",
		},
		"delete what is not there": {
			request: remove(waiting), arrange: commits(contract.CommitAbsent, 0), called: []string{build, commit},
			phases: []contract.Phase{contract.PhaseBuilding, contract.PhaseApplying, contract.PhaseDeleted},
			status: contract.StatusDeleted, reason: contract.ReasonDeleted, message: "there was no such work",
		},
		"wait": {
			request: contract.Request{Source: "hyperfleet", Consumer: "cluster-a1", Action: contract.ActionWait, Name: "web", Wait: "Available"},
			called:  []string{build, observe},
			phases:  []contract.Phase{contract.PhaseBuilding, contract.PhaseWaiting, contract.PhaseSucceeded},
			status:  contract.StatusAvailable, reason: contract.ReasonConditionMet, message: "holds",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if test.arrange != nil {
				test.arrange(s)
			}
			s.play(test.request)
			result, err := s.outcome()
			require.NoError(t, err)
			assert.Equal(t, test.called, s.called)
			assert.Equal(t, test.phases, s.phases)
			assert.Equal(t, test.status, result.Status)
			assert.Equal(t, test.reason, result.Reason)
			assert.Equal(t, test.message, result.Message)
			assert.True(t, result.Succeeded())
		})
	}
}

func TestResultSaysWhatWasDoneForWhom(t *testing.T) {
	s := newStage(t)
	s.build = func(contract.BuildParams) (contract.BuildResult, error) {
		return contract.BuildResult{Name: "web", Generation: 7, Warnings: []string{"feedback rule 1 matches no manifest"}}, nil
	}
	s.commit = func(contract.CommitParams) (contract.CommitResult, error) {
		return contract.CommitResult{Outcome: contract.CommitUpdated, Version: 4, Attempt: 3}, nil
	}
	request := apply("1", waiting, generation(7), func(r *contract.Request) { r.Grace, r.Force = "20s", true })
	s.play(request)
	result, err := s.outcome()
	require.NoError(t, err)

	finished := began.Add(buildTakes + commitTakes + observeTakes)
	assert.NotEmpty(t, result.RunID)
	result.RunID = ""
	assert.Equal(t, contract.StatusResult{
		ManifestWorkName: "web", Consumer: "cluster-a1", Status: contract.StatusAvailable,
		Reason: contract.ReasonConditionMet, Message: "holds", Timestamp: finished,
		Resources:  []contract.ResourceStatus{{Version: "v1", Kind: "ConfigMap", Name: "settings", Applied: true}},
		Generation: 7, Version: 4, ObservedVersion: 4, Conditions: []contract.Condition{{Type: "Available", Status: "True"}},
		WorkflowID: "op/hyperfleet/cluster-a1/web", Attempts: 3, StartedAt: &began, FinishedAt: &finished,
		Warnings: []string{"feedback rule 1 matches no manifest"}, RequestDigest: request.Digest(),
	}, result)
	assert.Equal(t, []contract.CommitParams{{
		Action: contract.ActionApply, Source: "hyperfleet", Consumer: "cluster-a1", Name: "web",
		Work: request.Work, Generation: 7, Force: true,
	}}, s.commits)
	assert.Equal(t, []contract.ObserveParams{{
		Source: "hyperfleet", Consumer: "cluster-a1", Name: "web", Version: 4, Generation: 7, Wait: "Available",
		MustExist: true, Grace: 20 * time.Second, Until: began.Add(5 * time.Minute),
	}}, s.observes)
}

func TestSearchAttributesNameConsumerWorkAndGeneration(t *testing.T) {
	s := newStage(t)
	seen := false
	s.at(buildTakes/2, func() {
		consumer, _ := s.attributes.GetKeyword(contract.SearchConsumer)
		work, _ := s.attributes.GetKeyword(contract.SearchWork)
		number, _ := s.attributes.GetInt64(contract.SearchGeneration)
		assert.Equal(t, []any{"cluster-a1", "web", int64(7)}, []any{consumer, work, number})
		seen = true
	})
	s.play(apply("1", generation(7)))
	assert.True(t, seen)
}

func TestQueryShowsWhereTheOperationStands(t *testing.T) {
	s := newStage(t)
	ask := func(message string, version int64) func() {
		return func() {
			value, err := s.env.QueryWorkflow(contract.QueryStatus)
			require.NoError(t, err)
			var result contract.StatusResult
			require.NoError(t, value.Get(&result))
			assert.Equal(t, contract.StatusInProgress, result.Status)
			assert.Equal(t, contract.ReasonRunning, result.Reason)
			assert.Equal(t, message, result.Message)
			assert.Equal(t, version, result.Version)
			assert.Nil(t, result.FinishedAt)
		}
	}
	s.at(500*time.Millisecond, ask("checking the request", 0))
	s.at(2*time.Second, ask("writing to Maestro", 0))
	s.at(5*time.Second, ask("waiting for Available until 2026-03-02T10:05:00Z", 4))
	s.play(apply("1", waiting))
	require.NoError(t, s.env.GetWorkflowError())
}

func TestReportThatFailsStandsBesideTheOutcome(t *testing.T) {
	s := newStage(t)
	s.report = func(contract.ReportParams) (contract.ReportResult, error) {
		return contract.ReportResult{}, contract.Errorf(contract.ErrReportFailed, "no results directory").Application()
	}
	s.play(apply("1", reporting))
	result, err := s.outcome()
	require.NoError(t, err)
	assert.Equal(t, contract.ReasonPublished, result.Reason)
	assert.Equal(t, []string{"report: no results directory"}, result.Warnings)
}

func TestReportIsTriedAgainForAMinuteAtMost(t *testing.T) {
	s := newStage(t)
	s.report = func(contract.ReportParams) (contract.ReportResult, error) {
		return contract.ReportResult{}, errors.New("disk is gone")
	}
	s.play(apply("1", reporting))
	result, err := s.outcome()
	require.NoError(t, err)
	assert.Greater(t, len(s.reports), 3)
	assert.Less(t, s.env.Now().Sub(began), 90*time.Second)
	require.Len(t, result.Warnings, 1)
	assert.Contains(t, result.Warnings[0], "disk is gone")
}
