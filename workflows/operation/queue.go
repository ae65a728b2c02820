package operation

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// againFirst and againMax bound the pause before a ticket is submitted again, which doubles: the mutex may have been
	// terminated, and a repetition is harmless.
	againFirst = 30 * time.Second
	againMax   = 10 * time.Minute
	// answerWithin is how long the mutex has to say what became of a ticket that is withdrawn.
	answerWithin = 30 * time.Second
)

// changeMutex: writes to shared works go through the mutex of their consumer.
const changeMutex = "cluster-mutex"

// shared: the write has to wait its turn. A deletion that leaves the objects takes several steps of its own.
func (op *operation) shared(ctx workflow.Context) bool {
	return op.request.Shared() && !op.request.Orphan &&
		workflow.GetVersion(ctx, changeMutex, workflow.DefaultVersion, 1) >= 1
}

// queue lets the mutex of the consumer write, together with what others want to write to the same work, and waits for the
// outcome.
func (op *operation) queue(ctx workflow.Context, params contract.CommitParams) (contract.CommitResult, error) {
	events := workflow.GetSignalChannel(ctx, contract.SignalMutexEvent)
	for {
		if err := op.gate(ctx); err != nil {
			return contract.CommitResult{}, err
		}
		if op.paused != nil { // still, at the deadline
			return contract.CommitResult{}, op.late(fmt.Sprintf("the operation was paused by %s (%s)%s", op.paused.By, op.paused.Reason, op.written()))
		}
		op.tickets++
		ticket := op.ticket(ctx, params)
		event, err := op.turn(ctx, ticket, events)
		if err != nil {
			return contract.CommitResult{}, err
		}
		switch event.Outcome {
		case contract.TicketCommitted:
			if event.Result != nil {
				return *event.Result, nil
			}
			return contract.CommitResult{}, contract.Errorf(contract.ErrInternal, "the mutex has committed and says not what")
		case contract.TicketCancelled:
			if event.Unsure {
				op.unsure = true
				op.warn("%s: it may have been stored all the same, read the work", event.Message)
			}
			if err := ctx.Err(); err != nil {
				return contract.CommitResult{}, err
			}
			if !workflow.Now(ctx).Before(op.until) {
				return contract.CommitResult{}, op.late("its turn in the mutex of " + op.request.Consumer + " did not come" + op.written())
			}
			// An operator paused the operation, or somebody withdrew the ticket.
		case contract.TicketSuperseded, contract.TicketRejected:
			return contract.CommitResult{}, &contract.Error{Type: event.Type, Message: event.Message}
		case contract.TicketGranted, contract.TicketReleased, contract.TicketRevoked:
			return contract.CommitResult{}, contract.Errorf(contract.ErrInternal, "the mutex answers a write with %s", event.Outcome)
		}
	}
}

// written says that nothing was, as far as is known.
func (op *operation) written() string {
	if op.unsure {
		return ""
	}
	return ", nothing was written"
}

// ticket for the write. It has the same ID in every repetition, also after a reset; another request, and a ticket after
// one that was withdrawn, have another one.
func (op *operation) ticket(ctx workflow.Context, params contract.CommitParams) contract.Ticket {
	info := workflow.GetInfo(ctx)
	ticket := contract.Ticket{
		ID:      contract.TicketID(info.WorkflowExecution.ID, params.Generation, info.OriginalRunID),
		ReplyTo: info.WorkflowExecution.ID, Run: info.OriginalRunID, StartedAt: info.WorkflowStartTime,
		Work: params.Name, Action: params.Action, Generation: params.Generation,
		Recreate: op.request.OnImmutable == contract.OnImmutableRecreate,
		Patience: op.durations.Patience, Digest: op.request.Digest(),
	}
	if op.tickets > 1 {
		ticket.ID += fmt.Sprintf(".%d", op.tickets)
	}
	if raw, err := json.Marshal(params); err == nil && len(raw) <= contract.MaxTicketBytes {
		ticket.Write = &params
	}
	return ticket
}

// turn submits a ticket, again from time to time and when the deadline was moved, until the mutex says what became of it. A cancel, a newer request, a
// pause and the deadline withdraw it; what was written by then is written.
func (op *operation) turn(ctx workflow.Context, ticket contract.Ticket, events workflow.ReceiveChannel) (contract.TicketEvent, error) {
	op.blocker = "its turn in the mutex of " + op.request.Consumer + ": ask workflow " + contract.MutexID(op.request.Source, op.request.Consumer) + " (query ticket) who is before it"
	op.enter(ctx, contract.PhaseQueued, "waiting for its turn to write the shared work")
	defer func() { op.blocker = "" }()
	step := op.interruptible(ctx)
	pause := againFirst
	for {
		ticket.Until = op.until
		if err := op.submitTicket(step, contract.TicketMessage{V: 1, Kind: contract.TicketSubmit, TicketID: ticket.ID, Body: &ticket}); err != nil && step.Err() == nil {
			return contract.TicketEvent{}, err
		}
		waiting, moved := workflow.WithCancel(step)
		op.moved = moved
		event, found := op.answered(waiting, ticket.ID, events, min(pause+jitter(ticket.ID, pause), op.remaining(ctx)))
		op.moved = func() {}
		moved()
		switch {
		case found && event.Again:
			op.saw(ctx, event.Message)
			pause = againFirst
			_ = workflow.Sleep(step, contract.Rules[contract.ErrQueueFull].Delay+jitter(ticket.ID, againFirst/3))
		case found:
			return event, nil
		default:
			pause = min(2*pause, againMax)
		}
		if step.Err() != nil || !workflow.Now(ctx).Before(op.until) {
			return op.withdraw(ctx, ticket, events)
		}
	}
}

// withdraw takes a ticket back and hears what became of it.
func (op *operation) withdraw(ctx workflow.Context, ticket contract.Ticket, events workflow.ReceiveChannel) (contract.TicketEvent, error) {
	late, release := workflow.NewDisconnectedContext(ctx)
	defer release()
	message := contract.TicketMessage{V: 1, Kind: contract.TicketCancel, TicketID: ticket.ID}
	options := ticketOptions(op.target(), answerWithin)
	if err := op.sendTicket(workflow.WithActivityOptions(late, options), message); err != nil {
		workflow.GetLogger(ctx).Warn("ticket not withdrawn", "error", err)
	}
	event, found := op.answered(late, ticket.ID, events, answerWithin)
	if found && !event.Again {
		return event, nil
	}
	op.unsure = true
	op.result.Warnings = append(op.result.Warnings, "the mutex of "+op.request.Consumer+" did not say whether the write was made: read the work")
	if err := ctx.Err(); err != nil {
		return event, err
	}
	if !workflow.Now(ctx).Before(op.until) {
		return event, op.late("the mutex of " + op.request.Consumer + " did not answer")
	}
	return contract.TicketEvent{TicketID: ticket.ID, Outcome: contract.TicketCancelled}, nil
}

// answered waits for the event of a ticket. Those of earlier tickets are dropped.
func (op *operation) answered(ctx workflow.Context, id string, events workflow.ReceiveChannel, within time.Duration) (event contract.TicketEvent, found bool) {
	timing, stop := workflow.WithCancel(ctx)
	defer stop()
	over := false
	selector := workflow.NewSelector(ctx)
	selector.AddReceive(events, func(c workflow.ReceiveChannel, _ bool) {
		var one contract.TicketEvent
		if c.ReceiveAsync(&one) && one.TicketID == id {
			event, found = one, true
		}
	})
	selector.AddFuture(workflow.NewTimer(timing, within), func(workflow.Future) { over = true })
	selector.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { over = true })
	for !found && !over {
		selector.Select(ctx)
	}
	return event, found
}

func (op *operation) submitTicket(ctx workflow.Context, message contract.TicketMessage) error {
	ctx = workflow.WithActivityOptions(ctx, ticketOptions(op.target(), op.remaining(ctx)))
	if err := op.sendTicket(ctx, message); err != nil {
		return op.deadlineLost(err)
	}
	return nil
}

func (op *operation) sendTicket(ctx workflow.Context, message contract.TicketMessage) error {
	return workflow.ExecuteActivity(ctx, contract.ActivitySubmitTicket, contract.SubmitTicketParams{
		Source: op.request.Source, Consumer: op.request.Consumer, Message: message,
	}).Get(ctx, nil)
}

// jitter keeps many requesters of one mutex from coming back at once; it depends on the ticket only, as replays demand.
func jitter(id string, most time.Duration) time.Duration {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(id)) // it never fails
	return time.Duration(hash.Sum64() % uint64(max(most, 1)))
}
