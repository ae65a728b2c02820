package clustermutex

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// receivedWithin is how long the cluster's agent has to receive the version that keeps the objects: nothing else is
	// written meanwhile.
	receivedWithin = 2 * time.Minute
	// confirmed is a deadline that does not come: a deletion that was asked for has to be followed by the creation.
	confirmed = 10 * 365 * 24 * time.Hour
	// afterDeletion is how long the creation waits when the deletion took several attempts, see package operation.
	afterDeletion = 15 * time.Second
	// insistFirst and insistMax are the pauses after a failure that is final for its activity, but not here.
	insistFirst = time.Minute
	insistMax   = 30 * time.Minute
)

// recreate deletes the work of a batch without its objects and creates it once with all the batch's changes, on a server
// that keeps the set of manifests. The steps are those of activities/orphan.go. From the deletion on nothing stops it.
func (m *mutex) recreate(ctx workflow.Context, params contract.BatchParams, refused contract.BatchResult) {
	m.apply(ctx, RecreationStarted{Results: refused.Results})
	params.Tickets = m.state.Head.Tickets
	if len(params.Tickets) == 0 {
		m.apply(ctx, Committed{})
		return
	}
	var prepared contract.OrphanBatchResult
	step := workflow.WithActivityOptions(ctx, commitOptions(params.Name))
	if err := workflow.ExecuteActivity(step, contract.ActivityOrphanBatch, params).Get(step, &prepared); err != nil {
		m.unorphan(ctx, params)
		m.apply(ctx, failed(err))
		return
	}
	if prepared.FenceLost > 0 {
		m.apply(ctx, fenceLost(params.Name, prepared.FenceLost))
		return
	}
	if prepared.Outcome != contract.OrphanReady {
		m.apply(ctx, again("the work was written by somebody else meanwhile"))
		return
	}
	named := contract.OrphanedParams{
		Source: params.Source, Consumer: params.Consumer, Name: params.Name,
		Version: prepared.Version, Work: prepared.Work, Old: prepared.Old, Fence: params.Fence,
	}
	if failure := m.received(ctx, named); failure != nil {
		m.unorphan(ctx, params)
		m.apply(ctx, Committed{Result: notRecreated(params, prepared.Results, failure.Type, failure.Message)})
		return
	}
	var deleting contract.CommitResult
	step = workflow.WithActivityOptions(ctx, untilDone(params.Name))
	switch err := workflow.ExecuteActivity(step, contract.ActivityDeleteOrphaned, named).Get(step, &deleting); {
	case contract.TypeOf(err) == contract.ErrVersionConflict:
		m.apply(ctx, again(text(err)))
		return
	case err != nil:
		m.unorphan(ctx, params)
		m.apply(ctx, failed(err))
		return
	}
	m.finish(ctx, params, named, prepared.Results, deleting)
}

// finish creates the work again, whatever happens.
func (m *mutex) finish(ctx workflow.Context, params contract.BatchParams, named contract.OrphanedParams, results []contract.TicketResult, deleting contract.CommitResult) {
	m.insist(ctx, func() error {
		options := untilDone(params.Name)
		options.StartToCloseTimeout, options.HeartbeatTimeout = 15*time.Second, 0
		options.RetryPolicy = backoff(time.Second, contract.PollMax)
		step := workflow.WithActivityOptions(ctx, options)
		look := lookAt(named)
		look.Wait, look.Deleted, look.Until = "Deleted", true, workflow.Now(ctx).Add(confirmed)
		return workflow.ExecuteActivity(step, contract.ActivityObserve, look).Get(step, nil)
	})
	if deleting.Attempt > 1 {
		_ = workflow.Sleep(ctx, afterDeletion) // a disconnected context does not end
	}
	var recreated contract.RecreateResult
	step := workflow.WithActivityOptions(ctx, untilDone(params.Name))
	m.insist(ctx, func() error {
		return workflow.ExecuteActivity(step, contract.ActivityRecreate, named).Get(step, &recreated)
	})
	switch {
	case recreated.Outcome == contract.CommitForeign:
		m.apply(ctx, again("somebody else created the work meanwhile"))
	case recreated.Failure != "":
		m.apply(ctx, Committed{Result: notRecreated(params, results, recreated.Failure, recreated.Message)})
	default:
		for index := range results {
			if results[index].Type == "" {
				results[index].Outcome = contract.CommitRecreated
			}
		}
		m.apply(ctx, Committed{Result: contract.BatchResult{Results: results, Version: recreated.Version, Attempt: recreated.Attempt}})
	}
}

// again lets the mutex try the batch once more.
func again(message string) CommitFailed {
	return CommitFailed{Type: contract.ErrVersionConflict, Message: message}
}

// notRecreated ends the tickets that need the recreation, which has failed. The others of the batch are tried without them.
func notRecreated(params contract.BatchParams, prepared []contract.TicketResult, failure contract.ErrorType, message string) contract.BatchResult {
	result := contract.BatchResult{Results: make([]contract.TicketResult, len(params.Tickets))}
	for index := range result.Results {
		switch {
		case index < len(prepared) && prepared[index].Type != "":
			result.Results[index] = prepared[index]
		case index < len(prepared) && !prepared[index].Resets:
			result.Results[index].Again = true
		default:
			result.Results[index] = contract.TicketResult{Type: failure, Message: message}
		}
	}
	return result
}

func untilDone(work string) workflow.ActivityOptions {
	options := commitOptions(work)
	options.ScheduleToCloseTimeout = 0
	return options
}

// received waits until the agent has reported for the version that tells it to keep the objects; nil when it has.
func (m *mutex) received(ctx workflow.Context, named contract.OrphanedParams) *contract.Error {
	options := untilDone(named.Name)
	options.StartToCloseTimeout, options.HeartbeatTimeout, options.ScheduleToCloseTimeout = 15*time.Second, 0, receivedWithin+30*time.Second
	options.RetryPolicy = backoff(time.Second, contract.PollMax)
	step := workflow.WithActivityOptions(ctx, options)
	look := lookAt(named)
	look.Received, look.Until = true, workflow.Now(ctx).Add(receivedWithin)
	var observed contract.ObserveResult
	switch err := workflow.ExecuteActivity(step, contract.ActivityObserve, look).Get(step, &observed); {
	case err != nil:
		event := failed(err)
		return &contract.Error{Type: event.Type, Message: event.Message}
	case observed.Outcome != contract.ObserveMet:
		return &contract.Error{Type: observed.Failure, Message: observed.Message}
	}
	return nil
}

func lookAt(named contract.OrphanedParams) contract.ObserveParams {
	return contract.ObserveParams{
		Source: named.Source, Consumer: named.Consumer, Name: named.Name,
		Version: named.Version, Wait: "Applied", MustExist: true, Grace: contract.DefaultGrace,
	}
}

// insist repeats a step that must not fail: even what an activity calls final may be mended, like credentials.
func (m *mutex) insist(ctx workflow.Context, step func() error) {
	for pause := insistFirst; ; pause = min(2*pause, insistMax) {
		err := step()
		if err == nil {
			return
		}
		workflow.GetLogger(ctx).Warn("recreation held up, it goes on by itself", "error", err)
		_ = workflow.Sleep(ctx, pause) // a disconnected context does not end
	}
}

// unorphan gives the work its own deleteOption back; the next write does that, too.
func (m *mutex) unorphan(ctx workflow.Context, params contract.BatchParams) {
	step := workflow.WithActivityOptions(ctx, commitOptions(params.Name))
	named := contract.OrphanedParams{Source: params.Source, Consumer: params.Consumer, Name: params.Name}
	if err := workflow.ExecuteActivity(step, contract.ActivityUnorphan, named).Get(step, nil); err != nil {
		workflow.GetLogger(ctx).Warn("deleteOption Orphan was not taken back, the next write does that", "error", err)
	}
}
