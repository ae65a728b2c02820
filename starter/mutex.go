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

// Mutex is the queue of the writes to the shared works of one consumer, for operators. A worker has to run for every call
// but Status of a mutex that does not run.
//
// Errors of all calls: InvalidInput (a message that makes no sense now, or lacks who and why), [ErrTemporalUnavailable].
type Mutex struct {
	client           *Client
	source, consumer string
}

// Mutex of a source's works on a consumer. It need not run.
func (c *Client) Mutex(source, consumer string) *Mutex {
	return &Mutex{client: c, source: source, consumer: consumer}
}

// Status says who holds, who waits, and why. A mutex that does not run is idle: it ends when it has had nothing to do for a
// while.
func (m *Mutex) Status(ctx context.Context) (contract.MutexStatus, error) {
	idle := contract.MutexStatus{Phase: contract.MutexIdle, MutexState: contract.MutexState{Source: m.source, Consumer: m.consumer}}
	idle.Message = "the mutex of " + m.consumer + " does not run: nobody waits to write its shared works"
	description, err := m.client.temporal.DescribeWorkflow(ctx, m.id(), "")
	var unknown *serviceerror.NotFound
	switch {
	case errors.As(err, &unknown):
		return idle, nil
	case err != nil:
		return idle, m.failed(ctx, err)
	case description.Status == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		idle.Message = "the mutex of " + m.consumer + " was terminated: whoever waited asks again by itself within 10 minutes"
		return idle, nil
	case description.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return idle, nil
	}
	var status contract.MutexStatus
	value, err := m.client.temporal.QueryWorkflow(ctx, m.id(), "", contract.QueryStatus)
	if err == nil {
		err = value.Get(&status)
	}
	if err != nil {
		return idle, m.failed(ctx, err)
	}
	return status, nil
}

// Hold queues a person's hold, or renews the one that holds, and says where it stands. While it holds, nothing is written
// to the consumer's shared works, by no operation. It starts the mutex when none runs.
func (m *Mutex) Hold(ctx context.Context, request contract.HoldRequest) (contract.HoldAnswer, error) {
	if err := request.Operator().Check(); err != nil {
		return contract.HoldAnswer{}, invalid(err)
	}
	if _, err := request.Length(); err != nil {
		return contract.HoldAnswer{}, invalid(err)
	}
	var answer contract.HoldAnswer
	return answer, m.updateWithStart(ctx, contract.UpdateHold, request, &answer)
}

// Release ends a person's hold, or takes it out of the queue.
func (m *Mutex) Release(ctx context.Context, request contract.HoldRelease) (contract.MutexAnswer, error) {
	var answer contract.MutexAnswer
	return answer, m.update(ctx, contract.UpdateRelease, request, &answer)
}

// ForceRelease takes the hold from whoever has it. What the holder writes without looking at its fence is not stopped.
func (m *Mutex) ForceRelease(ctx context.Context, operator contract.Operator) (contract.MutexAnswer, error) {
	var answer contract.MutexAnswer
	return answer, m.update(ctx, contract.UpdateForceRelease, operator, &answer)
}

// Pause keeps the mutex from beginning anything until Resume, without a limit in time. It starts the mutex when none runs.
func (m *Mutex) Pause(ctx context.Context, operator contract.Operator) (contract.MutexAnswer, error) {
	if err := operator.Check(); err != nil {
		return contract.MutexAnswer{}, invalid(err)
	}
	var answer contract.MutexAnswer
	return answer, m.updateWithStart(ctx, contract.UpdatePause, operator, &answer)
}

// Resume ends a pause.
func (m *Mutex) Resume(ctx context.Context, operator contract.Operator) (contract.MutexAnswer, error) {
	var answer contract.MutexAnswer
	return answer, m.update(ctx, contract.UpdateResume, operator, &answer)
}

func (m *Mutex) id() string { return contract.MutexID(m.source, m.consumer) }

func (m *Mutex) update(ctx context.Context, verb string, argument, answer any) error {
	err := m.client.update(ctx, m.id(), verb, argument, answer)
	var unknown *serviceerror.NotFound
	if errors.As(err, &unknown) {
		return contract.Errorf(contract.ErrInvalidInput, "%s: the mutex of %s does not run, so nobody holds and it is not paused", verb, m.consumer)
	}
	return m.failed(ctx, err)
}

func (m *Mutex) updateWithStart(ctx context.Context, verb string, argument, answer any) error {
	input := contract.MutexInput{Source: m.source, Consumer: m.consumer}
	if _, _, err := contract.ParseMutexID(m.id()); err != nil {
		return invalid(err)
	}
	handle, err := m.client.temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: m.client.temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
			ID: m.id(), TaskQueue: m.client.taskQueue,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			StaticSummary:            "writes to shared works on " + m.consumer,
		}, contract.WorkflowClusterMutex, input),
		UpdateOptions: updateOptions(m.id(), verb, argument),
	})
	if err == nil {
		err = handle.Get(ctx, answer)
	}
	return m.failed(ctx, err)
}

func (m *Mutex) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return reached(ctx, fmt.Errorf("mutex %s: %w", m.id(), err))
}

func invalid(err error) error { return contract.Errorf(contract.ErrInvalidInput, "%w", err) }
