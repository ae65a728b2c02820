package clustermutex

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Version of the state.
const Version = 1

const (
	// failFirst and failMax bound the pause of a work after a batch that Maestro did not take, which doubles.
	failFirst = time.Second
	failMax   = 30 * time.Second
	// maxInterventions that are kept.
	maxInterventions = 20
)

// transition is one application of an event to a copy of a state.
type transition struct {
	contract.MutexState
	now     time.Time
	effects []Effect
}

// Apply says what a state becomes by an event, and what has to be done. It is pure: the state that is given stays as it
// is, and what has to be told to requesters stands in the state's Outbox.
func Apply(state contract.MutexState, event Event, now time.Time) (contract.MutexState, []Effect) {
	t := &transition{MutexState: state, now: now}
	t.Queue, t.Outbox, t.Works = slices.Clone(state.Queue), slices.Clip(state.Outbox), maps.Clone(state.Works)
	t.Outcomes, t.Tombstones = slices.Clip(state.Outcomes), slices.Clip(state.Tombstones)
	t.Interventions = slices.Clip(state.Interventions)
	if state.Head != nil {
		head := *state.Head
		t.Head = &head
	}
	if state.Hold != nil {
		hold := *state.Hold
		t.Hold = &hold
	}
	t.take(event)
	t.advance()
	return t.MutexState, t.effects
}

func (t *transition) take(event Event) {
	switch e := event.(type) {
	case Submitted:
		t.submit(e.Ticket)
	case Withdrawn:
		t.withdraw(e.TicketID)
	case Renewed:
		t.renew(e)
	case Released:
		t.release(e)
	case Committed:
		t.committed(e.Result)
	case CommitFailed:
		t.commitFailed(e)
	case RecreationStarted:
		t.recreationStarted(e.Results)
	case Delivered:
		t.delivered(e)
	case HolderSeen:
		t.holderSeen(e.Runs)
	case Paused:
		t.note(contract.UpdatePause, e.Operator)
		if !t.Draining {
			paused := t.Interventions[len(t.Interventions)-1]
			t.Paused = &paused
		}
	case Resumed:
		t.note(contract.UpdateResume, e.Operator)
		t.Paused = nil
	case Limited:
		t.limit(e.Request)
	case Ignored:
		t.Stats.Ignored++
	case Drained:
		t.Draining, t.Paused = true, nil
		if t.Hold != nil {
			t.Stats.Revoked++
			t.unhold(contract.TicketRevoked, contract.ErrCancelled, draining)
		}
	case Rolled:
		t.Rolling = true
	case Woken:
	}
}

// submit queues a ticket, unless it is known.
func (t *transition) submit(ticket contract.Ticket) {
	if known, found := t.present(ticket.ID); found {
		t.repeat(known, ticket)
		return
	}
	if known, found := t.outcome(ticket.ID); found {
		if known.Digest != ticket.Digest {
			t.conflict(ticket)
			return
		}
		t.tell(known)
		return
	}
	t.Stats.Submitted++
	ticket.QueuedAt, ticket.FirstFailedAt = t.now, time.Time{}
	if at := slices.Index(t.Tombstones, ticket.ID); at >= 0 {
		t.Tombstones = slices.Delete(slices.Clone(t.Tombstones), at, at+1)
		t.Stats.Cancelled++
		t.end(ticket, contract.TicketEvent{Outcome: contract.TicketCancelled, Type: contract.ErrCancelled, Message: "cancelled before it came"})
		return
	}
	if err := ticket.Check(); err != nil {
		t.reject(ticket, contract.ErrInvalidInput, err.Error())
		return
	}
	if t.Draining {
		t.sendAway(ticket, draining)
		return
	}
	if t.displace(ticket) {
		return
	}
	switch limit := cmp.Or(t.Limits.Queue, contract.DefaultQueue); {
	case len(t.Queue) >= limit:
		t.sendAway(ticket, fmt.Sprintf("%d tickets wait for the mutex of %s already", limit, t.Consumer))
	case t.queueBytes()+size(ticket) > contract.MaxQueueBytes:
		t.sendAway(ticket, fmt.Sprintf("tickets of %d bytes wait for the mutex of %s already", t.queueBytes(), t.Consumer))
	default:
		t.Queue = append(t.Queue, ticket)
	}
}

const draining = "the mutex is ending, because it was cancelled"

// repeat takes a ticket that is there already: its deadline may have moved.
func (t *transition) repeat(known, ticket contract.Ticket) {
	switch at := t.queued(ticket.ID); {
	case known.Digest != ticket.Digest:
		t.conflict(ticket)
	case t.holds(ticket.ID):
		t.grantAgain()
	case at >= 0:
		t.Queue[at].Until, t.Queue[at].ReplyTo = ticket.Until, ticket.ReplyTo
	case t.inHead(ticket.ID):
		t.Head.Tickets = slices.Clone(t.Head.Tickets)
		at := slices.IndexFunc(t.Head.Tickets, func(one contract.Ticket) bool { return one.ID == ticket.ID })
		t.Head.Tickets[at].Until, t.Head.Tickets[at].ReplyTo = ticket.Until, ticket.ReplyTo
	}
}

// present finds a ticket that waits, is being committed, or holds.
func (t *transition) present(id string) (contract.Ticket, bool) {
	if at := t.queued(id); at >= 0 {
		return t.Queue[at], true
	}
	if t.inHead(id) {
		return t.Head.Tickets[slices.IndexFunc(t.Head.Tickets, func(one contract.Ticket) bool { return one.ID == id })], true
	}
	if t.holds(id) {
		return t.Hold.Ticket, true
	}
	return contract.Ticket{}, false
}

// displace handles another ticket of the same requester in the queue: the later request stays, in the earlier one's place,
// or at the end when somebody else's whole write or deletion of the work stands between them.
func (t *transition) displace(ticket contract.Ticket) bool {
	if ticket.ReplyTo == "" {
		return false
	}
	at := slices.IndexFunc(t.Queue, func(one contract.Ticket) bool { return one.ReplyTo == ticket.ReplyTo })
	if at < 0 || t.Queue[at].Kind == contract.TicketHold || ticket.Kind == contract.TicketHold || t.Queue[at].Work != ticket.Work {
		return false
	}
	older := t.Queue[at]
	switch {
	case ticket.StartedAt.Before(older.StartedAt):
		older = ticket
	case t.queueBytes()-size(older)+size(ticket) > contract.MaxQueueBytes:
		return false // it is sent away, and the earlier one stays
	case slices.ContainsFunc(t.Queue[at+1:], func(one contract.Ticket) bool { return one.Work == ticket.Work && one.Alone() }):
		t.Queue = append(slices.Delete(t.Queue, at, at+1), ticket)
	default:
		t.Queue[at] = ticket
	}
	t.Stats.Superseded++
	t.end(older, contract.TicketEvent{
		Outcome: contract.TicketSuperseded, Type: contract.ErrSuperseded,
		Message: "a later request of the same operation has taken its place in the queue",
	})
	return true
}

// withdraw cancels a ticket that waits. One that is being committed gets its outcome, and is not tried again.
func (t *transition) withdraw(id string) {
	switch at := t.queued(id); {
	case at >= 0:
		ticket := t.Queue[at]
		t.Queue = slices.Delete(t.Queue, at, at+1)
		t.Stats.Cancelled++
		t.end(ticket, contract.TicketEvent{Outcome: contract.TicketCancelled, Type: contract.ErrCancelled, Message: "cancelled while it waited"})
	case t.inHead(id):
		t.Head.Tickets = slices.Clone(t.Head.Tickets)
		t.Head.Tickets[slices.IndexFunc(t.Head.Tickets, func(one contract.Ticket) bool { return one.ID == id })].Withdrawn = true
	case t.holds(id):
		t.unhold(contract.TicketReleased, "", "withdrawn by its holder")
	default:
		if known, found := t.outcome(id); found {
			t.tell(known)
			return
		}
		if !slices.Contains(t.Tombstones, id) {
			t.Tombstones = last(append(t.Tombstones, id), contract.MaxCancelled)
		}
	}
}

// committed gives each ticket of the batch its outcome.
func (t *transition) committed(result contract.BatchResult) {
	head := t.Head
	if head == nil {
		return
	}
	t.Head = nil
	delete(t.Works, head.Work)
	for index := range t.Queue {
		if t.Queue[index].Work == head.Work {
			t.Queue[index].FirstFailedAt = time.Time{}
		}
	}
	t.Stats.Batches++
	t.Stats.LargestBatch = max(t.Stats.LargestBatch, len(head.Tickets))
	t.Stats.Conflicts += int64(result.Conflicts)
	var left []contract.Ticket
	for index, ticket := range head.Tickets {
		var one contract.TicketResult
		if index < len(result.Results) {
			one = result.Results[index]
		} else {
			one.Type, one.Message = contract.ErrInternal, "the commit says nothing about this ticket"
		}
		switch {
		case one.Again:
			left = append(left, ticket)
			continue
		case one.Type != "":
			t.reject(ticket, one.Type, one.Message)
			continue
		}
		t.Stats.Committed++
		t.end(ticket, contract.TicketEvent{
			Outcome: contract.TicketCommitted, Fence: head.Fence,
			Result: &contract.CommitResult{Outcome: one.Outcome, Version: version(one, result.Version), Attempt: result.Attempt, Warnings: one.Warnings},
		})
	}
	t.again(left, "", "another ticket's recreation of the work has failed")
}

// again puts tickets that were under way back to the front, those that were withdrawn meanwhile excepted.
func (t *transition) again(tickets []contract.Ticket, failure contract.ErrorType, message string) {
	var kept []contract.Ticket
	for _, ticket := range tickets {
		if !ticket.Withdrawn {
			kept = append(kept, ticket)
			continue
		}
		t.Stats.Cancelled++
		t.end(ticket, contract.TicketEvent{
			Outcome: contract.TicketCancelled, Type: contract.ErrCancelled, Unsure: failure != "" && !final(failure),
			Message: "cancelled while it was being written; the last attempt has failed: " + message,
		})
	}
	t.Queue = append(kept, t.Queue...)
}

// version that a ticket's requester has to wait for.
func version(one contract.TicketResult, stored int64) int64 {
	if one.Outcome == contract.CommitAbsent {
		return 0
	}
	return stored
}

// commitFailed keeps the tickets and tries again later. What is final for one ticket ends it; what is final for several
// of them is tried with fewer, until it is known whose it is.
func (t *transition) commitFailed(e CommitFailed) {
	head := t.Head
	if head == nil {
		return
	}
	t.Head = nil
	t.Fence = max(t.Fence, e.Fence)
	if t.Works == nil {
		t.Works = map[string]contract.MutexWork{}
	}
	work := t.Works[head.Work]
	work.Type, work.Message = e.Type, short(e.Message, maxMessage)
	tickets := slices.Clone(head.Tickets)
	switch {
	case final(e.Type) && len(tickets) == 1:
		work.Failures, work.NotBefore = 0, time.Time{}
		t.reject(tickets[0], e.Type, e.Message)
		tickets = nil
	case final(e.Type):
		work.Batch, work.NotBefore = max(1, len(tickets)/2), t.now
	default:
		work.Failures++
		work.NotBefore = t.now.Add(min(failFirst<<min(work.Failures-1, 10), failMax))
		for index := range tickets {
			if tickets[index].FirstFailedAt.IsZero() {
				tickets[index].FirstFailedAt = head.Since
			}
		}
	}
	t.Works[head.Work] = work
	t.again(tickets, e.Type, work.Message)
}

func final(failure contract.ErrorType) bool {
	return !contract.Rules[failure].Retryable && failure != contract.ErrFenceLost
}

// recreationStarted ends the tickets that do not take part.
func (t *transition) recreationStarted(results []contract.TicketResult) {
	if t.Head == nil {
		return
	}
	t.Head.Recreating = true
	var kept []contract.Ticket
	for index, ticket := range t.Head.Tickets {
		if index < len(results) && results[index].Type != "" {
			t.reject(ticket, results[index].Type, results[index].Message)
			continue
		}
		kept = append(kept, ticket)
	}
	t.Head.Tickets = kept
}

func (t *transition) delivered(e Delivered) {
	t.Outbox = slices.DeleteFunc(slices.Clone(t.Outbox), func(one contract.TicketEvent) bool {
		return slices.ContainsFunc(e.Events, func(told contract.TicketEvent) bool {
			return told.TicketID == one.TicketID && told.Outcome == one.Outcome && told.LeaseUntil.Equal(one.LeaseUntil)
		})
	})
	for _, id := range e.Gone {
		t.Stats.Abandoned++
		// Two requesters may have used one ID: who is gone is the one that was told.
		gone := func(ticket contract.Ticket) bool {
			return ticket.ID == id && slices.ContainsFunc(e.Events, func(told contract.TicketEvent) bool {
				return told.TicketID == id && told.ReplyTo == ticket.ReplyTo
			})
		}
		if t.Hold != nil && gone(t.Hold.Ticket) {
			t.Stats.Revoked++
			t.unhold(contract.TicketRevoked, contract.ErrCancelled, "its holder has ended")
		}
		if at := slices.IndexFunc(t.Queue, gone); at >= 0 {
			ticket := t.Queue[at]
			t.Queue = slices.Delete(t.Queue, at, at+1)
			t.Stats.Cancelled++
			t.record(contract.TicketEvent{TicketID: ticket.ID, Digest: ticket.Digest, At: t.now, Outcome: contract.TicketCancelled,
				Type: contract.ErrCancelled, Message: "its requester has ended"})
		}
	}
}

func (t *transition) limit(request contract.LimitsRequest) {
	t.note(contract.UpdateSetLimits, contract.Operator{By: request.By, Reason: request.Reason})
	t.Limits = contract.MutexLimits{
		Queue:  cmp.Or(request.Limits.Queue, t.Limits.Queue),
		Batch:  cmp.Or(request.Limits.Batch, t.Limits.Batch),
		Events: cmp.Or(request.Limits.Events, t.Limits.Events),
	}
}

func (t *transition) note(verb string, operator contract.Operator) {
	t.Interventions = last(append(t.Interventions, contract.Intervention{At: t.now, Verb: verb, By: operator.By, Reason: operator.Reason}), maxInterventions)
}

// end gives a ticket its outcome.
func (t *transition) end(ticket contract.Ticket, event contract.TicketEvent) {
	event.TicketID, event.ReplyTo, event.Digest, event.At = ticket.ID, ticket.ReplyTo, ticket.Digest, t.now
	event.Message = short(event.Message, maxMessage)
	if event.Result != nil {
		event.Result.Warnings = bounded(event.Result.Warnings)
	}
	if !event.Again {
		t.record(event)
	}
	t.tell(event)
}

func (t *transition) record(event contract.TicketEvent) {
	t.Outcomes = last(append(t.Outcomes, event), contract.MaxOutcomes)
}

// maxMessage bounds what a ticket's outcome says: the mutex hands the outcomes from run to run.
const maxMessage = 1024

// maxWarnings that an outcome has; the result says how many more there were.
const maxWarnings = 8

func bounded(warnings []string) []string {
	if len(warnings) == 0 {
		return nil
	}
	kept := make([]string, 0, maxWarnings+1)
	for _, warning := range warnings[:min(len(warnings), maxWarnings)] {
		kept = append(kept, short(warning, 300))
	}
	if more := len(warnings) - maxWarnings; more > 0 {
		kept = append(kept, fmt.Sprintf("and %d more warnings", more))
	}
	return kept
}

func (t *transition) tell(event contract.TicketEvent) {
	if event.ReplyTo != "" {
		t.Outbox = append(t.Outbox, event)
	}
}

func (t *transition) reject(ticket contract.Ticket, failure contract.ErrorType, message string) {
	t.Stats.Rejected++
	t.end(ticket, contract.TicketEvent{Outcome: contract.TicketRejected, Type: failure, Message: message})
}

// sendAway rejects a ticket that may come again.
func (t *transition) sendAway(ticket contract.Ticket, message string) {
	t.Stats.Rejected++
	t.end(ticket, contract.TicketEvent{Outcome: contract.TicketRejected, Type: contract.ErrQueueFull, Message: message, Again: true})
}

// conflict answers a second use of a ticket ID and leaves the first one alone.
func (t *transition) conflict(ticket contract.Ticket) {
	t.Stats.Ignored++
	t.tell(contract.TicketEvent{
		TicketID: ticket.ID, ReplyTo: ticket.ReplyTo, Outcome: contract.TicketRejected, Digest: ticket.Digest, At: t.now,
		Type: contract.ErrTicketConflict, Message: fmt.Sprintf("ticket %s was submitted before, for something else", ticket.ID),
	})
}

func (t *transition) queued(id string) int {
	return slices.IndexFunc(t.Queue, func(one contract.Ticket) bool { return one.ID == id })
}

func (t *transition) inHead(id string) bool {
	return t.Head != nil && slices.ContainsFunc(t.Head.Tickets, func(one contract.Ticket) bool { return one.ID == id })
}

func (t *transition) holds(id string) bool { return t.Hold != nil && t.Hold.Ticket.ID == id }

func (t *transition) outcome(id string) (contract.TicketEvent, bool) {
	for index := len(t.Outcomes) - 1; index >= 0; index-- {
		if t.Outcomes[index].TicketID == id {
			return t.Outcomes[index], true
		}
	}
	return contract.TicketEvent{}, false
}

func (t *transition) queueBytes() int {
	total := 0
	for _, ticket := range t.Queue {
		total += size(ticket)
	}
	return total
}

// size of a ticket as JSON, about. It is counted for the whole queue at each ticket that comes, so nothing is encoded.
func size(ticket contract.Ticket) int {
	const envelope = 1024
	total := envelope + 2*len(ticket.ID) + len(ticket.ReplyTo) + len(ticket.Reason)
	if write := ticket.Write; write != nil {
		total += len(write.Work) + len(write.Nodepools) + 2*len(write.NodepoolTemplate) + len(write.Wait)
		for _, manifest := range write.Manifests {
			total += len(manifest)
		}
		for _, name := range write.Remove {
			total += len(name)
		}
	}
	return total
}

func last[T any](list []T, most int) []T { return list[max(0, len(list)-most):] }

func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most] + "…"
}
