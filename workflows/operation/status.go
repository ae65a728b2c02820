package operation

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// statuses are the run's reports to HyperFleet.
type statuses struct {
	targets []*statusTarget
	// giveUp ends the reports of an outcome; nil while there are none under way.
	giveUp func()
}

// statusTarget is one resource that is told how the operation stands.
type statusTarget struct {
	contract.HyperFleetReport
	params contract.ReportStatusParams
	// underWay is the report that the operation waits; nil when there is none.
	underWay workflow.Future
	stop     func()
}

// add makes sure that each target is told once.
func (s *statuses) add(report *contract.HyperFleetReport) {
	if report == nil {
		return
	}
	for _, target := range s.targets {
		if target.HyperFleetReport == *report {
			return
		}
	}
	s.targets = append(s.targets, &statusTarget{HyperFleetReport: *report, params: contract.ReportStatusParams{Target: *report}})
}

// goOnFrom keeps the times of targets that were told before.
func (s *statuses) goOnFrom(earlier []*statusTarget) {
	for _, target := range s.targets {
		for _, before := range earlier {
			if before.HyperFleetReport == target.HyperFleetReport {
				target.params.Last = before.params.Last
			}
		}
	}
}

// awaited says for the UI what a run that has its outcome still waits for.
func (s *statuses) awaited() string {
	var text strings.Builder
	for _, target := range s.targets {
		fmt.Fprintf(&text, "\nto be reported to HyperFleet: %s as %s, tried for up to %s", short(target.Resource()), short(target.Adapter), reportPatience)
	}
	return text.String()
}

// says puts the result as it is now, and the next report's time after the last known one.
func (t *statusTarget) says(op *operation) contract.ReportStatusParams {
	t.params.Result = op.result
	t.params.Finalizing = op.request.EffectiveAction() == contract.ActionDelete || op.request.AwaitsRemoval()
	return t.params
}

// heard notes the time of a report that was delivered.
func (t *statusTarget) heard(delivered contract.ReportStatusResult) {
	if delivered.Time.After(t.params.Last) {
		t.params.Last = delivered.Time
	}
}

// changeTellWhenSlow: a write that takes long is reported, too.
const changeTellWhenSlow = "tell-when-slow"

// slowAfter is how long a write takes at most without a report that it is under way.
const slowAfter = 10 * time.Second

// tellWhenSlow reports that the operation is under way when it comes to no write for a while, behind others in the mutex,
// in a recreation or because Maestro does not answer. The caller ends that with the function that it gets.
func (op *operation) tellWhenSlow(ctx workflow.Context) (written func()) {
	if len(op.statuses.targets) == 0 || workflow.GetVersion(ctx, changeTellWhenSlow, workflow.DefaultVersion, 1) < 1 {
		return func() {}
	}
	timing, written := workflow.WithCancel(ctx)
	slow := workflow.NewTimer(timing, slowAfter)
	workflow.Go(timing, func(ctx workflow.Context) {
		if slow.Get(ctx, nil) == nil && ctx.Err() == nil {
			op.tellUnderWay(ctx)
		}
	})
	return written
}

// tellUnderWay starts the reports that the operation is under way, which goes on beside them. One that was not delivered
// yet is left to it.
func (op *operation) tellUnderWay(ctx workflow.Context) {
	for _, target := range op.statuses.targets {
		if target.underWay != nil && !target.underWay.IsReady() {
			continue
		}
		target.hear(ctx)
		// Not the steps' context: it would end with them, before the attempt under way has.
		ctx, stop := workflow.NewDisconnectedContext(ctx)
		options := statusOptions(op.remaining(ctx))
		// An attempt that went on beside the outcome's could be the later one.
		options.WaitForCancellation = true
		target.underWay = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.ActivityReportStatus, target.says(op))
		target.stop = stop
	}
}

// settleUnderWay ends the reports that the operation waits, which it no longer does. An attempt under way may take
// 15 s to end. A failure is not said: the report of the outcome meets the same one, or the API has recovered.
func (op *operation) settleUnderWay(ctx workflow.Context) {
	for _, target := range op.statuses.targets {
		if target.underWay != nil {
			target.stop()
		}
	}
	for _, target := range op.statuses.targets {
		target.hear(ctx)
	}
}

// hear waits for the report under way, if there is one.
func (t *statusTarget) hear(ctx workflow.Context) {
	var delivered contract.ReportStatusResult
	if t.underWay != nil && t.underWay.Get(ctx, &delivered) == nil {
		t.heard(delivered)
	}
	t.underWay = nil
}

// tellOutcome reports the outcome to every target at once and waits for all of them, because a run that has closed
// reports nothing. Results files are written before, and the query answers with the outcome meanwhile. What waits is
// the closing of the run, for 24 h at most; a request that comes meanwhile does not wait, see [operation.makeRoom].
func (op *operation) tellOutcome(ctx workflow.Context) {
	if len(op.statuses.targets) == 0 {
		return
	}
	ctx, giveUp := workflow.NewDisconnectedContext(ctx)
	defer giveUp()
	op.settleUnderWay(ctx)
	patience := reportPatience
	if op.next != nil {
		patience = supersededPatience
	}
	told := workflow.WithActivityOptions(ctx, statusOptions(patience))
	deliveries := make([]workflow.Future, len(op.statuses.targets))
	for i, target := range op.statuses.targets {
		deliveries[i] = workflow.ExecuteActivity(told, contract.ActivityReportStatus, target.says(op))
	}
	op.statuses.giveUp = giveUp
	for i, target := range op.statuses.targets {
		var delivered contract.ReportStatusResult
		switch err := deliveries[i].Get(ctx, &delivered); {
		case err == nil:
			target.heard(delivered)
		case temporal.IsCanceledError(err):
			op.warn("report to HyperFleet: given up for another request, %s keeps its last status", target.Resource())
		case timedOut(err):
			op.warn("report to HyperFleet: %s was never told, does a worker run?", target.Resource())
		default:
			op.warn("report to HyperFleet: %s", typed(err).Message)
		}
	}
	op.statuses.giveUp = nil
}

// makeRoom lets the run close for a request that came while only the reports of the outcome were under way. The run
// keeps its own outcome for those who wait for it, and the request becomes the input of a new one.
func (op *operation) makeRoom() error {
	op.statuses.giveUp()
	op.statuses.giveUp = nil
	return contract.Errorf(contract.ErrClosing, "this run has its outcome and closes now, submit the request again").Application()
}

// onlyReports: the run has its outcome and waits for nothing but its delivery to HyperFleet.
func (op *operation) onlyReports() bool {
	return op.statuses.giveUp != nil && op.next == nil
}
