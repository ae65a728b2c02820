package operation

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// A work is deleted without its objects in steps, see activities/orphan.go. Up to the deletion the operation may be
// stopped, and the work gets its own deleteOption back. From the deletion on nothing stops it: not a cancel, not a newer
// request, not the deadline. So a recreation ends with the new work or with the old one, and never with none, unless
// somebody terminates the workflow between the deletion and the creation.

const (
	// afterDeletion is how long a creation waits when the deletion took several attempts: a lost one could still
	// publish its deletion within its five seconds.
	afterDeletion = 15 * time.Second
	// insistFirst and insistMax are the pauses after a failure that is final for its activity, but not here.
	insistFirst = time.Minute
	insistMax   = 30 * time.Minute
	// forGood is a deadline that does not come.
	forGood = 10 * 365 * 24 * time.Hour
)

// recreate deletes the work without its objects and creates it with the manifests of the write. It is not done when the
// write has to be tried again, because somebody else wrote meanwhile or the set of manifests need not change any more.
func (op *operation) recreate(ctx workflow.Context, params contract.CommitParams) (committed contract.CommitResult, done bool, err error) {
	op.work(ctx, "recreating the work: preparing it to keep its objects", "Maestro's acceptance of deleteOption Orphan")
	prepared, deleting, err := op.deleteOrphaned(ctx, params)
	switch {
	case err != nil:
		return committed, false, err
	case prepared.Outcome != contract.OrphanReady:
		return committed, false, nil
	case deleting.Outcome == contract.CommitForeign:
		return committed, false, nil
	}
	// No way back from here.
	op.bound = true
	defer func() { op.bound = false }()
	ctx, release := workflow.NewDisconnectedContext(ctx)
	defer release()
	op.work(ctx, "recreating the work: it is deleted without its objects, and created again when the cluster has confirmed that",
		"the cluster's confirmation; neither a cancel nor the deadline stops this")
	op.insist(ctx, func() error { return op.untilGone(ctx, prepared.Version) })
	if deleting.Attempt > 1 {
		_ = workflow.Sleep(ctx, afterDeletion) // a disconnected context does not end
	}
	op.work(ctx, "recreating the work: creating it with its new manifests", "Maestro's acceptance of the new work")
	var recreated contract.RecreateResult
	step := workflow.WithActivityOptions(ctx, unlimited(commitOptions(op.target(), 0)))
	op.insist(ctx, func() error {
		return workflow.ExecuteActivity(step, contract.ActivityRecreate, op.orphaned(prepared)).Get(step, &recreated)
	})
	if recreated.Outcome == contract.CommitForeign {
		return committed, false, nil
	}
	committed = recreated.CommitResult
	committed.Warnings = append(committed.Warnings, prepared.Warnings...)
	op.blocker = ""
	if recreated.Failure != "" {
		op.result.Version = committed.Version
		return committed, false, &contract.Error{Type: recreated.Failure, Message: recreated.Message}
	}
	return committed, true, nil
}

// deleteKeeping is the deletion of a request that leaves the objects.
func (op *operation) deleteKeeping(ctx workflow.Context, params contract.CommitParams) (contract.CommitResult, error) {
	for {
		op.work(ctx, "deleting the work without its objects: preparing it", "Maestro's acceptance of deleteOption Orphan")
		prepared, deleting, err := op.deleteOrphaned(ctx, params)
		switch {
		case err != nil:
			return contract.CommitResult{}, err
		case prepared.Outcome == contract.OrphanAbsent:
			return contract.CommitResult{Outcome: contract.CommitAbsent}, nil
		case prepared.Outcome == contract.OrphanDeleting:
			return contract.CommitResult{}, contract.Errorf(contract.ErrUnderDeletion,
				"the work is being deleted already, with its objects unless its deleteOption says otherwise")
		case deleting.Outcome != contract.CommitForeign:
			op.blocker = ""
			return deleting, nil
		}
	}
}

// deleteOrphaned takes the steps up to the deletion, and back when they fail. An outcome Foreign of the deletion means
// that somebody else wrote the work meanwhile.
func (op *operation) deleteOrphaned(ctx workflow.Context, params contract.CommitParams) (contract.OrphanResult, contract.CommitResult, error) {
	var prepared contract.OrphanResult
	var deleting contract.CommitResult
	if err := op.gate(ctx); err != nil {
		return prepared, deleting, err
	}
	patience := min(op.durations.Patience, op.remaining(ctx))
	step := workflow.WithActivityOptions(ctx, commitOptions(op.target(), patience))
	began := workflow.Now(ctx)
	if err := workflow.ExecuteActivity(step, contract.ActivityOrphan, params).Get(step, &prepared); err != nil {
		op.unorphan(ctx)
		return prepared, deleting, patienceLost(ctx, err, workflow.Now(ctx).Sub(began))
	}
	if prepared.Outcome != contract.OrphanReady {
		return prepared, deleting, nil
	}
	op.work(ctx, op.doing, "the cluster's agent, which has to receive deleteOption Orphan before the deletion")
	if err := op.received(ctx, prepared.Version); err != nil {
		if contract.TypeOf(err) == contract.ErrVersionConflict {
			return prepared, contract.CommitResult{Outcome: contract.CommitForeign}, nil
		}
		op.unorphan(ctx)
		return prepared, deleting, err
	}
	if err := op.gate(ctx); err != nil || op.paused != nil {
		op.unorphan(ctx)
		if err == nil {
			err = op.late("the operation was paused by " + op.paused.By)
		}
		return prepared, deleting, err
	}
	ctx, release := workflow.NewDisconnectedContext(ctx)
	defer release()
	step = workflow.WithActivityOptions(ctx, unlimited(commitOptions(op.target(), 0)))
	err := workflow.ExecuteActivity(step, contract.ActivityDeleteOrphaned, op.orphaned(prepared)).Get(step, &deleting)
	switch {
	case contract.TypeOf(err) == contract.ErrVersionConflict:
		return prepared, contract.CommitResult{Outcome: contract.CommitForeign}, nil
	case err != nil:
		op.unorphan(ctx)
	}
	return prepared, deleting, err
}

// insist repeats a step that must not fail: even what an activity calls final may be mended, like credentials.
func (op *operation) insist(ctx workflow.Context, step func() error) {
	pause := insistFirst
	for {
		err := step()
		if err == nil {
			return
		}
		op.saw(ctx, typed(err).Message)
		op.refresh(ctx)
		_ = workflow.Sleep(ctx, pause) // a disconnected context does not end
		pause = min(2*pause, insistMax)
	}
}

// received waits until the agent has reported for the version that tells it to keep the objects.
func (op *operation) received(ctx workflow.Context, version int64) error {
	params := op.look(version)
	params.Received, params.Until = true, op.until
	observed, err := op.observe(ctx, observeOptions(op.target(), op.remaining(ctx)), params)
	switch {
	case temporal.IsCanceledError(err):
		return err
	case err != nil:
		return op.deadlineLost(err)
	case observed.Outcome != contract.ObserveMet:
		return &contract.Error{Type: observed.Failure, Message: observed.Message}
	}
	return nil
}

// untilGone waits until the bundle answers 404, however long that takes.
func (op *operation) untilGone(ctx workflow.Context, version int64) error {
	params := op.look(version)
	params.Wait, params.Deleted, params.Until = "Deleted", true, workflow.Now(ctx).Add(forGood)
	_, err := op.observe(ctx, unlimited(observeOptions(op.target(), forGood)), params)
	return err
}

func (op *operation) look(version int64) contract.ObserveParams {
	return contract.ObserveParams{
		Source: op.request.Source, Consumer: op.request.Consumer, Name: op.result.ManifestWorkName,
		Version: version, Wait: "Applied", MustExist: true, Grace: op.durations.Grace,
	}
}

// unorphan gives the work its own deleteOption back, also after a cancel.
func (op *operation) unorphan(ctx workflow.Context) {
	ctx, release := workflow.NewDisconnectedContext(ctx)
	defer release()
	step := workflow.WithActivityOptions(ctx, commitOptions(op.target(), op.durations.Patience))
	if err := workflow.ExecuteActivity(step, contract.ActivityUnorphan, op.orphaned(contract.OrphanResult{})).Get(step, nil); err != nil {
		op.result.Warnings = append(op.result.Warnings, "deleteOption Orphan was not taken back, the next write does that: "+typed(err).Message)
	}
	op.blocker = ""
}

func (op *operation) orphaned(prepared contract.OrphanResult) contract.OrphanedParams {
	return contract.OrphanedParams{
		Source: op.request.Source, Consumer: op.request.Consumer, Name: op.result.ManifestWorkName,
		Version: prepared.Version, Work: prepared.Work, Old: prepared.Old,
	}
}

// work shows what is being done within the applying phase, and what it waits for.
func (op *operation) work(ctx workflow.Context, doing, blocker string) {
	op.blocker = blocker
	op.enter(ctx, contract.PhaseApplying, doing)
}
