package operation_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/operation"
)

// Times that the activities of a stage take, on the test environment's clock: an operation with wait and report is in
// Build until 1 s, in Commit until 3 s, in Observe until 13 s and in Report until 14 s.
const (
	buildTakes   = time.Second
	commitTakes  = 2 * time.Second
	observeTakes = 10 * time.Second
	reportTakes  = time.Second
	statusTakes  = time.Second
)

var began = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// stage plays one operation with activities that answer as its functions say.
type stage struct {
	t   *testing.T
	env *testsuite.TestWorkflowEnvironment

	build   func(contract.BuildParams) (contract.BuildResult, error)
	commit  func(contract.CommitParams) (contract.CommitResult, error)
	observe func(contract.ObserveParams) (contract.ObserveResult, error)
	report  func(contract.ReportParams) (contract.ReportResult, error)
	tell    func(contract.ReportStatusParams) (contract.ReportStatusResult, error)

	phases     []contract.Phase
	attributes temporal.SearchAttributes
	called     []string
	commits    []contract.CommitParams
	observes   []contract.ObserveParams
	reports    []contract.StatusResult
	told       []contract.ReportStatusParams
}

// stub is an activity beside the four that every stage has.
type stub struct {
	name  string
	takes time.Duration
	call  any
}

func newStage(t *testing.T, more ...stub) *stage {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	s := &stage{
		t: t, env: suite.NewTestWorkflowEnvironment(),
		build: func(params contract.BuildParams) (contract.BuildResult, error) {
			generation, err := params.Request.EffectiveGeneration()
			return contract.BuildResult{Name: params.Request.WorkName(), Generation: generation}, err
		},
		commit: func(params contract.CommitParams) (contract.CommitResult, error) {
			if params.Action == contract.ActionDelete {
				return contract.CommitResult{Outcome: contract.CommitDeleting, Version: 4, Attempt: 1}, nil
			}
			return contract.CommitResult{Outcome: contract.CommitUpdated, Version: 4, Attempt: 1}, nil
		},
		observe: func(params contract.ObserveParams) (contract.ObserveResult, error) {
			if params.Deleted {
				return contract.ObserveResult{Outcome: contract.ObserveGone, Status: contract.StatusDeleted, Message: "gone"}, nil
			}
			return contract.ObserveResult{
				Outcome: contract.ObserveMet, Status: contract.StatusAvailable, Message: "holds", Version: 4, ObservedVersion: 4,
				Conditions: []contract.Condition{{Type: "Available", Status: "True"}},
				Resources:  []contract.ResourceStatus{{Version: "v1", Kind: "ConfigMap", Name: "settings", Applied: true}},
			}, nil
		},
		report: func(params contract.ReportParams) (contract.ReportResult, error) {
			return contract.ReportResult{File: params.Report.ResultsFile}, nil
		},
		tell: func(params contract.ReportStatusParams) (contract.ReportStatusResult, error) {
			return contract.ReportStatusResult{Outcome: contract.ReportStored, Time: params.Result.Timestamp, Generation: params.Result.Generation}, nil
		},
	}
	s.env.SetStartTime(began)
	s.env.SetTestTimeout(time.Minute)
	s.stub(more)
	s.env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(args mock.Arguments) {
		s.attributes = args.Get(0).(temporal.SearchAttributes)
		phase, _ := s.attributes.GetKeyword(contract.SearchPhase)
		s.phases = append(s.phases, contract.Phase(phase))
	}).Return(nil)
	return s
}

func (s *stage) stub(more []stub) {
	stubs := map[string]any{
		contract.ActivityBuild: func(_ context.Context, params contract.BuildParams) (contract.BuildResult, error) {
			return s.build(params)
		},
		contract.ActivityCommit: func(_ context.Context, params contract.CommitParams) (contract.CommitResult, error) {
			return s.commit(params)
		},
		contract.ActivityObserve: func(_ context.Context, params contract.ObserveParams) (contract.ObserveResult, error) {
			return s.observe(params)
		},
		contract.ActivityReport: func(_ context.Context, params contract.ReportParams) (contract.ReportResult, error) {
			return s.report(params)
		},
		contract.ActivityReportStatus: func(_ context.Context, params contract.ReportStatusParams) (contract.ReportStatusResult, error) {
			return s.tell(params)
		},
	}
	takes := map[string]time.Duration{
		contract.ActivityBuild: buildTakes, contract.ActivityCommit: commitTakes,
		contract.ActivityObserve: observeTakes, contract.ActivityReport: reportTakes,
		contract.ActivityReportStatus: statusTakes,
	}
	for _, one := range more {
		stubs[one.name], takes[one.name] = one.call, one.takes
	}
	for name, stub := range stubs {
		s.env.RegisterActivityWithOptions(stub, activity.RegisterOptions{Name: name})
	}
	for name, stub := range stubs {
		s.env.OnActivity(name, mock.Anything, mock.Anything).After(takes[name]).Return(stub)
	}
	s.env.SetOnActivityStartedListener(s.started)
}

// started notes an attempt. A cancelled activity goes on in the test environment, so the stubs themselves note nothing.
func (s *stage) started(info *activity.Info, _ context.Context, args converter.EncodedValues) {
	s.called = append(s.called, info.ActivityType.Name)
	switch info.ActivityType.Name {
	case contract.ActivityCommit:
		s.commits = append(s.commits, decoded[contract.CommitParams](s.t, args))
	case contract.ActivityObserve:
		s.observes = append(s.observes, decoded[contract.ObserveParams](s.t, args))
	case contract.ActivityReport:
		s.reports = append(s.reports, decoded[contract.ReportParams](s.t, args).Result)
	case contract.ActivityReportStatus:
		s.told = append(s.told, decoded[contract.ReportStatusParams](s.t, args))
	}
}

func decoded[T any](t *testing.T, args converter.EncodedValues) T {
	t.Helper()
	var value T
	require.NoError(t, args.Get(&value))
	return value
}

// play runs the request to its end.
func (s *stage) play(request contract.Request) {
	s.t.Helper()
	s.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: request.WorkflowID()})
	s.env.ExecuteWorkflow(operation.ManifestWorkOperation, request)
	require.True(s.t, s.env.IsWorkflowCompleted())
}

// at runs a step at a time from the start of the operation.
func (s *stage) at(after time.Duration, step func()) { s.env.RegisterDelayedCallback(step, after) }

// submitted is the answer to an offered request.
type submitted struct {
	contract.Submitted
	refused, err error
	answered     bool
}

// offer hands a request to the operation at a time.
func (s *stage) offer(after time.Duration, request contract.Request) *submitted {
	answer := &submitted{}
	s.at(after, func() {
		s.env.UpdateWorkflow(contract.UpdateSubmit, "", &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { answer.refused = err },
			OnComplete: func(result any, err error) {
				answer.answered, answer.err = true, err
				if result != nil {
					answer.Submitted = result.(contract.Submitted)
				}
			},
		}, request)
	})
	return answer
}

// outcome of the run, from the result or from the details of its failure.
func (s *stage) outcome() (contract.StatusResult, error) {
	s.t.Helper()
	var result contract.StatusResult
	err := s.env.GetWorkflowError()
	var failure *temporal.ApplicationError
	var cancelled *temporal.CanceledError
	switch {
	case err == nil:
		require.NoError(s.t, s.env.GetWorkflowResult(&result))
	case errors.As(err, &failure):
		require.NoError(s.t, failure.Details(&result))
	case errors.As(err, &cancelled):
		require.NoError(s.t, cancelled.Details(&result))
	}
	return result, err
}

// next is the request that the run continued as new with, nil when it ended otherwise.
func (s *stage) next() *contract.Request {
	s.t.Helper()
	var moved *workflow.ContinueAsNewError
	if !errors.As(s.env.GetWorkflowError(), &moved) {
		return nil
	}
	require.Equal(s.t, contract.WorkflowOperation, moved.WorkflowType.Name)
	next := &contract.Request{}
	require.NoError(s.t, converter.GetDefaultDataConverter().FromPayloads(moved.Input, next))
	return next
}

func apply(value string, change ...func(*contract.Request)) contract.Request {
	request := contract.Request{
		Source: "hyperfleet", Consumer: "cluster-a1", Timeout: "5m", Patience: "30s",
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

func telling(r *contract.Request) {
	r.Generation, r.Report = 3, &contract.Report{HyperFleet: cluster()}
}

func cluster() *contract.HyperFleetReport {
	return &contract.HyperFleetReport{Kind: "Cluster", ID: "c", Adapter: "pools"}
}

func generation(generation int64) func(*contract.Request) {
	return func(r *contract.Request) { r.Generation = generation }
}

func remove(change ...func(*contract.Request)) contract.Request {
	request := contract.Request{Source: "hyperfleet", Consumer: "cluster-a1", Action: contract.ActionDelete, Name: "web"}
	for _, c := range change {
		c(&request)
	}
	return request
}

// quiet drops the environment's log.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
