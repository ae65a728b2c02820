package activities_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/openshift-hyperfleet/maestro-workflows/activities"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/hyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakehyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// desk is a status reporter in front of a fake HyperFleet API with one cluster.
type desk struct {
	t        *testing.T
	fake     *fakehyperfleet.Server
	reporter *activities.StatusReporter
	clock    atomic.Int64 // nanoseconds since 1970; the server of a cut connection may still read it
	cluster  string
	memory   json.RawMessage
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t}
	d.set(began)
	d.fake = fakehyperfleet.New(t, fakehyperfleet.Options{
		Clusters: []string{"pools"}, Nodepools: []string{"pools"}, Clock: d.now,
	})
	client, err := hyperfleet.New(hyperfleet.Config{URL: d.fake.URL(), Timeout: time.Second})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	d.reporter = &activities.StatusReporter{API: client, Now: d.now}
	d.cluster = d.fake.AddCluster("west-1")
	return d
}

func (d *desk) now() time.Time    { return time.Unix(0, d.clock.Load()).UTC() }
func (d *desk) set(now time.Time) { d.clock.Store(now.UnixNano()) }

// attempt is one attempt of the activity, with what the attempt before remembered.
func (d *desk) attempt(params contract.ReportStatusParams) (contract.ReportStatusResult, error) {
	d.t.Helper()
	env := newEnvironment()
	env.RegisterActivityWithOptions(d.reporter.ReportStatus, activity.RegisterOptions{Name: contract.ActivityReportStatus})
	if d.memory != nil {
		env.SetHeartbeatDetails(d.memory)
	}
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		require.NoError(d.t, details.Get(&d.memory))
	})
	value, err := env.ExecuteActivity(contract.ActivityReportStatus, params)
	if err != nil {
		return contract.ReportStatusResult{}, err
	}
	var result contract.ReportStatusResult
	require.NoError(d.t, value.Get(&result))
	return result, nil
}

func (d *desk) params(change ...func(*contract.ReportStatusParams)) contract.ReportStatusParams {
	params := contract.ReportStatusParams{
		Target: contract.HyperFleetReport{Kind: "Cluster", ID: d.cluster, Adapter: "pools"},
		Result: contract.StatusResult{
			ManifestWorkName: name, Consumer: consumer, Generation: 1, Version: 4,
			Status: contract.StatusInProgress, Reason: contract.ReasonRunning, Message: "waiting",
		},
	}
	for _, apply := range change {
		apply(&params)
	}
	return params
}

// deleted is the outcome of a deletion at the generation that the deletion made.
func deleted(params *contract.ReportStatusParams) {
	params.Finalizing = true
	params.Result.Generation = 2
	params.Result.Status, params.Result.Reason, params.Result.Message = contract.StatusDeleted, contract.ReasonDeleted, "gone"
}

func (d *desk) finalized() string {
	d.t.Helper()
	status, found := d.fake.Status(d.cluster, "pools")
	require.True(d.t, found)
	for _, condition := range status.Conditions {
		if condition.Type == "Finalized" {
			return condition.Status + " " + condition.Reason
		}
	}
	return ""
}

func TestReportStatusStoresTheStatus(t *testing.T) {
	d := newDesk(t)
	d.set(began.Add(1234567))
	result, err := d.attempt(d.params())
	require.NoError(t, err)
	at := began.Add(1234 * time.Microsecond)
	assert.Equal(t, contract.ReportStatusResult{Outcome: contract.ReportStored, Time: at, Generation: 1}, result)
	status, _ := d.fake.Status(d.cluster, "pools")
	assert.Equal(t, at, status.LastReportTime)
}

func TestReportStatusTimesAlwaysGrow(t *testing.T) {
	d := newDesk(t)
	var last time.Time
	for range 3 {
		result, err := d.attempt(d.params(func(p *contract.ReportStatusParams) { p.Last = last }))
		require.NoError(t, err)
		assert.Equal(t, contract.ReportStored, result.Outcome)
		assert.True(t, result.Time.After(last), "although the clock stands still")
		last, d.memory = result.Time, nil
	}
	assert.Equal(t, began.Add(2*time.Microsecond), last)
}

// Another worker's clock may be behind that of the attempt before.
func TestReportStatusRetryIsNeverOlderThanTheAttemptBefore(t *testing.T) {
	d := newDesk(t)
	d.fake.Inject(fakehyperfleet.ResetAfterStoring().Times(1))
	_, err := d.attempt(d.params())
	assert.Equal(t, contract.ErrHyperFleetUnavailable, contract.TypeOf(err))
	assert.True(t, retried(t, err))
	d.set(began.Add(-time.Minute))
	result, err := d.attempt(d.params())
	require.NoError(t, err)
	assert.Equal(t, contract.ReportStored, result.Outcome)
	assert.Equal(t, began.Add(time.Microsecond), result.Time)
}

func TestReportStatusOvertakesALaterReport(t *testing.T) {
	d := newDesk(t)
	d.set(began.Add(time.Minute))
	_, err := d.attempt(d.params())
	require.NoError(t, err)
	d.set(began)
	d.memory = nil
	_, err = d.attempt(d.params())
	assert.Equal(t, contract.ErrReportDropped, contract.TypeOf(err))
	assert.True(t, retried(t, err))
	result, err := d.attempt(d.params())
	require.NoError(t, err)
	assert.Equal(t, contract.ReportStored, result.Outcome)
	assert.Equal(t, began.Add(time.Minute+time.Microsecond), result.Time)
}

func TestReportStatusEndsQuietlyWhenNobodyCanBeTold(t *testing.T) {
	d := newDesk(t)
	missing := func(p *contract.ReportStatusParams) { p.Target.ID = "nobody" }
	for _, params := range []contract.ReportStatusParams{d.params(missing), d.params(missing, deleted)} {
		result, err := d.attempt(params)
		require.NoError(t, err)
		assert.Equal(t, contract.ReportGone, result.Outcome)
	}
	d.fake.Bump(d.cluster)
	_, err := d.attempt(d.params(func(p *contract.ReportStatusParams) { p.Result.Generation = 2 }))
	require.NoError(t, err)
	result, err := d.attempt(d.params())
	require.NoError(t, err)
	assert.Equal(t, contract.ReportSuperseded, result.Outcome)
	assert.Equal(t, int64(2), result.Generation)
}

func TestReportStatusFinalizesAClusterAfterItsNodepools(t *testing.T) {
	for name, address := range map[string]func(*contract.ReportStatusParams){
		"by kind and id": func(*contract.ReportStatusParams) {},
		"by href": func(p *contract.ReportStatusParams) {
			p.Target = contract.HyperFleetReport{Href: "/api/hyperfleet/v1/clusters/" + p.Target.ID, Adapter: "pools"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			nodepool := d.fake.AddNodepool(d.cluster, "workers")
			d.fake.Delete(d.cluster)
			for range 2 {
				_, err := d.attempt(d.params(deleted, address))
				assert.Equal(t, contract.ErrNodePoolsExist, contract.TypeOf(err))
				assert.ErrorContains(t, err, "workers")
				var application *temporal.ApplicationError
				require.ErrorAs(t, err, &application)
				assert.Equal(t, 30*time.Second, application.NextRetryDelay())
				assert.False(t, application.NonRetryable())
				assert.Equal(t, "False NodePoolsExist", d.finalized())
			}
			result, err := d.attempt(d.params(deleted, func(p *contract.ReportStatusParams) {
				p.Target = contract.HyperFleetReport{Kind: "NodePool", ID: nodepool, Adapter: "pools"}
			}))
			require.NoError(t, err)
			assert.Equal(t, contract.ReportStored, result.Outcome)
			_, found := d.fake.Get(nodepool)
			assert.False(t, found)

			result, err = d.attempt(d.params(deleted, address))
			require.NoError(t, err)
			assert.Equal(t, contract.ReportStored, result.Outcome)
			_, found = d.fake.Get(d.cluster)
			assert.False(t, found, "the last report removes the cluster")
		})
	}
}

// A list that cannot be read is not an empty list.
func TestReportStatusDoesNotFinalizeBlindly(t *testing.T) {
	d := newDesk(t)
	d.fake.AddNodepool(d.cluster, "workers")
	d.fake.Delete(d.cluster)
	for _, fault := range []fakehyperfleet.Fault{
		fakehyperfleet.Unavailable().Method("GET"), fakehyperfleet.NotJSON(200).Method("GET"), fakehyperfleet.Unavailable().Path("/nodepools"),
	} {
		d.fake.Inject(fault)
		_, err := d.attempt(d.params(deleted))
		assert.Equal(t, contract.ErrHyperFleetUnavailable, contract.TypeOf(err))
		assert.Empty(t, d.fake.Reports())
		d.fake.Heal()
	}
}

func TestReportStatusPassesOnWhatTheServerAsksFor(t *testing.T) {
	d := newDesk(t)
	d.fake.Inject(fakehyperfleet.TooManyRequests(7 * time.Second))
	_, err := d.attempt(d.params())
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	assert.Equal(t, 7*time.Second, application.NextRetryDelay())
}

func TestReportStatusNeedsAnAPIAndAGeneration(t *testing.T) {
	d := newDesk(t)
	_, err := d.attempt(d.params(func(p *contract.ReportStatusParams) { p.Result.Generation = 0 }))
	assert.Equal(t, contract.ErrHyperFleetRefused, contract.TypeOf(err))
	assert.False(t, retried(t, err))
	d.reporter.API = nil
	_, err = d.attempt(d.params())
	assert.Equal(t, contract.ErrReportFailed, contract.TypeOf(err))
	assert.ErrorContains(t, err, "this worker has no HyperFleet API (hyperfleet-url)")
	assert.False(t, retried(t, err))
}

// The work is gone, but nobody has deleted the resource: the API would take it for finalized.
func TestReportStatusFinalizesNothingThatIsNotBeingDeleted(t *testing.T) {
	d := newDesk(t)
	_, err := d.attempt(d.params(deleted, func(p *contract.ReportStatusParams) { p.Result.Generation = 1 }))
	require.NoError(t, err)
	assert.Equal(t, "False NotDeleting", d.finalized())
}
