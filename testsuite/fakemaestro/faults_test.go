package fakemaestro_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

func TestLostAnswerIsStoredAndRecorded(t *testing.T) {
	for name, fault := range map[string]fakemaestro.Fault{
		"answer lost":    fakemaestro.AnswerLost(),
		"connection cut": fakemaestro.ConnectionCut(),
	} {
		t.Run(name, func(t *testing.T) {
			s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
			c := sourceClient(t, s, source)
			lost := s.Faults().Inject(fault.Times(1))
			_, err := c.ManifestWorks("c1").Create(testContext(t), newWork("w", configMap("a", "1")), metav1.CreateOptions{})
			require.Error(t, err)
			assert.Contains(t, err.Error(), "Unavailable")
			assert.Equal(t, 1, lost.Hits())
			stored, ok := s.Bundle(fakemaestro.UID(source, "c1", "w"))
			require.True(t, ok, "stored before the answer was lost")
			assert.EqualValues(t, 1, stored.Version)
			publishes := s.Publishes()
			require.Len(t, publishes, 1)
			assert.True(t, publishes[0].Accepted)
			assert.True(t, publishes[0].AnswerLost)
		})
	}
}

func TestAnswerIsLostOnlyForTheNamedConsumer(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1", "c2"}})
	c := sourceClient(t, s, source)
	lost := s.Faults().Inject(fakemaestro.AnswerLost().Consumer("c2"))
	create(t, c, "c1", newWork("w", configMap("a", "1")))
	_, err := c.ManifestWorks("c2").Create(testContext(t), newWork("w", configMap("a", "1")), metav1.CreateOptions{})
	require.Error(t, err)
	lost.Remove()
	create(t, c, "c2", newWork("v", configMap("a", "1")))
	assert.Equal(t, 1, lost.Hits())
}

func TestRefusedPublishesDoNotMoveTheVersion(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	create(t, c, "c1", newWork("w", configMap("a", "1")))
	base := get(t, c, "c1", "w")
	for _, test := range []struct {
		fault fakemaestro.Fault
		text  string
		code  codes.Code
	}{
		{fakemaestro.PublishRefused("failed to update resource: maestro-26: busy"), "failed to update resource: maestro-26: busy", codes.Unknown},
		{fakemaestro.PublishError(codes.ResourceExhausted, "slow down"), "slow down", codes.ResourceExhausted},
		{fakemaestro.NoCredentials(), "invalid token", codes.Unauthenticated},
		{fakemaestro.BadToken(), "token not authenticated", codes.Unknown},
		{fakemaestro.NotAuthorized(), "unauthorized to publish the event from source tests", codes.Unknown},
	} {
		fault := s.Faults().Inject(test.fault)
		err := update(t, c, "c1", base, newWork("w", configMap("a", "2")))
		require.Error(t, err, test.text)
		assert.Contains(t, err.Error(), test.text)
		assert.Contains(t, err.Error(), "code = "+test.code.String())
		assert.Equal(t, 1, fault.Hits())
		fault.Remove()
	}
	assert.EqualValues(t, 1, get(t, c, "c1", "w").Generation)
	require.NoError(t, update(t, c, "c1", base, newWork("w", configMap("a", "2"))))
}

func TestConflictsComeFromAVersionThatMoves(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	create(t, c, "c1", newWork("w", configMap("a", "1")))
	s.Faults().Inject(fakemaestro.PublishConflict().Times(2))
	for _, text := range []string{"the latest version: 2", "the latest version: 3"} {
		err := update(t, c, "c1", get(t, c, "c1", "w"), newWork("w", configMap("a", "2")))
		require.Error(t, err)
		assert.Contains(t, err.Error(), "failed to update resource: maestro-6: the resource version is not the latest, "+text)
	}
	require.NoError(t, update(t, c, "c1", get(t, c, "c1", "w"), newWork("w", configMap("a", "2"))))
	assert.EqualValues(t, 4, get(t, c, "c1", "w").Generation)
}

func TestSubscriptionsAreRefusedWithoutCredentials(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{})
	for _, test := range []struct {
		fault fakemaestro.Fault
		text  string
		code  codes.Code
	}{
		{fakemaestro.NoCredentials(), "invalid token", codes.Unauthenticated},
		{fakemaestro.NotAuthorized(), "unauthorized to subscribe the event from source tests", codes.Unknown},
	} {
		fault := s.Faults().Inject(test.fault)
		_, err := subscribe(t, s).Recv()
		require.Error(t, err)
		assert.Equal(t, test.code, status.Code(err))
		assert.Contains(t, err.Error(), test.text)
		fault.Remove()
	}
}

func TestHTTPAnswersAreReplaced(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	for _, code := range []int{500, 401, 403} {
		fault := s.Faults().Inject(fakemaestro.HTTPStatus(code).Times(1).Method("GET"))
		got, body := call(t, s, "DELETE", api+"/resource-bundles/x", "")
		assert.Equal(t, 204, got, "another method: %s", body)
		got, body = call(t, s, "GET", api+"/consumers", "")
		assert.Equal(t, code, got)
		if code == 500 {
			assert.Contains(t, body, `"code":"maestro-9"`)
		}
		got, _ = call(t, s, "GET", api+"/consumers", "")
		assert.Equal(t, 200, got, "only once")
		assert.Equal(t, 1, fault.Hits())
	}
	s.Faults().Inject(fakemaestro.HTTPUnavailable(1500 * time.Millisecond))
	resp, err := http.Get(s.HTTPURL() + api + "/consumers")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, "2", resp.Header.Get("Retry-After"))
}

func TestHTTPFaultsCanBeLimitedToABundleOrAConsumer(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{})
	require.NoError(t, s.PutRaw([]byte(`{"id":"one","consumer_name":"c1","version":1}`)))
	require.NoError(t, s.PutRaw([]byte(`{"id":"two","consumer_name":"c2","version":1}`)))
	s.Faults().Inject(fakemaestro.HTTPStatus(500).Consumer("c1"))
	s.Faults().Inject(fakemaestro.HTTPStatus(403).ID("two"))
	for path, code := range map[string]int{
		"/resource-bundles/one":                             500,
		"/resource-bundles/two":                             403,
		"/resource-bundles?search=consumer_name%3D%27c1%27": 500,
		"/resource-bundles?search=consumer_name%3D%27c2%27": 200,
		"/consumers": 200,
	} {
		got, _ := call(t, s, "GET", api+path, "")
		assert.Equal(t, code, got, path)
	}
}

func TestSlowCallsTakeTheirTime(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	const delay = 60 * time.Millisecond
	s.Faults().Inject(fakemaestro.HTTPSlow(delay).Times(1))
	s.Faults().Inject(fakemaestro.PublishSlow(delay).Times(1))
	start := time.Now()
	create(t, c, "c1", newWork("w", configMap("a", "1")))
	assert.GreaterOrEqual(t, time.Since(start), 2*delay, "a create is one request and one publish")
}

func TestHangingCallsGoOnWhenTheFaultIsRemoved(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	for _, fault := range []fakemaestro.Fault{fakemaestro.HTTPHang(), fakemaestro.PublishHang()} {
		hang := s.Faults().Inject(fault)
		done := make(chan error, 1)
		go func() {
			_, err := c.ManifestWorks("c1").Create(context.Background(), newWork("w", configMap("a", "1")), metav1.CreateOptions{})
			done <- err
		}()
		require.NoError(t, hang.WaitHits(testContext(t), 1))
		select {
		case err := <-done:
			require.Fail(t, "answered", "%v", err)
		default:
		}
		hang.Remove()
		require.NoError(t, <-done)
		require.NoError(t, c.ManifestWorks("c1").Delete(testContext(t), "w", metav1.DeleteOptions{}))
		require.NoError(t, s.ConfirmDelete(fakemaestro.UID(source, "c1", "w")))
	}
}

func TestHangingPublishIsNotStoredWhenTheClientGivesUp(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	hang := s.Faults().Inject(fakemaestro.PublishHang())
	ctx, cancel := context.WithCancel(testContext(t))
	done := make(chan error, 1)
	go func() {
		_, err := c.ManifestWorks("c1").Create(ctx, newWork("w", configMap("a", "1")), metav1.CreateOptions{})
		done <- err
	}()
	require.NoError(t, hang.WaitHits(testContext(t), 1))
	cancel()
	require.Error(t, <-done)
	publishes, err := s.WaitPublishes(testContext(t), 1)
	require.NoError(t, err)
	assert.False(t, publishes[0].Accepted)
	assert.Empty(t, s.Bundles())
}

func TestLostEventsLeaveWhatIsStored(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	create(t, c, "c1", newWork("w", configMap("a", "1")))
	w, err := c.ManifestWorks("c1").Watch(testContext(t), metav1.ListOptions{})
	require.NoError(t, err)
	id := fakemaestro.UID(source, "c1", "w")
	lost := s.Faults().Inject(fakemaestro.EventLost().ID(id).Times(1))
	require.NoError(t, s.SetStatus(id, fakemaestro.Status{Conditions: []metav1.Condition{condition("Applied", 1)}}))
	require.NoError(t, lost.WaitHits(testContext(t), 1))
	require.NoError(t, s.SetStatus(id, fakemaestro.Status{Conditions: []metav1.Condition{condition("Available", 1)}}))
	_, work := nextEvent(t, w, func(_ watch.Event, work *workv1.ManifestWork) bool { return len(work.Status.Conditions) > 0 })
	assert.Equal(t, "Available", work.Status.Conditions[0].Type, "the first event never came")

	require.True(t, s.Vanish(id))
	code, _ := call(t, s, "GET", api+"/resource-bundles/"+id, "")
	assert.Equal(t, 404, code)
}

func TestClearEndsEverything(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	f := s.Faults()
	f.Inject(fakemaestro.HTTPStatus(500))
	f.LimitInFlight(1, 0)
	require.NoError(t, f.PauseHTTP())
	require.NoError(t, f.Clear())
	code, _ := call(t, s, "GET", api+"/consumers", "")
	assert.Equal(t, 200, code)
}
