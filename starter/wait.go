package starter

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
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
	runID := o.RunID
	for {
		result, err := o.outcome(ctx, runID)
		var moved *workflow.ContinueAsNewError
		switch {
		case err == nil:
			return result, nil
		case errors.As(err, &moved):
			next, follow, err := o.next(ctx, runID)
			if err != nil {
				return result, err
			}
			if !follow {
				return o.superseded()
			}
			runID = next
		case unavailable(err) && ctx.Err() == nil:
			if err := pause(ctx); err != nil {
				return result, err
			}
		default:
			return failed(ctx, result, err)
		}
	}
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
			if unavailable(err) && pause(ctx) == nil {
				continue
			}
			return "", false, reached(ctx, fmt.Errorf("read history of operation %s: %w", o.WorkflowID, err))
		}
		attributes := event.GetWorkflowExecutionContinuedAsNewEventAttributes()
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

func pause(ctx context.Context) error {
	timer := time.NewTimer(reconnect)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
