//go:build integration

package devstack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/openshift-online/maestro/pkg/api/openapi"
	"github.com/openshift-online/maestro/pkg/client/cloudevents/grpcsource"
	"github.com/openshift-online/ocm-sdk-go/logging"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack/simcluster"
)

const (
	source   = "hyperfleet"
	consumer = "cluster-a1"
)

func TestStackServesWorksAndSurvivesKills(t *testing.T) {
	ctx := t.Context()
	stack := startStack(t, devstack.Options{Dir: t.TempDir(), Consumers: []string{consumer}, UI: true, Logf: t.Logf})
	clusters, err := simcluster.Start(ctx, simcluster.Options{
		BrokerAddress: stack.BrokerAddress(), Consumers: []string{consumer}, Logf: t.Logf,
	})
	require.NoError(t, err)
	t.Cleanup(clusters.Stop)
	require.NoError(t, stack.CreateConsumer(ctx, consumer), "a second time")
	api := newAPI(t, stack)

	first := api.create(t, configMap("first", `{"readyReplicas":3,"phase":"Active","ready":true,"list":[1,2]}`))
	bundle := api.awaitAvailable(t, first)
	feedback := fmt.Sprint(bundle.Status["resourceStatus"])
	for _, value := range []string{"integer:3", "string:Active", "boolean:true", "jsonRaw:[1,2]"} {
		assert.Contains(t, feedback, value)
	}
	assert.Contains(t, clusters.Objects(consumer), first)

	pid := stack.MaestroPID()
	stack.KillMaestro()
	assert.Zero(t, stack.MaestroPID())
	assert.NoFileExists(t, fmt.Sprintf("/proc/%d", pid))
	require.NoError(t, stack.StartMaestro(ctx))
	began := time.Now()
	// The first client would need up to a minute to come back; what is measured here is the cluster.
	api = newAPI(t, stack)
	second := api.create(t, configMap("second", `{}`))
	api.awaitAvailable(t, second)
	assert.Less(t, time.Since(began), 8*time.Second, "the cluster comes back about as fast as Maestro")

	for uid, name := range map[string]string{first: "first", second: "second"} {
		require.NoError(t, api.works.ManifestWorks(consumer).Delete(ctx, name, metav1.DeleteOptions{}))
		api.awaitGone(t, uid)
	}
	assert.Empty(t, clusters.Objects(consumer))

	stack.KillTemporal()
	require.NoError(t, stack.StartTemporal(ctx))
	temporal, err := client.DialContext(ctx, client.Options{HostPort: stack.TemporalAddress(), Namespace: stack.Namespace()})
	require.NoError(t, err)
	temporal.Close()

	clusters.Stop()
	stack.Stop()
	stack.Stop()
	assert.Empty(t, processesMentioning(t, stack.Dir()))
}

func TestFailedStartLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := devstack.Start(ctx, devstack.Options{Dir: dir, Consumers: []string{"Not A Valid Name"}, Logf: t.Logf})
	require.ErrorContains(t, err, "create consumer")
	assert.Empty(t, processesMentioning(t, dir))

	began := time.Now()
	time.AfterFunc(700*time.Millisecond, cancel)
	_, err = devstack.Start(ctx, devstack.Options{Dir: filepath.Join(dir, "cancelled"), Logf: t.Logf})
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, time.Since(began), 30*time.Second)
	assert.Empty(t, processesMentioning(t, dir))
}

func startStack(t *testing.T, opts devstack.Options) *devstack.Stack {
	t.Helper()
	began := time.Now()
	stack, err := devstack.Start(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(stack.Stop)
	t.Logf("the stack is up after %s; maestro reaches postgres %s", time.Since(began).Round(time.Millisecond), stack.Database())
	return stack
}

// api is Maestro as a source sees it.
type api struct {
	works workv1client.WorkV1Interface
	http  *openapi.APIClient
}

func newAPI(t *testing.T, stack *devstack.Stack) *api {
	t.Helper()
	config := openapi.NewConfiguration()
	config.Servers = openapi.ServerConfigurations{{URL: stack.MaestroURL()}}
	config.HTTPClient = &http.Client{Timeout: 10 * time.Second}
	rest := openapi.NewAPIClient(config)
	logger, err := logging.NewGoLoggerBuilder().Build()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	t.Cleanup(cancel)
	works, err := grpcsource.NewMaestroGRPCSourceWorkClient(ctx, logger, rest,
		&grpc.GRPCOptions{Dialer: &grpc.GRPCDialer{URL: stack.MaestroGRPCAddress()}}, source)
	require.NoError(t, err)
	return &api{works: works, http: rest}
}

// create publishes a work of one manifest, with that one's name, and returns its UID.
func (a *api) create(t *testing.T, object string) string {
	t.Helper()
	var named metav1.PartialObjectMetadata
	require.NoError(t, json.Unmarshal([]byte(object), &named))
	created, err := a.works.ManifestWorks(consumer).Create(t.Context(), newWork(consumer, named.Name, object), metav1.CreateOptions{})
	require.NoError(t, err)
	return string(created.UID)
}

func newWork(consumer, name, object string) *workv1.ManifestWork {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: consumer}}
	work.Spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(object)}}}
	return work
}

// await reads the bundle until it is as wished.
func (a *api) await(t *testing.T, uid string, done func(*openapi.ResourceBundle) bool) *openapi.ResourceBundle {
	t.Helper()
	var bundle *openapi.ResourceBundle
	require.Eventually(t, func() bool {
		found, _, err := a.http.DefaultAPI.ApiMaestroV1ResourceBundlesIdGet(t.Context(), uid).Execute()
		if err != nil {
			return false
		}
		bundle = found
		return done(found)
	}, 20*time.Second, 20*time.Millisecond)
	return bundle
}

func (a *api) awaitAvailable(t *testing.T, uid string) *openapi.ResourceBundle {
	t.Helper()
	began := time.Now()
	bundle := a.await(t, uid, func(b *openapi.ResourceBundle) bool {
		return meta.IsStatusConditionTrue(conditions(t, b), workv1.WorkApplied) &&
			meta.IsStatusConditionTrue(conditions(t, b), workv1.WorkAvailable)
	})
	t.Logf("work %s is available after %s", uid, time.Since(began).Round(time.Millisecond))
	for _, c := range conditions(t, bundle) {
		assert.EqualValues(t, bundle.GetVersion(), c.ObservedGeneration, c.Type)
	}
	return bundle
}

func conditions(t *testing.T, bundle *openapi.ResourceBundle) []metav1.Condition {
	t.Helper()
	var all []metav1.Condition
	list, _ := bundle.Status["conditions"].([]any)
	for _, item := range list {
		var c metav1.Condition
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(item.(map[string]any), &c))
		all = append(all, c)
	}
	return all
}

func (a *api) awaitGone(t *testing.T, uid string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, resp, _ := a.http.DefaultAPI.ApiMaestroV1ResourceBundlesIdGet(t.Context(), uid).Execute()
		return resp != nil && resp.StatusCode == http.StatusNotFound
	}, 20*time.Second, 20*time.Millisecond)
}

func configMap(name, feedback string) string {
	return manifest(name, simcluster.Prefix+"feedback", feedback)
}

// manifest is a ConfigMap with one annotation.
func manifest(name, key, value string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default","annotations":{%q:%q}},"data":{"k":"v"}}`,
		name, key, value)
}

// processesMentioning lists the processes with the text in their command line, whoever started them.
func processesMentioning(t *testing.T, text string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	var found []string
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil && strings.Contains(string(line), text) && filepath.Base(dir) != strconv.Itoa(os.Getpid()) {
			found = append(found, filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
