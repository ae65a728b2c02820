//go:build integration

package devstack_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/openshift-online/maestro/pkg/api/openapi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack/simcluster"
)

func startClusters(t *testing.T, stack *devstack.Stack, consumers ...string) *simcluster.Cluster {
	t.Helper()
	clusters, err := simcluster.Start(t.Context(), simcluster.Options{
		BrokerAddress: stack.BrokerAddress(), Consumers: consumers, Logf: t.Logf,
	})
	require.NoError(t, err)
	t.Cleanup(clusters.Stop)
	return clusters
}

func TestClustersAnswerAsTheWorksAsk(t *testing.T) {
	stack := startStack(t, devstack.Options{Consumers: []string{consumer}, WithoutTemporal: true, Logf: t.Logf})
	clusters := startClusters(t, stack, consumer)
	api := newAPI(t, stack)

	t.Run("a refused update keeps the object and its Available", func(t *testing.T) {
		uid := api.create(t, configMap("refused", `{}`))
		first := api.awaitAvailable(t, uid)
		api.annotate(t, "refused", simcluster.Prefix+"applied-error", "denied by a webhook")
		second := api.await(t, uid, func(b *openapi.ResourceBundle) bool {
			c := meta.FindStatusCondition(conditions(t, b), workv1.WorkAvailable)
			return c != nil && c.ObservedGeneration == 2
		})
		assert.EqualValues(t, 1, first.GetVersion())
		assert.EqualValues(t, 2, second.GetVersion())
		assert.True(t, meta.IsStatusConditionFalse(conditions(t, second), workv1.WorkApplied))
		assert.True(t, meta.IsStatusConditionTrue(conditions(t, second), workv1.WorkAvailable))
		assert.Contains(t, fmt.Sprint(second.Status["resourceStatus"]), "denied by a webhook")
		assert.EqualValues(t, 1, clusters.Objects(consumer)[uid].Version)
	})

	t.Run("a silent work is applied without a word", func(t *testing.T) {
		uid := api.create(t, manifest("silent", simcluster.Prefix+"silent", "true"))
		require.Eventually(t, func() bool { return len(clusters.Objects(consumer)[uid].Manifests) == 1 }, 5*time.Second, 10*time.Millisecond)
		assert.Nil(t, api.get(t, uid).Status)
	})

	t.Run("a cut off cluster catches up", func(t *testing.T) {
		clusters.Disconnect(consumer)
		uid := api.create(t, configMap("cut-off", `{}`))
		require.NoError(t, api.works.ManifestWorks(consumer).Delete(t.Context(), "silent", metav1.DeleteOptions{}))
		assert.NotContains(t, clusters.Objects(consumer), uid)
		require.NoError(t, clusters.Connect(t.Context(), consumer))
		api.awaitAvailable(t, uid)
		require.Eventually(t, func() bool { return len(clusters.Objects(consumer)) == 2 }, 5*time.Second, 10*time.Millisecond)
	})

	t.Run("a status that was waiting for the connection arrives", func(t *testing.T) {
		uid := api.create(t, manifest("late", simcluster.Prefix+"apply-delay", "1s"))
		time.Sleep(300 * time.Millisecond) // the work is on its way to the cluster; nothing says when it has arrived
		stack.KillMaestro()
		require.Eventually(t, func() bool { return len(clusters.Objects(consumer)[uid].Manifests) == 1 }, 5*time.Second, 10*time.Millisecond)
		require.NoError(t, stack.StartMaestro(t.Context()))
		api.awaitAvailable(t, uid)
	})
}

func TestThousandWorksOnFiftyClusters(t *testing.T) {
	const works = 20
	var consumers []string
	for i := range 50 {
		consumers = append(consumers, fmt.Sprintf("cluster-%02d", i))
	}
	stack := startStack(t, devstack.Options{Consumers: consumers, WithoutTemporal: true, Logf: t.Logf})
	began := time.Now()
	clusters := startClusters(t, stack, consumers...)
	t.Logf("%d clusters are connected after %s", len(consumers), time.Since(began).Round(time.Millisecond))

	began = time.Now()
	queue := make(chan string)
	var publishers sync.WaitGroup
	for range 8 {
		api := newAPI(t, stack) // a client serves one consumer at a time
		publishers.Go(func() {
			for name := range queue {
				for i := range works {
					work := newWork(name, fmt.Sprintf("work-%d", i), configMap("same-name", `{"x":1}`))
					_, err := api.works.ManifestWorks(name).Create(t.Context(), work, metav1.CreateOptions{})
					assert.NoError(t, err)
				}
			}
		})
	}
	for _, name := range consumers {
		queue <- name
	}
	close(queue)
	publishers.Wait()
	t.Logf("%d works are published after %s", works*len(consumers), time.Since(began).Round(time.Millisecond))
	api := newAPI(t, stack)
	require.Eventually(t, func() bool {
		there := 0
		for _, name := range consumers {
			there += len(clusters.Objects(name))
		}
		return there == works*len(consumers)
	}, 5*time.Minute, 100*time.Millisecond)
	t.Logf("all works are on their clusters after %s", time.Since(began).Round(time.Millisecond))
	api.awaitAllAvailable(t, works*len(consumers))
	t.Logf("all works are available after %s", time.Since(began).Round(time.Millisecond))
	for _, name := range consumers {
		assert.Len(t, clusters.Objects(name), works)
	}

	stack.KillMaestro()
	require.NoError(t, stack.StartMaestro(t.Context()))
	began = time.Now()
	api = newAPI(t, stack)
	for _, name := range consumers {
		_, err := api.works.ManifestWorks(name).Create(t.Context(), newWork(name, "after", configMap("after", `{}`)), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	api.awaitAllAvailable(t, (works+1)*len(consumers))
	t.Logf("a new work on each cluster is available %s after the restart", time.Since(began).Round(time.Millisecond))
}

func (a *api) get(t *testing.T, uid string) *openapi.ResourceBundle {
	t.Helper()
	found, _, err := a.http.DefaultAPI.ApiMaestroV1ResourceBundlesIdGet(t.Context(), uid).Execute()
	require.NoError(t, err)
	return found
}

// annotate changes the first manifest of a work, which is a new version.
func (a *api) annotate(t *testing.T, name, key, value string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"workload":{"manifests":[%s]}}}`, manifest(name, key, value))
	_, err := a.works.ManifestWorks(consumer).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}

func (a *api) awaitAllAvailable(t *testing.T, want int) {
	t.Helper()
	available := 0
	require.Eventually(t, func() bool {
		list, _, err := a.http.DefaultAPI.ApiMaestroV1ResourceBundlesGet(t.Context()).Size(int32(want) + 1).Execute()
		if err != nil {
			return false
		}
		available = 0
		for _, bundle := range list.Items {
			if meta.IsStatusConditionTrue(conditions(t, &bundle), workv1.WorkAvailable) {
				available++
			}
		}
		return available == want
	}, 5*time.Minute, time.Second, "%d of %d works", available, want)
}
