//go:build integration

package replay

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/worker/wiring"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	source = "hyperfleet"
	// patience with anything that has to happen while a scenario is recorded.
	patience = time.Minute
	// poll is how often a fact is looked at that another process makes true.
	poll = 20 * time.Millisecond
)

// stage is one scenario's own worker, Maestro and consumer on the shared Temporal. The work is called like the scenario.
type stage struct {
	t        *testing.T
	ctx      context.Context
	name     string
	queue    string
	consumer string
	temporal client.Client
	maestro  *fakemaestro.Server
	starter  *starter.Client
	gate     *gate
}

func newStage(t *testing.T, address, scenario string) *stage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	gate := &gate{}
	temporal, err := client.DialContext(ctx, client.Options{
		// The identity goes into the fixtures, and the default one names the machine.
		HostPort: address, Identity: "recorder", Logger: quiet{}, Interceptors: []interceptor.ClientInterceptor{gate},
	})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	server := fakemaestro.Loose
	if strings.HasPrefix(scenario, "recreated") {
		server = fakemaestro.Strict
	}
	// The mutex of a consumer outlives a scenario, and its worker does not.
	consumer := "cluster-" + scenario
	fake := fakemaestro.New(t, fakemaestro.Options{Generation: server, Consumers: []string{consumer}})
	queue := "record-" + scenario
	worker, err := wiring.New(ctx, temporal, wiring.Config{
		TaskQueue: queue, Namespace: client.DefaultNamespace, ResultsDir: t.TempDir(), StopTimeout: time.Second,
		Maestro: maestro.Config{GRPCEndpoint: fake.GRPCAddress(), HTTPEndpoint: fake.HTTPURL(), Insecure: true},
	})
	require.NoError(t, err)
	require.NoError(t, worker.Start())
	t.Cleanup(func() { require.NoError(t, worker.Stop()) })
	t.Cleanup(gate.open)
	return &stage{t: t, ctx: ctx, name: scenario, queue: queue, consumer: consumer, temporal: temporal, maestro: fake, starter: starter.New(temporal, queue), gate: gate}
}

func (s *stage) apply(value string, more ...func(*contract.Request)) contract.Request {
	s.t.Helper()
	work, err := json.Marshal(map[string]any{
		"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
		"metadata": map[string]any{"name": s.name},
		"spec": map[string]any{"workload": map[string]any{"manifests": []any{map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "settings", "namespace": "default"}, "data": map[string]any{"value": value},
		}}}},
	})
	require.NoError(s.t, err)
	request := contract.Request{Source: source, Consumer: s.consumer, Work: work, Timeout: "30s", Patience: "20s"}
	for _, change := range more {
		change(&request)
	}
	return request
}

// merge of a ConfigMap beside the one of [stage.apply].
func (s *stage) merge(value string, more ...func(*contract.Request)) contract.Request {
	request := contract.Request{
		Source: source, Consumer: s.consumer, Action: contract.ActionMerge, Name: s.name, Timeout: "30s",
		Manifests: []json.RawMessage{json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"more","namespace":"default"},"data":{"value":"` + value + `"}}`)},
	}
	for _, change := range more {
		change(&request)
	}
	return request
}

func (s *stage) remove(manifest string, more ...func(*contract.Request)) contract.Request {
	request := contract.Request{Source: source, Consumer: s.consumer, Action: contract.ActionRemove, Name: s.name, Remove: []string{manifest}, Timeout: "30s"}
	for _, change := range more {
		change(&request)
	}
	return request
}

func (s *stage) delete(more ...func(*contract.Request)) contract.Request {
	request := contract.Request{Source: source, Consumer: s.consumer, Action: contract.ActionDelete, Name: s.name, Timeout: "30s"}
	for _, change := range more {
		change(&request)
	}
	return request
}

func wait(condition string) func(*contract.Request) {
	return func(r *contract.Request) { r.Wait = condition }
}

func generation(generation int64) func(*contract.Request) {
	return func(r *contract.Request) { r.Generation = generation }
}

func reported(file string) func(*contract.Request) {
	return func(r *contract.Request) { r.Report = &contract.Report{ResultsFile: file} }
}

func (s *stage) start(request contract.Request) *starter.Operation {
	s.t.Helper()
	operation, err := s.starter.Start(s.ctx, request)
	require.NoError(s.t, err)
	return operation
}

// ended waits for the end, whatever it is: the fixture's test says whether it is the right one.
func (s *stage) ended(operation *starter.Operation) {
	s.t.Helper()
	result, err := operation.Wait(s.ctx)
	require.NoError(s.t, s.ctx.Err())
	require.NotEmpty(s.t, result.Reason, "%v", err)
}

// reports plays the cluster's agent once the work has been published n times.
func (s *stage) reports(publishes int, conditions ...metav1.Condition) {
	s.t.Helper()
	_, err := s.maestro.WaitPublishes(s.ctx, publishes)
	require.NoError(s.t, err)
	require.NoError(s.t, s.maestro.SetStatus(s.uid(), fakemaestro.Status{Conditions: conditions}))
}

func (s *stage) uid() string { return maestro.UID(source, s.consumer, s.name) }

func condition(kind string, status metav1.ConditionStatus, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: "Recorded", Message: message, LastTransitionTime: metav1.Now()}
}

func available() []metav1.Condition {
	return []metav1.Condition{condition("Applied", metav1.ConditionTrue, ""), condition("Available", metav1.ConditionTrue, "")}
}

// reaches follows a run's history until an event fits.
func (s *stage) reaches(operation *starter.Operation, fits func(*historypb.HistoryEvent) bool) {
	s.t.Helper()
	events := s.temporal.GetWorkflowHistory(s.ctx, operation.WorkflowID, operation.RunID, true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(s.t, err)
		if fits(event) {
			return
		}
	}
	require.Fail(s.t, "the run closed before")
}

// save writes the fixture of a run. A file that exists stays as it is.
func (s *stage) save(workflow, scenario, workflowID, runID string) {
	s.t.Helper()
	history := &historypb.History{}
	events := s.temporal.GetWorkflowHistory(s.ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(s.t, err)
		history.Events = append(history.Events, event)
	}
	text, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(history)
	require.NoError(s.t, err)
	path := fixture(workflow, scenario)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		s.t.Logf("%s exists already", scenario)
		return
	}
	require.NoError(s.t, err)
	packed := gzip.NewWriter(file)
	_, err = packed.Write(text)
	require.NoError(s.t, errors.Join(err, packed.Close(), file.Close()))
	s.t.Logf("recorded %s: %d events", scenario, len(history.Events))
}
