package wiring

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// registry notes names.
type registry struct {
	worker.Registry
	workflows, activities []string
}

func (r *registry) RegisterWorkflowWithOptions(_ any, options workflow.RegisterOptions) {
	r.workflows = append(r.workflows, options.Name)
}

func (r *registry) RegisterActivityWithOptions(_ any, options activity.RegisterOptions) {
	r.activities = append(r.activities, options.Name)
}

func TestWorkerServesTheNamesOfTheContract(t *testing.T) {
	r := &registry{}
	register(r, parts{})
	assert.Equal(t, []string{contract.WorkflowOperation, contract.WorkflowClusterMutex}, r.workflows)
	assert.ElementsMatch(t, []string{
		contract.ActivityBuild, contract.ActivityCommit, contract.ActivityObserve, contract.ActivityReport, contract.ActivityReportStatus,
		contract.ActivityOrphan, contract.ActivityUnorphan, contract.ActivityDeleteOrphaned, contract.ActivityRecreate,
		contract.ActivitySubmitTicket, contract.ActivityCommitBatch, contract.ActivityOrphanBatch, contract.ActivityDeliver, contract.ActivityDescribeHolder,
	}, r.activities)
}

func TestOperationsSearchAttributesAreRegistered(t *testing.T) {
	for _, key := range []interface{ GetName() string }{
		contract.SearchConsumer, contract.SearchWork, contract.SearchPhase, contract.SearchGeneration,
		contract.SearchMutexState, contract.SearchQueueDepth,
	} {
		assert.Contains(t, searchAttributes, key.GetName())
	}
}
