package clustermutex

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// table plays events on a state.
type table struct {
	t       *testing.T
	now     time.Time
	state   contract.MutexState
	effects []Effect
}

func newTable(t *testing.T) *table {
	return &table{t: t, now: noon, state: contract.MutexState{V: Version, Source: "s", Consumer: "c", BusyAt: noon}}
}

// plays an event; the effects are those of it alone.
func (s *table) plays(events ...Event) {
	s.t.Helper()
	for _, event := range events {
		s.state, s.effects = Apply(s.state, event, s.now)
	}
}

func (s *table) passes(duration time.Duration) {
	s.t.Helper()
	s.now = s.now.Add(duration)
	s.plays(Woken{})
}

// committing are the tickets of the batch under way.
func (s *table) committing() (ids []string) {
	if s.state.Head != nil {
		for _, ticket := range s.state.Head.Tickets {
			ids = append(ids, ticket.ID)
		}
	}
	return ids
}

func (s *table) waiting() (ids []string) {
	for _, ticket := range s.state.Queue {
		ids = append(ids, ticket.ID)
	}
	return ids
}

// told empties the outbox and says what is in it.
func (s *table) told() (list []string) {
	for _, event := range s.state.Outbox {
		text := event.TicketID + " " + string(event.Outcome)
		if event.Type != "" {
			text += " " + string(event.Type)
		}
		list = append(list, text)
	}
	s.plays(Delivered{Events: s.state.Outbox})
	return list
}

// commits ends the batch under way well, with one version more.
func (s *table) commits(results ...contract.TicketResult) {
	s.t.Helper()
	require.NotNil(s.t, s.state.Head)
	for len(results) < len(s.state.Head.Tickets) {
		results = append(results, contract.TicketResult{Outcome: contract.CommitUpdated})
	}
	s.plays(Committed{Result: contract.BatchResult{Results: results, Version: 7, Attempt: 1}})
}

func (s *table) fails(failure contract.ErrorType) {
	s.t.Helper()
	require.NotNil(s.t, s.state.Head)
	s.plays(CommitFailed{Type: failure, Message: "no"})
}

// ticket of a merge by an operation of its own.
func ticket(id, work string, change ...func(*contract.Ticket)) contract.Ticket {
	one := contract.Ticket{ID: id, ReplyTo: "op/" + id, Run: "run", StartedAt: noon, Work: work, Action: contract.ActionMerge, Digest: id}
	for _, c := range change {
		c(&one)
	}
	return one
}

func submitted(id, work string, change ...func(*contract.Ticket)) Event {
	return Submitted{Ticket: ticket(id, work, change...)}
}

func action(action contract.Action) func(*contract.Ticket) {
	return func(t *contract.Ticket) { t.Action = action }
}

func holding(lease time.Duration) func(*contract.Ticket) {
	return func(t *contract.Ticket) { t.Kind, t.Lease, t.Work, t.Action = contract.TicketHold, lease, "", "" }
}

func until(after time.Duration) func(*contract.Ticket) {
	return func(t *contract.Ticket) { t.Until = noon.Add(after) }
}

func many(from, to int, work string) (events []Event) {
	for n := from; n <= to; n++ {
		events = append(events, submitted(fmt.Sprint("t", n), work))
	}
	return events
}
