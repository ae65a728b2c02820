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
)

// One worker, 50 clusters, and on each of them the same 20 names: every cluster holds its own content and nothing else.
func TestEveryClusterHoldsItsOwnContent(t *testing.T) {
	queue := unique("queue")
	startWorker(t, queue, maestroConfig())
	consumers := make([]string, fleet)
	for index := range consumers {
		consumers[index] = newConsumer(t)
	}
	client := starter.New(temporal, queue)
	var callers errgroup.Group
	callers.SetLimit(200)
	began := time.Now()
	for number := range perCluster {
		for _, consumer := range consumers {
			callers.Go(func() error {
				name := fmt.Sprintf("work-%d", number)
				operation, err := client.Start(t.Context(), contract.Request{
					Source: source, Consumer: consumer, Work: configMap(name, consumer+"/"+name, nil), Wait: "Available", Timeout: "5m",
				})
				if err != nil {
					return err
				}
				result, err := operation.Wait(t.Context())
				if err != nil {
					return fmt.Errorf("%s on %s: %w", name, consumer, err)
				}
				if result.Consumer != consumer || result.Version != 1 {
					return fmt.Errorf("%s on %s: result of version %d on %s", name, consumer, result.Version, result.Consumer)
				}
				return nil
			})
		}
	}
	require.NoError(t, callers.Wait())
	t.Logf("%d operations over %d consumers from one worker: %s; Maestro %s", fleet*perCluster, fleet, time.Since(began).Round(time.Second), stack.Database())
	for _, consumer := range consumers {
		requireOwnContent(t, consumer)
	}
}

func requireOwnContent(t *testing.T, consumer string) {
	t.Helper()
	objects := clusters.Objects(consumer)
	require.Len(t, objects, perCluster, "works on %s", consumer)
	for number := range perCluster {
		name := fmt.Sprintf("work-%d", number)
		work, found := objects[maestro.UID(source, consumer, name)]
		require.True(t, found, "%s on %s", name, consumer)
		require.Len(t, work.Manifests, 1)
		assert.Contains(t, string(work.Manifests[0]), fmt.Sprintf("%q", consumer+"/"+name))
		assert.EqualValues(t, 1, work.Version)
	}
}
