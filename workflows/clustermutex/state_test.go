package clustermutex

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestWhatWaitsForOneWorkIsOneBatch(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("a", "w1"))
	assert.Equal(t, []string{"a"}, s.committing(), "nobody waits for company")
	s.plays(submitted("b", "w1"), submitted("c", "w2"), submitted("d", "w1"))
	assert.Equal(t, []string{"b", "c", "d"}, s.waiting())
	s.commits()
	assert.Equal(t, []string{"b", "d"}, s.committing())
	params := s.effects[0].(Commit).Params
	assert.Equal(t, []any{"w1", s.state.Fence, 2}, []any{params.Name, params.Fence, len(params.Tickets)})
	s.commits(contract.TicketResult{Outcome: contract.CommitUpdated}, contract.TicketResult{Type: contract.ErrSuperseded, Message: "older"})
	assert.Equal(t, []string{"c"}, s.committing())
	s.commits()
	assert.Equal(t, []string{"a Committed", "b Committed", "d Rejected Superseded", "c Committed"}, s.told())
	assert.Equal(t, contract.MutexIdle, Phase(s.state))
	assert.EqualValues(t, 3, s.state.Stats.Batches)
}

func TestBatchHasALimit(t *testing.T) {
	s := newTable(t)
	s.plays(Paused{contract.Operator{By: "ann", Reason: "r"}})
	s.plays(many(1, contract.MaxBatchTickets+3, "w")...)
	s.plays(Resumed{contract.Operator{By: "ann", Reason: "r"}})
	assert.Len(t, s.committing(), contract.MaxBatchTickets)
	s.plays(Limited{contract.LimitsRequest{By: "ann", Reason: "r", Limits: contract.MutexLimits{Batch: 2}}})
	s.commits()
	assert.Len(t, s.committing(), 2)
}

func TestWholeWritesAreAlone(t *testing.T) {
	for _, whole := range []contract.Action{contract.ActionApply, contract.ActionDelete} {
		s := newTable(t)
		s.plays(submitted("first", "w"), submitted("a", "w"), submitted("whole", "w", action(whole)), submitted("b", "w"))
		for _, batch := range [][]string{{"first"}, {"a"}, {"whole"}, {"b"}} {
			assert.Equal(t, batch, s.committing(), whole)
			s.commits()
		}
	}
}

func TestTicketIsKnownByItsID(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("a", "w"), submitted("b", "w"), submitted("a", "w"), submitted("b", "w", until(time.Hour)))
	assert.Equal(t, []string{"a"}, s.committing())
	assert.Equal(t, []string{"b"}, s.waiting())
	assert.Equal(t, noon.Add(time.Hour), s.state.Queue[0].Until, "its deadline may move")
	other := func(t *contract.Ticket) { t.Digest = "other" }
	s.plays(submitted("a", "w", other), submitted("b", "w", other))
	assert.Equal(t, []string{"a Rejected TicketConflict", "b Rejected TicketConflict"}, s.told(), "the first use stays")
	s.commits()
	s.commits()
	s.told()
	s.plays(submitted("a", "w"), submitted("a", "w", other))
	assert.Equal(t, []string{"a Committed", "a Rejected TicketConflict"}, s.told(), "its outcome is told again")
	assert.Nil(t, s.state.Head)
}

func TestLaterRequestTakesThePlaceOfTheEarlier(t *testing.T) {
	s := newTable(t)
	same := func(started time.Duration) func(*contract.Ticket) {
		return func(t *contract.Ticket) { t.ReplyTo, t.StartedAt = "op/same", noon.Add(started) }
	}
	s.plays(submitted("head", "w"), submitted("old", "w", same(0)), submitted("other", "w"), submitted("new", "w", same(time.Second)))
	assert.Equal(t, []string{"new", "other"}, s.waiting())
	assert.Equal(t, []string{"old Superseded Superseded"}, s.told())
	s.plays(submitted("late", "w", same(-time.Second)))
	assert.Equal(t, []string{"new", "other"}, s.waiting(), "a repetition of an earlier run does not displace the present one")
	assert.Equal(t, []string{"late Superseded Superseded"}, s.told())
	s.plays(submitted("elsewhere", "w2", same(2*time.Second)))
	assert.Equal(t, []string{"new", "other", "elsewhere"}, s.waiting(), "another work is another matter")
}

func TestWithdrawal(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("a", "w"), submitted("b", "w"))
	s.plays(Withdrawn{"b"}, Withdrawn{"a"}, Withdrawn{"early"}, Withdrawn{"early"})
	assert.Equal(t, []string{"b Cancelled Cancelled"}, s.told(), "what is being committed gets its outcome")
	s.commits()
	s.plays(Withdrawn{"a"})
	assert.Equal(t, []string{"a Committed", "a Committed"}, s.told())
	s.plays(submitted("early", "w"))
	assert.Equal(t, []string{"early Cancelled Cancelled"}, s.told(), "the cancel was faster")
	assert.Empty(t, s.state.Tombstones)
	assert.Nil(t, s.state.Head)
}

func TestQueueHasALimit(t *testing.T) {
	s := newTable(t)
	s.plays(Paused{contract.Operator{By: "ann", Reason: "r"}})
	s.plays(Limited{contract.LimitsRequest{Limits: contract.MutexLimits{Queue: 2}}})
	s.plays(many(1, 3, "w")...)
	require.Equal(t, []string{"t3 Rejected QueueFull"}, s.told())
	s.plays(Resumed{contract.Operator{By: "ann", Reason: "r"}}, submitted("t3", "w"))
	assert.Equal(t, []string{"t3"}, s.waiting(), "it may come again")

	s = newTable(t)
	s.plays(Paused{contract.Operator{By: "ann", Reason: "r"}})
	large := func(t *contract.Ticket) {
		t.Write = &contract.CommitParams{Name: t.Work, Action: t.Action, Wait: strings.Repeat("x", contract.MaxTicketBytes-200)}
	}
	fits := contract.MaxQueueBytes / (contract.MaxTicketBytes - 200 + 1024 + 2*4)
	for n := range fits + 1 {
		s.plays(submitted(fmt.Sprintf("t%03d", n), "w", large))
	}
	assert.Equal(t, []string{fmt.Sprintf("t%03d Rejected QueueFull", fits)}, s.told())
	s.plays(submitted("large", "w", func(t *contract.Ticket) {
		large(t)
		t.Write.Wait += strings.Repeat("x", 200)
	}))
	assert.Equal(t, []string{"large Rejected InvalidInput"}, s.told())
}

func TestMalformedTicketIsRefused(t *testing.T) {
	for name, change := range map[string]func(*contract.Ticket){
		"no such kind": func(t *contract.Ticket) { t.Kind = "lock" }, "no work": func(t *contract.Ticket) { t.Work = "" },
		"nothing to write": func(t *contract.Ticket) { t.Run = "" }, "no write": action(contract.ActionWait),
		"another work": func(t *contract.Ticket) { t.Write = &contract.CommitParams{Name: "x", Action: t.Action} },
	} {
		s := newTable(t)
		s.plays(submitted("a", "w", change))
		assert.Equal(t, []string{"a Rejected InvalidInput"}, s.told(), name)
	}
}

func TestOutcomesAreForgottenInTheirOrder(t *testing.T) {
	s := newTable(t)
	for _, event := range many(1, contract.MaxOutcomes+1, "w") {
		s.plays(event)
		s.commits()
	}
	assert.Len(t, s.state.Outcomes, contract.MaxOutcomes)
	assert.Equal(t, "Unknown", Standing(s.state, "t1").Standing)
	assert.Equal(t, "Committed", Standing(s.state, "op/t2").Standing)
}

func TestBlockedWorkLetsOthersGoOn(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("a", "w1"), submitted("b", "w1"), submitted("c", "w2"))
	s.fails(contract.ErrUnavailable)
	assert.Equal(t, []string{"c"}, s.committing())
	assert.Equal(t, []string{"a", "b"}, s.waiting(), "in their order")
	s.commits()
	assert.Nil(t, s.state.Head)
	assert.Equal(t, contract.MutexBlocked, Phase(s.state))
	assert.Contains(t, Explain(s.state), "work w1: MaestroUnavailable: no")
	assert.Equal(t, noon.Add(failFirst), Wake(s.state))
	s.passes(failFirst)
	assert.Equal(t, []string{"a", "b"}, s.committing())
	s.fails(contract.ErrUnavailable)
	assert.Equal(t, s.now.Add(2*failFirst), Wake(s.state), "longer each time")
	s.passes(2 * failFirst)
	s.commits()
	assert.Empty(t, s.state.Works)
}

func TestPatienceAndDeadlineEndAWait(t *testing.T) {
	s := newTable(t)
	patient := func(t *contract.Ticket) { t.Patience = 5 * time.Second }
	s.plays(submitted("patience", "w", patient), submitted("deadline", "w", until(3*time.Second)), submitted("stays", "w"))
	s.fails(contract.ErrUnavailable)
	s.passes(3 * time.Second)
	assert.Equal(t, []string{"deadline Rejected Expired"}, s.told(), "it was never tried")
	s.fails(contract.ErrUnavailable)
	s.passes(2 * time.Second)
	assert.Equal(t, []string{"patience Rejected MaestroUnavailable"}, s.told(), "counted from its first attempt")
	assert.Equal(t, []string{"stays"}, append(s.waiting(), s.committing()...))

	s = newTable(t)
	s.plays(Paused{contract.Operator{By: "ann", Reason: "repair"}}, submitted("a", "w", until(time.Second)))
	s.passes(time.Second)
	assert.Contains(t, s.state.Outcomes[0].Message, "is paused by ann (repair)")
	assert.Equal(t, []string{"a Rejected Expired"}, s.told())
}

func TestRefusalOfABatchFindsItsCulprit(t *testing.T) {
	s := newTable(t)
	s.plays(Paused{contract.Operator{By: "ann", Reason: "r"}})
	s.plays(many(1, 8, "w")...)
	s.plays(Resumed{contract.Operator{By: "ann", Reason: "r"}})
	var tried []int
	for s.state.Head != nil {
		ids := s.committing()
		tried = append(tried, len(ids))
		if strings.Contains(strings.Join(ids, " "), "t3") {
			s.fails(contract.ErrManifestRefused)
			continue
		}
		s.commits()
	}
	assert.Equal(t, []int{8, 4, 2, 6, 3, 1, 1, 4}, tried)
	assert.EqualValues(t, 7, s.state.Stats.Committed)
	assert.EqualValues(t, 1, s.state.Stats.Rejected)
	assert.Equal(t, "Rejected", Standing(s.state, "t3").Standing)
}

func TestFenceOnlyGrows(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("a", "w"))
	first := s.state.Fence
	assert.Equal(t, noon.UnixMilli(), first, "so that a mutex without a memory has a higher one than those before it")
	s.plays(CommitFailed{Type: contract.ErrFenceLost, Message: "lost", Fence: first + 5000})
	s.passes(failFirst)
	assert.Equal(t, first+5001, s.state.Head.Fence)
	s.commits()
	assert.Equal(t, []string{"a Committed"}, s.told())
}

func TestDrain(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("a", "w"), submitted("b", "w"), Drained{}, submitted("c", "w"))
	assert.Equal(t, []string{"b Rejected QueueFull", "c Rejected QueueFull"}, s.told())
	assert.False(t, Idle(s.state, s.now), "what was begun ends")
	s.commits()
	assert.Equal(t, []string{"a Committed"}, s.told())
	assert.True(t, Idle(s.state, s.now))
}

func TestNextRunBeginsWhatComesNext(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("a", "w"), Rolled{}, submitted("b", "w"))
	s.commits()
	assert.Nil(t, s.state.Head)
	s.state = handedOn(contract.MutexInput{State: &s.state}, s.now)
	s.plays(Woken{})
	assert.Equal(t, []string{"b"}, s.committing())
}

func TestIdleMutexEnds(t *testing.T) {
	s := newTable(t)
	assert.Equal(t, noon.Add(contract.MutexIdleFor), Wake(s.state))
	s.plays(submitted("a", "w"))
	s.now = s.now.Add(time.Minute)
	s.commits()
	s.told()
	assert.Equal(t, noon.Add(time.Minute+contract.MutexIdleFor), Wake(s.state))
	assert.False(t, Idle(s.state, noon.Add(contract.MutexIdleFor)))
	assert.True(t, Idle(s.state, noon.Add(time.Minute+contract.MutexIdleFor)))
}

func TestRequesterThatIsGoneIsCounted(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("a", "w"))
	s.commits()
	s.plays(Delivered{Events: s.state.Outbox, Gone: []string{"a"}})
	assert.Empty(t, s.state.Outbox)
	assert.EqualValues(t, 1, s.state.Stats.Abandoned)
}

func TestStandingOfATicket(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("a", "w"), submitted("b", "w"))
	assert.Equal(t, contract.TicketStanding{TicketID: "b", Standing: "Queued", Ahead: 1, Message: "the mutex of c is committing 1 ticket into work w"}, Standing(s.state, "op/b"))
	assert.Equal(t, "Committing", Standing(s.state, "a").Standing)
	assert.Nil(t, Status(s.state).Head.Tickets[0].Write)
}
