package fakemaestro_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/options"
	workclient "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work"
	agentcodec "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/agent/codec"
	workstore "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/store"
	grpcoptions "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

// startAgent runs the OCM agent client of one consumer: every work is reported Applied and Available at its
// generation as soon as it is seen, and its deletion is confirmed.
func startAgent(t *testing.T, s *fakemaestro.Server, consumer string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	store := workstore.NewAgentInformerWatcherStore()
	opts := options.NewGenericClientOptions(
		&grpcoptions.GRPCOptions{Dialer: &grpcoptions.GRPCDialer{URL: s.BrokerAddress()}},
		agentcodec.NewManifestBundleCodec(), consumer+"-work-agent").
		WithClusterName(consumer).
		WithClientWatcherStore(store)
	holder, err := workclient.NewAgentClientHolder(ctx, opts)
	require.NoError(t, err)
	works := holder.ManifestWorks(consumer)
	w, err := works.Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	seen := make(chan *workv1.ManifestWork, 100)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case event := <-w.ResultChan():
				if work, ok := event.Object.(*workv1.ManifestWork); ok && event.Type != watch.Deleted {
					seen <- work.DeepCopy()
				}
			}
		}
	}()
	go func() {
		for {
			select {
			case <-ctx.Done():
				w.Stop()
				return
			case work := <-seen:
				reconcileUntilDone(ctx, works, work)
			}
		}
	}()
}

// reconcileUntilDone tries again after an error and while the client's store is older than the event: the event is
// sent before its work is stored.
func reconcileUntilDone(ctx context.Context, c workv1client.ManifestWorkInterface, seen *workv1.ManifestWork) {
	retry := time.NewTicker(2 * time.Millisecond)
	defer retry.Stop()
	for range 1000 {
		work, err := c.Get(ctx, seen.Name, metav1.GetOptions{})
		if err == nil && !older(work, seen) && reconcile(ctx, c, work) == nil {
			return
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return
		}
	}
}

func older(a, b *workv1.ManifestWork) bool {
	left, err := strconv.Atoi(a.ResourceVersion)
	right, err2 := strconv.Atoi(b.ResourceVersion)
	return err == nil && err2 == nil && left < right
}

func reconcile(ctx context.Context, c workv1client.ManifestWorkInterface, work *workv1.ManifestWork) error {
	next := work.DeepCopy()
	if !work.DeletionTimestamp.IsZero() {
		if len(work.Finalizers) == 0 {
			return nil
		}
		next.Finalizers = nil
		return patch(ctx, c, work, next)
	}
	if len(work.Finalizers) == 0 {
		next.Finalizers = []string{workv1.ManifestWorkFinalizer}
		return patch(ctx, c, work, next)
	}
	for _, present := range work.Status.Conditions {
		if present.Type == "Available" && present.ObservedGeneration == work.Generation {
			return nil
		}
	}
	next.Status.Conditions = []metav1.Condition{condition("Applied", work.Generation), condition("Available", work.Generation)}
	return patch(ctx, c, work, next, "status")
}

func patch(ctx context.Context, c workv1client.ManifestWorkInterface, old, next *workv1.ManifestWork, sub ...string) error {
	before, err := json.Marshal(old)
	after, err2 := json.Marshal(next)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	diff, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return err
	}
	_, err = c.Patch(ctx, old.Name, types.MergePatchType, diff, metav1.PatchOptions{}, sub...)
	return err
}

func availableAt(generation int64) func(watch.Event, *workv1.ManifestWork) bool {
	return func(_ watch.Event, work *workv1.ManifestWork) bool {
		for _, c := range work.Status.Conditions {
			if c.Type == "Available" && c.ObservedGeneration == generation {
				return true
			}
		}
		return false
	}
}

func TestAgentSeesSpecsAndItsStatusesComeBack(t *testing.T) {
	for _, generation := range []fakemaestro.Generation{fakemaestro.Strict, fakemaestro.Loose} {
		t.Run(generation.String(), func(t *testing.T) {
			s := fakemaestro.New(t, fakemaestro.Options{Generation: generation, Consumers: []string{"c1"}})
			c := sourceClient(t, s, source)
			create(t, c, "c1", newWork("before", configMap("a", "1"))) // the agent learns of it by its resync
			w, err := c.ManifestWorks("c1").Watch(testContext(t), metav1.ListOptions{})
			require.NoError(t, err)
			startAgent(t, s, "c1")
			nextEvent(t, w, availableAt(1))

			create(t, c, "c1", newWork("w", configMap("a", "1")))
			isW := func(passes func(watch.Event, *workv1.ManifestWork) bool) func(watch.Event, *workv1.ManifestWork) bool {
				return func(e watch.Event, work *workv1.ManifestWork) bool { return work.Name == "w" && passes(e, work) }
			}
			nextEvent(t, w, isW(availableAt(1)))
			require.NoError(t, update(t, c, "c1", get(t, c, "c1", "w"), newWork("w", configMap("a", "2"))))
			nextEvent(t, w, isW(availableAt(2)))
			stored, _ := s.Bundle(fakemaestro.UID(source, "c1", "w"))
			assert.EqualValues(t, 2, stored.ObservedVersion)

			require.NoError(t, c.ManifestWorks("c1").Delete(testContext(t), "w", metav1.DeleteOptions{}))
			nextEvent(t, w, isW(func(e watch.Event, _ *workv1.ManifestWork) bool { return e.Type == watch.Deleted }))
			_, err = c.ManifestWorks("c1").Get(testContext(t), "w", metav1.GetOptions{})
			assert.True(t, apierrors.IsNotFound(err), "%v", err)
		})
	}
}

func TestAgentsSeeOnlyTheirConsumer(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1", "c2"}})
	c := sourceClient(t, s, source)
	w, err := c.ManifestWorks(metav1.NamespaceAll).Watch(testContext(t), metav1.ListOptions{})
	require.NoError(t, err)
	startAgent(t, s, "c1")
	create(t, c, "c2", newWork("w", configMap("a", "1")))
	create(t, c, "c1", newWork("w", configMap("a", "1")))
	_, work := nextEvent(t, w, availableAt(1))
	assert.Equal(t, "c1", work.Namespace)
	other, _ := s.Bundle(fakemaestro.UID(source, "c2", "w"))
	assert.Zero(t, other.ObservedVersion)
}
