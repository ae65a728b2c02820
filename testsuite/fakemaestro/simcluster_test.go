package fakemaestro_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack/simcluster"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

func TestSimulatedClustersWorkAgainstTheFake(t *testing.T) {
	for _, generation := range []fakemaestro.Generation{fakemaestro.Strict, fakemaestro.Loose} {
		t.Run(generation.String(), func(t *testing.T) {
			s := fakemaestro.New(t, fakemaestro.Options{Generation: generation, Consumers: []string{"c1"}})
			clusters, err := simcluster.Start(testContext(t), simcluster.Options{
				BrokerAddress: s.BrokerAddress(),
				Consumers:     []string{"c1"},
			})
			require.NoError(t, err)
			t.Cleanup(clusters.Stop)
			c := sourceClient(t, s, source)
			w, err := c.ManifestWorks("c1").Watch(testContext(t), metav1.ListOptions{})
			require.NoError(t, err)
			create(t, c, "c1", newWork("w", configMap("a", "1")))
			nextEvent(t, w, availableAt(1))
			id := fakemaestro.UID(source, "c1", "w")

			// what is published while the cluster is away reaches it when it is back
			clusters.Disconnect("c1")
			require.NoError(t, update(t, c, "c1", get(t, c, "c1", "w"), newWork("w", configMap("a", "2"))))
			stored, _ := s.Bundle(id)
			assert.EqualValues(t, 1, stored.ObservedVersion)
			require.NoError(t, clusters.Connect(testContext(t), "c1"))
			nextEvent(t, w, availableAt(2))
			assert.EqualValues(t, 2, clusters.Objects("c1")[id].Version)

			require.NoError(t, c.ManifestWorks("c1").Delete(testContext(t), "w", metav1.DeleteOptions{}))
			nextEvent(t, w, func(e watch.Event, _ *workv1.ManifestWork) bool { return e.Type == watch.Deleted })
			assert.Empty(t, s.Bundles())
			assert.Empty(t, clusters.Objects("c1"))
		})
	}
}
