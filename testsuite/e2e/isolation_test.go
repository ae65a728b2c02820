//go:build integration

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	fleet      = 50
	perCluster = 20
	sharedName = "work"
)

// One worker and 50 clusters, each of which gets 20 generations of a work that has the same name everywhere: at the end
// every cluster holds its own last content and nothing else.
func TestEveryClusterHoldsItsOwnContent(t *testing.T) {
	queue := unique("queue")
	startWorker(t, queue, maestroConfig())
	consumers := make([]string, fleet)
	for index := range consumers {
		consumers[index] = newConsumer(t)
	}
	client := starter.New(temporal, queue)
	var callers errgroup.Group
	began := time.Now()
	for _, consumer := range consumers {
		callers.Go(func() error {
			for generation := range perCluster {
				if err := deliver(t, client, consumer, int64(generation+1)); err != nil {
					return fmt.Errorf("generation %d on %s: %w", generation+1, consumer, err)
				}
			}
			return nil
		})
	}
	require.NoError(t, callers.Wait())
	t.Logf("%d operations over %d consumers from one worker: %s; Maestro %s", fleet*perCluster, fleet, time.Since(began).Round(time.Second), stack.Database())
	for _, consumer := range consumers {
		objects := clusters.Objects(consumer)
		require.Len(t, objects, 1, "works on %s", consumer)
		work := objects[maestro.UID(source, consumer, sharedName)]
		require.Len(t, work.Manifests, 1)
		assert.Contains(t, string(work.Manifests[0]), fmt.Sprintf("%q", content(consumer, perCluster)))
		assert.EqualValues(t, perCluster, work.Version, "each generation was published once")
	}
}

func content(consumer string, generation int64) string {
	return fmt.Sprintf("%s/%d", consumer, generation)
}

func deliver(t *testing.T, client *starter.Client, consumer string, generation int64) error {
	operation, err := client.Start(t.Context(), contract.Request{
		Source: source, Consumer: consumer, Generation: generation, Wait: "Available", Timeout: "5m",
		Work: configMap(sharedName, content(consumer, generation), script{"apply-delay": "0s", "available-delay": "0s"}),
	})
	if err != nil {
		return err
	}
	result, err := operation.Wait(t.Context())
	if err == nil && (result.Consumer != consumer || result.Version != generation || result.ObservedVersion != generation) {
		return fmt.Errorf("result of version %d, observed %d, on %s", result.Version, result.ObservedVersion, result.Consumer)
	}
	return err
}
