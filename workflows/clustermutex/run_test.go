package clustermutex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// house is Maestro and the requesters, as runs of the mutex in the test environment meet them through its activities.
// These run beside each other, so everything is behind mu.
type house struct {
	t  *testing.T
	mu sync.Mutex
	// clock of the runs, which goes on from one to the next.
	now time.Time
	// commit answers a batch; heard are the events that were delivered, batches those that were tried, in order.
	commit  func(contract.BatchParams) (contract.BatchResult, error)
	heard   []contract.TicketEvent
	batches []contract.BatchParams
}

const (
	commitTakes  = 2 * time.Second
	deliverTakes = time.Second
)

func newHouse(t *testing.T) *house {
	return &house{t: t, now: noon, commit: accepted}
}

// accepted is a batch of which each ticket was written.
func accepted(params contract.BatchParams) (contract.BatchResult, error) {
	result := contract.BatchResult{Version: 7, Attempt: 1}
	for range params.Tickets {
		result.Results = append(result.Results, contract.TicketResult{Outcome: contract.CommitUpdated})
	}
	return result, nil
}

// run is one run of the mutex.
type run struct {
	*house
	env   *testsuite.TestWorkflowEnvironment
	began time.Time
	input contract.MutexInput
}

func (h *house) begin(input contract.MutexInput) *run {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	r := &run{house: h, env: suite.NewTestWorkflowEnvironment(), began: h.now, input: input}
	r.env.SetStartTime(h.now)
	r.env.SetTestTimeout(time.Minute)
	type stubbed struct {
		call  any
		takes time.Duration
	}
	stubs := map[string]stubbed{}
	stub := func(name string, takes time.Duration, call any) {
		r.env.RegisterActivityWithOptions(call, activity.RegisterOptions{Name: name})
		stubs[name] = stubbed{call, takes}
	}
	stub(contract.ActivityCommitBatch, commitTakes, func(_ context.Context, params contract.BatchParams) (contract.BatchResult, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.batches = append(h.batches, params)
		return h.commit(params)
	})
	stub(contract.ActivityDeliver, deliverTakes, func(_ context.Context, params contract.DeliverParams) (contract.DeliverResult, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.heard = append(h.heard, params.Events...)
		return contract.DeliverResult{}, nil
	})
	stub(contract.ActivityDescribeHolder, time.Second, func(context.Context, contract.HolderParams) (contract.HolderResult, error) {
		return contract.HolderResult{Runs: true}, nil
	})
	for name, one := range stubs {
		r.env.OnActivity(name, mock.Anything, mock.Anything).After(one.takes).Return(one.call)
	}
	r.env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil)
	r.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: contract.MutexID("s", "c")})
	return r
}

func (r *run) at(after time.Duration, step func()) { r.env.RegisterDelayedCallback(step, after) }

func (r *run) send(message contract.TicketMessage) {
	r.env.SignalWorkflow(contract.SignalTicket, message)
}

func (r *run) submit(tickets ...contract.Ticket) {
	for _, one := range tickets {
		r.send(submission(one))
	}
}

func submission(one contract.Ticket) contract.TicketMessage {
	return contract.TicketMessage{V: 1, Kind: contract.TicketSubmit, TicketID: one.ID, Body: &one}
}

func withdrawal(id string) contract.TicketMessage {
	return contract.TicketMessage{V: 1, Kind: contract.TicketCancel, TicketID: id}
}

// play runs the mutex to the end of the run.
func (r *run) play() {
	r.t.Helper()
	r.env.ExecuteWorkflow(ClusterMutex, r.input)
	require.True(r.t, r.env.IsWorkflowCompleted())
	r.now = r.env.Now()
}

// next is what the run hands on; nil when it does not continue as new.
func (r *run) next() *contract.MutexInput {
	r.t.Helper()
	var moved *workflow.ContinueAsNewError
	if !errors.As(r.env.GetWorkflowError(), &moved) {
		return nil
	}
	next := &contract.MutexInput{}
	require.NoError(r.t, converter.GetDefaultDataConverter().FromPayloads(moved.Input, next))
	return next
}

func (r *run) status() (status contract.MutexStatus) {
	value, err := r.env.QueryWorkflow(contract.QueryStatus)
	require.NoError(r.t, err)
	require.NoError(r.t, value.Get(&status))
	return status
}

// answer to an operator.
type answer struct {
	refused, err error
	result       any
}

func (r *run) operate(after time.Duration, verb string, argument any) *answer {
	got := &answer{}
	r.at(after, func() {
		r.env.UpdateWorkflow(verb, "", &testsuite.TestUpdateCallback{
			OnAccept:   func() {},
			OnReject:   func(err error) { got.refused = err },
			OnComplete: func(result any, err error) { got.result, got.err = result, err },
		}, argument)
	})
	return got
}

// quiet drops the logs of a run.
type quiet struct{}

func (quiet) Debug(string, ...any)     {}
func (quiet) Info(string, ...any)      {}
func (quiet) Warn(string, ...any)      {}
func (quiet) Error(string, ...any)     {}
func (q quiet) With(...any) log.Logger { return q }

var (
	input = contract.MutexInput{Source: "s", Consumer: "c"}
	ann   = contract.Operator{By: "ann", Reason: "repair"}
)

func write(id, work string, change ...func(*contract.Ticket)) contract.Ticket {
	one := ticket(id, work, change...)
	one.Write = &contract.CommitParams{Name: work, Action: one.Action}
	return one
}

func batchIDs(params contract.BatchParams) (ids []string) {
	for _, one := range params.Tickets {
		ids = append(ids, one.ID)
	}
	return ids
}

func TestRunCommitsABurstInBatchesAndGoes(t *testing.T) {
	h := newHouse(t)
	r := h.begin(input)
	r.at(0, func() {
		for n := range 120 {
			r.submit(write(fmt.Sprint("t", n), "shared"))
		}
	})
	r.play()
	require.NoError(t, r.env.GetWorkflowError())
	total := 0
	for _, batch := range h.batches {
		total += len(batch.Tickets)
		assert.LessOrEqual(t, len(batch.Tickets), contract.MaxBatchTickets)
	}
	assert.Equal(t, 120, total)
	assert.LessOrEqual(t, len(h.batches), 4)
	assert.Len(t, h.heard, 120)
	assert.GreaterOrEqual(t, r.now.Sub(noon), contract.MutexIdleFor, "it stays for a while")
	assert.Less(t, r.now.Sub(noon), 2*contract.MutexIdleFor)
}

func TestRunHandsOnWhatWaits(t *testing.T) {
	h := newHouse(t)
	r := h.begin(input)
	// The test environment has a task for each signal, so the first ticket is a batch of its own.
	r.at(0, func() { r.submit(write("first", "shared"), write("other", "work"), write("second", "shared")) })
	asked := r.operate(time.Second, contract.UpdateContinueAsNew, ann)
	// It comes when the run has begun to end and its batch is not done.
	r.at(1500*time.Millisecond, func() { r.submit(write("late", "shared")) })
	r.play()
	require.NoError(t, asked.err)
	next := r.next()
	require.NotNil(t, next)
	require.Len(t, h.batches, 1, "the next run begins what comes next")
	assert.Equal(t, []string{"first"}, batchIDs(h.batches[0]))
	assert.Len(t, next.State.Queue, 3)
	assert.Len(t, next.State.Outbox, 1)
	assert.EqualValues(t, 1, next.State.Stats.Runs)

	second := h.begin(*next)
	second.play()
	require.NoError(t, second.env.GetWorkflowError())
	require.Len(t, h.batches, 3)
	assert.Equal(t, []string{"other"}, batchIDs(h.batches[1]))
	assert.Equal(t, []string{"second", "late"}, batchIDs(h.batches[2]))
	assert.Len(t, h.heard, 4)
	assert.Greater(t, h.batches[1].Fence, h.batches[0].Fence)
	assert.EqualValues(t, 4, second.status().Stats.Committed)
}

func TestRunContinuesWhenItsHistoryIsLong(t *testing.T) {
	for name, long := range map[string]func(*run){
		"suggested": func(r *run) { r.env.SetContinueAsNewSuggested(true) },
		"events":    func(r *run) { r.env.SetCurrentHistoryLength(contract.DefaultMutexEvents + 1) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			r := h.begin(input)
			r.at(time.Minute, func() { long(r); r.submit(write("a", "shared")) })
			r.play()
			next := r.next()
			require.NotNil(t, next)
			require.Len(t, h.batches, 1, "what it began is ended")
			assert.EqualValues(t, 1, next.State.Stats.Committed)
		})
	}
	t.Run("age", func(t *testing.T) {
		r := newHouse(t).begin(input)
		r.operate(0, contract.UpdatePause, ann)
		r.at(longest+time.Minute, func() { r.submit(write("a", "shared")) })
		r.play()
		next := r.next()
		require.NotNil(t, next)
		assert.NotNil(t, next.State.Paused)
		assert.Len(t, next.State.Queue, 1)
		assert.Empty(t, next.State.Outbox)
	})
}

func TestCancelledRunEndsItsBatchAndSendsTheOthersAway(t *testing.T) {
	h := newHouse(t)
	r := h.begin(input)
	r.at(0, func() { r.submit(write("a", "shared"), write("b", "work")) })
	r.at(time.Second, r.env.CancelWorkflow)
	r.at(1500*time.Millisecond, func() { r.submit(write("c", "work")) })
	refusedHold := r.operate(1600*time.Millisecond, contract.UpdateHold, contract.HoldRequest{By: "ann", Reason: "repair"})
	r.play()
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, r.env.GetWorkflowError(), &cancelled)
	require.Len(t, h.batches, 1)
	outcomes := map[string]contract.TicketEvent{}
	for _, event := range h.heard {
		outcomes[event.TicketID] = event
	}
	assert.Equal(t, contract.TicketCommitted, outcomes["a"].Outcome)
	for _, id := range []string{"b", "c"} {
		assert.Equal(t, contract.TicketRejected, outcomes[id].Outcome, id)
		assert.True(t, outcomes[id].Again, id)
	}
	require.ErrorContains(t, refusedHold.refused, "ask again")
}

func TestRunUnderAnotherIDWritesNothing(t *testing.T) {
	r := newHouse(t).begin(input)
	r.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: contract.MutexID("s", "another")})
	r.play()
	require.ErrorContains(t, r.env.GetWorkflowError(), "must run as cluster-mutex/s/c")
}

func TestBatchThatFailsIsTriedAgainUntilPatienceEnds(t *testing.T) {
	h := newHouse(t)
	h.commit = func(contract.BatchParams) (contract.BatchResult, error) {
		return contract.BatchResult{}, contract.Errorf(contract.ErrUnavailable, "503").Application()
	}
	r := h.begin(input)
	r.at(0, func() {
		r.submit(write("patient", "shared", func(t *contract.Ticket) { t.Patience = 5 * time.Minute }),
			write("impatient", "shared", func(t *contract.Ticket) { t.Patience = 10 * time.Second }))
	})
	r.at(2*time.Minute, func() { assert.Equal(t, contract.MutexBlocked, r.status().Phase) })
	r.at(3*time.Minute, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.commit = accepted
	})
	r.play()
	require.NoError(t, r.env.GetWorkflowError())
	require.Len(t, h.heard, 2)
	assert.Equal(t, "impatient", h.heard[0].TicketID)
	assert.Equal(t, contract.ErrUnavailable, h.heard[0].Type)
	assert.Equal(t, contract.TicketCommitted, h.heard[1].Outcome)
}

func TestDefectOfABatchEndsItsTicketsAndNotTheMutex(t *testing.T) {
	h := newHouse(t)
	h.commit = func(params contract.BatchParams) (contract.BatchResult, error) {
		if params.Name == "cursed" {
			return contract.BatchResult{}, temporal.NewNonRetryableApplicationError("index out of range", "PanicError", nil)
		}
		return accepted(params)
	}
	r := h.begin(input)
	r.at(0, func() { r.submit(write("a", "cursed"), write("b", "cursed"), write("c", "fine")) })
	r.play()
	require.NoError(t, r.env.GetWorkflowError())
	outcomes := map[string]contract.TicketOutcome{}
	for _, event := range h.heard {
		outcomes[event.TicketID] = event.Outcome
	}
	assert.Equal(t, map[string]contract.TicketOutcome{
		"a": contract.TicketRejected, "b": contract.TicketRejected, "c": contract.TicketCommitted,
	}, outcomes)
}

func TestMalformedSignalsAreCounted(t *testing.T) {
	h := newHouse(t)
	r := h.begin(input)
	r.at(0, func() {
		r.env.SignalWorkflow(contract.SignalTicket, "no ticket")
		r.send(contract.TicketMessage{V: 1, Kind: contract.TicketSubmit, TicketID: "a"})
		r.send(contract.TicketMessage{V: 1, Kind: "sell", TicketID: "a"})
		one := write("b", "shared")
		r.send(contract.TicketMessage{V: 1, Kind: contract.TicketSubmit, TicketID: "other", Body: &one})
		r.submit(write("good", "shared"))
	})
	r.play()
	require.NoError(t, r.env.GetWorkflowError())
	assert.GreaterOrEqual(t, r.status().Stats.Ignored, int64(3))
	assert.Equal(t, []string{"good"}, batchIDs(h.batches[0]))
}

func TestOperatorsHoldPauseAndRelease(t *testing.T) {
	h := newHouse(t)
	r := h.begin(input)
	held := r.operate(0, contract.UpdateHold, contract.HoldRequest{By: "ann", Reason: "repair", Lease: "10m"})
	r.at(time.Second, func() { r.submit(write("a", "shared")) })
	queued := r.operate(2*time.Second, contract.UpdateHold, contract.HoldRequest{By: "bob", Reason: "look"})
	again := r.operate(time.Minute, contract.UpdateHold, contract.HoldRequest{By: "ann", Reason: "repair", Lease: "20m"})
	foreign := r.operate(2*time.Minute, contract.UpdateRelease, contract.HoldRelease{By: "carl", Reason: "mine"})
	r.at(3*time.Minute, func() {
		status := r.status()
		assert.Equal(t, contract.MutexHeld, status.Phase)
		assert.Equal(t, noon.Add(21*time.Minute), status.Hold.LeaseUntil.UTC())
		assert.Len(t, status.Queue, 2)
	})
	withdrawn := r.operate(4*time.Minute, contract.UpdateRelease, contract.HoldRelease{By: "bob", Reason: "not needed"})
	released := r.operate(5*time.Minute, contract.UpdateRelease, contract.HoldRelease{By: "ann", Reason: "done"})
	nobody := r.operate(6*time.Minute, contract.UpdateForceRelease, ann)
	paused := r.operate(7*time.Minute, contract.UpdatePause, ann)
	twice := r.operate(8*time.Minute, contract.UpdatePause, ann)
	r.at(9*time.Minute, func() { r.submit(write("b", "shared")) })
	resumed := r.operate(20*time.Minute, contract.UpdateResume, ann)
	running := r.operate(21*time.Minute, contract.UpdateResume, ann)
	limits := r.operate(22*time.Minute, contract.UpdateSetLimits, contract.LimitsRequest{By: "ann", Reason: "slow", Limits: contract.MutexLimits{Batch: 1}})
	absurd := r.operate(23*time.Minute, contract.UpdateSetLimits, contract.LimitsRequest{By: "ann", Reason: "slow", Limits: contract.MutexLimits{Batch: -1}})
	anonymous := r.operate(24*time.Minute, contract.UpdatePause, contract.Operator{})
	r.play()
	require.NoError(t, r.env.GetWorkflowError())
	for name, got := range map[string]*answer{"held": held, "queued": queued, "again": again, "withdrawn": withdrawn, "released": released, "paused": paused, "resumed": resumed, "limits": limits} {
		require.NoError(t, got.refused, name)
		require.NoError(t, got.err, name)
		require.NotNil(t, got.result, name)
	}
	assert.True(t, held.result.(contract.HoldAnswer).Held)
	assert.False(t, queued.result.(contract.HoldAnswer).Held)
	assert.Equal(t, 1, queued.result.(contract.HoldAnswer).Ahead)
	assert.Equal(t, held.result.(contract.HoldAnswer).Fence, again.result.(contract.HoldAnswer).Fence, "a renewal")
	require.ErrorContains(t, foreign.refused, "carl has no hold here")
	require.ErrorContains(t, nobody.refused, "nobody holds")
	require.ErrorContains(t, twice.refused, "paused by ann")
	require.ErrorContains(t, running.refused, "not paused")
	require.ErrorContains(t, absurd.refused, "limits.batch")
	require.Error(t, anonymous.refused)
	require.Len(t, h.batches, 2)
	assert.Equal(t, []string{"a"}, batchIDs(h.batches[0]))
	assert.Equal(t, []string{"b"}, batchIDs(h.batches[1]))
}

func TestTicketsAreFoundByIDAndByOperation(t *testing.T) {
	h := newHouse(t)
	r := h.begin(input)
	standing := func(id string) (standing contract.TicketStanding) {
		value, err := r.env.QueryWorkflow(contract.QueryTicket, id)
		require.NoError(t, err)
		require.NoError(t, value.Get(&standing))
		return standing
	}
	r.at(0, func() { r.submit(write("a", "shared"), write("b", "work")) })
	r.at(time.Second, func() {
		assert.Equal(t, "Committing", standing("a").Standing)
		assert.Equal(t, "Queued", standing("op/b").Standing)
		assert.Equal(t, "Unknown", standing("c").Standing)
	})
	r.at(time.Minute, func() { assert.Equal(t, "Committed", standing("op/b").Standing) })
	r.play()
	require.NoError(t, r.env.GetWorkflowError())
}

// step of a plan of random messages.
type step struct {
	at      time.Duration
	message contract.TicketMessage
	// operator's verb instead of a message.
	verb string
	// ends the run as a termination does.
	terminate bool
	sent      bool
	sentAt    time.Time
}

// requests of one life: each part's generations come in their order, some twice, some withdrawn, some poisoned.
type plan struct {
	steps   []*step
	tickets map[string]contract.Ticket
	poison  map[string]bool
	parts   map[string]string
}

func newPlan(random *rand.Rand, count int) *plan {
	p := &plan{tickets: map[string]contract.Ticket{}, poison: map[string]bool{}, parts: map[string]string{}}
	generations := map[string]int64{}
	at := time.Duration(0)
	for n := range count {
		if random.IntN(4) == 0 { // bursts
			at += time.Duration(random.IntN(4000)) * time.Millisecond
		}
		part := fmt.Sprintf("work-%d/pool-%d", random.IntN(3), random.IntN(6))
		generations[part]++
		one := write(fmt.Sprint("t", n), part[:6], func(t *contract.Ticket) { t.Generation = generations[part] })
		one.Patience = time.Hour
		p.tickets[one.ID], p.parts[one.ID] = one, part
		p.poison[one.ID] = random.IntN(12) == 0
		p.steps = append(p.steps, &step{at: at, message: submission(one)})
		if random.IntN(8) == 0 {
			p.steps = append(p.steps, &step{at: at + time.Duration(random.IntN(3000))*time.Millisecond, message: submission(one)})
		}
		if random.IntN(10) == 0 { // also before the ticket comes, and after it was granted
			late := at + time.Duration(random.IntN(5000)-500)*time.Millisecond
			p.steps = append(p.steps, &step{at: max(late, 0), message: withdrawal(one.ID)})
		}
		switch random.IntN(25) {
		case 0:
			p.steps = append(p.steps, &step{at: at, verb: contract.UpdateContinueAsNew})
		case 1:
			p.steps = append(p.steps, &step{at: at, terminate: true})
		}
	}
	slices.SortStableFunc(p.steps, func(a, b *step) int { return cmp.Compare(a.at, b.at) })
	return p
}

// The promises of the mutex on the test environment, where the state machine is driven by signals, activities, timers and
// new runs: see also TestMutexKeepsItsPromises.
func TestRunsKeepTheMutexsPromises(t *testing.T) {
	seeds := []uint64{*onlySeed}
	if *onlySeed == 0 {
		seeds = nil
		for range 8 {
			seeds = append(seeds, rand.Uint64())
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { playPlan(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func playPlan(t *testing.T, random *rand.Rand) {
	p := newPlan(random, 150)
	h := newHouse(t)
	stored := map[string]int64{}
	h.commit = func(params contract.BatchParams) (contract.BatchResult, error) {
		switch random.IntN(10) {
		case 0:
			return contract.BatchResult{}, contract.Errorf(contract.ErrUnavailable, "503").Application()
		case 1: // the answer is lost, the write is not
			storeBatch(t, p, stored, params)
			return contract.BatchResult{}, contract.Errorf(contract.ErrUnavailable, "reset").Application()
		default:
			return storeBatch(t, p, stored, params), nil
		}
	}
	outcomes := map[string]contract.TicketEvent{}
	terminated := false
	next, runs := &input, 0
	for ; next != nil; runs++ {
		require.Less(t, runs, 100)
		r := h.begin(*next)
		for _, one := range p.steps {
			after := max(noon.Add(one.at).Sub(r.began), 0)
			if one.sent {
				continue
			}
			if one.terminate {
				one.sent = true
				r.env.SetWorkflowRunTimeout(after + time.Millisecond)
				break
			}
			r.at(after, func() {
				one.sent, one.sentAt = true, r.env.Now()
				if one.verb == "" {
					r.send(one.message)
					return
				}
				r.env.UpdateWorkflow(one.verb, "", &testsuite.TestUpdateCallback{OnAccept: func() {}, OnReject: func(error) {}, OnComplete: func(any, error) {}}, ann)
			})
		}
		r.play()
		for _, event := range h.heard {
			if before, found := outcomes[event.TicketID]; found && !terminated {
				require.Equal(t, before.Outcome, event.Outcome, event.TicketID)
			}
			outcomes[event.TicketID] = event
		}
		h.heard = nil
		next = r.next()
		for _, one := range p.steps {
			// A signal that comes while the run ends is lost in the environment; a server gives it to the next run.
			if one.verb == "" && !one.terminate && one.sent && one.sentAt.Equal(r.env.Now()) {
				one.sent = false
			}
		}
		if err := r.env.GetWorkflowError(); next == nil && err != nil {
			var late *temporal.TimeoutError
			require.ErrorAs(t, err, &late)
			// It has forgotten everything, and its requesters come again.
			terminated, next = true, &input
			for _, one := range p.steps {
				if _, told := outcomes[one.message.TicketID]; !told && one.message.Kind == contract.TicketSubmit && one.sent {
					one.sent, one.at = false, h.now.Add(30*time.Second).Sub(noon)
				}
			}
			slices.SortStableFunc(p.steps, func(a, b *step) int { return cmp.Compare(a.at, b.at) })
		}
		if next == nil && slices.ContainsFunc(p.steps, func(one *step) bool { return !one.sent }) {
			next = &input // it was idle and is started again
		}
	}
	for id := range p.tickets {
		require.Contains(t, outcomes, id, "every ticket has an outcome")
	}
	for id, event := range outcomes {
		one, part := p.tickets[id], p.parts[id]
		switch event.Outcome {
		case contract.TicketCommitted:
			require.False(t, p.poison[id], "%s is poison", id)
			require.GreaterOrEqual(t, stored[part], one.Generation, "%s is lost", id)
		case contract.TicketRejected:
			require.True(t, p.poison[id] || event.Type == contract.ErrGenerationConflict, "%s: %s %s", id, event.Type, event.Message)
		default:
			require.Equal(t, contract.TicketCancelled, event.Outcome, id)
		}
	}
	// One writer at a time: nothing is tried with an older fence than what was tried before.
	for n := 1; n < len(h.batches); n++ {
		require.GreaterOrEqual(t, h.batches[n].Fence, h.batches[n-1].Fence)
	}
}

// storeBatch is what Maestro and CommitBatch make of a batch.
func storeBatch(t *testing.T, p *plan, stored map[string]int64, params contract.BatchParams) contract.BatchResult {
	result := contract.BatchResult{Version: 7, Attempt: 1}
	for _, one := range params.Tickets {
		part := p.parts[one.ID]
		require.Equal(t, params.Name, one.Work)
		switch {
		case p.poison[one.ID]:
			result.Results = append(result.Results, contract.TicketResult{Type: contract.ErrInvalidManifest, Message: "poison"})
		case stored[part] > one.Generation:
			result.Results = append(result.Results, contract.TicketResult{Type: contract.ErrGenerationConflict, Message: "older"})
		default:
			stored[part] = one.Generation
			result.Results = append(result.Results, contract.TicketResult{Outcome: contract.CommitUpdated})
		}
	}
	return result
}

// The state that a full mutex hands on stays below what Temporal takes.
func TestFullMutexFitsIntoTheNextRunsInput(t *testing.T) {
	h := newHouse(t)
	r := h.begin(input)
	paused := r.operate(0, contract.UpdatePause, ann)
	limited := r.operate(0, contract.UpdateSetLimits, contract.LimitsRequest{By: "ann", Reason: "many", Limits: contract.MutexLimits{Queue: contract.MaxQueueLimit}})
	r.at(time.Second, func() {
		for n := range contract.MaxQueueLimit {
			r.submit(write(fmt.Sprint("t", n), "shared", func(t *contract.Ticket) { t.Reason = strings.Repeat("x", contract.MaxTicketBytes) }))
		}
	})
	r.operate(time.Minute, contract.UpdateContinueAsNew, ann)
	r.play()
	require.NoError(t, paused.err)
	require.NoError(t, limited.refused)
	next := r.next()
	require.NotNil(t, next)
	raw, err := json.Marshal(next)
	require.NoError(t, err)
	assert.Less(t, len(raw), 2<<20)
	assert.Greater(t, len(raw), contract.MaxQueueBytes/2, "it is full")
	assert.Less(t, len(next.State.Queue), contract.MaxQueueLimit, "the bytes are the limit here")
}
