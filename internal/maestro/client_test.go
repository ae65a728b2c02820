package maestro_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const source = "tests"

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func newClient(t *testing.T, server *fakemaestro.Server, change func(*maestro.Config)) *maestro.Client {
	t.Helper()
	config := maestro.Config{GRPCEndpoint: server.GRPCAddress(), HTTPEndpoint: server.HTTPURL() + "/", Insecure: true, Source: source}
	change(&config)
	client, err := maestro.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}

func asIs(*maestro.Config) {}

// workFor is a work whose content names its consumer.
func workFor(consumer, name, value string) *workv1.ManifestWork {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: consumer}}
	raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},"data":{"for":%q,"value":%q}}`, consumer, value)
	work.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}}
	return work
}

func contentOf(t *testing.T, work *workv1.ManifestWork) (consumer, value string) {
	t.Helper()
	var object struct{ Data struct{ For, Value string } }
	if assert.Len(t, work.Spec.Workload.Manifests, 1) {
		assert.NoError(t, json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &object))
	}
	return object.Data.For, object.Data.Value
}

// One client, a thousand calls at once, the same names on all clusters: a client with a current consumer
// would mix them.
func TestClientNeverMixesConsumers(t *testing.T) {
	const clusters, perCluster = 50, 10
	consumers := make([]string, clusters)
	for index := range consumers {
		consumers[index] = fmt.Sprintf("cluster-%02d", index)
	}
	server := fakemaestro.New(t, fakemaestro.Options{Consumers: consumers})
	server.Faults().LimitInFlight(fakemaestro.DefaultInFlightLimit, time.Millisecond)
	client := newClient(t, server, asIs)
	ctx := testContext(t)

	var running sync.WaitGroup
	for index := range clusters * perCluster {
		consumer, name := consumers[index%clusters], fmt.Sprintf("shared-%d", index/clusters)
		running.Go(func() {
			if !assert.NoError(t, client.Create(ctx, source, workFor(consumer, name, name))) {
				return
			}
			stored, err := client.Read(ctx, source, consumer, name)
			if assert.NoError(t, err) {
				assert.Equal(t, consumer, stored.Consumer)
				assert.Equal(t, maestro.UID(source, consumer, name), stored.ID)
				of, value := contentOf(t, stored.Work)
				assert.Equal(t, [2]string{consumer, name}, [2]string{of, value})
			}
		})
	}
	running.Wait()

	bundles := server.Bundles()
	require.Len(t, bundles, clusters*perCluster)
	for _, bundle := range bundles {
		of, value := contentOf(t, bundle.Work)
		assert.Equal(t, [2]string{bundle.Consumer, bundle.Work.Name}, [2]string{of, value})
		assert.EqualValues(t, 1, bundle.Version)
		assert.Equal(t, source, bundle.Source)
	}
	assert.LessOrEqual(t, server.Faults().MaxInFlight(), contract.MaxInFlight)
	assert.Greater(t, server.Faults().MaxInFlight(), 1, "the calls did run beside each other")
	assert.Zero(t, server.Faults().Jams())
}

func TestClientKeepsItsRequestsInFlightBelowTheLimit(t *testing.T) {
	server := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	slow := server.Faults().Inject(fakemaestro.HTTPSlow(5 * time.Millisecond))
	client := newClient(t, server, func(c *maestro.Config) { c.MaxInFlight = 3 })
	var running sync.WaitGroup
	for range 60 {
		running.Go(func() {
			_, err := client.Get(testContext(t), "c1", "absent")
			assert.ErrorIs(t, err, maestro.ErrNotFound)
		})
	}
	running.Wait()
	assert.Equal(t, 3, server.Faults().MaxInFlight())
	assert.Equal(t, 60, slow.Hits())
}

func TestACallGivesUpWaitingForItsSlot(t *testing.T) {
	server := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	client := newClient(t, server, func(c *maestro.Config) { c.MaxInFlight = 1 })
	hang := server.Faults().Inject(fakemaestro.HTTPHang().Times(1))
	ctx := testContext(t)
	first := make(chan error, 1)
	go func() {
		_, err := client.Get(ctx, "c1", "absent")
		first <- err
	}()
	require.NoError(t, hang.WaitHits(ctx, 1))

	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err := client.Get(short, "c1", "absent")
	assert.Equal(t, contract.ErrUnavailable, contract.TypeOf(err))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "wait for one of 1 request slots to Maestro")
	assert.Equal(t, contract.ErrUnavailable, contract.TypeOf(client.Create(short, source, workFor("c1", "a", "1"))), "publishes share the slots")
	assert.Len(t, server.Requests(), 1, "neither call was sent")
	assert.Empty(t, server.Publishes())

	hang.Remove()
	assert.ErrorIs(t, <-first, maestro.ErrNotFound)
	_, err = client.Get(ctx, "c1", "absent")
	assert.ErrorIs(t, err, maestro.ErrNotFound, "the slot is free again")
}

func TestEachCallHasItsTimeout(t *testing.T) {
	server := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	client := newClient(t, server, func(c *maestro.Config) { c.CallTimeout = 50 * time.Millisecond })
	server.Faults().Inject(fakemaestro.HTTPHang())
	server.Faults().Inject(fakemaestro.PublishHang())
	ctx := testContext(t)
	_, err := client.Get(ctx, "c1", "a")
	assert.Equal(t, contract.ErrUnavailable, contract.TypeOf(err))
	assert.ErrorContains(t, err, "does not answer")
	err = client.Create(ctx, source, workFor("c1", "a", "1"))
	assert.Equal(t, contract.ErrUnavailable, contract.TypeOf(err))
	assert.ErrorContains(t, err, "does not answer")
	assert.NoError(t, ctx.Err(), "the caller's own time is not used up")
}

func TestUpdateWithoutABaseVersionSendsNothing(t *testing.T) {
	server := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	client := newClient(t, server, asIs)
	require.NoError(t, client.Create(testContext(t), source, workFor("c1", "a", "1")))
	for _, version := range []int64{0, -1} {
		err := client.Update(testContext(t), source, &manifest.Stored{Version: version, Consumer: "c1", Work: workFor("c1", "a", "1")}, workFor("c1", "a", "2"))
		assert.Equal(t, contract.ErrInternal, contract.TypeOf(err))
	}
	assert.Len(t, server.Publishes(), 1, "only the create")
	assert.Empty(t, server.Requests())
}

func TestEveryWriteCarriesTheVersionItWasDecidedOn(t *testing.T) {
	server := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	client := newClient(t, server, asIs)
	ctx := testContext(t)
	require.NoError(t, client.Create(ctx, source, workFor("c1", "a", "1")))
	first, err := client.Get(ctx, "c1", "a")
	require.NoError(t, err)
	require.NoError(t, client.Update(ctx, source, first, workFor("c1", "a", "2")))
	err = client.Update(ctx, source, first, workFor("c1", "a", "3"))
	assert.Equal(t, contract.ErrVersionConflict, contract.TypeOf(err), "%v", err)
	assert.ErrorContains(t, err, "version moved from 1 to 2")
	stored, err := client.Get(ctx, "c1", "a")
	require.NoError(t, err)
	_, value := contentOf(t, stored.Work)
	assert.Equal(t, "2", value)
	require.NoError(t, client.Delete(ctx, source, stored))
	var sent []string
	for _, publish := range server.Publishes() {
		sent = append(sent, fmt.Sprintf("%s@%d", publish.Action, publish.Version))
		assert.Equal(t, "c1", publish.Consumer)
	}
	assert.Equal(t, []string{"create_request@0", "update_request@1", "update_request@1", "delete_request@2"}, sent)
}

func TestTheExecutorOutlivesAReadAndAnUpdate(t *testing.T) {
	server := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	client := newClient(t, server, asIs)
	ctx := testContext(t)
	work := workFor("c1", "a", "1")
	work.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}
	work.Spec.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
		Type: workv1.ExecutorSubjectTypeServiceAccount, ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{Namespace: "team", Name: "applier"},
	}}
	before := work.DeepCopy()
	require.NoError(t, client.Create(ctx, source, work))
	assert.Equal(t, before, work, "the argument is not changed")
	stored, err := client.Get(ctx, "c1", "a")
	require.NoError(t, err)
	assert.True(t, manifest.Same(stored.Work, work))

	next := stored.Work.DeepCopy()
	next.Spec.Workload = workFor("c1", "a", "2").Spec.Workload
	require.NoError(t, client.Update(ctx, source, stored, next))
	for _, publish := range server.Publishes() {
		assert.Contains(t, string(publish.Data), `"name":"applier"`)
		assert.Contains(t, string(publish.Data), `"Foreground"`)
	}
	bundle, found := server.Bundle(stored.ID)
	require.True(t, found)
	assert.Equal(t, work.Spec.Executor, bundle.Work.Spec.Executor)
}

// An answer for something else than was asked for would be the base of the next write.
func TestReadRefusesAnotherBundle(t *testing.T) {
	id := maestro.UID(source, "c1", "a")
	body := func(id, consumer, name string) []byte {
		return fmt.Appendf(nil, `{"id":%q,"consumer_name":%q,"version":3,"metadata":{"name":%q},"manifests":[]}`, id, consumer, name)
	}
	for name, sample := range map[string]struct {
		body []byte
		want contract.ErrorType
	}{
		"right":            {body(id, "c1", "a"), ""},
		"another id":       {body(maestro.UID(source, "c2", "a"), "c1", "a"), contract.ErrManifestRefused},
		"another consumer": {body(id, "c2", "a"), contract.ErrManifestRefused},
		"another work":     {body(id, "c1", "b"), contract.ErrManifestRefused},
		"no bundle":        {[]byte(`{"kind":"ResourceBundleList","items":[]}`), contract.ErrUnavailable},
		"a page":           {[]byte("<html></html>"), contract.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			server := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
			require.NoError(t, server.ServeSequence(id, fakemaestro.Step{Body: sample.body}))
			stored, err := newClient(t, server, asIs).Get(testContext(t), "c1", "a")
			assert.Equal(t, sample.want, contract.TypeOf(err), "%v", err)
			assert.Equal(t, sample.want == "", stored != nil)
		})
	}
}

func TestNewRefusesPlaintextThatNobodyAllowed(t *testing.T) {
	_, err := maestro.New(maestro.Config{GRPCEndpoint: "localhost:1", HTTPEndpoint: "http://localhost:1"})
	assert.Equal(t, contract.ErrInvalidInput, contract.TypeOf(err))
	assert.ErrorContains(t, err, "allow plaintext explicitly")
}

// Lists come in pages; another source's works, and those of another cluster, are not ours.
func TestNamesGoesThroughAllPages(t *testing.T) {
	const works = 405
	server := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1", "c2"}})
	put := func(source, consumer, name string) {
		id := maestro.UID(source, consumer, name)
		require.NoError(t, server.PutRaw([]byte(fmt.Sprintf(
			`{"id":%q,"kind":"ResourceBundle","name":%q,"consumer_name":%q,"version":1,"metadata":{"name":%q},"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]}`,
			id, id, consumer, name)), fakemaestro.OwnedBy(source)))
	}
	for n := range works {
		put(source, "c1", fmt.Sprintf("work-%d", n))
	}
	for n := range 15 {
		put("another", "c1", fmt.Sprintf("theirs-%d", n))
		put(source, "c2", fmt.Sprintf("elsewhere-%d", n))
	}
	names, err := newClient(t, server, asIs).Names(testContext(t), source, "c1")
	require.NoError(t, err)
	assert.Len(t, names, works)
	for _, name := range names {
		assert.Contains(t, name, "work-")
	}
}
