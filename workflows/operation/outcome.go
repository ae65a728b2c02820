package operation

import (
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// settle notes what the write found, the outcome of an operation that does not wait.
func (op *operation) settle(committed contract.CommitResult) {
	switch committed.Outcome {
	case contract.CommitCreated, contract.CommitUpdated:
		op.result.Reason = contract.ReasonPublished
		op.result.Message = fmt.Sprintf("version %d is published; nothing is known about the cluster yet", committed.Version)
	case contract.CommitRecreated:
		op.result.Reason = contract.ReasonPublished
		op.result.Message = fmt.Sprintf("the work was created again with its new manifests, version %d is published; its objects were left alone meanwhile", committed.Version)
	case contract.CommitUnchanged:
		op.result.Reason = contract.ReasonUnchanged
		op.result.Message = fmt.Sprintf("version %d already is as wanted, nothing was published", committed.Version)
	case contract.CommitDeleting:
		op.result.Reason = contract.ReasonDeletionRequested
		op.result.Message = "deletion is requested; the work is gone when the cluster has confirmed it"
	case contract.CommitAbsent:
		op.result.Status = contract.StatusDeleted
		op.result.Reason = contract.ReasonDeleted
		op.result.Message = "there was no such work"
	}
}

// seen takes over what a wait saw, and its failure.
func (op *operation) seen(observed contract.ObserveResult) error {
	op.result.Status = observed.Status
	op.result.ObservedVersion = observed.ObservedVersion
	op.result.Conditions = observed.Conditions
	if observed.Version > 0 && op.result.Version == 0 {
		op.result.Version = observed.Version
	}
	if observed.Resources != nil {
		op.result.Resources = observed.Resources
	}
	switch observed.Outcome {
	case contract.ObserveMet:
		op.result.Reason, op.result.Message = contract.ReasonConditionMet, observed.Message
		return nil
	case contract.ObserveGone:
		op.result.Status, op.result.Reason, op.result.Message = contract.StatusDeleted, contract.ReasonDeleted, observed.Message
		return nil
	case contract.ObserveFailed, contract.ObserveTimedOut:
		return &contract.Error{Type: observed.Failure, Message: observed.Message}
	}
	return contract.Errorf(contract.ErrInternal, "wait ended with outcome %q", observed.Outcome)
}

// finish decides the outcome, reports it on every path, and closes the run.
func (op *operation) finish(ctx workflow.Context, failure error) (contract.StatusResult, error) {
	now := workflow.Now(ctx)
	op.result.Timestamp, op.result.FinishedAt = now, &now
	switch {
	case op.next != nil:
		op.fail(contract.Errorf(contract.ErrSuperseded, "a newer request has taken over%s", op.stays()))
	case temporal.IsCanceledError(failure):
		op.fail(contract.Errorf(contract.ErrCancelled, "cancelled while %s%s", op.doing, op.stays()))
	case failure != nil:
		op.fail(typed(failure))
	}
	op.report(ctx)
	if op.next != nil && op.cancelled() {
		op.cancelNext(ctx)
	}
	op.show(ctx, op.phase(), op.result.Message)
	return op.close(ctx)
}

// cancelNext ends a newer request that was cancelled while it waited for this run to make room. The cancel was meant
// for it: a run that is being cancelled accepts no newer request.
func (op *operation) cancelNext(ctx workflow.Context) {
	now := workflow.Now(ctx)
	earlier := op.statuses.targets
	op.request, op.next, op.reports, op.statuses = *op.next, nil, nil, statuses{}
	op.addReport(op.request.Report)
	op.statuses.goOnFrom(earlier)
	op.result = running(ctx, op.request)
	op.result.Timestamp, op.result.FinishedAt = now, &now
	op.fail(contract.Errorf(contract.ErrCancelled, "cancelled before it began"))
	op.report(ctx)
}

// stays says what an operation leaves behind that ends before its wait does.
func (op *operation) stays() string {
	if op.result.Version == 0 {
		return ""
	}
	return fmt.Sprintf("; version %d stays stored", op.result.Version)
}

func (op *operation) fail(failure *contract.Error) {
	op.result.Reason, op.result.Message = string(failure.Type), failure.Message
	switch failure.Type {
	case contract.ErrSuperseded:
		op.result.Status = contract.StatusSuperseded
	case contract.ErrCancelled:
		op.result.Status = contract.StatusCancelled
	case contract.ErrWaitTimeout, contract.ErrDeletionUnconfirmed, contract.ErrExpired:
		op.result.Status = contract.StatusTimedOut
	case contract.ErrVanished:
		op.result.Status = contract.StatusNotFound
	default:
		op.result.Status = contract.StatusFailed
	}
}

func (op *operation) phase() contract.Phase {
	switch op.result.Status {
	case contract.StatusFailed, contract.StatusNotFound:
		return contract.PhaseFailed
	case contract.StatusTimedOut:
		return contract.PhaseTimedOut
	case contract.StatusCancelled:
		return contract.PhaseCancelled
	case contract.StatusSuperseded:
		return contract.PhaseSuperseded
	case contract.StatusDeleted:
		return contract.PhaseDeleted
	default:
		return contract.PhaseSucceeded
	}
}

// report delivers the outcome to every receiver. A report that fails does not change the outcome, it is said beside it.
func (op *operation) report(ctx workflow.Context) {
	if len(op.reports) == 0 {
		return
	}
	ctx, done := workflow.NewDisconnectedContext(ctx)
	defer done()
	op.show(ctx, contract.PhaseReporting, op.result.Message+op.statuses.awaited())
	ctx = workflow.WithActivityOptions(ctx, reportOptions())
	for _, report := range op.reports {
		if report.HyperFleet != nil && report.ResultsFile == "" {
			continue
		}
		params := contract.ReportParams{Report: report, Result: op.result}
		if err := workflow.ExecuteActivity(ctx, contract.ActivityReport, params).Get(ctx, nil); err != nil {
			op.warn("report: %s", typed(err).Message)
		}
	}
	op.tellOutcome(ctx)
}

func (op *operation) warn(format string, args ...any) {
	op.result.Warnings = append(op.result.Warnings, fmt.Sprintf(format, args...))
}

// close ends the run, or makes room for the newer request.
func (op *operation) close(ctx workflow.Context) (contract.StatusResult, error) {
	// A poke may have a look under way; the other handlers are done at the next yield at the latest.
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil && !temporal.IsCanceledError(err) {
		return op.result, err
	}
	if op.next != nil {
		return op.result, workflow.NewContinueAsNewError(ctx, contract.WorkflowOperation, *op.next)
	}
	if op.result.Succeeded() {
		return op.result, nil
	}
	if op.result.Reason == string(contract.ErrCancelled) {
		return op.result, temporal.NewCanceledError(op.result)
	}
	failure := contract.Error{Type: contract.ErrorType(op.result.Reason), Message: op.result.Message}
	return op.result, failure.Final(op.result)
}

// typed gives a failure its type and, without Temporal's wrapping, its text.
func typed(err error) *contract.Error {
	var failure *contract.Error
	if errors.As(err, &failure) {
		return failure
	}
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return &contract.Error{Type: contract.TypeOf(err), Message: application.Message(), Cause: err}
	}
	return contract.Errorf(contract.ErrInternal, "%w", err)
}

// patienceLost is the failure of a write: what Maestro said last, and for how long it was tried when that was not final.
// After a cancel it is the cancel that kept the write from being tried again; what Maestro said is kept beside it,
// because the write may have been stored all the same.
func patienceLost(ctx workflow.Context, err error, tried time.Duration) error {
	if temporal.IsCanceledError(err) {
		return err
	}
	failure := typed(err)
	if timedOut(err) {
		failure = contract.Errorf(contract.ErrUnavailable, "the write was never finished")
	}
	switch {
	case !contract.Rules[failure.Type].Retryable:
		return failure
	case ctx.Err() != nil:
		return contract.Errorf(contract.ErrCancelled, "cancelled while writing to Maestro; the last attempt failed: %s", failure.Message)
	default:
		return contract.Errorf(failure.Type, "gave up after %s: %s", tried.Round(time.Second), failure.Message)
	}
}

// deadlineLost is for a wait whose last look did not end, because no worker ran or Maestro hung: it is timed out all
// the same. A failure that is final stays what it is.
func (op *operation) deadlineLost(err error) error {
	if temporal.IsCanceledError(err) {
		return err
	}
	var application *temporal.ApplicationError
	switch {
	case errors.As(err, &application) && !contract.Rules[typed(err).Type].Retryable:
		return typed(err)
	case errors.As(err, &application):
		return op.late(typed(err).Message)
	case neverStarted(err):
		return op.late("nobody looked, does a worker run?")
	case timedOut(err):
		return op.late("the last look did not end")
	default:
		return typed(err)
	}
}

// missedDeadline: the wait ended without a look at its deadline, and not for a final reason.
func missedDeadline(err error) bool {
	var application *temporal.ApplicationError
	return timedOut(err) || errors.As(err, &application) && contract.Rules[typed(err).Type].Retryable
}

// late is the failure of an operation whose deadline has passed.
func (op *operation) late(text string) error {
	return contract.Errorf(contract.ErrWaitTimeout, "not met by %s: %s", op.until.UTC().Format(time.RFC3339), text)
}

// timedOut: the step was not finished in its time, and no attempt has failed with a reason.
func timedOut(err error) bool {
	var application *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && !errors.As(err, &application)
}

// neverStarted: no worker took the step.
func neverStarted(err error) bool {
	var timeout *temporal.TimeoutError
	return timedOut(err) && errors.As(err, &timeout) && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
}
