package fakemaestro_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

func TestEveryClientOfASourceSeesItsStatuses(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	a := sourceClient(t, s, source)
	b := sourceClient(t, s, "other")
	create(t, a, "c1", newWork("w", configMap("a", "1")))
	create(t, b, "c1", newWork("v", configMap("a", "1")))
	mine, err := a.ManifestWorks("c1").Watch(testContext(t), metav1.ListOptions{})
	require.NoError(t, err)
	id := fakemaestro.UID(source, "c1", "w")
	require.NoError(t, s.SetStatus(fakemaestro.UID("other", "c1", "v"), fakemaestro.Status{Conditions: []metav1.Condition{condition("Applied", 1)}}))
	require.NoError(t, s.SetStatus(id, fakemaestro.Status{Conditions: []metav1.Condition{condition("Applied", 1)}}))

	kind, work := nextEvent(t, mine, func(_ watch.Event, work *workv1.ManifestWork) bool { return len(work.Status.Conditions) > 0 })
	assert.Equal(t, watch.Modified, kind)
	assert.Equal(t, id, string(work.UID), "not the work of another source")
	assert.Len(t, work.Spec.Workload.Manifests, 1, "the event carries the spec")
}

func TestDeletionEndsWithTheAgentsConfirmation(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	create(t, c, "c1", newWork("w", configMap("a", "1")))
	id := fakemaestro.UID(source, "c1", "w")
	require.Error(t, s.ConfirmDelete(id), "nothing to confirm yet")
	w, err := c.ManifestWorks("c1").Watch(testContext(t), metav1.ListOptions{})
	require.NoError(t, err)
	require.NoError(t, c.ManifestWorks("c1").Delete(testContext(t), "w", metav1.DeleteOptions{}))
	require.NoError(t, c.ManifestWorks("c1").Delete(testContext(t), "w", metav1.DeleteOptions{}), "again")
	_, err = c.ManifestWorks("c1").Create(testContext(t), newWork("w", configMap("a", "1")), metav1.CreateOptions{})
	assert.True(t, apierrors.IsAlreadyExists(err), "%v", err)

	require.NoError(t, s.ConfirmDelete(id))
	_, work := nextEvent(t, w, func(event watch.Event, _ *workv1.ManifestWork) bool { return event.Type == watch.Deleted })
	assert.Equal(t, id, string(work.UID))
	_, err = c.ManifestWorks("c1").Get(testContext(t), "w", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestStaleStatusStaysUntilANewerOneArrives(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	create(t, c, "c1", newWork("w", configMap("a", "1")))
	id := fakemaestro.UID(source, "c1", "w")
	available := []metav1.Condition{condition("Available", 1)}
	changed, err := s.ReportStatus(id, fakemaestro.Status{SequenceID: "20971524096", Conditions: available})
	require.NoError(t, err)
	require.True(t, changed)
	require.NoError(t, update(t, c, "c1", get(t, c, "c1", "w"), newWork("w", configMap("a", "2"))))

	stored, _ := s.Bundle(id)
	assert.EqualValues(t, 2, stored.Version)
	assert.EqualValues(t, 1, stored.ObservedVersion, "the old status stays")
	for name, late := range map[string]fakemaestro.Status{
		"for the old version":       {ObservedVersion: 1, Conditions: available},
		"for a future version":      {ObservedVersion: 3, Conditions: available},
		"with an older sequence id": {ObservedVersion: 2, SequenceID: "16777220096", Conditions: available},
		"with the same sequence id": {ObservedVersion: 2, SequenceID: "20971524096", Conditions: available},
	} {
		changed, err := s.ReportStatus(id, late)
		require.NoError(t, err, name)
		assert.False(t, changed, name)
	}
	changed, err = s.ReportStatus(id, fakemaestro.Status{ObservedVersion: 2, Conditions: []metav1.Condition{condition("Available", 2)}})
	require.NoError(t, err)
	assert.True(t, changed)
}

// subscribe opens a raw stream and returns its first header and a receiver.
func subscribe(t *testing.T, s *fakemaestro.Server) (stream pbv1.CloudEventService_SubscribeClient) {
	t.Helper()
	conn, err := grpc.NewClient(s.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	stream, err = pbv1.NewCloudEventServiceClient(conn).Subscribe(testContext(t),
		&pbv1.SubscriptionRequest{Source: source, DataType: payload.ManifestBundleEventDataType.String()})
	require.NoError(t, err)
	return stream
}

func TestStreamsHaveHeartbeatsAndOnlyLooseOnesAnID(t *testing.T) {
	for generation, ids := range map[fakemaestro.Generation]int{fakemaestro.Strict: 0, fakemaestro.Loose: 1} {
		s := fakemaestro.New(t, fakemaestro.Options{Generation: generation, Heartbeat: 10 * time.Millisecond})
		stream := subscribe(t, s)
		event, err := stream.Recv()
		require.NoError(t, err)
		assert.Equal(t, types.HeartbeatCloudEventsType, event.Type)
		header, err := stream.Header()
		require.NoError(t, err)
		assert.Len(t, header.Get("subscription-id"), ids, generation)
	}
}

func TestDroppedStreamsEndUnavailable(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{})
	stream := subscribe(t, s)
	require.NoError(t, s.WaitSubscribers(testContext(t), source, 1))
	s.Faults().DropStreams()
	_, err := stream.Recv()
	assert.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.NoError(t, s.WaitSubscribers(testContext(t), source, 0))
}
