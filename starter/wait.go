package starter

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// reconnect is the pause before a wait asks again a Temporal that did not answer.
const reconnect = time.Second

// Wait returns when the request has its outcome. The StatusResult is filled whenever the operation ended, also with an
// error, which is then of the type that the StatusResult has as its reason. An interrupted Temporal only delays the
// answer: Wait goes on until ctx ends, and then returns an error that wraps ctx's own.
func (o *Operation) Wait(ctx context.Context) (contract.StatusResult, error) {
	for {
		result, err := o.outcome(ctx, o.run())
		var moved *workflow.ContinueAsNewError
		switch {
		case err == nil:
			return o.own(result, nil)
		case errors.As(err, &moved):
			follow, err := o.follow(ctx)
			if err != nil {
				return result, err
			}
			if !follow {
				return o.superseded()
			}
		case unavailable(err) && ctx.Err() == nil:
			if err := pause(ctx, reconnect); err != nil {
				return result, err
			}
		default:
			return o.own(failed(ctx, result, err))
		}
	}
}

// own makes sure that an outcome is that of the caller's request: a run that was cancelled while a newer request waited
// for it closes with the outcome of that.
func (o *Operation) own(result contract.StatusResult, err error) (contract.StatusResult, error) {
	if result.RequestDigest != "" && result.RequestDigest != o.digest {
		return o.superseded()
	}
	return result, err
}

// Cancel asks the run that works for this request to end as cancelled. What it has written stays. When the request has
// its outcome already, or a newer one has taken over, there is nothing to cancel and that is no error.
func (o *Operation) Cancel(ctx context.Context) error {
	for {
		err := o.client.temporal.CancelWorkflow(ctx, o.WorkflowID, o.run())
		var closed *serviceerror.NotFound
		if err == nil || !errors.As(err, &closed) {
			return reached(ctx, err)
		}
		if follow, err := o.follow(ctx); err != nil || !follow {
			return err
		}
	}
}

func (o *Operation) run() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.current == "" {
		return o.RunID
	}
	return o.current
}

// follow moves to the next run when that works for the same request.
func (o *Operation) follow(ctx context.Context) (bool, error) {
	next, mine, err := o.next(ctx, o.run())
	if err != nil || !mine {
		return false, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.current = next
	return true, nil
}

func (o *Operation) outcome(ctx context.Context, runID string) (contract.StatusResult, error) {
	var result contract.StatusResult
	err := o.client.temporal.GetWorkflow(ctx, o.WorkflowID, runID).
		GetWithOptions(ctx, &result, client.WorkflowRunGetOptions{DisableFollowingRuns: true})
	return result, err
}

// next reads the closing event of a run that continued as new: the next run is the caller's when it has the caller's
// request as its input.
func (o *Operation) next(ctx context.Context, runID string) (nextRun string, follow bool, err error) {
	for {
		events := o.client.temporal.GetWorkflowHistory(ctx, o.WorkflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
		event, err := events.Next()
		if err != nil {
			if unavailable(err) && pause(ctx, reconnect) == nil {
				continue
			}
			return "", false, reached(ctx, fmt.Errorf("read history of operation %s: %w", o.WorkflowID, err))
		}
		attributes := event.GetWorkflowExecutionContinuedAsNewEventAttributes()
		if attributes == nil {
			return "", false, nil
		}
		var request contract.Request
		if err := o.client.converter.FromPayloads(attributes.GetInput(), &request); err != nil {
			return "", false, fmt.Errorf("read history of operation %s: %w", o.WorkflowID, err)
		}
		return attributes.GetNewExecutionRunId(), request.Digest() == o.digest, nil
	}
}

func (o *Operation) superseded() (contract.StatusResult, error) {
	failure := contract.Errorf(contract.ErrSuperseded, "a newer request has taken over operation %s", o.WorkflowID)
	parsed, err := contract.ParseOperationID(o.WorkflowID)
	if err != nil {
		return contract.StatusResult{}, err
	}
	return contract.StatusResult{
		ManifestWorkName: parsed.Work, Consumer: parsed.Consumer, Status: contract.StatusSuperseded,
		Reason: string(contract.ErrSuperseded), Message: failure.Message, Timestamp: time.Now().UTC(),
		Resources: []contract.ResourceStatus{}, WorkflowID: o.WorkflowID, RunID: o.RunID, RequestDigest: o.digest,
	}, failure
}

// failed takes the StatusResult out of the way a run closed.
func failed(ctx context.Context, result contract.StatusResult, err error) (contract.StatusResult, error) {
	var application *temporal.ApplicationError
	if errors.As(err, &application) && application.HasDetails() {
		if application.Details(&result) == nil && result.Reason != "" {
			return result, &contract.Error{Type: contract.TypeOf(err), Message: result.Message, Cause: err}
		}
	}
	var cancelled *temporal.CanceledError
	if errors.As(err, &cancelled) {
		if cancelled.HasDetails() && cancelled.Details(&result) == nil && result.Reason != "" {
			return result, &contract.Error{Type: contract.ErrCancelled, Message: result.Message, Cause: err}
		}
		return result, contract.Errorf(contract.ErrCancelled, "the operation was cancelled: %w", err)
	}
	if ctx.Err() != nil {
		return result, fmt.Errorf("wait for the operation: %w", ctx.Err())
	}
	return result, reached(ctx, err)
}

func pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
