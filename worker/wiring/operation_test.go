package wiring

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// slack is what the last attempt and the report may take beyond a limit, on the environment's clock.
const slack = 2 * time.Second

func TestMaestroThatNeverTakesTheWorkEndsWithinThePatience(t *testing.T) {
	for answers, test := range map[string]struct {
		existing bool
		fault    fakemaestro.Fault
		change   func(*contract.Request)
		failure  contract.ErrorType
		text     string
		within   time.Duration
	}{
		"only conflicts": {
			existing: true, fault: fakemaestro.PublishConflict(),
			failure: contract.ErrVersionConflict, text: "version moved", within: time.Minute,
		},
		"only refusals": {
			fault:   fakemaestro.PublishRefused("maestro-8: replicas must not be negative"),
			failure: contract.ErrManifestRefused, text: "replicas must not be negative",
		},
		"only refusals of an update": {
			existing: true, fault: fakemaestro.PublishRefused("maestro-8: replicas must not be negative"),
			failure: contract.ErrManifestRefused, text: "replicas must not be negative",
		},
		"unknown consumer": {
			fault: fakemaestro.HTTPSlow(time.Millisecond), change: func(r *contract.Request) { r.Consumer = "cluster-zz" },
			failure: contract.ErrConsumerNotFound, text: `"cluster-zz"`,
		},
		"no token":            {fault: fakemaestro.NoCredentials(), failure: contract.ErrUnauthorized, text: "invalid token"},
		"bad token":           {fault: fakemaestro.BadToken(), failure: contract.ErrUnauthorized, text: "token not authenticated"},
		"server error":        {fault: fakemaestro.HTTPStatus(http.StatusInternalServerError), failure: contract.ErrUnavailable, text: "500", within: time.Minute},
		"no answer to reads":  {fault: fakemaestro.HTTPHang(), failure: contract.ErrUnavailable, text: "does not answer", within: 10 * time.Second},
		"no answer to writes": {fault: fakemaestro.PublishHang(), failure: contract.ErrUnavailable, text: "does not answer", within: 10 * time.Second},
	} {
		t.Run(answers, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fakemaestro.Strict)
			if test.existing {
				s.stored("1")
			}
			s.maestro.Faults().Inject(test.fault)
			request := apply("2", waiting, reporting)
			if test.change != nil {
				test.change(&request)
			}
			if test.within > 0 {
				request.Patience = test.within.String()
			}
			result, took := s.play(request)
			assert.Equal(t, string(test.failure), result.Reason)
			assert.Equal(t, contract.StatusFailed, result.Status)
			assert.Contains(t, result.Message, test.text)
			assert.LessOrEqual(t, took, test.within+slack)
			if contract.Rules[test.failure].Retryable {
				assert.Contains(t, result.Message, "gave up after")
				assert.GreaterOrEqual(t, took, test.within/2, "it is patient")
			}
			report := s.reported()
			assert.Equal(t, "failure", report.Status)
			assert.Equal(t, string(test.failure), report.Reason)
			assert.Contains(t, report.Message, test.text)
		})
	}
}

func TestMaestroThatIsDownEndsWithinThePatience(t *testing.T) {
	s := newStage(t, fakemaestro.Strict)
	require.NoError(t, s.maestro.Faults().PauseHTTP())
	require.NoError(t, s.maestro.Faults().PauseGRPC())
	result, took := s.play(apply("1", reporting, func(r *contract.Request) { r.Patience = "20s" }))
	assert.Equal(t, string(contract.ErrUnavailable), result.Reason)
	assert.Contains(t, result.Message, "cannot be reached")
	assert.LessOrEqual(t, took, 20*time.Second+slack)
	assert.Equal(t, string(contract.ErrUnavailable), s.reported().Reason)
}

func TestMaestroThatComesBackIsWrittenTo(t *testing.T) {
	s := newStage(t, fakemaestro.Strict)
	outage := s.maestro.Faults().Inject(fakemaestro.HTTPStatus(http.StatusServiceUnavailable))
	s.env.RegisterDelayedCallback(outage.Remove, 20*time.Second)
	result, took := s.play(apply("1"))
	assert.Equal(t, contract.ReasonPublished, result.Reason)
	assert.Greater(t, result.Attempts, 2)
	assert.Less(t, took, 40*time.Second)
	assert.Len(t, s.maestro.Publishes(), 1)
}

func TestLostAnswerIsOneVersion(t *testing.T) {
	for _, generation := range []fakemaestro.Generation{fakemaestro.Strict, fakemaestro.Loose} {
		s := newStage(t, generation)
		s.maestro.Faults().Inject(fakemaestro.AnswerLost().Times(1))
		s.reports(10*time.Second, available(1))
		result, _ := s.play(apply("1", waiting))
		assert.Equal(t, contract.ReasonConditionMet, result.Reason)
		assert.Equal(t, int64(1), result.Version)
		assert.Equal(t, 2, result.Attempts)
		assert.Len(t, s.maestro.Publishes(), 1)
	}
}

func TestApplyWaitsForTheClustersAnswerToItsOwnVersion(t *testing.T) {
	s := newStage(t, fakemaestro.Strict)
	s.stored("1")
	require.NoError(t, s.maestro.SetStatus(uid, available(1)))
	s.reports(10*time.Second, refused(2, "exceeded quota: pods"))
	s.reports(40*time.Second, available(2))
	result, took := s.play(apply("2", waiting, reporting))
	assert.Equal(t, contract.ReasonConditionMet, result.Reason)
	assert.Equal(t, contract.StatusAvailable, result.Status)
	assert.Equal(t, []int64{2, 2}, []int64{result.Version, result.ObservedVersion})
	assert.GreaterOrEqual(t, took, 40*time.Second, "the old status and a refusal that heals end nothing")
	assert.Less(t, took, 75*time.Second)
	require.Len(t, result.Resources, 1)
	assert.True(t, result.Resources[0].Available)
	assert.Equal(t, "success", s.reported().Status)
}

func TestApplyFailsWhenTheClusterRefusesTheNewVersionAlthoughAvailableStaysTrue(t *testing.T) {
	s := newStage(t, fakemaestro.Strict)
	s.stored("1")
	require.NoError(t, s.maestro.SetStatus(uid, available(1)))
	s.reports(5*time.Second, refused(2, `ConfigMap "settings" is invalid: data: field is immutable`))
	result, took := s.play(apply("2", waiting, reporting))
	assert.Equal(t, string(contract.ErrApplyFailed), result.Reason)
	assert.Contains(t, result.Message, "field is immutable")
	assert.GreaterOrEqual(t, took, 35*time.Second, "after the grace period")
	assert.Less(t, took, 50*time.Second)
	require.Len(t, result.Resources, 1)
	assert.False(t, result.Resources[0].Applied)
	assert.Contains(t, s.reported().Message, "field is immutable")
}

func TestWaitEndsAtItsDeadlineWhateverItWaitsFor(t *testing.T) {
	down := func(s *stage) {
		s.env.RegisterDelayedCallback(func() { s.maestro.Faults().Inject(fakemaestro.HTTPStatus(http.StatusServiceUnavailable)) }, 5*time.Second)
	}
	for awaits, test := range map[string]struct {
		request contract.Request
		arrange func(*stage)
		text    string
	}{
		"a status":               {apply("1", waiting), nil, "the cluster has not reported yet"},
		"a Maestro that is down": {apply("1", waiting), down, "503: Service Unavailable; last seen: Available: the cluster has not reported yet"},
		"four terms": {
			apply("1", func(r *contract.Request) {
				r.Wait = "Applied AND Available AND ConfigMap:Applied AND ConfigMap/settings:Available"
			}), nil, "Applied",
		},
		"a work that never comes": {
			contract.Request{Source: source, Consumer: consumer, Action: contract.ActionWait, Name: name, Wait: "Applied"}, nil, "was never found",
		},
	} {
		t.Run(awaits, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fakemaestro.Strict)
			if test.arrange != nil {
				test.arrange(s)
			}
			request := test.request
			request.Timeout = "60s"
			result, took := s.play(request)
			assert.Equal(t, string(contract.ErrWaitTimeout), result.Reason)
			assert.Equal(t, contract.StatusTimedOut, result.Status)
			assert.Contains(t, result.Message, test.text)
			assert.GreaterOrEqual(t, took, time.Minute)
			assert.LessOrEqual(t, took, time.Minute+slack)
		})
	}
}

func TestTimeoutZeroLooksOnce(t *testing.T) {
	for _, meets := range []bool{false, true} {
		s := newStage(t, fakemaestro.Strict)
		s.stored("1")
		if meets {
			require.NoError(t, s.maestro.SetStatus(uid, available(1)))
		}
		result, took := s.play(contract.Request{Source: source, Consumer: consumer, Action: contract.ActionWait, Name: name, Wait: "Available", Timeout: "0"})
		assert.Equal(t, map[bool]string{true: contract.ReasonConditionMet, false: string(contract.ErrWaitTimeout)}[meets], result.Reason)
		assert.Less(t, took, time.Second)
	}
}

func TestWaitOnAnUnknownConsumerEndsAtOnce(t *testing.T) {
	for _, wait := range []string{"Available", "Deleted"} {
		s := newStage(t, fakemaestro.Strict)
		result, took := s.play(contract.Request{Source: source, Consumer: "nobody", Action: contract.ActionWait, Name: name, Wait: wait})
		assert.Equal(t, string(contract.ErrConsumerNotFound), result.Reason)
		assert.Less(t, took, time.Second)
	}
}

func TestParkedWaitLooksMoreAndMoreSeldom(t *testing.T) {
	s := newStage(t, fakemaestro.Strict)
	var looks []time.Time
	s.env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == contract.ActivityObserve {
			looks = append(looks, s.env.Now())
		}
	})
	s.play(apply("1", waiting, func(r *contract.Request) { r.Timeout = "1h" }))
	require.Greater(t, len(looks), 50)
	require.Less(t, len(looks), 200)
	pause := contract.PollFirst
	for i := range looks[1 : len(looks)-1] { // the last one is at the deadline
		want := min(max(pause, looks[i].Sub(looks[0])/8), contract.PollMax)
		assert.InDelta(t, want, looks[i+1].Sub(looks[i]), float64(want)/10+float64(5*time.Millisecond), "pause %d", i+1)
		pause = min(2*pause, contract.PollSoon)
	}
}

func TestDeleteEndsWhenTheClusterHasConfirmed(t *testing.T) {
	s := newStage(t, fakemaestro.Strict)
	s.stored("1")
	require.NoError(t, s.maestro.SetStatus(uid, available(1)))
	s.env.RegisterDelayedCallback(func() { assert.NoError(t, s.maestro.ConfirmDelete(uid)) }, 25*time.Second)
	result, took := s.play(contract.Request{Source: source, Consumer: consumer, Action: contract.ActionDelete, Name: name, Wait: "Deleted"})
	assert.Equal(t, contract.ReasonDeleted, result.Reason)
	assert.Equal(t, contract.StatusDeleted, result.Status)
	assert.GreaterOrEqual(t, took, 25*time.Second)
	assert.Less(t, took, 36*time.Second)
}

func TestDeletionUnderWayEndsAWaitAndHoldsUpAnApply(t *testing.T) {
	s := newStage(t, fakemaestro.Strict)
	s.stored("1")
	require.NoError(t, s.maestro.SetStatus(uid, available(1)))
	result, _ := s.play(contract.Request{Source: source, Consumer: consumer, Action: contract.ActionDelete, Name: name})
	require.Equal(t, contract.ReasonDeletionRequested, result.Reason)

	s.reset()
	result, took := s.play(contract.Request{Source: source, Consumer: consumer, Action: contract.ActionWait, Name: name, Wait: "Available"})
	assert.Equal(t, string(contract.ErrUnderDeletion), result.Reason, "although Available is True")
	assert.Less(t, took, slack)

	s.reset()
	result, took = s.play(apply("2", func(r *contract.Request) { r.Patience = "30s" }))
	assert.Equal(t, string(contract.ErrUnderDeletion), result.Reason)
	assert.LessOrEqual(t, took, 30*time.Second+slack)
	assert.Len(t, s.maestro.Publishes(), 2, "a create and a delete")
}
