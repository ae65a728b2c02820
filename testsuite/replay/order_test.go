package replay

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Two requests must never write at the same time. The test environment does not model an activity that is waited for
// after its cancel, so this is read from what the real server recorded.
func TestNewerRequestWaitsForTheWriteUnderWay(t *testing.T) {
	events := load(t, contract.WorkflowOperation, "superseded-in-apply").GetEvents()
	commit := activityScheduled(events, contract.ActivityCommit)
	accepted := first(events, isType(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED))
	ended := first(events, func(event *historypb.HistoryEvent) bool {
		return event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId() == commit
	})
	closed := first(events, isType(continued))
	assert.Positive(t, commit)
	assert.Less(t, commit, accepted, "the request came while the write was under way")
	assert.Less(t, accepted, ended, "the write ended after it")
	assert.Less(t, ended, closed, "the next run starts after the write has ended")
}

func TestStoppedWriteBeginsNoWait(t *testing.T) {
	for _, scenario := range []string{"superseded-in-apply", "cancelled-in-apply"} {
		events := load(t, contract.WorkflowOperation, scenario).GetEvents()
		assert.Zero(t, activityScheduled(events, contract.ActivityObserve), scenario)
	}
}

func TestCancelledOperationStillReports(t *testing.T) {
	for _, scenario := range []string{"cancelled-in-wait-reported", "apply-failed-reported"} {
		events := load(t, contract.WorkflowOperation, scenario).GetEvents()
		assert.Positive(t, activityScheduled(events, contract.ActivityReport), scenario)
	}
}

// first ID of the events that fit, 0 when none does.
func first(events []*historypb.HistoryEvent, fits func(*historypb.HistoryEvent) bool) int64 {
	if at := slices.IndexFunc(events, fits); at >= 0 {
		return events[at].GetEventId()
	}
	return 0
}

func activityScheduled(events []*historypb.HistoryEvent, activity string) int64 {
	return first(events, scheduled(activity))
}

func scheduled(activity string) func(*historypb.HistoryEvent) bool {
	return func(event *historypb.HistoryEvent) bool {
		return event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activity
	}
}

func isType(wanted enumspb.EventType) func(*historypb.HistoryEvent) bool {
	return func(event *historypb.HistoryEvent) bool { return event.GetEventType() == wanted }
}
