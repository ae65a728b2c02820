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

var byAnn = contract.Operator{By: "ann", Reason: "repair"}

// A requester that has its ticket back while the write is tried must not find it written minutes later.
func TestTicketWithdrawnWhileItIsWrittenIsNotTriedAgain(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("a", "w"), submitted("b", "w"), submitted("c", "w"))
	s.commits()
	s.told()
	s.plays(Withdrawn{"b"})
	assert.Empty(t, s.told(), "it may still be stored")
	s.fails(contract.ErrUnavailable)
	require.Len(t, s.state.Outbox, 1)
	assert.True(t, s.state.Outbox[0].Unsure, "the answer may have been lost")
	assert.Equal(t, []string{"b Cancelled Cancelled"}, s.told())
	assert.Equal(t, []string{"c"}, s.waiting())

	s.passes(failFirst)
	s.plays(Withdrawn{"c"})
	s.commits()
	assert.Equal(t, []string{"c Committed"}, s.told(), "what was stored is said")
}

func TestCancelledMutexEndsAlthoughItIsPaused(t *testing.T) {
	s := newTable(t)
	s.plays(Paused{byAnn}, submitted("a", "w"), Drained{})
	assert.Equal(t, []string{"a Rejected QueueFull"}, s.told())
	assert.True(t, Idle(s.state, s.now))
	s.plays(Paused{byAnn})
	assert.True(t, Idle(s.state, s.now))
}

func TestRepeatedTicketMovesItsDeadlineWhileItIsWritten(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("a", "w", until(time.Minute)), submitted("a", "w", until(time.Hour)))
	s.fails(contract.ErrUnavailable)
	s.passes(2 * time.Minute)
	assert.Empty(t, s.told())
}

func TestLaterRequestDoesNotPassAWholeWrite(t *testing.T) {
	s := newTable(t)
	of := func(op string, after time.Duration) func(*contract.Ticket) {
		return func(t *contract.Ticket) { t.ReplyTo, t.StartedAt = op, noon.Add(after) }
	}
	s.plays(Paused{byAnn}, submitted("p1", "w", of("op/p", 0)), submitted("q", "w", action(contract.ActionApply)), submitted("p2", "w", of("op/p", time.Second)))
	assert.Equal(t, []string{"q", "p2"}, s.waiting())
	assert.Equal(t, []string{"p1 Superseded Superseded"}, s.told())
	s.plays(submitted("r", "w"), submitted("p3", "w", of("op/p", 2*time.Second)))
	assert.Equal(t, []string{"q", "p3", "r"}, s.waiting(), "a merge of another part is no obstacle")
}

func TestDisplacingKeepsTheQueuesBytes(t *testing.T) {
	s := newTable(t)
	large := func(n int, op string, after time.Duration) Event {
		return submitted(fmt.Sprint("t", n), "w", func(t *contract.Ticket) {
			t.ReplyTo, t.StartedAt = op, noon.Add(after)
			if after > 0 {
				t.Write = &contract.CommitParams{Name: t.Work, Action: t.Action, Wait: strings.Repeat("x", contract.MaxTicketBytes-300)}
			}
		})
	}
	s.plays(Paused{byAnn})
	const count = contract.DefaultQueue
	for n := range count {
		s.plays(large(n, fmt.Sprint("op/", n), 0))
	}
	for n := range count {
		s.plays(large(count+n, fmt.Sprint("op/", n), time.Second))
	}
	bytes := 0
	for _, one := range s.state.Queue {
		bytes += size(one)
	}
	assert.LessOrEqual(t, bytes, contract.MaxQueueBytes)
	assert.Len(t, s.state.Queue, count, "the earlier ones stay")
	told := s.told()
	assert.Contains(t, told, fmt.Sprintf("t%d Rejected QueueFull", 2*count-1))
}

func TestSecondUserOfAnIDThatHasEndedTakesNothingFromTheFirst(t *testing.T) {
	s := newTable(t)
	s.plays(Paused{byAnn}, submitted("a", "w"), submitted("a", "w", func(t *contract.Ticket) { t.Digest, t.ReplyTo = "other", "op/other" }))
	s.plays(Delivered{Events: s.state.Outbox, Gone: []string{"a"}})
	assert.Equal(t, []string{"a"}, s.waiting())

	s.plays(submitted("a", "w"), submitted("a", "w", func(t *contract.Ticket) { t.Digest = "other" }))
	s.plays(Delivered{Events: s.state.Outbox, Gone: []string{"a"}})
	assert.Empty(t, s.waiting(), "its requester has ended")
	assert.Equal(t, "Cancelled", Standing(s.state, "a").Standing)
}

// What needs no recreation is not held responsible for one that fails.
func TestFailedRecreationLeavesTheOthers(t *testing.T) {
	s := newTable(t)
	s.plays(Paused{byAnn}, submitted("first", "w"), submitted("inplace", "w"), submitted("resets", "w"), Resumed{byAnn})
	s.plays(RecreationStarted{})
	result := notRecreated(contract.BatchParams{Tickets: s.state.Head.Tickets},
		[]contract.TicketResult{{Type: contract.ErrInvalidManifest}, {Outcome: contract.CommitUpdated}, {Outcome: contract.CommitUpdated, Resets: true}}, contract.ErrWaitTimeout, "silent")
	s.plays(Committed{Result: result})
	assert.Equal(t, []string{"first Rejected InvalidManifest", "resets Rejected WaitTimeout"}, s.told())
	assert.Equal(t, []string{"inplace"}, s.committing(), "at once")
}

func TestMostPatientTicketOfABatchSaysHowLongItIsTried(t *testing.T) {
	near, far := ticket("near", "w", until(time.Second)), ticket("far", "w", until(time.Hour))
	assert.Equal(t, commitLeast, within([]contract.Ticket{near}, noon))
	assert.Equal(t, commitWithin, within([]contract.Ticket{near, far}, noon))
	assert.Equal(t, 10*time.Second, within([]contract.Ticket{near, ticket("other", "w", until(10*time.Second))}, noon))
}

// A time in the past to wake at, with nothing to do then, would be a loop of timers.
func TestNothingWakesWithoutNeed(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("x", "w"), submitted("a", "w"), submitted("b", "w"))
	s.commits()
	s.fails(contract.ErrUnavailable)
	s.passes(failFirst)
	s.plays(Paused{byAnn})
	s.fails(contract.ErrManifestRefused)
	s.passes(contract.DefaultPatience)
	assert.True(t, Wake(s.state).IsZero() || Wake(s.state).After(s.now), "%s", Wake(s.state))

	s = newTable(t)
	s.plays(submitted("a", "w"))
	s.fails(contract.ErrUnavailable)
	s.plays(Rolled{})
	s.passes(failFirst)
	assert.True(t, Wake(s.state).IsZero() || Wake(s.state).After(s.now), "%s", Wake(s.state))
}

func TestRepeatedHoldNeverEndsEarlier(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("hold/ann", "", holding(30*time.Minute), func(t *contract.Ticket) { t.ReplyTo, t.By, t.Reason = "", "ann", "repair" }))
	s.plays(Renewed{TicketID: "hold/ann", Fence: s.state.Hold.Fence, Lease: time.Minute, Reason: "still"})
	assert.Equal(t, noon.Add(30*time.Minute), s.state.Hold.LeaseUntil)
	s.plays(Paused{contract.Operator{By: "bob", Reason: "night"}})
	assert.Contains(t, Explain(s.state), "held by ann (still) until 2026-03-02T12:30:00Z, and paused by bob (night)")
}

func TestStandingOfAnOperationIsNotThatOfItsParts(t *testing.T) {
	s := newTable(t)
	part := contract.TicketID("op/s/c/shared/nodepool.a", 3, "run")
	s.plays(Paused{byAnn}, submitted(part, "shared", func(t *contract.Ticket) { t.ReplyTo = "op/s/c/shared/nodepool.a" }))
	assert.Equal(t, "Unknown", Standing(s.state, "op/s/c/shared").Standing)
	assert.Equal(t, part, Standing(s.state, "op/s/c/shared/nodepool.a").TicketID)
}

func TestStateOfNewerWorkersIsNotMisread(t *testing.T) {
	assert.Panics(t, func() { handedOn(contract.MutexInput{State: &contract.MutexState{V: Version + 1}}, noon) })
}
