package operation

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// operation is one run's state.
type operation struct {
	request   contract.Request
	durations contract.Durations
	// until is the absolute deadline of this run.
	until time.Time
	// result is what the query answers.
	result contract.StatusResult
	// standing is the phase, doing what it does, and since is when it began.
	standing contract.Phase
	doing    string
	since    time.Time
	// reports are the receivers of the outcome: the request's own, and those of requests that attached.
	reports  []contract.Report
	statuses statuses
	// next is a newer request that this run makes room for.
	next *contract.Request
	// stop cancels the step under way when next has come.
	stop func()
	// cancelled: somebody has cancelled the run.
	cancelled func() bool

	// What operators do, see operator.go: interrupt stops the activity under way and the step goes on without it.
	interrupt func()
	// moved lets a step that the deadline bounds go on with a new one.
	moved           func()
	interventions   []contract.Intervention
	paused, skipped *contract.Intervention
	// watched are the parameters of the wait under way, nil when there is none; poked is the end that a poke saw.
	watched *contract.ObserveParams
	poked   *contract.ObserveResult
	// blocker is what a step other than the wait cannot do itself.
	blocker string
	// tickets that were queued at the mutex, one after the other.
	tickets int
	// unsure: the answer to a ticket was lost, which may have been written.
	unsure bool
	// bound: the step has to be finished, whatever comes.
	bound bool
	// lastSeen is what was missing at a look that the workflow knows of.
	lastSeen   string
	lastSeenAt time.Time
}

// ManifestWorkOperation does what one request says and returns its StatusResult. It closes as failed when the
// operation failed, with the StatusResult in the failure's details, and as cancelled when it was cancelled.
func ManifestWorkOperation(ctx workflow.Context, request contract.Request) (contract.StatusResult, error) {
	op := start(ctx, request)
	// Before the handlers: a newer request in the first task is handled while they are being registered.
	steps, stop := workflow.WithCancel(ctx)
	op.stop = stop
	op.cancelled = func() bool { return ctx.Err() != nil }
	if err := op.handleMessages(ctx); err != nil {
		return op.result, err
	}
	return op.finish(ctx, op.run(steps))
}

func start(ctx workflow.Context, request contract.Request) *operation {
	// A bad duration falls back to the default here and is refused by name in the build step.
	durations, _ := request.ParseDurations()
	op := &operation{
		request:   request,
		durations: durations,
		until:     workflow.GetInfo(ctx).WorkflowStartTime.Add(durations.Timeout),
		interrupt: func() {},
		moved:     func() {},
		result:    running(ctx, request),
	}
	op.addReport(request.Report)
	return op
}

// running is the result of a request that has no outcome yet.
func running(ctx workflow.Context, request contract.Request) contract.StatusResult {
	info := workflow.GetInfo(ctx)
	generation, _ := request.EffectiveGeneration()
	started := info.WorkflowStartTime
	return contract.StatusResult{
		ManifestWorkName: request.WorkName(),
		Consumer:         request.Consumer,
		Status:           contract.StatusInProgress,
		Reason:           contract.ReasonRunning,
		Timestamp:        started,
		Resources:        []contract.ResourceStatus{},
		Generation:       generation,
		WorkflowID:       info.WorkflowExecution.ID,
		RunID:            info.WorkflowExecution.RunID,
		StartedAt:        &started,
		RequestDigest:    request.Digest(),
	}
}

// run takes the steps up to the outcome. Its context ends with a cancel and with a newer request.
func (op *operation) run(ctx workflow.Context) error {
	built, err := op.build(ctx)
	if err != nil {
		return err
	}
	committed, err := op.apply(ctx, built)
	if err != nil {
		return err
	}
	return op.wait(ctx, committed)
}

func (op *operation) build(ctx workflow.Context) (contract.BuildResult, error) {
	var built contract.BuildResult
	op.enter(ctx, contract.PhaseBuilding, "checking the request")
	if err := ctx.Err(); err != nil {
		return built, err
	}
	ctx = workflow.WithActivityOptions(ctx, buildOptions(op.target(), op.remaining(ctx)))
	err := workflow.ExecuteActivity(ctx, contract.ActivityBuild, contract.BuildParams{Request: op.request}).Get(ctx, &built)
	op.result.Warnings = built.Warnings
	if timedOut(err) {
		return built, op.late("the request was never checked, does a worker run?")
	}
	return built, err
}

// apply brings the stored work to what the request says. A wait has nothing to write.
func (op *operation) apply(ctx workflow.Context, built contract.BuildResult) (contract.CommitResult, error) {
	var committed contract.CommitResult
	if op.request.EffectiveAction() == contract.ActionWait {
		return committed, nil
	}
	params := op.request.Commit(built.Name, built.Generation)
	written := op.tellWhenSlow(ctx)
	defer written()
	var err error
	switch {
	case op.request.Orphan:
		op.enter(ctx, contract.PhaseApplying, "writing to Maestro")
		committed, err = op.deleteKeeping(ctx, params)
	case op.shared(ctx):
		committed, err = op.queue(ctx, params)
	default:
		op.enter(ctx, contract.PhaseApplying, "writing to Maestro")
		committed, err = op.commit(ctx, params)
	}
	if err != nil {
		return committed, err
	}
	op.result.Version, op.result.Attempts = committed.Version, committed.Attempt
	op.result.Warnings = append(op.result.Warnings, committed.Warnings...)
	op.settle(committed)
	return committed, nil
}

// commit writes in one activity, or recreates the work where that is asked for and nothing else helps.
func (op *operation) commit(ctx workflow.Context, params contract.CommitParams) (contract.CommitResult, error) {
	var committed contract.CommitResult
	for {
		if err := op.gate(ctx); err != nil {
			return committed, err
		}
		if op.paused != nil { // still, at the deadline
			return committed, op.late(fmt.Sprintf("the operation was paused by %s (%s), nothing was written", op.paused.By, op.paused.Reason))
		}
		began := workflow.Now(ctx)
		patience := min(op.durations.Patience, op.remaining(ctx))
		step := workflow.WithActivityOptions(op.interruptible(ctx), commitOptions(op.target(), patience))
		if patience < op.durations.Patience {
			op.moved = op.interrupt
		}
		err := workflow.ExecuteActivity(step, contract.ActivityCommit, params).Get(step, &committed)
		op.moved = func() {}
		if err == nil {
			return committed, nil
		}
		if interrupted(ctx, err) {
			continue
		}
		if op.request.OnImmutable == contract.OnImmutableRecreate && contract.TypeOf(err) == contract.ErrManifestSetImmutable {
			recreated, done, err := op.recreate(ctx, params)
			if done || err != nil {
				return recreated, err
			}
			continue
		}
		if !neverStarted(err) {
			return committed, patienceLost(ctx, err, workflow.Now(ctx).Sub(began))
		}
		// The patience is with Maestro, not with a rollout of the workers: only the deadline ends that.
		if !workflow.Now(ctx).Before(op.until) {
			return committed, op.late("the write was never tried, does a worker run?")
		}
	}
}

// wait parks until the condition is met or can no longer be. It is one activity that Temporal retries: a look that
// finds the work not ready costs no history.
func (op *operation) wait(ctx workflow.Context, committed contract.CommitResult) error {
	if op.request.Wait == "" || committed.Outcome == contract.CommitAbsent {
		return nil
	}
	// A write that was let finish after its cancel leaves nothing to wait for.
	if err := ctx.Err(); err != nil {
		return err
	}
	if op.durations.OneLook {
		op.until = workflow.Now(ctx)
	}
	condition := op.request.Wait
	if op.request.AwaitsDeletion() {
		condition = "Deleted"
	}
	op.watched = &contract.ObserveParams{
		Source: op.request.Source, Consumer: op.request.Consumer, Name: op.result.ManifestWorkName,
		Version: committed.Version, Generation: op.result.Generation,
		Wait: condition, FailOn: op.request.FailOn, Deleted: op.request.AwaitsDeletion(), MustExist: op.request.Writes(),
		Ask:   op.request.EffectiveAction() == contract.ActionDelete,
		Grace: op.durations.Grace, Until: op.until,
	}
	if op.request.AwaitsRemoval() {
		op.watched.Removed = op.request.Remove
	}
	defer func() { op.watched = nil }()
	op.enter(ctx, contract.PhaseWaiting, "waiting for "+condition+" until "+stamp(op.until))
	op.tellUnderWay(ctx)
	for {
		if err := op.gate(ctx); err != nil {
			return err
		}
		if op.skipped != nil {
			op.settleSkipped()
			return nil
		}
		op.watched.Until = op.until
		observed, err := op.observe(op.interruptible(ctx), observeOptions(op.target(), op.remaining(ctx)), *op.watched)
		switch {
		case op.poked != nil:
			return op.seen(*op.poked)
		case interrupted(ctx, err):
			continue
		case err == nil && observed.Outcome == contract.ObserveTimedOut && op.watched.Until.Before(op.until):
			// The deadline was moved meanwhile. A work that was seen must not vanish without a word.
			op.watched.MustExist = op.watched.MustExist || observed.Version > 0
			op.saw(ctx, observed.Message)
			continue
		case missedDeadline(err) && op.watched.Until.Before(op.until):
			continue
		case missedDeadline(err) && !workflow.Now(ctx).Before(op.until):
			// No worker ran, or Maestro hung, at the deadline. What was seen long before is no verdict: one look, now,
			// that ends the wait either way.
			if late, err := op.observe(ctx, lateOptions(op.target()), *op.watched); err == nil {
				return op.seen(late)
			}
		}
		if err != nil {
			return op.deadlineLost(err)
		}
		return op.seen(observed)
	}
}

func (op *operation) observe(ctx workflow.Context, options workflow.ActivityOptions, params contract.ObserveParams) (contract.ObserveResult, error) {
	var observed contract.ObserveResult
	// A look that may publish has to end before another request writes.
	options.WaitForCancellation = params.Ask
	ctx = workflow.WithActivityOptions(ctx, options)
	err := workflow.ExecuteActivity(ctx, contract.ActivityObserve, params).Get(ctx, &observed)
	return observed, err
}

// remaining time until the deadline, at least a second, so that a late start still makes one attempt.
func (op *operation) remaining(ctx workflow.Context) time.Duration {
	return max(op.until.Sub(workflow.Now(ctx)), time.Second)
}

func (op *operation) target() string {
	return short(op.result.ManifestWorkName) + " on " + short(op.request.Consumer)
}
