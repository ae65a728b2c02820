package contract

import "time"

// Limits of the product. docs/limits.md lists them; a test compares the two.
const (
	// MaxManifestsBytes is the sum of a work's manifests that Maestro's client and every agent accept.
	MaxManifestsBytes = 500 * 1024
	// MaxWorkBytes bounds a whole ManifestWork as JSON, so that a request stays below Temporal's payload limit of 2 MiB.
	MaxWorkBytes = 1024 * 1024
	// MaxNesting is how deep the values of a manifest may lie in each other. Go's decoder of JSON, which Maestro uses,
	// gives up at 10000 levels of a whole message; the rest is for what manifests travel in.
	MaxNesting = 9900
	// AskAgainFirst and AskAgainMax are the pauses before a deletion is asked for again, which double. A server that is
	// asked more often than once a minute queues the same event over and over.
	AskAgainFirst = 65 * time.Second
	AskAgainMax   = 30 * time.Minute
	// MaxTombstones is how many absent manifests a work remembers, the newest ones, so that a late add does not bring
	// them back.
	MaxTombstones = 64
	// MaxTemplateBytes bounds a nodepool template.
	MaxTemplateBytes = 64 * 1024
	// MaxRenderedBytes bounds what the objects of a nodepool config are together.
	MaxRenderedBytes = 1024 * 1024
	// MaxAdapterBytes bounds the adapter name of a report to HyperFleet; the API answers 500 to a longer one.
	MaxAdapterBytes = 255
	// MaxConditionBytes bounds a wait condition, which stands in IDs, messages and histories.
	MaxConditionBytes = 4096
	// DefaultTimeout of a whole operation.
	DefaultTimeout = 5 * time.Minute
	// DefaultPatience with a Maestro that does not answer while writing.
	DefaultPatience = 10 * time.Minute
	// DefaultGrace before an Applied=False that cannot heal fails a wait.
	DefaultGrace = 30 * time.Second
	// MaxInFlight is the number of requests that one process keeps in flight to one Maestro server, which deadlocks
	// its own database pool above about 50.
	MaxInFlight = 32
	// CallTimeout bounds each single request to Maestro.
	CallTimeout = 10 * time.Second
	// MaxTicketBytes is what a ticket of the mutex carries itself; a larger write is read from its operation's input.
	MaxTicketBytes = 8 * 1024
	// DefaultQueue and MaxQueueLimit are how many tickets may wait for one mutex.
	DefaultQueue  = 200
	MaxQueueLimit = 1000
	// MaxQueueBytes bounds the tickets that wait for one mutex, which are a part of what a run hands to the next one.
	MaxQueueBytes = 1024 * 1024
	// MaxBatchTickets are committed in one write.
	MaxBatchTickets = 50
	// DefaultMutexEvents is the length of a mutex's history at which its next run begins; MaxMutexEvents what it may be
	// set to. Temporal itself ends a workflow at 51,200.
	DefaultMutexEvents = 1500
	MaxMutexEvents     = 20_000
	// MaxOutcomes and MaxCancelled are how many tickets that have ended, or were cancelled before they came, a mutex
	// remembers.
	MaxOutcomes  = 256
	MaxCancelled = 128
	// MutexIdleFor is how long a mutex with nothing to do stays.
	MutexIdleFor = 10 * time.Minute
	// DefaultLease of a hold, and MaxLease in all.
	DefaultLease = 5 * time.Minute
	MaxLease     = time.Hour
	// OneLookTimeout is what a request with the timeout 0 has for its write.
	OneLookTimeout = 30 * time.Second
	// PollFirst and PollMax bound the delay between two looks at a work that is waited for; it doubles up to PollSoon
	// and grows with the time waited from there.
	PollFirst = 250 * time.Millisecond
	PollSoon  = time.Second
	PollMax   = 30 * time.Second
)
