package clustermutex

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// handleMessages registers queries and updates before anything can yield.
func (m *mutex) handleMessages(ctx workflow.Context, input contract.MutexInput) error {
	register := func(name string, err error) error {
		if err != nil {
			return fmt.Errorf("register %s: %w", name, err)
		}
		return nil
	}
	if want := contract.MutexID(input.Source, input.Consumer); workflow.GetInfo(ctx).WorkflowExecution.ID != want {
		return contract.Errorf(contract.ErrInvalidInput, "workflow ID %s: the mutex of this consumer must run as %s, or two would write at once",
			workflow.GetInfo(ctx).WorkflowExecution.ID, want).Final()
	}
	queries := map[string]any{
		contract.QueryStatus: func() (contract.MutexStatus, error) {
			return Status(m.state), nil
		},
		contract.QueryTicket: func(id string) (contract.TicketStanding, error) { return Standing(m.state, id), nil },
	}
	for _, name := range []string{contract.QueryStatus, contract.QueryTicket} {
		if err := register(name, workflow.SetQueryHandler(ctx, name, queries[name])); err != nil {
			return err
		}
	}
	for _, update := range []struct {
		name              string
		handle, validator any
	}{
		{contract.UpdateHold, m.hold, m.refuseHold},
		{contract.UpdateRelease, m.releaseHold, m.refuseRelease},
		{contract.UpdateForceRelease, m.forceRelease, m.refuseForceRelease},
		{contract.UpdatePause, m.pause, m.refusePause},
		{contract.UpdateResume, m.resume, m.refuseResume},
		{contract.UpdateSetLimits, m.setLimits, m.refuseLimits},
		{contract.UpdateContinueAsNew, m.continueAsNew, m.refuseContinue},
	} {
		options := workflow.UpdateHandlerOptions{Validator: update.validator}
		if err := register(update.name, workflow.SetUpdateHandlerWithOptions(ctx, update.name, update.handle, options)); err != nil {
			return err
		}
	}
	return nil
}

// personal is the ticket ID of a person's hold.
func personal(by string) string { return "hold/" + by }

// personalHold finds the ticket of a person's hold, which waits or holds.
func (m *mutex) personalHold(ticketID, by string) (contract.Ticket, bool) {
	t := transition{MutexState: m.state}
	if ticketID == "" {
		ticketID = personal(by)
	}
	ticket, found := t.present(ticketID)
	return ticket, found && ticket.Kind == contract.TicketHold
}

func (m *mutex) refuseHold(_ workflow.Context, request contract.HoldRequest) error {
	if err := request.Operator().Check(); err != nil {
		return refused(contract.UpdateHold, err)
	}
	if _, err := request.Length(); err != nil {
		return refused(contract.UpdateHold, err)
	}
	if m.state.Draining {
		return refused(contract.UpdateHold, fmt.Errorf("%s, ask again", draining))
	}
	return nil
}

// hold queues a person's hold, or makes the one that holds last longer. It answers where the hold stands and does not wait.
func (m *mutex) hold(ctx workflow.Context, request contract.HoldRequest) (contract.HoldAnswer, error) {
	length, err := request.Length()
	if err != nil {
		return contract.HoldAnswer{}, refused(contract.UpdateHold, err)
	}
	id := personal(request.By)
	if m.state.Hold != nil && m.state.Hold.Ticket.ID == id {
		m.apply(ctx, Renewed{TicketID: id, Fence: m.state.Hold.Fence, Lease: length, Reason: request.Reason})
	} else {
		m.forget(id)
		m.apply(ctx, Submitted{Ticket: contract.Ticket{ID: id, Kind: contract.TicketHold, By: request.By, Reason: request.Reason, Lease: length}})
	}
	m.wake.SendAsync(true)
	answer := contract.HoldAnswer{TicketID: id}
	if m.state.Hold != nil && m.state.Hold.Ticket.ID == id {
		answer.Held, answer.Fence, answer.LeaseUntil = true, m.state.Hold.Fence, m.state.Hold.LeaseUntil
		answer.Message = "nothing is written to shared works of " + m.state.Consumer + " until " + stamp(answer.LeaseUntil) + ", or the hold is released"
		return answer, nil
	}
	standing := Standing(m.state, id)
	answer.Ahead, answer.Message = standing.Ahead, "queued: "+standing.Message
	return answer, nil
}

// forget the outcome of an earlier hold of the same person, which is over.
func (m *mutex) forget(id string) {
	var kept []contract.TicketEvent
	for _, event := range m.state.Outcomes {
		if event.TicketID != id {
			kept = append(kept, event)
		}
	}
	m.state.Outcomes = kept
}

func (m *mutex) refuseRelease(_ workflow.Context, request contract.HoldRelease) error {
	if err := request.Operator().Check(); err != nil {
		return refused(contract.UpdateRelease, err)
	}
	ticket, found := m.personalHold(request.TicketID, request.By)
	switch {
	case !found:
		return refused(contract.UpdateRelease, fmt.Errorf("%s has no hold here: %s", request.By, Explain(m.state)))
	case ticket.ReplyTo != "":
		return refused(contract.UpdateRelease, fmt.Errorf("the holder is workflow %s: take it away with %s", ticket.ReplyTo, contract.UpdateForceRelease))
	}
	return nil
}

func (m *mutex) releaseHold(ctx workflow.Context, request contract.HoldRelease) (contract.MutexAnswer, error) {
	if ticket, found := m.personalHold(request.TicketID, request.By); found {
		operator := request.Operator()
		m.apply(ctx, Released{TicketID: ticket.ID, Operator: &operator})
	}
	return m.answer("the hold is released"), nil
}

func (m *mutex) refuseForceRelease(_ workflow.Context, operator contract.Operator) error {
	if err := operator.Check(); err != nil {
		return refused(contract.UpdateForceRelease, err)
	}
	if m.state.Hold == nil {
		return refused(contract.UpdateForceRelease, fmt.Errorf("nobody holds: %s", Explain(m.state)))
	}
	return nil
}

func (m *mutex) forceRelease(ctx workflow.Context, operator contract.Operator) (contract.MutexAnswer, error) {
	if m.state.Hold != nil {
		m.apply(ctx, Released{TicketID: m.state.Hold.Ticket.ID, Operator: &operator})
	}
	return m.answer("the hold is taken away; what its holder writes without looking at the fence is not stopped"), nil
}

func (m *mutex) refusePause(_ workflow.Context, operator contract.Operator) error {
	if err := operator.Check(); err != nil {
		return refused(contract.UpdatePause, err)
	}
	if m.state.Draining {
		return refused(contract.UpdatePause, fmt.Errorf("%s, ask again", draining))
	}
	if m.state.Paused != nil {
		return refused(contract.UpdatePause, fmt.Errorf("paused by %s since %s already", m.state.Paused.By, stamp(m.state.Paused.At)))
	}
	return nil
}

func (m *mutex) pause(ctx workflow.Context, operator contract.Operator) (contract.MutexAnswer, error) {
	m.apply(ctx, Paused{Operator: operator})
	text := "nothing more is begun until it is resumed"
	if m.state.Head != nil {
		text += "; the batch under way ends first"
	}
	return m.answer(text), nil
}

func (m *mutex) refuseResume(_ workflow.Context, operator contract.Operator) error {
	if err := operator.Check(); err != nil {
		return refused(contract.UpdateResume, err)
	}
	if m.state.Paused == nil {
		return refused(contract.UpdateResume, fmt.Errorf("it is not paused: %s", Explain(m.state)))
	}
	return nil
}

func (m *mutex) resume(ctx workflow.Context, operator contract.Operator) (contract.MutexAnswer, error) {
	m.apply(ctx, Resumed{Operator: operator})
	return m.answer("goes on: " + Explain(m.state)), nil
}

func (m *mutex) refuseLimits(_ workflow.Context, request contract.LimitsRequest) error {
	if err := request.Check(); err != nil {
		return refused(contract.UpdateSetLimits, err)
	}
	return nil
}

func (m *mutex) setLimits(ctx workflow.Context, request contract.LimitsRequest) (contract.MutexAnswer, error) {
	m.apply(ctx, Limited{Request: request})
	return m.answer("the limits are set"), nil
}

func (m *mutex) refuseContinue(_ workflow.Context, operator contract.Operator) error {
	if err := operator.Check(); err != nil {
		return refused(contract.UpdateContinueAsNew, err)
	}
	return nil
}

func (m *mutex) continueAsNew(workflow.Context, contract.Operator) (contract.MutexAnswer, error) {
	m.forced = true
	return m.answer("the next run begins when nothing is under way"), nil
}

// answer lets the main loop look again.
func (m *mutex) answer(text string) contract.MutexAnswer {
	m.wake.SendAsync(true)
	return contract.MutexAnswer{State: Phase(m.state), Message: text}
}

func refused(verb string, err error) error {
	return contract.Errorf(contract.ErrInvalidInput, "%s: %s", verb, strings.ReplaceAll(err.Error(), "\n", "; ")).Application()
}
