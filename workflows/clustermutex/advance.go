package clustermutex

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// advance does what has become due: it sends away what has waited for too long, ends leases, and begins the next batch or
// hold.
func (t *transition) advance() {
	t.expire()
	t.lease()
	t.begin()
	t.tidy()
	if t.busy() {
		t.BusyAt = t.now
	}
}

// expire ends the tickets that cannot wait any longer.
func (t *transition) expire() {
	var kept []contract.Ticket
	for _, ticket := range t.Queue {
		// What is final for a batch is not for each of its tickets.
		work, blocked := t.Works[ticket.Work]
		blocked = blocked && !ticket.FirstFailedAt.IsZero() && !final(work.Type)
		switch {
		case t.Draining:
			t.sendAway(ticket, draining)
		case !ticket.Until.IsZero() && !t.now.Before(ticket.Until):
			failure, message := contract.ErrExpired, "its turn did not come: "+t.blocker(ticket)
			if blocked {
				failure, message = work.Type, work.Message
			}
			t.reject(ticket, failure, message)
		case blocked && !t.now.Before(t.patienceEnds(ticket)):
			t.reject(ticket, work.Type, work.Message)
		default:
			kept = append(kept, ticket)
			continue
		}
	}
	t.Queue = kept
}

func (t *transition) patienceEnds(ticket contract.Ticket) time.Time {
	return ticket.FirstFailedAt.Add(cmp.Or(ticket.Patience, contract.DefaultPatience))
}

// begin starts the next batch or grants the next hold. The fence is the time where that is later: so it grows also when
// the mutex was terminated and has forgotten the last one.
func (t *transition) begin() {
	if t.Head != nil || t.Hold != nil || t.Paused != nil || t.Draining || t.Rolling {
		return
	}
	at := slices.IndexFunc(t.Queue, t.eligible)
	if at < 0 {
		return
	}
	t.Fence = max(t.Fence+1, t.now.UnixMilli())
	if t.Queue[at].Kind == contract.TicketHold {
		ticket := t.Queue[at]
		t.Queue = slices.Delete(t.Queue, at, at+1)
		t.grant(ticket)
		return
	}
	batch := t.batch(at)
	t.Head = &contract.MutexHead{Work: batch[0].Work, Tickets: batch, Fence: t.Fence, Since: t.now}
	t.Queue = slices.DeleteFunc(t.Queue, func(one contract.Ticket) bool { return t.inHead(one.ID) })
	t.effects = append(t.effects, Commit{contract.BatchParams{
		Source: t.Source, Consumer: t.Consumer, Name: t.Head.Work, Fence: t.Fence, Tickets: batch,
	}})
}

// eligible: its work is not one that has to wait.
func (t *transition) eligible(ticket contract.Ticket) bool {
	work, blocked := t.Works[ticket.Work]
	return ticket.Kind == contract.TicketHold || !blocked || !t.now.Before(work.NotBefore)
}

// batch is what is committed together with the ticket at a place: the later ones of the same work, up to a hold, or one
// that shares no batch.
func (t *transition) batch(at int) []contract.Ticket {
	first := t.Queue[at]
	batch := []contract.Ticket{first}
	if first.Alone() {
		return batch
	}
	most := cmp.Or(t.Limits.Batch, contract.MaxBatchTickets)
	if work := t.Works[first.Work]; work.Batch > 0 {
		most = min(most, work.Batch)
	}
	for _, ticket := range t.Queue[at+1:] {
		if len(batch) >= most || ticket.Kind == contract.TicketHold || ticket.Work == first.Work && ticket.Alone() {
			break
		}
		if ticket.Work == first.Work {
			batch = append(batch, ticket)
		}
	}
	return batch
}

// tidy forgets works that nobody waits for.
func (t *transition) tidy() {
	for name := range t.Works { // the order does not matter
		waits := slices.ContainsFunc(t.Queue, func(one contract.Ticket) bool { return one.Work == name })
		if !waits && (t.Head == nil || t.Head.Work != name) {
			delete(t.Works, name)
		}
	}
}

func (t *transition) busy() bool {
	return len(t.Queue) > 0 || t.Head != nil || t.Hold != nil || len(t.Outbox) > 0 || t.Paused != nil
}

// grant gives the mutex to a holder.
func (t *transition) grant(ticket contract.Ticket) {
	lease := min(cmp.Or(ticket.Lease, contract.DefaultLease), contract.MaxLease)
	t.Hold = &contract.MutexHold{Ticket: ticket, Fence: t.Fence, GrantedAt: t.now, LeaseUntil: t.now.Add(lease)}
	t.Stats.Holds++
	t.grantAgain()
}

func (t *transition) grantAgain() {
	t.tell(contract.TicketEvent{
		TicketID: t.Hold.Ticket.ID, ReplyTo: t.Hold.Ticket.ReplyTo, Outcome: contract.TicketGranted,
		Fence: t.Hold.Fence, LeaseUntil: t.Hold.LeaseUntil, At: t.now, Digest: t.Hold.Ticket.Digest,
	})
}

// unhold ends the hold.
func (t *transition) unhold(outcome contract.TicketOutcome, failure contract.ErrorType, message string) {
	hold := t.Hold
	t.Hold = nil
	t.end(hold.Ticket, contract.TicketEvent{Outcome: outcome, Type: failure, Message: message, Fence: hold.Fence})
}

// renew moves the end of the lease, never to an earlier time. The fence shows that the holder is the present one.
func (t *transition) renew(e Renewed) {
	if !t.holds(e.TicketID) || t.Hold.Fence != e.Fence {
		t.Stats.Ignored++
		return
	}
	lease := cmp.Or(e.Lease, t.Hold.Ticket.Lease, contract.DefaultLease)
	if end := t.leaseEnd(lease); end.After(t.Hold.LeaseUntil) {
		t.Hold.LeaseUntil = end
	}
	t.Hold.Asking, t.Hold.Extended = false, false
	t.Hold.Ticket.Reason = cmp.Or(e.Reason, t.Hold.Ticket.Reason)
	t.grantAgain()
}

// leaseEnd is a lease from now within what a hold may last in all.
func (t *transition) leaseEnd(lease time.Duration) time.Time {
	end, most := t.now.Add(lease), t.Hold.GrantedAt.Add(contract.MaxLease)
	if end.After(most) {
		return most
	}
	return end
}

func (t *transition) release(e Released) {
	switch {
	case e.Operator != nil:
		t.note(contract.UpdateRelease, *e.Operator)
		if at := t.queued(e.TicketID); at >= 0 {
			t.withdraw(e.TicketID)
			return
		}
		if !t.holds(e.TicketID) {
			return
		}
		message := fmt.Sprintf("released by %s (%s)", e.Operator.By, e.Operator.Reason)
		if t.Hold.Ticket.ReplyTo == "" {
			t.unhold(contract.TicketReleased, "", message)
			return
		}
		t.Stats.Revoked++
		t.unhold(contract.TicketRevoked, contract.ErrCancelled, message)
	case !t.holds(e.TicketID) || t.Hold.Fence != e.Fence:
		t.Stats.Ignored++
	default:
		t.unhold(contract.TicketReleased, "", "released by its holder")
	}
}

// lease ends a hold that has lasted too long. A holder that is a workflow is looked for first, once.
func (t *transition) lease() {
	if t.Hold == nil || t.now.Before(t.Hold.LeaseUntil) || t.Hold.Asking {
		return
	}
	most := t.Hold.GrantedAt.Add(contract.MaxLease)
	if t.Hold.Ticket.ReplyTo == "" || t.Hold.Extended || !t.now.Before(most) {
		t.Stats.Revoked++
		t.unhold(contract.TicketRevoked, contract.ErrExpired, "its lease has ended")
		return
	}
	t.Hold.Asking = true
	t.effects = append(t.effects, Describe{contract.HolderParams{WorkflowID: t.Hold.Ticket.ReplyTo, Run: t.Hold.Ticket.Run}})
}

func (t *transition) holderSeen(runs bool) {
	if t.Hold == nil || !t.Hold.Asking {
		return
	}
	t.Hold.Asking = false
	if !runs {
		t.Stats.Revoked++
		t.unhold(contract.TicketRevoked, contract.ErrCancelled, "its lease has ended and its holder does not run any more")
		return
	}
	t.Hold.Extended, t.Hold.LeaseUntil = true, t.leaseEnd(cmp.Or(t.Hold.Ticket.Lease, contract.DefaultLease))
}
