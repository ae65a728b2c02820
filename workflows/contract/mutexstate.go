package contract

import "time"

// MutexPhase is what a mutex is doing; the value of the search attribute MaestroMutexState.
type MutexPhase string

// Phases of a mutex.
const (
	MutexIdle       MutexPhase = "Idle"
	MutexCommitting MutexPhase = "Committing"
	MutexHeld       MutexPhase = "Held"
	MutexPaused     MutexPhase = "Paused"
	// MutexBlocked: Maestro takes none of the writes that wait.
	MutexBlocked MutexPhase = "Blocked"
)

// MutexLimits of one mutex; zero means the default.
type MutexLimits struct {
	// Queue is how many tickets may wait.
	Queue int `json:"queue,omitempty"`
	// Batch is how many are committed at once.
	Batch int `json:"batch,omitempty"`
	// Events of a run's history after which the next run begins.
	Events int `json:"events,omitempty"`
}

// MutexState is what a run of the mutex hands to the next one, and what its query answers with. It is JSON of at most 2
// MiB, and V its version.
type MutexState struct {
	V        int    `json:"v"`
	Source   string `json:"source"`
	Consumer string `json:"consumer"`
	// Fence of the latest commit or grant. It only grows, also when the mutex has lost its state.
	Fence int64 `json:"fence"`
	// Queue in its order; what is being committed is not in it.
	Queue []Ticket `json:"queue,omitempty"`
	// Head is the batch under way.
	Head *MutexHead `json:"head,omitempty"`
	Hold *MutexHold `json:"hold,omitempty"`
	// Works that Maestro does not take writes to, by name.
	Works map[string]MutexWork `json:"works,omitempty"`
	// Outcomes of the latest tickets, the newest last.
	Outcomes []TicketEvent `json:"outcomes,omitempty"`
	// Tombstones are tickets that were cancelled before they came.
	Tombstones []string `json:"tombstones,omitempty"`
	// Outbox is what requesters have not been told yet.
	Outbox []TicketEvent `json:"outbox,omitempty"`
	// Paused: nothing begins.
	Paused *Intervention `json:"paused,omitempty"`
	// Draining: the mutex was cancelled. It ends what it began and sends the others away.
	Draining bool `json:"draining,omitempty"`
	// Rolling: the next run is about to begin, which begins what comes next.
	Rolling bool        `json:"rolling,omitempty"`
	Limits  MutexLimits `json:"limits,omitzero"`
	// Interventions of operators, the newest last.
	Interventions []Intervention `json:"interventions,omitempty"`
	Stats         MutexStats     `json:"stats"`
	// BusyAt is when the mutex last had something to do.
	BusyAt time.Time `json:"busyAt,omitzero"`
}

// MutexHead is the batch that is being committed.
type MutexHead struct {
	Work    string    `json:"work"`
	Tickets []Ticket  `json:"tickets"`
	Fence   int64     `json:"fence"`
	Since   time.Time `json:"since"`
	// Recreating: the work is being recreated for the batch.
	Recreating bool `json:"recreating,omitempty"`
}

// MutexHold is the hold that is granted.
type MutexHold struct {
	Ticket     Ticket    `json:"ticket"`
	Fence      int64     `json:"fence"`
	GrantedAt  time.Time `json:"grantedAt"`
	LeaseUntil time.Time `json:"leaseUntil"`
	// Asking: the lease has ended and the holder is being looked for.
	Asking bool `json:"asking,omitempty"`
	// Extended: the holder was found alive once.
	Extended bool `json:"extended,omitempty"`
}

// MutexWork is a work that Maestro did not take a write to.
type MutexWork struct {
	Failures int `json:"failures,omitempty"`
	// NotBefore is the next attempt.
	NotBefore time.Time `json:"notBefore,omitzero"`
	Type      ErrorType `json:"type,omitempty"`
	Message   string    `json:"message,omitempty"`
	// Batch is how many tickets are tried at once after Maestro refused a batch as a whole; 0 means no limit.
	Batch int `json:"batch,omitempty"`
}

// MutexStats count over all runs of a mutex that handed on their state.
type MutexStats struct {
	Submitted  int64 `json:"submitted,omitempty"`
	Committed  int64 `json:"committed,omitempty"`
	Rejected   int64 `json:"rejected,omitempty"`
	Superseded int64 `json:"superseded,omitempty"`
	Cancelled  int64 `json:"cancelled,omitempty"`
	// Batches that were committed, LargestBatch the most tickets of one.
	Batches      int64 `json:"batches,omitempty"`
	LargestBatch int   `json:"largestBatch,omitempty"`
	// Conflicts with writers outside the mutex.
	Conflicts int64 `json:"conflicts,omitempty"`
	// Holds that were granted, and those that were revoked.
	Holds   int64 `json:"holds,omitempty"`
	Revoked int64 `json:"revoked,omitempty"`
	// Ignored messages: of a wrong fence, malformed, or late.
	Ignored int64 `json:"ignored,omitempty"`
	// Abandoned tickets: their requester had ended when it was to be told.
	Abandoned int64 `json:"abandoned,omitempty"`
	// Runs that handed on their state.
	Runs int64 `json:"runs,omitempty"`
}

// MutexStatus answers the query status: who holds, who waits, and why.
type MutexStatus struct {
	Phase MutexPhase `json:"phase"`
	// Message is one sentence for people.
	Message string `json:"message"`
	MutexState
}

// TicketStanding answers the query ticket.
type TicketStanding struct {
	TicketID string `json:"ticketID,omitempty"`
	// Standing is Queued, Committing, Held or the outcome; Unknown for a ticket that the mutex never saw or has forgotten.
	Standing string `json:"standing"`
	// Ahead is how many tickets are before it.
	Ahead int `json:"ahead,omitempty"`
	// Message says what it waits for.
	Message string       `json:"message,omitempty"`
	Event   *TicketEvent `json:"event,omitempty"`
}
