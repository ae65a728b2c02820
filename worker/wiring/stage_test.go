package wiring

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/activities"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/clustermutex"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/operation"
)

const (
	source   = "hyperfleet"
	consumer = "cluster-a1"
	name     = "web"
	// callTimeout is in real time: while an activity runs the environment's clock stands still.
	callTimeout = 300 * time.Millisecond
)

var uid = maestro.UID(source, consumer, name)

// stage runs an operation with the real activities against a fake Maestro, on a clock that skips what is waited for.
type stage struct {
	t       *testing.T
	env     *testsuite.TestWorkflowEnvironment
	maestro *fakemaestro.Server
	client  *maestro.Client
	results string
	began   time.Time
}

func newStage(t *testing.T, generation fakemaestro.Generation) *stage {
	t.Helper()
	fake := fakemaestro.New(t, fakemaestro.Options{Generation: generation, Consumers: []string{consumer}})
	server, err := maestro.New(maestro.Config{
		GRPCEndpoint: fake.GRPCAddress(), HTTPEndpoint: fake.HTTPURL(), Insecure: true, CallTimeout: callTimeout,
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	s := &stage{t: t, maestro: fake, client: server, results: t.TempDir()}
	s.reset()
	return s
}

// reset makes room for another operation on the same Maestro.
func (s *stage) reset() {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	s.env = suite.NewTestWorkflowEnvironment()
	s.env.SetTestTimeout(30 * time.Second)
	committer := &activities.Committer{Reader: s.client, Writer: s.client}
	observer := &activities.Observer{Reader: s.client, Now: s.env.Now}
	reporter := &activities.Reporter{Dir: s.results}
	for activityName, code := range map[string]any{
		contract.ActivityBuild: activities.Build, contract.ActivityCommit: committer.Commit,
		contract.ActivityObserve: observer.Observe, contract.ActivityReport: reporter.Report,
		contract.ActivitySubmitTicket: s.mutex(committer),
	} {
		s.env.RegisterActivityWithOptions(code, activity.RegisterOptions{Name: activityName})
	}
	s.began = s.env.Now()
}

// mutex plays the mutex of the consumer: its state machine and its commit are the real ones.
func (s *stage) mutex(committer *activities.Committer) func(context.Context, contract.SubmitTicketParams) error {
	state := contract.MutexState{V: clustermutex.Version, Source: source, Consumer: consumer}
	return func(ctx context.Context, params contract.SubmitTicketParams) error {
		events := []clustermutex.Event{clustermutex.Withdrawn{TicketID: params.Message.TicketID}}
		if params.Message.Kind == contract.TicketSubmit {
			events[0] = clustermutex.Submitted{Ticket: *params.Message.Body}
		}
		for len(events) > 0 {
			var effects []clustermutex.Effect
			state, effects = clustermutex.Apply(state, events[0], s.env.Now())
			events = events[1:]
			for _, effect := range effects {
				result, err := committer.CommitBatch(ctx, effect.(clustermutex.Commit).Params)
				if err != nil {
					events = append(events, clustermutex.CommitFailed{Type: contract.TypeOf(err), Message: err.Error()})
					continue
				}
				events = append(events, clustermutex.Committed{Result: result})
			}
		}
		for _, event := range state.Outbox {
			s.env.RegisterDelayedCallback(func() { s.env.SignalWorkflow(contract.SignalMutexEvent, event) }, 0)
		}
		state.Outbox = nil
		return nil
	}
}

// play runs a request to its end and gives the outcome and the time that it took on the environment's clock.
func (s *stage) play(request contract.Request) (contract.StatusResult, time.Duration) {
	s.t.Helper()
	s.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: request.WorkflowID()})
	s.env.ExecuteWorkflow(operation.ManifestWorkOperation, request)
	require.True(s.t, s.env.IsWorkflowCompleted())
	var result contract.StatusResult
	var failure *temporal.ApplicationError
	switch err := s.env.GetWorkflowError(); {
	case err == nil:
		require.NoError(s.t, s.env.GetWorkflowResult(&result))
	case errors.As(err, &failure):
		require.NoError(s.t, failure.Details(&result))
		assert.Equal(s.t, result.Reason, failure.Type())
	default:
		require.NoError(s.t, err)
	}
	return result, s.env.Now().Sub(s.began)
}

// stored puts a work into Maestro before the operation, whatever faults follow.
func (s *stage) stored(value string) {
	s.t.Helper()
	result, _ := s.play(apply(value))
	require.Equal(s.t, contract.ReasonPublished, result.Reason)
	s.reset()
}

// reports plays the agent at a time from the start of the operation.
func (s *stage) reports(after time.Duration, status fakemaestro.Status) {
	s.env.RegisterDelayedCallback(func() { assert.NoError(s.t, s.maestro.SetStatus(uid, status)) }, after)
}

// reported reads the results file.
func (s *stage) reported() (document struct{ Status, Reason, Message string }) {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.results, "result.json"))
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(content, &document))
	return document
}

func apply(value string, change ...func(*contract.Request)) contract.Request {
	request := contract.Request{
		Source: source, Consumer: consumer, Timeout: "5m", Patience: "1m",
		Work: json.RawMessage(`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"web"},` +
			`"spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"default"},"data":{"value":"` + value + `"}}]}}}`),
	}
	for _, c := range change {
		c(&request)
	}
	return request
}

func waiting(r *contract.Request)   { r.Wait = "Available" }
func reporting(r *contract.Request) { r.Report = &contract.Report{ResultsFile: "result.json"} }

func condition(kind string, status metav1.ConditionStatus, version int64, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: "Reported", Message: message, ObservedGeneration: version, LastTransitionTime: metav1.Now()}
}

func available(version int32) fakemaestro.Status {
	applied, available := condition("Applied", metav1.ConditionTrue, int64(version), ""), condition("Available", metav1.ConditionTrue, int64(version), "")
	return fakemaestro.Status{
		ObservedVersion: version, Conditions: []metav1.Condition{applied, available},
		Manifests: []workv1.ManifestCondition{{
			ResourceMeta: workv1.ManifestResourceMeta{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespace: "default", Name: "settings"},
			Conditions:   []metav1.Condition{applied, available},
		}},
	}
}

func refused(version int32, message string) fakemaestro.Status {
	status := available(version)
	status.Conditions[0] = condition("Applied", metav1.ConditionFalse, int64(version), "1 of 1 manifests failed")
	status.Manifests[0].Conditions = []metav1.Condition{condition("Applied", metav1.ConditionFalse, int64(version), message)}
	return status
}

// quiet drops the environment's log.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
