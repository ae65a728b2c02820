package clustermutex

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestHoldKeepsItsPlaceInTheQueue(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("a", "w"), submitted("b", "w"), submitted("hold", "", holding(time.Minute)), submitted("c", "w"), submitted("d", "w2"))
	s.commits()
	assert.Equal(t, []string{"b"}, s.committing(), "what is before it")
	s.commits()
	require.NotNil(t, s.state.Hold)
	assert.Nil(t, s.state.Head)
	assert.Equal(t, []string{"c", "d"}, s.waiting())
	assert.Contains(t, Explain(s.state), "held by op/hold until 2026-03-02T12:01:00Z; 2 tickets wait")
	assert.Equal(t, []string{"a Committed", "b Committed", "hold Granted"}, s.told())
	s.plays(Released{TicketID: "hold", Fence: s.state.Hold.Fence})
	assert.Equal(t, []string{"c"}, s.committing())
	assert.Equal(t, []string{"hold Released"}, s.told())
}

func TestOnlyThePresentHolderReleasesAndRenews(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("hold", "", holding(time.Minute)))
	fence := s.state.Hold.Fence
	s.now = s.now.Add(30 * time.Second)
	s.plays(Released{TicketID: "hold", Fence: fence - 1}, Released{TicketID: "other", Fence: fence}, Renewed{TicketID: "hold", Fence: fence + 1})
	require.NotNil(t, s.state.Hold)
	assert.EqualValues(t, 3, s.state.Stats.Ignored)
	assert.Equal(t, noon.Add(time.Minute), s.state.Hold.LeaseUntil)
	s.plays(Renewed{TicketID: "hold", Fence: fence})
	assert.Equal(t, noon.Add(90*time.Second), s.state.Hold.LeaseUntil)
	s.plays(Renewed{TicketID: "hold", Fence: fence, Lease: 2 * contract.MaxLease})
	assert.Equal(t, noon.Add(contract.MaxLease), s.state.Hold.LeaseUntil, "in all")
	s.plays(Withdrawn{"hold"})
	assert.Nil(t, s.state.Hold)
}

func TestLeaseOfAWorkflowIsExtendedOnceWhileItRuns(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("hold", "", holding(time.Minute)), submitted("a", "w"))
	s.told()
	s.passes(time.Minute)
	require.Equal(t, []Effect{Describe{contract.HolderParams{WorkflowID: "op/hold", Run: "run"}}}, s.effects)
	s.passes(time.Second)
	assert.Empty(t, s.effects, "it is asked once")
	s.plays(HolderSeen{Runs: true})
	assert.Equal(t, s.now.Add(time.Minute), s.state.Hold.LeaseUntil)
	s.passes(time.Minute)
	assert.Equal(t, []string{"hold Revoked Expired"}, s.told())
	assert.Equal(t, []string{"a"}, s.committing())
}

func TestLeaseOfADeadHolderEnds(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("hold", "", holding(0)), submitted("a", "w"))
	s.told()
	s.passes(contract.DefaultLease)
	s.plays(HolderSeen{Runs: false})
	assert.Equal(t, []string{"hold Revoked Cancelled"}, s.told())
	assert.Equal(t, []string{"a"}, s.committing())
	assert.EqualValues(t, 1, s.state.Stats.Revoked)
}

func TestLeaseOfAPersonEndsWithoutQuestions(t *testing.T) {
	s := newTable(t)
	person := func(t *contract.Ticket) { t.ReplyTo, t.By, t.Reason = "", "ann", "repair" }
	s.plays(submitted("hold/ann", "", holding(time.Minute), person))
	s.passes(time.Minute)
	assert.Nil(t, s.state.Hold)
	assert.Empty(t, s.effects)
	assert.Empty(t, s.told(), "nobody to tell")
	assert.Equal(t, "Revoked", Standing(s.state, "hold/ann").Standing)
}

func TestHolderThatHasEndedBeforeItIsToldHoldsNothing(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("hold", "", holding(time.Minute)), submitted("a", "w"))
	s.plays(Delivered{Events: s.state.Outbox, Gone: []string{"hold"}})
	assert.Nil(t, s.state.Hold)
	assert.Equal(t, []string{"a"}, s.committing())
}

func TestOperatorTakesAHold(t *testing.T) {
	s := newTable(t)
	ann := contract.Operator{By: "ann", Reason: "stuck"}
	s.plays(submitted("hold", "", holding(time.Minute)), submitted("next", "", holding(time.Minute)))
	s.told()
	s.plays(Released{TicketID: "next", Operator: &ann}, Released{TicketID: "hold", Operator: &ann}, Released{TicketID: "none", Operator: &ann})
	assert.Equal(t, []string{"next Cancelled Cancelled", "hold Revoked Cancelled"}, s.told())
	assert.Len(t, s.state.Interventions, 3)
	assert.Equal(t, contract.MutexIdle, Phase(s.state))
}

func TestRepeatedHoldIsGrantedAgain(t *testing.T) {
	s := newTable(t)
	s.plays(submitted("hold", "", holding(time.Minute)), submitted("hold", "", holding(time.Minute)))
	assert.Equal(t, []string{"hold Granted", "hold Granted"}, s.told())
}
