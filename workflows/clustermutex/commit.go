package clustermutex

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// The activities' options, all in one place:
//
//	activity        StartToClose  heartbeat  ScheduleToClose  backoff
//	CommitBatch     40 s          8 s        30 s, see within 0.5 s → 15 s; then the mutex goes on with other works
//	OrphanBatch     40 s          8 s        30 s             0.5 s → 15 s
//	Deliver         20 s          -          -                1 s → 30 s
//	DescribeHolder  5 s           -          1 min            1 s → 5 s
//
// The further steps of a recreation have CommitBatch's times per attempt and are tried until they are done.

func commitOptions(work string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    40 * time.Second,
		HeartbeatTimeout:       8 * time.Second,
		ScheduleToCloseTimeout: commitWithin,
		RetryPolicy:            backoff(500*time.Millisecond, 15*time.Second),
		Summary:                "write " + work,
	}
}

func deliverOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 20 * time.Second,
		RetryPolicy:         backoff(time.Second, 30*time.Second),
		Summary:             "answer requesters",
	}
}

func describeOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    5 * time.Second,
		ScheduleToCloseTimeout: time.Minute,
		RetryPolicy:            backoff(time.Second, 5*time.Second),
		Summary:                "look for the holder",
	}
}

func backoff(first, most time.Duration) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: first, BackoffCoefficient: 2, MaximumInterval: most}
}

const (
	// commitWithin is how long Maestro has to take a batch before other works have their turn.
	commitWithin = 30 * time.Second
	// commitLeast is what one attempt needs.
	commitLeast = 2 * time.Second
)

// within is [commitWithin], or less when no ticket of the batch has that much time left. The most patient one counts: a
// ticket that is about to give up takes no time from the others.
func within(tickets []contract.Ticket, now time.Time) time.Duration {
	var t transition
	most := commitLeast
	for _, ticket := range tickets {
		if ticket.FirstFailedAt.IsZero() {
			ticket.FirstFailedAt = now
		}
		left := t.patienceEnds(ticket).Sub(now)
		if !ticket.Until.IsZero() {
			left = min(left, ticket.Until.Sub(now))
		}
		most = max(most, left)
	}
	return min(most, commitWithin)
}

// commit writes a batch and applies what came of it.
func (m *mutex) commit(ctx workflow.Context, params contract.BatchParams) {
	var result contract.BatchResult
	options := commitOptions(params.Name)
	options.ScheduleToCloseTimeout = within(params.Tickets, workflow.Now(ctx))
	step := workflow.WithActivityOptions(ctx, options)
	err := workflow.ExecuteActivity(step, contract.ActivityCommitBatch, params).Get(step, &result)
	switch {
	case err != nil:
		m.apply(ctx, failed(err))
	case result.FenceLost > 0:
		m.apply(ctx, fenceLost(params.Name, result.FenceLost))
	case result.Recreate:
		m.recreate(ctx, params, result)
	default:
		m.apply(ctx, Committed{Result: result})
	}
}

func fenceLost(work string, fence int64) CommitFailed {
	return CommitFailed{Type: contract.ErrFenceLost, Fence: fence,
		Message: fmt.Sprintf("another run of the mutex has written work %s with the fence %d", work, fence)}
}

// failed is what a batch ends with of which nothing was written, as far as is known.
func failed(err error) CommitFailed {
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		message := "the write got no answer within its time"
		if cause := timeout.Unwrap(); cause != nil {
			if known := contract.TypeOf(cause); known != contract.ErrInternal {
				return CommitFailed{Type: known, Message: text(cause)}
			}
		}
		return CommitFailed{Type: contract.ErrUnavailable, Message: message}
	}
	return CommitFailed{Type: contract.TypeOf(err), Message: text(err)}
}

// text of the innermost error of this product.
func text(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Message()
	}
	return err.Error()
}

// deliver tells requesters what became of their tickets.
func (m *mutex) deliver(ctx workflow.Context) {
	events := m.state.Outbox[:min(len(m.state.Outbox), contract.MaxBatchTickets)]
	var result contract.DeliverResult
	step := workflow.WithActivityOptions(ctx, deliverOptions())
	err := workflow.ExecuteActivity(step, contract.ActivityDeliver, contract.DeliverParams{Events: events}).Get(step, &result)
	if err != nil {
		// It is retried without end, so this is a defect. Requesters ask again by themselves.
		workflow.GetLogger(ctx).Error("requesters were not told", "error", err)
	}
	m.apply(ctx, Delivered{Events: events, Gone: result.Gone})
}

// describe says whether a holder still runs; one that cannot be looked for is taken to run until its lease ends again.
func (m *mutex) describe(ctx workflow.Context, params contract.HolderParams) bool {
	var result contract.HolderResult
	step := workflow.WithActivityOptions(ctx, describeOptions())
	if err := workflow.ExecuteActivity(step, contract.ActivityDescribeHolder, params).Get(step, &result); err != nil {
		workflow.GetLogger(ctx).Warn(fmt.Sprintf("holder %s not looked for", params.WorkflowID), "error", err)
		return true
	}
	return result.Runs
}
