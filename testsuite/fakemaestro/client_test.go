package fakemaestro_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/openshift-online/maestro/pkg/api/openapi"
	"github.com/openshift-online/maestro/pkg/client/cloudevents/grpcsource"
	"github.com/openshift-online/ocm-sdk-go/logging"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	grpcoptions "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

const source = "tests"

// patience is how long a test waits for something that has to happen.
const patience = 20 * time.Second

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// apiClient is the generated client of the HTTP API.
func apiClient(s *fakemaestro.Server) *openapi.APIClient {
	return openapi.NewAPIClient(&openapi.Configuration{
		Servers:    openapi.ServerConfigurations{{URL: s.HTTPURL()}},
		HTTPClient: &http.Client{Timeout: patience},
	})
}

// sourceClient is the client that the product uses, with its own connection and, once it returns, subscribed.
func sourceClient(t *testing.T, s *fakemaestro.Server, sourceID string) workv1client.WorkV1Interface {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	logger, err := logging.NewStdLoggerBuilder().Streams(testWriter{t}, testWriter{t}).Build()
	require.NoError(t, err)
	client, err := grpcsource.NewMaestroGRPCSourceWorkClient(ctx, logger, apiClient(s),
		&grpcoptions.GRPCOptions{Dialer: &grpcoptions.GRPCDialer{URL: s.GRPCAddress()}}, sourceID)
	require.NoError(t, err)
	require.NoError(t, s.WaitSubscribers(testContext(t), sourceID, 1))
	return client
}

// testWriter discards: the clients log after the test has ended.
type testWriter struct{ t *testing.T }

func (testWriter) Write(p []byte) (int, error) { return len(p), nil }

func configMap(name, value string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","namespace":"default"},"data":{"k":"` + value + `"}}`
}

func newWork(name string, manifests ...string) *workv1.ManifestWork {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: name}}
	setManifests(work, manifests...)
	return work
}

func setManifests(work *workv1.ManifestWork, manifests ...string) {
	work.Spec.Workload.Manifests = nil
	for _, manifest := range manifests {
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests,
			workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}})
	}
}

func create(t *testing.T, c workv1client.WorkV1Interface, consumer string, work *workv1.ManifestWork) {
	t.Helper()
	_, err := c.ManifestWorks(consumer).Create(testContext(t), work, metav1.CreateOptions{})
	require.NoError(t, err)
}

// update patches from the given base, which carries the version that is compared.
func update(t *testing.T, c workv1client.WorkV1Interface, consumer string, base, next *workv1.ManifestWork) error {
	t.Helper()
	patch, err := grpcsource.ToWorkPatch(base, next)
	require.NoError(t, err)
	_, err = c.ManifestWorks(consumer).Patch(testContext(t), base.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func get(t *testing.T, c workv1client.WorkV1Interface, consumer, name string) *workv1.ManifestWork {
	t.Helper()
	work, err := c.ManifestWorks(consumer).Get(testContext(t), name, metav1.GetOptions{})
	require.NoError(t, err)
	return work
}

// nextEvent returns the next watch event that passes.
func nextEvent(t *testing.T, w watch.Interface, passes func(watch.Event, *workv1.ManifestWork) bool) (watch.EventType, *workv1.ManifestWork) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case event, ok := <-w.ResultChan():
			require.True(t, ok, "the watch ended")
			work, isWork := event.Object.(*workv1.ManifestWork)
			require.True(t, isWork, "%T in the watch", event.Object)
			if passes(event, work) {
				return event.Type, work
			}
		case <-deadline:
			require.Fail(t, "no such event within the patience")
		}
	}
}

func condition(kind string, generation int64) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: metav1.ConditionTrue, Reason: kind, ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)),
	}
}

func decode(t *testing.T, data []byte) map[string]any {
	t.Helper()
	m := map[string]any{}
	require.NoError(t, json.Unmarshal(data, &m))
	return m
}
