package activities

import (
	"context"
	"errors"
	"fmt"
	"sync"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Temporal is what tickets need of a client of Temporal.
type Temporal interface {
	SignalWithStartWorkflow(ctx context.Context, workflowID, signal string, argument any, options client.StartWorkflowOptions, workflow any, input ...any) (client.WorkflowRun, error)
	SignalWorkflow(ctx context.Context, workflowID, runID, signal string, argument any) error
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
	GetWorkflowHistory(ctx context.Context, workflowID, runID string, isLongPoll bool, filter enumspb.HistoryEventFilterType) client.HistoryEventIterator
}

// Tickets carries tickets to the mutex, and its answers back.
type Tickets struct {
	Temporal  Temporal
	Converter converter.DataConverter
	// TaskQueue that mutexes are started on.
	TaskQueue string
}

// SubmitTicket hands a message to the mutex of a consumer and starts it when none runs. Running it twice is harmless: the
// mutex knows a ticket by its ID.
func (t *Tickets) SubmitTicket(ctx context.Context, params contract.SubmitTicketParams) error {
	id := contract.MutexID(params.Source, params.Consumer)
	_, err := t.Temporal.SignalWithStartWorkflow(ctx, id, contract.SignalTicket, params.Message, client.StartWorkflowOptions{
		ID: id, TaskQueue: t.TaskQueue,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         "writes to shared works on " + params.Consumer,
	}, contract.WorkflowClusterMutex, contract.MutexInput{Source: params.Source, Consumer: params.Consumer})
	if err != nil {
		return fmt.Errorf("signal mutex %s: %w", id, err)
	}
	return nil
}

const (
	// delivering is how many requesters are told at once.
	delivering = 16
	// deliveries are tried before a requester that takes no signal is left to ask again by itself: it must not keep the
	// others from their outcomes.
	deliveries = 6
)

// Deliver tells requesters what became of their tickets. Running it twice is harmless: a requester takes the first event
// of its ticket and ignores the others. A requester that has ended is no error.
func (t *Tickets) Deliver(ctx context.Context, params contract.DeliverParams) (contract.DeliverResult, error) {
	var result contract.DeliverResult
	var failures []error
	var mu sync.Mutex
	var wait sync.WaitGroup
	slots := make(chan struct{}, delivering)
	for _, event := range params.Events {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			err := t.Temporal.SignalWorkflow(ctx, event.ReplyTo, "", contract.SignalMutexEvent, event)
			mu.Lock()
			defer mu.Unlock()
			var gone *serviceerror.NotFound
			switch {
			case errors.As(err, &gone):
				result.Gone = append(result.Gone, event.TicketID)
			case err != nil:
				failures = append(failures, fmt.Errorf("signal operation %s: %w", event.ReplyTo, err))
			}
		})
	}
	wait.Wait()
	if err := errors.Join(failures...); err != nil {
		if activity.GetInfo(ctx).Attempt < deliveries {
			return result, err
		}
		activity.GetLogger(ctx).Warn("some requesters take no signal, they ask again by themselves", "error", err)
	}
	return result, nil
}

// DescribeHolder looks whether the workflow that holds a mutex still runs. It changes nothing.
func (t *Tickets) DescribeHolder(ctx context.Context, params contract.HolderParams) (contract.HolderResult, error) {
	described, err := t.Temporal.DescribeWorkflowExecution(ctx, params.WorkflowID, "")
	var gone *serviceerror.NotFound
	switch {
	case errors.As(err, &gone):
		return contract.HolderResult{}, nil
	case err != nil:
		return contract.HolderResult{}, fmt.Errorf("describe holder %s: %w", params.WorkflowID, err)
	}
	info := described.GetWorkflowExecutionInfo()
	runs := info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING &&
		(params.Run == "" || info.GetFirstRunId() == params.Run || info.GetExecution().GetRunId() == params.Run)
	return contract.HolderResult{Runs: runs}, nil
}

// Request reads what a run of an operation was started with.
func (t *Tickets) Request(ctx context.Context, workflowID, run string) (contract.Request, error) {
	var request contract.Request
	history := t.Temporal.GetWorkflowHistory(ctx, workflowID, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	event, err := history.Next()
	var gone *serviceerror.NotFound
	switch {
	case errors.As(err, &gone):
		return request, contract.Errorf(contract.ErrCancelled, "the operation %s is gone, and with it what it wanted to write: %w", workflowID, err)
	case err != nil:
		return request, contract.Errorf(contract.ErrUnavailable, "read the request of operation %s: %w", workflowID, err)
	}
	input := event.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if err := t.Converter.FromPayloads(input, &request); err != nil {
		return request, contract.Errorf(contract.ErrInternal, "read the request of operation %s: %w", workflowID, err)
	}
	return request, nil
}
