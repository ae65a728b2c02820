package starter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// ErrTemporalUnavailable: Temporal does not answer.
var ErrTemporalUnavailable = errors.New("Temporal cannot be reached")

// Client starts operations and attaches to them. It is safe for concurrent use.
type Client struct {
	temporal  client.Client
	taskQueue string
	converter converter.DataConverter
}

// New makes a client on a connection that the caller keeps and closes. An empty task queue means
// [contract.DefaultTaskQueue].
func New(temporal client.Client, taskQueue string) *Client {
	if taskQueue == "" {
		taskQueue = contract.DefaultTaskQueue
	}
	return &Client{temporal: temporal, taskQueue: taskQueue, converter: converter.GetDefaultDataConverter()}
}

// Operation is a request that a run has taken.
type Operation struct {
	WorkflowID string
	// RunID of the run that took the request. When a newer request takes over, the next run has another one.
	RunID string
	// Attached: the request joined a run that was already working for the same request.
	Attached bool

	client *Client
	digest string

	mu sync.Mutex
	// current is the run that works for the request, as far as Wait has followed it.
	current string
}

// comeAgain is the pause before a request is offered again that met a run which was about to close.
const comeAgain = 200 * time.Millisecond

// Start hands a request to the operation of its work: it starts one, joins a running one with the same request, or
// takes over from a running one with an older request. It returns as soon as the request is safe in Temporal; the
// worker need not run, unless an operation is running already.
//
// Errors: InvalidInput, Superseded (a newer generation is being applied), GenerationConflict (this generation is being
// applied with other content), [ErrTemporalUnavailable].
func (c *Client) Start(ctx context.Context, request contract.Request) (*Operation, error) {
	if err := request.Check(); err != nil {
		return nil, contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	if _, err := request.EffectiveGeneration(); err != nil {
		return nil, contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	for {
		operation, err := c.start(ctx, request)
		if err == nil {
			return operation, nil
		}
		var running *serviceerror.WorkflowExecutionAlreadyStarted
		if !errors.As(err, &running) {
			return nil, reached(ctx, fmt.Errorf("start operation %s: %w", request.WorkflowID(), err))
		}
		operation, err = c.submit(ctx, request)
		if err == nil {
			return operation, nil
		}
		if !closing(err) {
			return nil, reached(ctx, fmt.Errorf("submit to operation %s: %w", request.WorkflowID(), err))
		}
		if pause(ctx, comeAgain) != nil {
			return nil, reached(ctx, fmt.Errorf("submit to operation %s: %w", request.WorkflowID(), ctx.Err()))
		}
	}
}

func (c *Client) start(ctx context.Context, request contract.Request) (*Operation, error) {
	id := request.WorkflowID()
	run, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: c.taskQueue,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            summary(request),
	}, contract.WorkflowOperation, request)
	if err != nil {
		return nil, err
	}
	return &Operation{WorkflowID: id, RunID: run.GetRunID(), client: c, digest: request.Digest()}, nil
}

func summary(request contract.Request) string {
	text := fmt.Sprintf("%s %s on %s", request.EffectiveAction(), request.WorkName(), request.Consumer)
	if generation, _ := request.EffectiveGeneration(); generation > 0 {
		text += fmt.Sprintf(", generation %d", generation)
	}
	return text
}

// submit offers the request to the running operation. Offering it twice is harmless: the second offer attaches.
func (c *Client) submit(ctx context.Context, request contract.Request) (*Operation, error) {
	id := request.WorkflowID()
	var submitted contract.Submitted
	if err := c.update(ctx, id, contract.UpdateSubmit, request, &submitted); err != nil {
		return nil, err
	}
	return &Operation{WorkflowID: id, RunID: submitted.RunID, Attached: submitted.Attached, client: c, digest: request.Digest()}, nil
}

// closing: the run has ended, or is about to, so that the request was not taken.
func closing(err error) bool {
	if contract.TypeOf(err) == contract.ErrClosing {
		return true
	}
	var gone *serviceerror.NotFound
	var closed *serviceerror.WorkflowNotReady
	if errors.As(err, &gone) || errors.As(err, &closed) {
		return true
	}
	return isType(err, "AcceptedUpdateCompletedWorkflow")
}

// Status asks an operation, running or closed within the namespace's retention, where it stands. A worker has to run.
func (c *Client) Status(ctx context.Context, workflowID string) (contract.StatusResult, error) {
	var result contract.StatusResult
	value, err := c.temporal.QueryWorkflow(ctx, workflowID, "", contract.QueryStatus)
	if err != nil {
		return result, reached(ctx, fmt.Errorf("query operation %s: %w", workflowID, err))
	}
	if err := value.Get(&result); err != nil {
		return result, fmt.Errorf("query operation %s: %w", workflowID, err)
	}
	return result, nil
}

// Cancel asks whatever operation runs under the workflow ID to end as cancelled. What it has written stays. A caller
// that means its own request takes [Operation.Cancel].
func (c *Client) Cancel(ctx context.Context, workflowID string) error {
	if err := c.temporal.CancelWorkflow(ctx, workflowID, ""); err != nil {
		return reached(ctx, fmt.Errorf("cancel operation %s: %w", workflowID, err))
	}
	return nil
}
