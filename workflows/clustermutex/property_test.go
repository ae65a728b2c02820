package clustermutex

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var onlySeed = flag.Uint64("seed", 0, "the one seed that the property test takes")

// world is Maestro, the requesters, and one mutex between them.
type world struct {
	t      *testing.T
	random *rand.Rand
	now    time.Time
	state  contract.MutexState
	// stored is the generation of each part of each work, by work/part; versions are those of the works.
	stored   map[string]int64
	versions map[string]int
	// running is the commit under way, asked the holder that is looked for.
	running *runningCommit
	asked   bool
	// zombies are commits of mutexes that were terminated.
	zombies    []*runningCommit
	requesters map[string]*requester
	order      []string
	// sequence of the tickets of one work as they were accepted, and the place of the last one that was committed.
	places    map[string]int
	committed map[string]int
	next      int
	// lives of the mutex: it was terminated as many times but one.
	lives int
}

type runningCommit struct {
	params contract.BatchParams
	base   int
}

// requester is an operation with one ticket after the other.
type requester struct {
	ticket contract.Ticket
	part   string
	// poison: merging it fails. cursed: Maestro refuses every batch that holds it.
	poison, cursed bool
	dead           bool
	// withdrawn: it has asked for its ticket back.
	withdrawn bool
	// outcome that it has heard, and in which life of the mutex.
	outcome contract.TicketOutcome
	failure contract.ErrorType
	life    int
	grant   int64
}

const (
	worksInWorld = 3
	partsInWork  = 8
)

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC),
		stored: map[string]int64{}, versions: map[string]int{}, requesters: map[string]*requester{},
		places: map[string]int{}, committed: map[string]int{},
	}
	w.revive()
	return w
}

// revive is a mutex that has forgotten everything.
func (w *world) revive() {
	w.lives++
	w.state = contract.MutexState{V: Version, Source: "s", Consumer: "c", BusyAt: w.now, Limits: contract.MutexLimits{Queue: 60, Batch: 7}}
}

func (w *world) apply(event Event) {
	var effects []Effect
	before, err := json.Marshal(w.state)
	require.NoError(w.t, err)
	old := w.state
	w.state, effects = Apply(w.state, event, w.now)
	after, err := json.Marshal(old)
	require.NoError(w.t, err)
	require.JSONEq(w.t, string(before), string(after), "Apply leaves its argument alone: %T", event)
	for _, effect := range effects {
		switch e := effect.(type) {
		case Commit:
			require.Nil(w.t, w.running, "one writer")
			require.Nil(w.t, w.state.Hold, "nobody writes beside a holder")
			w.running = &runningCommit{params: e.Params, base: w.versions[e.Params.Name]}
		case Describe:
			w.asked = true
		}
	}
}

// write does what the activity does to Maestro, and says what came of each ticket.
func (w *world) write(c *runningCommit) (contract.BatchResult, *CommitFailed) {
	work := c.params.Name
	for _, ticket := range c.params.Tickets {
		if w.requesters[ticket.ID].cursed {
			return contract.BatchResult{}, &CommitFailed{Type: contract.ErrManifestRefused, Message: "refused"}
		}
	}
	var result contract.BatchResult
	changed := false
	for _, ticket := range c.params.Tickets {
		r := w.requesters[ticket.ID]
		var one contract.TicketResult
		switch key := work + "/" + r.part; {
		case r.poison:
			one.Type = contract.ErrInvalidManifest
		case ticket.Generation < w.stored[key]:
			one.Type = contract.ErrSuperseded
		case ticket.Generation == w.stored[key]:
			one.Outcome = contract.CommitUnchanged
		default:
			require.Greater(w.t, ticket.Generation, w.stored[key], "generations never decrease")
			w.stored[key], changed = ticket.Generation, true
			one.Outcome = contract.CommitUpdated
		}
		result.Results = append(result.Results, one)
	}
	if changed {
		w.versions[work]++
	}
	result.Version = int64(w.versions[work])
	return result, nil
}

// step lets one thing happen.
func (w *world) step(calm bool) {
	choice := w.random.IntN(100)
	w.now = w.now.Add(time.Duration(w.random.IntN(400)) * time.Millisecond)
	switch {
	case choice < 30:
		w.commitEnds(calm)
	case choice < 50:
		w.deliver(calm)
	case choice < 55:
		w.apply(Woken{})
	case choice < 60 && w.asked:
		w.asked = false
		if w.state.Hold != nil {
			w.apply(HolderSeen{Runs: !w.requesters[w.state.Hold.Ticket.ID].dead})
		}
	case choice < 66:
		w.holderActs()
	case calm:
		w.now = w.now.Add(time.Duration(w.random.IntN(20)) * time.Second)
		w.resubmit()
	case choice < 80:
		w.request()
	case choice < 84:
		w.resubmit()
	case choice < 88:
		w.withdraw()
	case choice < 90:
		w.disturb()
	case choice < 92:
		w.roundTrip()
	case choice < 93:
		w.now = w.now.Add(time.Duration(w.random.IntN(300)) * time.Second) // the clock jumps, or nothing ran for a while
	}
}

// commitEnds in one of the ways that an activity can.
func (w *world) commitEnds(calm bool) {
	if len(w.zombies) > 0 && w.random.IntN(2) == 0 {
		zombie := w.zombies[0]
		w.zombies = w.zombies[1:]
		if zombie.base == w.versions[zombie.params.Name] { // its compare-and-swap holds
			w.write(zombie)
		}
	}
	if w.running == nil {
		return
	}
	running := w.running
	w.running = nil
	fate := w.random.IntN(10)
	switch {
	case !calm && fate == 0:
		w.apply(CommitFailed{Type: contract.ErrUnavailable, Message: "503"})
		return
	case !calm && fate == 1: // the answer is lost
		w.write(running)
		w.apply(CommitFailed{Type: contract.ErrUnavailable, Message: "no answer"})
		return
	}
	result, failure := w.write(running)
	if failure != nil {
		w.apply(*failure)
		return
	}
	for index, ticket := range running.params.Tickets {
		if result.Results[index].Type != "" {
			continue
		}
		require.GreaterOrEqual(w.t, w.places[ticket.ID], w.committed[running.params.Name], "the order of a work's tickets is kept: %s", ticket.ID)
		w.committed[running.params.Name] = w.places[ticket.ID]
	}
	w.apply(Committed{Result: result})
}

// deliver tells some of the requesters, perhaps without that being known.
func (w *world) deliver(calm bool) {
	if len(w.state.Outbox) == 0 {
		return
	}
	events := w.state.Outbox[:1+w.random.IntN(len(w.state.Outbox))]
	var gone []string
	for _, event := range events {
		r := w.requesters[event.TicketID]
		if r.dead {
			gone = append(gone, event.TicketID)
			continue
		}
		w.hear(r, event)
	}
	if calm || w.random.IntN(5) > 0 {
		w.apply(Delivered{Events: events, Gone: gone})
	}
}

func (w *world) hear(r *requester, event contract.TicketEvent) {
	switch {
	case event.Again:
		return // it submits again
	case event.Outcome == contract.TicketGranted:
		r.grant = event.Fence
		return
	case r.outcome != "":
		if r.life == w.lives {
			require.Equal(w.t, []any{r.outcome, r.failure}, []any{event.Outcome, event.Type}, "one ticket, one outcome: %s", event.TicketID)
		}
		return
	}
	if event.Outcome == contract.TicketCancelled && r.ticket.Kind != contract.TicketHold {
		require.False(w.t, w.writes(event.TicketID), "what is cancelled is not written any more: %s", event.TicketID)
	}
	r.outcome, r.failure, r.life, r.grant = event.Outcome, event.Type, w.lives, 0
	require.True(w.t, r.poison || event.Type != contract.ErrInvalidManifest, "a bad ticket fails alone: %s", event.TicketID)
	require.True(w.t, r.cursed || event.Type != contract.ErrManifestRefused, "who is refused is the culprit: %s", event.TicketID)
	if r.ticket.Kind != contract.TicketHold && event.Outcome == contract.TicketCommitted {
		require.GreaterOrEqual(w.t, w.stored[r.ticket.Work+"/"+r.part], r.ticket.Generation, "what is committed is stored: %s", event.TicketID)
	}
}

// writes: the ticket waits, or is being written.
func (w *world) writes(id string) bool {
	t := transition{MutexState: w.state}
	return t.queued(id) >= 0 || t.inHead(id)
}

// request is a new ticket of an operation, perhaps of one that has another one in the queue.
func (w *world) request() {
	n := len(w.order)
	r := &requester{part: fmt.Sprint("part-", w.random.IntN(partsInWork))}
	work := fmt.Sprint("work-", w.random.IntN(worksInWorld))
	r.ticket = contract.Ticket{
		ID: fmt.Sprint("ticket-", n), ReplyTo: "op/" + work + "/" + r.part, Run: fmt.Sprint("run-", n), StartedAt: w.now,
		Work: work, Action: contract.ActionMerge, Generation: int64(n + 1), Digest: fmt.Sprint(n),
		Until: w.now.Add(time.Hour), Patience: 10 * time.Minute,
	}
	switch w.random.IntN(20) {
	case 0:
		r.poison = true
	case 1:
		r.cursed = true
	case 2:
		r.ticket.Kind, r.ticket.ReplyTo, r.ticket.Lease = contract.TicketHold, fmt.Sprint("holder-", n), time.Duration(1+w.random.IntN(60))*time.Second
	case 3:
		r.dead = true
	case 4:
		r.ticket.Until = w.now.Add(time.Duration(w.random.IntN(5)) * time.Second)
	case 5:
		r.ticket.Generation = 1 // an old one that comes late
	}
	w.requesters[r.ticket.ID] = r
	w.order = append(w.order, r.ticket.ID)
	w.submit(r)
}

func (w *world) submit(r *requester) {
	if r.ticket.Kind != contract.TicketHold {
		displaced := slices.IndexFunc(w.state.Queue, func(one contract.Ticket) bool { return one.ReplyTo == r.ticket.ReplyTo && one.Work == r.ticket.Work })
		known := slices.ContainsFunc(w.state.Queue, func(one contract.Ticket) bool { return one.ID == r.ticket.ID }) ||
			w.state.Head != nil && slices.ContainsFunc(w.state.Head.Tickets, func(one contract.Ticket) bool { return one.ID == r.ticket.ID })
		switch {
		case known:
		case displaced >= 0:
			w.places[r.ticket.ID] = w.places[w.state.Queue[displaced].ID]
		default:
			w.next++
			w.places[r.ticket.ID] = w.next
		}
	}
	w.apply(Submitted{Ticket: r.ticket})
}

func (w *world) waiting() []string {
	var ids []string
	for _, id := range w.order {
		if r := w.requesters[id]; r.outcome == "" && !r.dead {
			ids = append(ids, id)
		}
	}
	return ids
}

func (w *world) resubmit() {
	for _, id := range w.waiting() {
		if r := w.requesters[id]; w.random.IntN(4) == 0 && !r.withdrawn {
			w.submit(r)
		}
	}
}

func (w *world) withdraw() {
	if ids := w.waiting(); len(ids) > 0 {
		r := w.requesters[ids[w.random.IntN(len(ids))]]
		r.withdrawn = true
		w.apply(Withdrawn{TicketID: r.ticket.ID})
	}
}

// disturb kills a requester, terminates the mutex, or lets an operator act.
func (w *world) disturb() {
	operator := contract.Operator{By: "ann", Reason: "repair"}
	switch w.random.IntN(5) {
	case 0:
		if ids := w.waiting(); len(ids) > 0 {
			w.requesters[ids[w.random.IntN(len(ids))]].dead = true
		}
	case 1:
		if w.running != nil {
			w.zombies = append(w.zombies, w.running)
			w.running = nil
		}
		w.asked = false
		clear(w.committed) // the new mutex has another order: that of the repetitions
		w.revive()
	case 2:
		w.apply(Paused{Operator: operator})
	case 3:
		w.apply(Resumed{Operator: operator})
	case 4:
		if w.state.Hold != nil {
			w.apply(Released{TicketID: w.state.Hold.Ticket.ID, Operator: &operator})
		}
	}
}

// roundTrip is a continue-as-new: the state travels as JSON when nothing is under way.
func (w *world) roundTrip() {
	if w.running != nil || w.asked {
		return
	}
	w.apply(Rolled{})
	if w.running != nil {
		return
	}
	raw, err := json.Marshal(contract.MutexInput{Source: "s", Consumer: "c", State: &w.state})
	require.NoError(w.t, err)
	var input contract.MutexInput
	require.NoError(w.t, json.Unmarshal(raw, &input))
	w.state = handedOn(input, w.now)
	w.apply(Woken{})
}

// holderActs lets a holder that lives release, sometimes with an old fence.
func (w *world) holderActs() {
	if w.state.Hold == nil {
		return
	}
	r := w.requesters[w.state.Hold.Ticket.ID]
	switch {
	case r.dead:
	case w.random.IntN(4) == 0:
		w.apply(Released{TicketID: r.ticket.ID, Fence: w.state.Hold.Fence - 1})
	case w.random.IntN(3) == 0:
		w.apply(Renewed{TicketID: r.ticket.ID, Fence: w.state.Hold.Fence})
	case r.grant == w.state.Hold.Fence:
		w.apply(Released{TicketID: r.ticket.ID, Fence: r.grant})
	}
}

// Whatever happens to requesters, to the mutex and to Maestro: nothing that was committed is lost, generations and the
// order of a work's tickets are kept, one writes at a time, each ticket has one outcome, and nobody waits for ever.
func TestMutexKeepsItsPromises(t *testing.T) {
	seeds := []uint64{*onlySeed}
	if *onlySeed == 0 {
		seeds = seeds[:0]
		for seed := range uint64(40) {
			seeds = append(seeds, seed+1)
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed)
			for len(w.order) < 300 {
				w.step(false)
			}
			w.apply(Resumed{Operator: contract.Operator{By: "ann", Reason: "repaired"}})
			for n := 0; len(w.waiting()) > 0 || !settled(w.state); n++ {
				if n > 20_000 {
					require.Fail(t, "somebody waits for ever", "%v %s", w.waiting(), Explain(w.state))
				}
				w.step(true)
				for _, id := range w.waiting() {
					if r := w.requesters[id]; r.withdrawn && n%500 == 499 {
						r.outcome = contract.TicketCancelled // a requester waits for 30 s for the answer to a withdrawal
					}
				}
			}
			stats := w.state.Stats
			require.NotZero(t, stats.Batches)
			w.now = w.now.Add(contract.MutexIdleFor)
			require.True(t, Idle(w.state, w.now))
		})
	}
}

func settled(state contract.MutexState) bool {
	return cmp.Or(len(state.Queue), len(state.Outbox)) == 0 && state.Head == nil && state.Hold == nil
}
