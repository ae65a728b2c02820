package clustermutex

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// askAgain is the pause before a hold is asked for again, which doubles up to askMax: the mutex may have been terminated.
	askAgain = 30 * time.Second
	askMax   = 10 * time.Minute
	// answerWithin is how long the mutex has to say what became of a hold that is withdrawn.
	answerWithin = 30 * time.Second
)

// HoldOptions of [Acquire].
type HoldOptions struct {
	Source, Consumer string
	// TaskQueue where the product's workers poll; "" means the workflow's own.
	TaskQueue string
	// Reason stands in the mutex's status.
	Reason string
	// Lease of the hold; default [contract.DefaultLease], never longer than [contract.MaxLease] in all.
	Lease time.Duration
	// Until is when the caller gives up waiting; zero means never.
	Until time.Time
	// Key tells the holds of one run apart; "" is enough for the first one.
	Key string
}

// Hold is what a workflow has while nothing else is written to the shared works of a consumer.
type Hold struct {
	// Fence of the hold: writes that it protects stamp it, see [contract.AnnotationFence], and stop when they find a
	// higher one.
	Fence      int64
	LeaseUntil time.Time

	options HoldOptions
	id      string
}

// Acquire waits for a hold of the mutex, for workflows that do to shared works what no ticket can say. The hold ends with Release, with its lease, or with the workflow. A workflow waits
// for one hold at a time.
//
// Errors: Expired (at Until), QueueFull, Cancelled (somebody withdrew it), and the context's own when that is cancelled; in
// every case nothing is held.
func Acquire(ctx workflow.Context, options HoldOptions) (*Hold, error) {
	info := workflow.GetInfo(ctx)
	ticket := contract.Ticket{
		ID: fmt.Sprintf("hold/%s/%s%s", info.WorkflowExecution.ID, info.OriginalRunID, options.Key), Kind: contract.TicketHold,
		ReplyTo: info.WorkflowExecution.ID, Run: info.FirstRunID, StartedAt: info.WorkflowStartTime,
		Reason: options.Reason, Lease: options.Lease, Until: options.Until,
	}
	hold := &Hold{options: options, id: ticket.ID}
	events := workflow.GetSignalChannel(ctx, contract.SignalMutexEvent)
	submit := contract.TicketMessage{V: 1, Kind: contract.TicketSubmit, TicketID: ticket.ID, Body: &ticket}
	for pause := askAgain; ctx.Err() == nil && !hold.late(ctx); pause = min(2*pause, askMax) {
		if err := hold.send(ctx, submit); err != nil && ctx.Err() == nil {
			return nil, err
		}
		within := pause
		if !options.Until.IsZero() {
			within = max(min(within, options.Until.Sub(workflow.Now(ctx))), time.Millisecond)
		}
		event, found := hold.answer(ctx, events, within)
		switch {
		case !found:
		case event.Outcome == contract.TicketGranted && !event.LeaseUntil.After(workflow.Now(ctx)):
			// It was granted so long ago that it has ended: the mutex says how.
		case event.Outcome == contract.TicketGranted:
			hold.Fence, hold.LeaseUntil = event.Fence, event.LeaseUntil
			return hold, nil
		case !event.Again:
			return nil, &contract.Error{Type: event.Type, Message: event.Message}
		default:
			_ = workflow.Sleep(ctx, contract.Rules[contract.ErrQueueFull].Delay) // the loop sees the end of the context
		}
	}
	late, release := workflow.NewDisconnectedContext(ctx)
	defer release()
	if err := hold.send(late, contract.TicketMessage{V: 1, Kind: contract.TicketCancel, TicketID: ticket.ID}); err == nil {
		for {
			if event, found := hold.answer(late, events, answerWithin); !found || event.Outcome != contract.TicketGranted {
				break // a grant that was on its way is followed by its end
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, contract.Errorf(contract.ErrExpired, "the mutex of %s has not granted the hold until %s", options.Consumer, stamp(options.Until))
}

// late: the caller has given up.
func (h *Hold) late(ctx workflow.Context) bool {
	return !h.options.Until.IsZero() && !workflow.Now(ctx).Before(h.options.Until)
}

// Release ends the hold, also after a cancel of the workflow.
func (h *Hold) Release(ctx workflow.Context) error {
	ctx, release := workflow.NewDisconnectedContext(ctx)
	defer release()
	return h.send(ctx, contract.TicketMessage{V: 1, Kind: contract.TicketRelease, TicketID: h.id, Fence: h.Fence})
}

func (h *Hold) send(ctx workflow.Context, message contract.TicketMessage) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           h.options.TaskQueue,
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         backoff(time.Second, 30*time.Second),
		Summary:             string(message.Kind) + " hold of " + h.options.Consumer,
	})
	return workflow.ExecuteActivity(ctx, contract.ActivitySubmitTicket, contract.SubmitTicketParams{
		Source: h.options.Source, Consumer: h.options.Consumer, Message: message,
	}).Get(ctx, nil)
}

// answer waits for an event of the hold and gives the last one. Those of others, and of earlier holds, are dropped.
func (h *Hold) answer(ctx workflow.Context, events workflow.ReceiveChannel, within time.Duration) (event contract.TicketEvent, found bool) {
	timing, stop := workflow.WithCancel(ctx)
	defer stop()
	over := false
	selector := workflow.NewSelector(ctx)
	selector.AddReceive(events, func(c workflow.ReceiveChannel, _ bool) {
		// The last one counts: a workflow that was away for long finds the grant and its end.
		for one := (contract.TicketEvent{}); c.ReceiveAsync(&one); one = (contract.TicketEvent{}) {
			if one.TicketID == h.id {
				event, found = one, true
			}
		}
	})
	selector.AddFuture(workflow.NewTimer(timing, within), func(workflow.Future) { over = true })
	selector.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { over = true })
	for !found && !over {
		selector.Select(ctx)
	}
	return event, found
}
