package clustermutex

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Wake is when a state has something to do by itself; zero means never.
func Wake(state contract.MutexState) time.Time {
	t := transition{MutexState: state}
	var wake time.Time
	soonest := func(at time.Time) {
		if !at.IsZero() && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	for _, ticket := range state.Queue {
		soonest(ticket.Until)
		work, blocked := state.Works[ticket.Work]
		if blocked && !ticket.FirstFailedAt.IsZero() && !final(work.Type) {
			soonest(t.patienceEnds(ticket))
		}
		if blocked && state.Head == nil && state.Hold == nil && state.Paused == nil && !state.Rolling && !state.Draining {
			soonest(work.NotBefore)
		}
	}
	if state.Hold != nil && !state.Hold.Asking {
		soonest(state.Hold.LeaseUntil)
	}
	if !t.busy() {
		soonest(state.BusyAt.Add(contract.MutexIdleFor))
	}
	return wake
}

// Idle: there was nothing to do for so long that the mutex may end.
func Idle(state contract.MutexState, now time.Time) bool {
	t := transition{MutexState: state}
	return !t.busy() && (state.Draining || !now.Before(state.BusyAt.Add(contract.MutexIdleFor)))
}

// Status is a state for people: without what the tickets write, which is large and nobody else's business.
func Status(state contract.MutexState) contract.MutexStatus {
	status := contract.MutexStatus{Phase: Phase(state), Message: Explain(state), MutexState: state}
	status.Queue = named(state.Queue)
	if state.Head != nil {
		head := *state.Head
		head.Tickets = named(head.Tickets)
		status.Head = &head
	}
	return status
}

func named(tickets []contract.Ticket) []contract.Ticket {
	list := slices.Clone(tickets)
	for index := range list {
		list[index].Write = nil
	}
	return list
}

// Phase of a state.
func Phase(state contract.MutexState) contract.MutexPhase {
	switch {
	case state.Hold != nil:
		return contract.MutexHeld
	case state.Head != nil && state.Works[state.Head.Work].Failures > 0:
		return contract.MutexBlocked
	case state.Head != nil:
		return contract.MutexCommitting
	case state.Paused != nil:
		return contract.MutexPaused
	case len(state.Queue) > 0:
		return contract.MutexBlocked
	}
	return contract.MutexIdle
}

// Explain says in one sentence who waits for whom and why.
func Explain(state contract.MutexState) string {
	waiting := plural(len(state.Queue), "ticket waits", "tickets wait")
	switch Phase(state) {
	case contract.MutexHeld:
		text := fmt.Sprintf("held by %s until %s", holder(state.Hold), stamp(state.Hold.LeaseUntil))
		if state.Paused != nil {
			text += fmt.Sprintf(", and paused by %s (%s) until it is resumed", state.Paused.By, state.Paused.Reason)
		}
		return text + "; " + waiting
	case contract.MutexPaused:
		return fmt.Sprintf("paused by %s since %s (%s); %s until it is resumed", state.Paused.By, stamp(state.Paused.At), state.Paused.Reason, waiting)
	case contract.MutexCommitting:
		return fmt.Sprintf("%s into work %s; %s", doing(state.Head), state.Head.Work, waiting)
	case contract.MutexBlocked:
		return "Maestro takes no writes: " + blocked(state) + "; " + waiting
	case contract.MutexIdle:
		return "nobody waits"
	}
	return ""
}

func doing(head *contract.MutexHead) string {
	verb := "committing "
	if head.Recreating {
		verb = "recreating the work, which a termination now would lose, for "
	}
	return verb + plural(len(head.Tickets), "ticket", "tickets")
}

// blocked names the works that cannot be written, sorted.
func blocked(state contract.MutexState) string {
	var texts []string
	for name, work := range state.Works {
		if work.Type != "" {
			texts = append(texts, fmt.Sprintf("work %s: %s: %s, next attempt not before %s", name, work.Type, short(work.Message, 300), stamp(work.NotBefore)))
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

func holder(hold *contract.MutexHold) string {
	who := cmp.Or(hold.Ticket.By, hold.Ticket.ReplyTo)
	if hold.Ticket.Reason != "" {
		who += " (" + hold.Ticket.Reason + ")"
	}
	return who
}

// blocker says what a queued ticket waits for.
func (t *transition) blocker(ticket contract.Ticket) string {
	switch work, blocked := t.Works[ticket.Work]; {
	case t.Hold != nil:
		return fmt.Sprintf("the mutex of %s is held by %s until %s", t.Consumer, holder(t.Hold), stamp(t.Hold.LeaseUntil))
	case t.Paused != nil:
		return fmt.Sprintf("the mutex of %s is paused by %s (%s)", t.Consumer, t.Paused.By, t.Paused.Reason)
	case blocked && work.Type != "":
		return fmt.Sprintf("Maestro did not take the writes before it: %s: %s", work.Type, work.Message)
	case t.Head != nil:
		return fmt.Sprintf("the mutex of %s is %s into work %s", t.Consumer, doing(t.Head), t.Head.Work)
	}
	return "the tickets before it"
}

// Standing of a ticket, or of the latest ticket of an operation's workflow ID.
func Standing(state contract.MutexState, id string) contract.TicketStanding {
	t := transition{MutexState: state}
	is := func(ticketID, replyTo string) bool {
		return ticketID == id || replyTo == id || ofOperation(ticketID, id)
	}
	of := func(ticket contract.Ticket) bool { return is(ticket.ID, ticket.ReplyTo) }
	if at := slices.IndexFunc(state.Queue, of); at >= 0 {
		ahead := at
		if state.Head != nil {
			ahead += len(state.Head.Tickets)
		}
		return contract.TicketStanding{TicketID: state.Queue[at].ID, Standing: "Queued", Ahead: ahead, Message: t.blocker(state.Queue[at])}
	}
	if state.Head != nil {
		if at := slices.IndexFunc(state.Head.Tickets, of); at >= 0 {
			return contract.TicketStanding{TicketID: state.Head.Tickets[at].ID, Standing: "Committing", Message: doing(state.Head) + " into work " + state.Head.Work}
		}
	}
	if state.Hold != nil && of(state.Hold.Ticket) {
		return contract.TicketStanding{TicketID: state.Hold.Ticket.ID, Standing: "Held", Message: "until " + stamp(state.Hold.LeaseUntil)}
	}
	for index := len(state.Outcomes) - 1; index >= 0; index-- {
		if event := state.Outcomes[index]; is(event.TicketID, event.ReplyTo) {
			return contract.TicketStanding{TicketID: event.TicketID, Standing: string(event.Outcome), Message: event.Message, Event: &event}
		}
	}
	return contract.TicketStanding{Standing: "Unknown", Message: "the mutex never saw it, or has forgotten it"}
}

// ofOperation: the ticket ID is one that [contract.TicketID] makes for the workflow ID.
func ofOperation(ticketID, workflowID string) bool {
	rest, begins := strings.CutPrefix(ticketID, workflowID+"/")
	generation, _, more := strings.Cut(rest, "/")
	_, err := strconv.ParseInt(generation, 10, 64)
	return begins && more && err == nil
}

func plural(count int, one, many string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, many)
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }
