//go:build integration

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/worker/wiring"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// patience of a test for anything that should come soon.
const patience = 90 * time.Second

var serial atomic.Int64

// unique gives names and task queues that no other test uses.
func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, serial.Add(1)) }

// newConsumer registers a cluster with Maestro and lets a simulated agent serve it.
func newConsumer(t testing.TB) string {
	t.Helper()
	name := unique("cluster")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, stack.CreateConsumer(ctx, name))
	require.NoError(t, clusters.AddConsumer(ctx, name))
	return name
}

// script is how the simulated cluster treats a manifest.
type script map[string]string

// configMap is a work with one ConfigMap.
func configMap(name, value string, behaviour script) json.RawMessage {
	return workOf(name, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": metadata("settings", behaviour),
		"data":     map[string]any{"value": value},
	})
}

func metadata(name string, behaviour script) map[string]any {
	annotations := map[string]any{}
	for key, value := range behaviour {
		annotations["simcluster.hyperfleet.io/"+key] = value
	}
	return map[string]any{"name": name, "namespace": "default", "annotations": annotations}
}

func workOf(name string, manifests ...map[string]any) json.RawMessage {
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"workload": map[string]any{"manifests": manifests}},
	})
	if err != nil {
		panic(err)
	}
	return raw
}

// startWorker runs a worker in this process until the test ends.
func startWorker(t *testing.T, queue string, config maestro.Config) {
	t.Helper()
	worker := mustWorker(t, queue, config)
	t.Cleanup(func() { _ = worker.Stop() })
}

func mustWorker(t testing.TB, queue string, config maestro.Config) *wiring.Worker {
	t.Helper()
	worker, err := wiring.New(t.Context(), temporal, wiring.Config{
		TaskQueue: queue, Namespace: stack.Namespace(), Maestro: config, ResultsDir: t.TempDir(), StopTimeout: time.Second,
	})
	require.NoError(t, err)
	require.NoError(t, worker.Start())
	return worker
}

// spawnWorker runs the worker binary; grpc and http are the ways to Maestro.
func spawnWorker(t *testing.T, queue, grpc, http string) *devstack.Process {
	t.Helper()
	log := filepath.Join(t.TempDir(), "worker.log")
	process, err := spawner.Start(devstack.Command{
		Name: "maestro-worker", Path: workerBin, Log: log, Finite: true,
		Args: []string{"--grpc-insecure", "--grpc-endpoint", grpc, "--http-endpoint", http,
			"--temporal-address", stack.TemporalAddress(), "--task-queue", queue},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			content, _ := os.ReadFile(log)
			t.Logf("worker log:\n%s", content)
		}
	})
	return process
}

// spawnDirectWorker is [spawnWorker] without a proxy.
func spawnDirectWorker(t *testing.T, queue string) *devstack.Process {
	t.Helper()
	return spawnWorker(t, queue, stack.MaestroGRPCAddress(), stack.MaestroURL())
}

func start(t *testing.T, queue string, request contract.Request) *starter.Operation {
	t.Helper()
	request.Source = source
	operation, err := starter.New(temporal, queue).Start(t.Context(), request)
	require.NoError(t, err)
	return operation
}

// outcome waits for an operation as a caller does.
func outcome(t *testing.T, operation *starter.Operation) (contract.StatusResult, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	result, err := operation.Wait(ctx)
	require.NoError(t, ctx.Err(), "the operation did not end: %v", err)
	return result, err
}

// stored reads the work from Maestro.
func stored(t *testing.T, consumer, name string) *manifest.Stored {
	t.Helper()
	work, err := server.Get(t.Context(), consumer, name)
	require.NoError(t, err)
	return work
}

// storedIn reads the work from another Maestro.
func storedIn(t *testing.T, config maestro.Config, consumer, name string) *manifest.Stored {
	t.Helper()
	other, err := maestro.New(config)
	require.NoError(t, err)
	defer func() { _ = other.Close() }()
	work, err := other.Get(t.Context(), consumer, name)
	require.NoError(t, err)
	return work
}

// eventually polls a fact that another process makes true.
func eventually(t *testing.T, what string, fact func() bool) {
	t.Helper()
	require.Eventually(t, fact, patience, 20*time.Millisecond, what)
}

// history of a run.
func history(t *testing.T, operation *starter.Operation) []*historypb.HistoryEvent {
	t.Helper()
	var events []*historypb.HistoryEvent
	iterator := temporal.GetWorkflowHistory(t.Context(), operation.WorkflowID, operation.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for iterator.HasNext() {
		event, err := iterator.Next()
		require.NoError(t, err)
		events = append(events, event)
	}
	return events
}

// scheduled finds the input of the only run of an activity.
func scheduled[P any](t *testing.T, operation *starter.Operation, activity string) P {
	t.Helper()
	var params P
	found := 0
	for _, event := range history(t, operation) {
		attributes := event.GetActivityTaskScheduledEventAttributes()
		if attributes.GetActivityType().GetName() == activity {
			found++
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(attributes.GetInput(), &params))
		}
	}
	require.Equal(t, 1, found, "%s is scheduled once", activity)
	return params
}

// requireDeadlineUnmoved: whatever was killed, the wait's deadline is the start of the operation plus its timeout.
func requireDeadlineUnmoved(t *testing.T, operation *starter.Operation, timeout time.Duration) {
	t.Helper()
	started := history(t, operation)[0].GetEventTime().AsTime()
	until := scheduled[contract.ObserveParams](t, operation, contract.ActivityObserve).Until
	require.WithinDuration(t, started.Add(timeout), until, 10*time.Millisecond)
}

// pendingActivity is the state of a running operation's activity.
func pendingActivity(t *testing.T, operation *starter.Operation, name string) (state enumspb.PendingActivityState, attempt int32) {
	t.Helper()
	description, err := temporal.DescribeWorkflow(t.Context(), operation.WorkflowID, operation.RunID)
	if err != nil {
		return 0, 0
	}
	for _, pending := range description.RawResponse.GetPendingActivities() {
		if pending.GetActivityType().GetName() == name {
			return pending.GetState(), pending.GetAttempt()
		}
	}
	return 0, 0
}

// parked: the operation is in its wait and has looked without success, after the attempt given. It says which attempt
// comes next.
func parked(t *testing.T, operation *starter.Operation, after int32) (attempt int32) {
	t.Helper()
	eventually(t, "the wait is parked", func() bool {
		_, attempt = pendingActivity(t, operation, contract.ActivityObserve)
		return attempt > max(after, 1)
	})
	return attempt
}

// envOf is the environment of a command that a user runs against the stack.
func envOf(queue string) []string {
	environment := []string{}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "MAESTRO_") && !strings.HasPrefix(variable, "TEMPORAL_") && !strings.HasPrefix(variable, "RESULTS_") {
			environment = append(environment, variable)
		}
	}
	environment = append(environment, stack.Environment()...)
	return append(environment, "MAESTRO_SOURCE_ID="+source, "TEMPORAL_TASK_QUEUE="+queue)
}
