package clustermutex

import (
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Event is something that happened to the mutex.
type Event interface{ isEvent() }

// Events.
type (
	// Submitted is a ticket that came in, perhaps not for the first time.
	Submitted struct{ Ticket contract.Ticket }
	// Withdrawn is the wish of a requester to have its ticket back.
	Withdrawn struct{ TicketID string }
	// Renewed is the wish of a holder to hold longer, Released that it is done.
	Renewed struct {
		TicketID string
		Fence    int64
		Lease    time.Duration
		// Reason in place of the earlier one; "" keeps that.
		Reason string
	}
	Released struct {
		TicketID string
		Fence    int64
		// Operator forces the release, whatever the fence; nil for the holder itself.
		Operator *contract.Operator
	}
	// Committed is the end of the batch under way.
	Committed struct{ Result contract.BatchResult }
	// CommitFailed: nothing of the batch under way was written.
	CommitFailed struct {
		Type    contract.ErrorType
		Message string
		// Fence that was found, of a FenceLost.
		Fence int64
	}
	// RecreationStarted and its end, see the package documentation.
	RecreationStarted struct{ Results []contract.TicketResult }
	// Delivered: requesters were told the events, or had ended (Gone).
	Delivered struct {
		Events []contract.TicketEvent
		Gone   []string
	}
	// HolderSeen answers whether the holder whose lease has ended still runs.
	HolderSeen struct{ Runs bool }
	// Paused and Resumed are operators' wishes, Limited new limits.
	Paused  struct{ Operator contract.Operator }
	Resumed struct{ Operator contract.Operator }
	Limited struct{ Request contract.LimitsRequest }
	// Ignored is a message that cannot be understood.
	Ignored struct{}
	// Drained: the mutex was cancelled.
	Drained struct{}
	// Rolled: the next run is about to begin.
	Rolled struct{}
	// Woken: time has passed.
	Woken struct{}
)

func (Submitted) isEvent()         {}
func (Withdrawn) isEvent()         {}
func (Renewed) isEvent()           {}
func (Released) isEvent()          {}
func (Committed) isEvent()         {}
func (CommitFailed) isEvent()      {}
func (RecreationStarted) isEvent() {}
func (Delivered) isEvent()         {}
func (HolderSeen) isEvent()        {}
func (Paused) isEvent()            {}
func (Resumed) isEvent()           {}
func (Limited) isEvent()           {}
func (Ignored) isEvent()           {}
func (Drained) isEvent()           {}
func (Rolled) isEvent()            {}
func (Woken) isEvent()             {}

// Effect is something that the workflow has to do.
type Effect interface{ isEffect() }

// Effects.
type (
	// Commit the batch under way, [contract.MutexState.Head].
	Commit struct{ Params contract.BatchParams }
	// Describe the holder whose lease has ended.
	Describe struct{ Params contract.HolderParams }
)

func (Commit) isEffect()   {}
func (Describe) isEffect() {}
