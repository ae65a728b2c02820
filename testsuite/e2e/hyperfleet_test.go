//go:build integration

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/hyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakehyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/worker/wiring"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// conditionsOf the last status of an adapter.
func conditionsOf(t *testing.T, api *fakehyperfleet.Server, id string) map[string]string {
	t.Helper()
	status, told := api.Status(id, "works")
	require.True(t, told)
	out := map[string]string{}
	for _, condition := range status.Conditions {
		out[condition.Type] = condition.Status
	}
	return out
}

// The life of a cluster's work as the HyperFleet API hears of it, with an outage of the API in the middle.
func TestHyperFleetHearsOfAWork(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	api := fakehyperfleet.New(t, fakehyperfleet.Options{Clusters: []string{"works"}})
	worker, err := wiring.New(t.Context(), temporal, wiring.Config{
		TaskQueue: queue, Namespace: stack.Namespace(), Maestro: maestroConfig(), StopTimeout: time.Second,
		HyperFleet: hyperfleet.Config{URL: api.URL(), Timeout: 5 * time.Second},
	})
	require.NoError(t, err)
	require.NoError(t, worker.Start())
	t.Cleanup(func() { _ = worker.Stop() })
	id := api.AddCluster("west-1")
	report := &contract.Report{HyperFleet: &contract.HyperFleetReport{Kind: "Cluster", ID: id, Adapter: "works"}}

	request := contract.Request{Consumer: consumer, Work: configMap("web", "1", nil), Generation: 1, Wait: "Available", Timeout: "2m", Report: report}
	_, err = outcome(t, start(t, queue, request))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"Applied": "True", "Available": "True", "Health": "True"}, conditionsOf(t, api, id))

	// The API is away: the outcome is known, and the report comes when it is back.
	api.Inject(fakehyperfleet.Unavailable())
	request.Work, request.Generation = configMap("web", "2", script{"applied-error": `configmaps "settings" is forbidden: no`}), api.Bump(id)
	request.Grace = "1s"
	op := start(t, queue, request)
	eventually(t, "the outcome is known", func() bool {
		result, err := starter.New(temporal, queue).Status(t.Context(), op.WorkflowID)
		return err == nil && result.FinishedAt != nil && result.Reason == string(contract.ErrApplyFailed)
	})
	api.Heal()
	_, err = outcome(t, op)
	require.Error(t, err)
	assert.Equal(t, "False", conditionsOf(t, api, id)["Available"])

	// A deletion that is confirmed finalizes, and the API drops the resource.
	api.Delete(id)
	resource, found := api.Get(id)
	require.True(t, found)
	_, err = outcome(t, start(t, queue, contract.Request{
		Consumer: consumer, Action: contract.ActionDelete, Name: "web", Generation: resource.Generation, Wait: "Deleted", Timeout: "2m", Report: report,
	}))
	require.NoError(t, err)
	_, found = api.Get(id)
	assert.False(t, found, "all adapters have finalized")
}
