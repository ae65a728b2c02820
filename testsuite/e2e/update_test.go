//go:build integration

package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func apply(t *testing.T, queue, consumer string, request contract.Request) (contract.StatusResult, error) {
	t.Helper()
	request.Consumer = consumer
	return outcome(t, start(t, queue, request))
}

// The status of version 1 still says Available=True for three seconds after the update: the wait must not take it.
func TestUpdateWaitsForTheNewVersion(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	_, err := apply(t, queue, consumer, contract.Request{Work: configMap("work", "a", nil), Wait: "Available"})
	require.NoError(t, err)

	const agent = 3 * time.Second
	before := time.Now()
	result, err := apply(t, queue, consumer, contract.Request{
		Work: configMap("work", "b", script{"apply-delay": agent.String()}), Wait: "Available", Timeout: "1m",
	})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(before), agent, "the old version's Available was not taken")
	assert.EqualValues(t, 2, result.Version)
	assert.EqualValues(t, 2, result.ObservedVersion)
	for _, condition := range result.Conditions {
		assert.EqualValues(t, 2, condition.ObservedGeneration, condition.Type)
	}
}

// The agent refuses version 2 while the object of version 1 stays: Applied=False and Available=True, both for version 2.
func TestUpdateThatTheAgentRefusesFails(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	_, err := apply(t, queue, consumer, contract.Request{Work: configMap("work", "a", nil), Wait: "Available"})
	require.NoError(t, err)

	const cause = `ConfigMap "settings" is invalid: data: Forbidden: field is immutable when immutable is set`
	result, err := apply(t, queue, consumer, contract.Request{
		Work: configMap("work", "b", script{"applied-error": cause}), Wait: "Available", Timeout: "1m", Grace: "2s",
	})
	require.Equal(t, contract.ErrApplyFailed, contract.TypeOf(err))
	assert.Equal(t, contract.StatusFailed, result.Status)
	assert.Contains(t, result.Message, "ConfigMap/default/settings")
	assert.Contains(t, result.Message, cause, "the cluster's own words")
	require.Len(t, result.Resources, 1)
	assert.False(t, result.Resources[0].Applied)
	available := contract.Condition{}
	for _, condition := range result.Conditions {
		if condition.Type == "Available" {
			available = condition
		}
	}
	assert.Equal(t, "True", available.Status, "the object of version 1 is still there")
	assert.EqualValues(t, 2, available.ObservedGeneration)
	assert.EqualValues(t, 2, stored(t, consumer, "work").Version)
}

// A refusal that heals within the deadline is not the last word.
func TestRefusalThatHealsSucceeds(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	result, err := apply(t, queue, consumer, contract.Request{
		Work: configMap("work", "a", script{"applied-error": `no matches for kind "Widget" in version "example.test/v1"`, "applied-error-until": "4s"}),
		Wait: "Applied", Timeout: "1m", Grace: "1s",
	})
	require.NoError(t, err)
	assert.EqualValues(t, 1, result.Version)
}

// A cluster that never answers shows nowhere in Maestro: only the deadline and its message can say it.
func TestSilentClusterTimesOut(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	result, err := apply(t, queue, consumer, contract.Request{
		Work: configMap("work", "a", script{"silent": "true"}), Wait: "Available", Timeout: "4s",
	})
	require.Equal(t, contract.ErrWaitTimeout, contract.TypeOf(err))
	assert.Equal(t, contract.StatusTimedOut, result.Status)
	assert.Contains(t, result.Message, "has not reported yet")
}

func TestIdenticalApplyPublishesOnce(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	reasons := []string{}
	for range 3 {
		result, err := apply(t, queue, consumer, contract.Request{Work: configMap("work", "a", nil)})
		require.NoError(t, err)
		assert.EqualValues(t, 1, result.Version)
		reasons = append(reasons, result.Reason)
	}
	assert.Equal(t, []string{contract.ReasonPublished, contract.ReasonUnchanged, contract.ReasonUnchanged}, reasons)
	assert.EqualValues(t, 1, stored(t, consumer, "work").Version)
}

// Two callers apply different content at the same moment: both end, nobody sees a version conflict, and one of the two
// contents is stored as a whole.
func TestTwoAppliesAtOnce(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	contents := []string{"first", "second"}
	outcomes := make([]error, len(contents))
	var callers errgroup.Group
	for index, content := range contents {
		callers.Go(func() error {
			operation, err := starter.New(temporal, queue).Start(t.Context(), contract.Request{
				Source: source, Consumer: consumer, Work: configMap("work", content, nil), Wait: "Available", Timeout: "1m",
			})
			if err != nil {
				return err
			}
			_, outcomes[index] = operation.Wait(t.Context())
			return nil
		})
	}
	require.NoError(t, callers.Wait(), "both requests are accepted")
	manifests := stored(t, consumer, "work").Work.Spec.Workload.Manifests
	require.Len(t, manifests, 1)
	succeeded := 0
	for index, err := range outcomes {
		if err == nil {
			succeeded++
			continue
		}
		assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err))
		assert.NotContains(t, string(manifests[0].Raw), contents[index], "the stored work is the winner's")
	}
	assert.GreaterOrEqual(t, succeeded, 1)
	assert.Regexp(t, `"value":"(first|second)"`, string(manifests[0].Raw))
}

func TestDeleteEndsWhenTheBundleIsGone(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	_, err := apply(t, queue, consumer, contract.Request{Work: configMap("work", "a", script{"delete-delay": "3s"}), Wait: "Available"})
	require.NoError(t, err)

	removal := start(t, queue, contract.Request{Consumer: consumer, Action: contract.ActionDelete, Name: "work", Wait: "Deleted", Timeout: "1m"})
	eventually(t, "the deletion is asked for", func() bool { return stored(t, consumer, "work").DeletedAt != nil })
	waiting := start(t, queue, contract.Request{Consumer: consumer, Action: contract.ActionWait, Name: "work", Wait: "Available", Timeout: "1m"})
	_, err = outcome(t, waiting)
	assert.Equal(t, contract.ErrUnderDeletion, contract.TypeOf(err), "a work that is being deleted is not Available")

	result, err := outcome(t, removal)
	require.NoError(t, err)
	assert.Equal(t, contract.StatusDeleted, result.Status)
	_, err = server.Get(t.Context(), consumer, "work")
	assert.Error(t, err)
}
