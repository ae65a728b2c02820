package starter

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// ErrNoOperation: Temporal knows no operation of this workflow ID, neither running nor within its retention.
var ErrNoOperation = errors.New("no such operation")

// Attach finds the operation that runs under a workflow ID, or the one that ran last, whoever started it. Its Wait
// gives the outcome of the request that the run works for now. Errors: [ErrNoOperation], [ErrTemporalUnavailable].
func (c *Client) Attach(ctx context.Context, workflowID string) (*Operation, error) {
	description, err := c.temporal.DescribeWorkflow(ctx, workflowID, "")
	if err != nil {
		return nil, found(ctx, workflowID, err)
	}
	runID := description.WorkflowExecution.RunID
	events := c.temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	event, err := events.Next()
	if err != nil {
		return nil, found(ctx, workflowID, err)
	}
	var request contract.Request
	if err := c.converter.FromPayloads(event.GetWorkflowExecutionStartedEventAttributes().GetInput(), &request); err != nil {
		return nil, fmt.Errorf("read the request of operation %s: %w", workflowID, err)
	}
	return &Operation{WorkflowID: workflowID, RunID: runID, Attached: true, client: c, digest: request.Digest()}, nil
}

// Explain says why an operation is not done: what its workflow knows, and the failure of the latest attempt of its
// pending step, with the time of the next one, or who is before it at the mutex. A worker has to run.
func (c *Client) Explain(ctx context.Context, workflowID string) (contract.Explanation, error) {
	var explanation contract.Explanation
	value, err := c.temporal.QueryWorkflow(ctx, workflowID, "", contract.QueryExplain)
	if err != nil {
		return explanation, found(ctx, workflowID, err)
	}
	if err := value.Get(&explanation); err != nil {
		return explanation, fmt.Errorf("query operation %s: %w", workflowID, err)
	}
	description, err := c.temporal.DescribeWorkflow(ctx, workflowID, "")
	if err != nil {
		return explanation, found(ctx, workflowID, err)
	}
	for _, pending := range description.RawResponse.GetPendingActivities() {
		failure := pending.GetLastFailure()
		if failure == nil {
			continue
		}
		at := pending.GetLastAttemptCompleteTime().AsTime()
		if at.Before(explanation.LastSeenAt) {
			continue
		}
		explanation.LastSeen, explanation.LastSeenAt = failure.GetMessage(), at
		if next := pending.GetNextAttemptScheduleTime(); next != nil {
			explanation.NextWake = next.AsTime()
		}
	}
	if explanation.Phase == contract.PhaseQueued {
		c.explainTurn(ctx, workflowID, &explanation)
	}
	return explanation, nil
}

// explainTurn says who is before an operation at its mutex. When the mutex does not answer, what the operation says stays.
func (c *Client) explainTurn(ctx context.Context, workflowID string, explanation *contract.Explanation) {
	id, err := contract.ParseOperationID(workflowID)
	if err != nil {
		return
	}
	value, err := c.temporal.QueryWorkflow(ctx, contract.MutexID(id.Source, id.Consumer), "", contract.QueryTicket, workflowID)
	if err != nil {
		return
	}
	var standing contract.TicketStanding
	if value.Get(&standing) == nil && standing.Message != "" {
		explanation.WaitsFor = fmt.Sprintf("its turn in the mutex of %s: %s, %d before it: %s", id.Consumer, standing.Standing, standing.Ahead, standing.Message)
	}
}

// Tell sends an operator's message, one of [contract.OperatorMessages], to a running operation. A message that makes no
// sense now is refused as InvalidInput.
func (c *Client) Tell(ctx context.Context, workflowID, verb string, message contract.Extension) (contract.OperatorAnswer, error) {
	var answer contract.OperatorAnswer
	if err := c.update(ctx, workflowID, verb, message, &answer); err != nil {
		return answer, found(ctx, workflowID, err)
	}
	return answer, nil
}

// update sends a message to a running workflow and waits for its answer.
func (c *Client) update(ctx context.Context, workflowID, verb string, argument, answer any) error {
	handle, err := c.temporal.UpdateWorkflow(ctx, updateOptions(workflowID, verb, argument))
	if err != nil {
		return err
	}
	return handle.Get(ctx, answer)
}

func updateOptions(workflowID, verb string, argument any) client.UpdateWorkflowOptions {
	return client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: verb, Args: []any{argument}, WaitForStage: client.WorkflowUpdateStageCompleted,
	}
}

// found gives a workflow ID that nobody knows its error.
func found(ctx context.Context, workflowID string, err error) error {
	var unknown *serviceerror.NotFound
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w: %s: %w", ErrNoOperation, workflowID, err)
	}
	return reached(ctx, fmt.Errorf("operation %s: %w", workflowID, err))
}
