package clustermutex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// longest a run lasts; what happens after that begins the next one, so that a mutex takes up new versions of its code.
	longest = 24 * time.Hour
	// maxHanded bytes of state that a run hands to the next one, below Temporal's 2 MiB.
	maxHanded = 1536 * 1024
)

// mutex turns effects into commands.
type mutex struct {
	state contract.MutexState
	// effects that wait to be begun, and how many are under way.
	effects  []Effect
	underWay int
	// delivering: requesters are being told.
	delivering bool
	// forced: an operator wants the next run.
	forced bool
	began  time.Time
	// wake lets the main loop look again.
	wake workflow.Channel
	// timer fires at timerAt.
	timer     workflow.Future
	timerAt   time.Time
	stopTimer func()
	shown     shown
}

// ClusterMutex is the queue of the writes to the shared works of one consumer. It ends when it had nothing to do for
// [contract.MutexIdleFor]; the next ticket starts it again.
func ClusterMutex(ctx workflow.Context, input contract.MutexInput) error {
	m := &mutex{
		state: handedOn(input, workflow.Now(ctx)), began: workflow.Now(ctx),
		wake: workflow.NewBufferedChannel(ctx, 1), stopTimer: func() {},
	}
	if err := m.handleMessages(ctx, input); err != nil {
		return err
	}
	return m.run(ctx)
}

// handedOn is the state of a run that begins.
func handedOn(input contract.MutexInput, now time.Time) contract.MutexState {
	if input.State == nil {
		return contract.MutexState{V: Version, Source: input.Source, Consumer: input.Consumer, BusyAt: now}
	}
	state := *input.State
	if state.V > Version {
		// The task fails, and is tried again until a worker that knows the state takes it.
		panic(fmt.Sprintf("the mutex's state is of version %d, this worker knows %d: run newer workers", state.V, Version))
	}
	state.Rolling = false
	return state
}

func (m *mutex) run(ctx workflow.Context) error {
	// What was begun is ended, also when the mutex is cancelled.
	work, release := workflow.NewDisconnectedContext(ctx)
	defer release()
	signals := workflow.GetSignalChannel(ctx, contract.SignalTicket)
	m.apply(ctx, Woken{})
	for {
		m.drain(ctx, signals)
		if m.mayRoll(ctx) {
			m.apply(ctx, Rolled{})
		}
		m.begin(work)
		m.show(ctx)
		if m.quiet(ctx) {
			// Signals that have come since must not be lost: they are read, and nothing yields after that.
			switch m.drain(ctx, signals); {
			case m.state.Rolling:
				return workflow.NewContinueAsNewError(ctx, contract.WorkflowClusterMutex, m.handOn())
			case Idle(m.state, workflow.Now(ctx)) && m.state.Draining:
				return ctx.Err()
			case Idle(m.state, workflow.Now(ctx)):
				return nil
			case len(m.effects) > 0 || len(m.state.Outbox) > 0:
				continue
			}
		}
		m.wait(ctx, work, signals)
	}
}

// quiet: nothing is under way that the next run could not know of.
func (m *mutex) quiet(ctx workflow.Context) bool {
	return m.underWay == 0 && !m.delivering && len(m.effects) == 0 && workflow.AllHandlersFinished(ctx)
}

// mayRoll: the history is long enough for the next run.
func (m *mutex) mayRoll(ctx workflow.Context) bool {
	if m.state.Rolling || m.state.Draining {
		return false
	}
	info := workflow.GetInfo(ctx)
	return m.forced || info.GetContinueAsNewSuggested() ||
		info.GetCurrentHistoryLength() > cmp.Or(m.state.Limits.Events, contract.DefaultMutexEvents) ||
		workflow.Now(ctx).Sub(m.began) > longest
}

// handOn is the input of the next run. What does not fit is forgotten, the oldest outcomes first.
func (m *mutex) handOn() contract.MutexInput {
	state := m.state
	state.Stats.Runs++
	for {
		raw, err := json.Marshal(state)
		if err != nil || len(raw) <= maxHanded || len(state.Outcomes) == 0 {
			return contract.MutexInput{Source: state.Source, Consumer: state.Consumer, State: &state}
		}
		state.Outcomes = state.Outcomes[(len(state.Outcomes)+1)/2:]
	}
}

// drain reads all signals that have come.
func (m *mutex) drain(ctx workflow.Context, signals workflow.ReceiveChannel) {
	for {
		var message contract.TicketMessage
		if !signals.ReceiveAsync(&message) {
			return
		}
		m.receive(ctx, message)
	}
}

func (m *mutex) receive(ctx workflow.Context, message contract.TicketMessage) {
	switch message.Kind {
	case contract.TicketSubmit:
		if message.Body == nil || message.Body.ID != message.TicketID {
			m.apply(ctx, Ignored{})
			return
		}
		m.apply(ctx, Submitted{Ticket: *message.Body})
	case contract.TicketCancel:
		m.apply(ctx, Withdrawn{TicketID: message.TicketID})
	case contract.TicketRenew:
		m.apply(ctx, Renewed{TicketID: message.TicketID, Fence: message.Fence})
	case contract.TicketRelease:
		m.apply(ctx, Released{TicketID: message.TicketID, Fence: message.Fence})
	default:
		m.apply(ctx, Ignored{})
	}
}

// apply an event. Its effects are begun by the main loop.
func (m *mutex) apply(ctx workflow.Context, event Event) {
	before := m.state.Stats
	var effects []Effect
	m.state, effects = Apply(m.state, event, workflow.Now(ctx))
	m.effects = append(m.effects, effects...)
	m.count(ctx, before)
}

// begin turns effects into coroutines, which apply what comes of them.
func (m *mutex) begin(ctx workflow.Context) {
	for _, effect := range m.effects {
		m.underWay++
		workflow.Go(ctx, func(ctx workflow.Context) {
			switch e := effect.(type) {
			case Commit:
				m.commit(ctx, e.Params)
			case Describe:
				m.apply(ctx, HolderSeen{Runs: m.describe(ctx, e.Params)})
			}
			m.underWay--
			m.wake.SendAsync(true)
		})
	}
	m.effects = nil
	if len(m.state.Outbox) == 0 || m.delivering || m.state.Rolling {
		return
	}
	m.delivering = true
	workflow.Go(ctx, func(ctx workflow.Context) {
		m.deliver(ctx)
		m.delivering = false
		m.wake.SendAsync(true)
	})
}

// wait parks until something happens.
func (m *mutex) wait(ctx, work workflow.Context, signals workflow.ReceiveChannel) {
	m.arm(work)
	selector := workflow.NewSelector(work)
	selector.AddReceive(signals, func(c workflow.ReceiveChannel, _ bool) {
		var message contract.TicketMessage
		if c.ReceiveAsync(&message) {
			m.receive(ctx, message)
		}
	})
	selector.AddReceive(m.wake, func(c workflow.ReceiveChannel, _ bool) { c.ReceiveAsync(nil) })
	if m.timer != nil {
		selector.AddFuture(m.timer, func(workflow.Future) {
			m.timer = nil
			m.apply(ctx, Woken{})
		})
	}
	if !m.state.Draining {
		selector.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { m.apply(ctx, Drained{}) })
	}
	selector.Select(work)
}

// arm sets the timer for what comes next by itself. One that fires too early costs less than one that is set anew at
// every wake.
func (m *mutex) arm(ctx workflow.Context) {
	at := Wake(m.state)
	if at.IsZero() || m.timer != nil && !m.timerAt.After(at) {
		return
	}
	m.stopTimer()
	timing, stop := workflow.WithCancel(ctx)
	m.stopTimer, m.timerAt = stop, at
	m.timer = workflow.NewTimer(timing, max(at.Sub(workflow.Now(ctx)), time.Millisecond))
}
