package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxTicketID is Temporal's limit on a workflow ID, with room for a generation and a run.
const maxTicketID = 1100

const (
	// WorkflowClusterMutex is the queue of the writes to one consumer's shared works. Input [MutexInput], no result.
	WorkflowClusterMutex = "ClusterMutex"
	mutexPrefix          = "cluster-mutex"
)

// Activities of the mutex and of its requesters.
const (
	// ActivitySubmitTicket hands a [TicketMessage] to the mutex, which it starts when none runs.
	ActivitySubmitTicket = "SubmitTicket"
	// ActivityCommitBatch writes the tickets of one work in one compare-and-swap.
	ActivityCommitBatch = "CommitBatch"
	// ActivityOrphanBatch is [ActivityOrphan] for the tickets of one work.
	ActivityOrphanBatch = "OrphanBatch"
	// ActivityDeliver tells requesters what became of their tickets.
	ActivityDeliver = "Deliver"
	// ActivityDescribeHolder looks whether the workflow that holds the mutex still runs.
	ActivityDescribeHolder = "DescribeHolder"
)

// Messages of the mutex.
const (
	// SignalTicket is the mutex's only inbound signal. Its argument is a [TicketMessage].
	SignalTicket = "ticket"
	// SignalMutexEvent tells a requester what became of its ticket. Its argument is a [TicketEvent].
	SignalMutexEvent = "mutex-event"
	// UpdateHold queues a hold for a person, or renews it. Its argument is a [HoldRequest], it answers with a [HoldAnswer].
	UpdateHold = "hold"
	// UpdateRelease ends a person's hold. Its argument is a [HoldRelease].
	UpdateRelease = "release"
	// UpdateForceRelease takes the mutex from whoever holds it. Its argument is an [Operator].
	UpdateForceRelease = "force-release"
	// UpdateSetLimits changes [MutexLimits]. Its argument is a [LimitsRequest].
	UpdateSetLimits = "set-limits"
	// UpdateContinueAsNew starts a new run with the same state. Its argument is an [Operator].
	UpdateContinueAsNew = "continue-as-new"
	// QueryTicket answers with the [TicketStanding] of a ticket ID, or of the latest ticket of an operation's workflow ID.
	QueryTicket = "ticket"
)

// MutexID is the workflow ID of the mutex of one consumer: cluster-mutex/<source>/<consumer>.
func MutexID(source, consumer string) string {
	return strings.Join([]string{mutexPrefix, source, consumer}, "/")
}

// ParseMutexID takes apart what [MutexID] built. Any other ID is an error.
func ParseMutexID(id string) (source, consumer string, err error) {
	parts := strings.Split(id, "/")
	if len(parts) != 3 || parts[0] != mutexPrefix || !sourceName.MatchString(parts[1]) || !dnsLabel.MatchString(parts[2]) {
		return "", "", fmt.Errorf("parse workflow ID %q: want cluster-mutex/<source>/<consumer>", id)
	}
	return parts[1], parts[2], nil
}

// MutexInput starts a mutex. A person gives source and consumer; State is what a run hands to the next one.
type MutexInput struct {
	Source   string `json:"source"`
	Consumer string `json:"consumer"`
	// State is internal to the workflow, see its package.
	State *MutexState `json:"state,omitempty"`
}

// TicketKind is what a ticket asks for.
type TicketKind string

// Kinds of tickets.
const (
	// TicketWrite: the mutex writes what the ticket says. The empty kind means write.
	TicketWrite TicketKind = "write"
	// TicketHold: the mutex writes nothing until the requester releases it or its lease ends.
	TicketHold TicketKind = "hold"
)

// TicketVerb is what a message does with a ticket.
type TicketVerb string

// Verbs of a [TicketMessage].
const (
	TicketSubmit  TicketVerb = "submit"
	TicketCancel  TicketVerb = "cancel"
	TicketRenew   TicketVerb = "renew"
	TicketRelease TicketVerb = "release"
)

// TicketMessage is the envelope of everything that requesters tell the mutex. One signal has them all, so that their
// order is kept. Every message may be repeated.
type TicketMessage struct {
	V        int        `json:"v"`
	Kind     TicketVerb `json:"kind"`
	TicketID string     `json:"ticketID"`
	// Body of submit.
	Body *Ticket `json:"body,omitempty"`
	// Fence of a renewal or a release: the one that was granted.
	Fence int64 `json:"fence,omitempty"`
}

// Ticket is one place in the queue.
type Ticket struct {
	// ID is chosen by the requester and the same in every repetition: of an operation its workflow ID, the generation, and
	// the run that took the request, which is stable under resets, see [TicketID].
	ID   string     `json:"id"`
	Kind TicketKind `json:"kind,omitempty"`
	// ReplyTo is the workflow that gets the [TicketEvent]s; "" for a person's hold.
	ReplyTo string `json:"replyTo,omitempty"`
	// Run of ReplyTo whose input is the request, when Write is too large to travel in a ticket.
	Run string `json:"run,omitempty"`
	// StartedAt orders the requests of one ReplyTo: of two in the queue the later one stays, in the earlier one's place.
	StartedAt time.Time `json:"startedAt,omitzero"`
	// Work that a write changes, and what it does; Generation is for people.
	Work       string `json:"work,omitempty"`
	Action     Action `json:"action,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	// Write is what to commit, at most [MaxTicketBytes] as JSON.
	Write *CommitParams `json:"write,omitempty"`
	// Recreate: see [OnImmutableRecreate].
	Recreate bool `json:"recreate,omitempty"`
	// Until is when the requester gives up; zero means never.
	Until time.Time `json:"until,omitzero"`
	// Patience with a Maestro that refuses or does not answer, from the first failure on; zero means [DefaultPatience].
	Patience time.Duration `json:"patience,omitempty"`
	// Digest of what the ticket asks for: one ID means one thing.
	Digest string `json:"digest,omitempty"`
	// By and Reason say who holds and why; Lease is how long at first, zero means [DefaultLease].
	By     string        `json:"by,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Lease  time.Duration `json:"lease,omitempty"`
	// QueuedAt and FirstFailedAt are the mutex's own notes.
	QueuedAt      time.Time `json:"queuedAt,omitzero"`
	FirstFailedAt time.Time `json:"firstFailedAt,omitzero"`
	// Withdrawn while it was being committed: it is not tried again.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// TicketID is the ID of the ticket of an operation's request.
func TicketID(workflowID string, generation int64, run string) string {
	return fmt.Sprintf("%s/%d/%s", workflowID, generation, run)
}

// Alone: the ticket shares no batch, because a repetition of the batch could not tell its write from the others'.
func (t Ticket) Alone() bool { return t.Action != ActionMerge && t.Action != ActionRemove }

func tooLarge(write CommitParams) bool {
	raw, err := json.Marshal(write)
	return err != nil || len(raw) > MaxTicketBytes
}

// Check finds what is wrong with a ticket that came in.
func (t Ticket) Check() error {
	switch {
	case t.ID == "" || len(t.ID) > maxTicketID:
		return fmt.Errorf("ticket: its ID has %d bytes, give 1 to %d", len(t.ID), maxTicketID)
	case t.Kind == TicketHold:
		return nil
	case t.Kind != TicketWrite && t.Kind != "":
		return fmt.Errorf("ticket %s: kind %q: give write or hold", t.ID, t.Kind)
	case !dnsLabel.MatchString(t.Work):
		return fmt.Errorf("ticket %s: work %q: a work's name is a DNS label", t.ID, t.Work)
	case t.Write == nil && (t.ReplyTo == "" || t.Run == ""):
		return fmt.Errorf("ticket %s: write: give what to commit, or the run whose input says it", t.ID)
	case t.Write != nil && tooLarge(*t.Write):
		return fmt.Errorf("ticket %s: write: more than %d bytes: give the run whose input says it", t.ID, MaxTicketBytes)
	case t.Write != nil && (t.Write.Name != t.Work || t.Write.Action != t.Action):
		return fmt.Errorf("ticket %s: it is about %s of %s, and what to commit about %s of %s", t.ID, t.Action, t.Work, t.Write.Action, t.Write.Name)
	}
	switch t.Action {
	case ActionApply, ActionMerge, ActionRemove, ActionDelete:
		return nil
	default:
		return fmt.Errorf("ticket %s: action %q: give apply, merge, remove or delete", t.ID, t.Action)
	}
}

// TicketOutcome is what became of a ticket.
type TicketOutcome string

// Outcomes of a ticket. Granted is the only one that another one follows.
const (
	TicketGranted   TicketOutcome = "Granted"
	TicketCommitted TicketOutcome = "Committed"
	TicketRejected  TicketOutcome = "Rejected"
	// TicketSuperseded: a later request of the same operation has taken its place.
	TicketSuperseded TicketOutcome = "Superseded"
	TicketCancelled  TicketOutcome = "Cancelled"
	// TicketReleased and TicketRevoked end a hold.
	TicketReleased TicketOutcome = "Released"
	TicketRevoked  TicketOutcome = "Revoked"
)

// TicketEvent tells a requester what became of its ticket. It may come more than once.
type TicketEvent struct {
	TicketID string        `json:"ticketID"`
	ReplyTo  string        `json:"replyTo,omitempty"`
	Outcome  TicketOutcome `json:"outcome"`
	// Result of a commit.
	Result *CommitResult `json:"result,omitempty"`
	// Type and Message of a rejection, a revocation or a cancel.
	Type    ErrorType `json:"type,omitempty"`
	Message string    `json:"message,omitempty"`
	// Unsure: an attempt whose answer was lost may have been stored, although the ticket is cancelled.
	Unsure bool `json:"unsure,omitempty"`
	// Again: the same ticket may be submitted later.
	Again bool `json:"again,omitempty"`
	// Fence of the commit or the grant, see [AnnotationFence].
	Fence int64 `json:"fence,omitempty"`
	// LeaseUntil of a grant.
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
	At         time.Time `json:"at,omitzero"`
	// Digest of the ticket.
	Digest string `json:"digest,omitempty"`
}

// BatchParams asks for one write of all tickets, in their order.
type BatchParams struct {
	Source   string   `json:"source"`
	Consumer string   `json:"consumer"`
	Name     string   `json:"name"`
	Fence    int64    `json:"fence"`
	Tickets  []Ticket `json:"tickets"`
}

// BatchResult says what became of each ticket.
type BatchResult struct {
	// Results in the order of the tickets.
	Results []TicketResult `json:"results,omitempty"`
	// Recreate: this Maestro refuses the change, and the tickets without a failure let the work be recreated for it.
	Recreate bool `json:"recreate,omitempty"`
	// FenceLost: nothing was written, because a mutex with this higher fence has written the work.
	FenceLost int64 `json:"fenceLost,omitempty"`
	// Version that is stored.
	Version int64 `json:"version,omitempty"`
	Attempt int   `json:"attempt"`
	// Conflicts with other writers that this attempt met.
	Conflicts int `json:"conflicts,omitempty"`
}

// TicketResult is one ticket's part of a [BatchResult].
type TicketResult struct {
	Outcome  CommitOutcome `json:"outcome,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	// Again: nothing was decided, because another ticket of the batch could not be written.
	Again bool `json:"again,omitempty"`
	// Resets: it changes the set of manifests.
	Resets bool `json:"resets,omitempty"`
	// Type and Message when the ticket is rejected, alone.
	Type    ErrorType `json:"type,omitempty"`
	Message string    `json:"message,omitempty"`
}

// OrphanBatchResult is an [OrphanResult] with what becomes of each ticket.
type OrphanBatchResult struct {
	OrphanResult
	Results []TicketResult `json:"results,omitempty"`
	// FenceLost: see [BatchResult].
	FenceLost int64 `json:"fenceLost,omitempty"`
}

// SubmitTicketParams asks for the delivery of a message to a mutex.
type SubmitTicketParams struct {
	Source   string        `json:"source"`
	Consumer string        `json:"consumer"`
	Message  TicketMessage `json:"message"`
}

// DeliverParams are events to hand to their requesters.
type DeliverParams struct {
	Events []TicketEvent `json:"events"`
}

// DeliverResult says which requesters are gone.
type DeliverResult struct {
	// Gone are the ticket IDs whose requester has ended.
	Gone []string `json:"gone,omitempty"`
}

// HolderParams name a holder.
type HolderParams struct {
	WorkflowID string `json:"workflowID"`
	Run        string `json:"run,omitempty"`
}

// HolderResult says whether the holder still runs.
type HolderResult struct {
	Runs bool `json:"runs"`
}

// HoldRequest asks for the mutex, so that nothing is written to the consumer's shared works meanwhile.
type HoldRequest struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
	// Lease from now, a Go duration; default [DefaultLease], and never longer than [MaxLease] in all.
	Lease string `json:"lease,omitempty"`
}

// Operator who holds.
func (h HoldRequest) Operator() Operator { return Operator{By: h.By, Reason: h.Reason} }

// Length of the lease.
func (h HoldRequest) Length() (time.Duration, error) {
	if h.Lease == "" {
		return DefaultLease, nil
	}
	length, err := time.ParseDuration(h.Lease)
	if err != nil || length <= 0 || length > MaxLease {
		return 0, fmt.Errorf("lease %q: give a positive duration up to %s with a unit, like 5m", h.Lease, MaxLease)
	}
	return length, nil
}

// HoldAnswer says where a hold stands.
type HoldAnswer struct {
	TicketID string `json:"ticketID"`
	// Held: nothing is written any more. Otherwise Ahead tickets are.
	Held  bool  `json:"held"`
	Ahead int   `json:"ahead,omitempty"`
	Fence int64 `json:"fence,omitempty"`
	// LeaseUntil is when the mutex goes on by itself.
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
	Message    string    `json:"message"`
}

// HoldRelease ends a hold.
type HoldRelease struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
	// TicketID of the hold; "" means the hold of By.
	TicketID string `json:"ticketID,omitempty"`
}

// Operator who releases.
func (h HoldRelease) Operator() Operator { return Operator{By: h.By, Reason: h.Reason} }

// MutexAnswer is what an operator's message to the mutex led to.
type MutexAnswer struct {
	State   MutexPhase `json:"state"`
	Message string     `json:"message"`
}

// LimitsRequest changes limits; zero fields stay as they are.
type LimitsRequest struct {
	By     string      `json:"by"`
	Reason string      `json:"reason"`
	Limits MutexLimits `json:"limits"`
}

// Check finds what is wrong with limits.
func (l LimitsRequest) Check() error {
	problems := []error{Operator{By: l.By, Reason: l.Reason}.Check()}
	bad := func(name string, value, most int) {
		if value < 0 || value > most {
			problems = append(problems, fmt.Errorf("limits.%s %d: give 1 to %d", name, value, most))
		}
	}
	bad("queue", l.Limits.Queue, MaxQueueLimit)
	bad("batch", l.Limits.Batch, MaxBatchTickets)
	bad("events", l.Limits.Events, MaxMutexEvents)
	if l.Limits == (MutexLimits{}) {
		problems = append(problems, errors.New("limits: give queue, batch or events"))
	}
	return errors.Join(problems...)
}
