package replay

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/clustermutex"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/operation"
)

// workflows by their registered names.
var workflows = map[string]any{
	contract.WorkflowOperation:    operation.ManifestWorkOperation,
	contract.WorkflowClusterMutex: clustermutex.ClusterMutex,
}

func TestEveryScenarioHasOneFixture(t *testing.T) {
	folders, err := os.ReadDir(histories)
	require.NoError(t, err)
	var names []string
	for _, folder := range folders {
		names = append(names, folder.Name())
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(scenarios)), names, "one folder per workflow")
	for name, expected := range scenarios {
		assert.ElementsMatch(t, slices.Collect(maps.Keys(expected)), recorded(t, name), "fixtures of %s", name)
	}
}

func TestHistoriesReplay(t *testing.T) {
	for name, code := range workflows {
		for _, scenario := range recorded(t, name) {
			t.Run(name+"/"+scenario, func(t *testing.T) {
				t.Parallel()
				history := load(t, name, scenario)
				started := history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
				require.Equal(t, name, started.GetWorkflowType().GetName())
				replayer := worker.NewWorkflowReplayer()
				replayer.RegisterWorkflowWithOptions(code, workflow.RegisterOptions{Name: name})
				assert.NoError(t, replayer.ReplayWorkflowHistoryWithOptions(quiet{}, history, worker.ReplayWorkflowHistoryOptions{
					OriginalExecution: workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()},
				}))
			})
		}
	}
}

func TestHistoriesEndAsTheirScenarioSays(t *testing.T) {
	for name, expected := range scenarios {
		for scenario, want := range expected {
			history := load(t, name, scenario)
			last := history.GetEvents()[len(history.GetEvents())-1]
			assert.Equal(t, want, end{last.GetEventType(), lastPhase(t, history), reason(t, last)}, scenario)
		}
	}
}

func TestEveryWayToEndIsRecorded(t *testing.T) {
	ends := map[contract.Phase]bool{}
	for scenario := range scenarios[contract.WorkflowOperation] {
		ends[lastPhase(t, load(t, contract.WorkflowOperation, scenario))] = true
	}
	for _, phase := range terminal {
		assert.True(t, ends[phase], "no fixture ends in phase %s", phase)
	}
}

// TestPlainOperationStaysCheap pins what an operation costs in events: every one is stored and replayed.
func TestPlainOperationStaysCheap(t *testing.T) {
	const operation, wait = 25, 7
	for scenario, limit := range map[string]int{
		"applied":            operation,
		"unchanged":          operation,
		"applied-and-waited": operation + wait,
		"updated-and-waited": operation + wait,
	} {
		assert.LessOrEqual(t, len(load(t, contract.WorkflowOperation, scenario).GetEvents()), limit, scenario)
	}
}

// lastPhase is the last value of the search attribute that says where the operation stands.
func lastPhase(t *testing.T, history *historypb.History) contract.Phase {
	t.Helper()
	var phase contract.Phase
	for _, event := range history.GetEvents() {
		fields := event.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()
		if value, set := fields[contract.SearchPhase.GetName()]; set {
			require.NoError(t, converter.GetDefaultDataConverter().FromPayload(value, &phase))
		}
	}
	return phase
}

// reason in the StatusResult that a run closed with, wherever the closing event keeps it.
func reason(t *testing.T, last *historypb.HistoryEvent) string {
	t.Helper()
	var payloads *commonpb.Payloads
	switch last.GetEventType() {
	case completed:
		payloads = last.GetWorkflowExecutionCompletedEventAttributes().GetResult()
	case failed:
		payloads = last.GetWorkflowExecutionFailedEventAttributes().GetFailure().GetApplicationFailureInfo().GetDetails()
	case canceled:
		payloads = last.GetWorkflowExecutionCanceledEventAttributes().GetDetails()
	default:
		return ""
	}
	var result contract.StatusResult
	if len(payloads.GetPayloads()) == 0 {
		return "" // a mutex has none
	}
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(payloads, &result))
	return result.Reason
}

// quiet drops what a replay logs.
type quiet struct{}

var _ log.Logger = quiet{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
