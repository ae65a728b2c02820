package contract

import "go.temporal.io/sdk/temporal"

// Registered workflow type and task queue.
const (
	// WorkflowOperation is one ManifestWork operation: build, apply, wait, report. Input [Request], result [StatusResult].
	WorkflowOperation = "ManifestWorkOperation"
	// DefaultTaskQueue is where workers poll unless they are configured otherwise.
	DefaultTaskQueue = "maestro-workflows"
)

// Registered activity types.
const (
	ActivityBuild   = "Build"
	ActivityCommit  = "Commit"
	ActivityObserve = "Observe"
	ActivityReport  = "Report"
	// The steps of a deletion that leaves the objects on the cluster, and of a recreation.
	ActivityOrphan         = "Orphan"
	ActivityUnorphan       = "Unorphan"
	ActivityDeleteOrphaned = "DeleteOrphaned"
	ActivityRecreate       = "Recreate"
	// ActivityReportStatus tells the HyperFleet API how an operation stands.
	ActivityReportStatus = "ReportStatus"
)

// Messages that an operation understands.
const (
	// UpdateSubmit offers a [Request] to a running operation and answers with [Submitted].
	UpdateSubmit = "submit"
	// QueryStatus answers with the [StatusResult] so far.
	QueryStatus = "status"
)

// Search attributes, written by the operation and registered by the worker when it starts.
var (
	SearchConsumer   = temporal.NewSearchAttributeKeyKeyword("MaestroConsumer")
	SearchWork       = temporal.NewSearchAttributeKeyKeyword("MaestroWork")
	SearchPhase      = temporal.NewSearchAttributeKeyKeyword("MaestroPhase")
	SearchGeneration = temporal.NewSearchAttributeKeyInt64("MaestroGeneration")
	// Of a mutex: [MutexPhase], and how many tickets wait, as 0, 1, 5, 20 or 100 or more.
	SearchMutexState = temporal.NewSearchAttributeKeyKeyword("MaestroMutexState")
	SearchQueueDepth = temporal.NewSearchAttributeKeyInt64("MaestroQueueDepth")
)

// Annotations that the product writes on a ManifestWork.
const (
	// AnnotationGeneration is the HyperFleet generation that a work (or a manifest) was written for: a positive
	// decimal integer. An older generation never replaces a newer one.
	AnnotationGeneration = "hyperfleet.io/generation"
	// AnnotationExecutor keeps spec.executor as JSON, because Maestro's HTTP API does not give it back and a work that
	// is written without it would run with the agent's own rights.
	AnnotationExecutor = "hyperfleet.io/executor"
	// AnnotationDeleteOption keeps spec.deleteOption as JSON, null for none, of a work that is about to be deleted without
	// its objects, until it is deleted or restored.
	AnnotationDeleteOption = "hyperfleet.io/delete-option"
	// AnnotationFence is the fence of the mutex that wrote a shared work last. A mutex with a lower one is not the present
	// one any more, and writes nothing.
	AnnotationFence = "hyperfleet.io/fence"
	// AnnotationRemoved keeps the generations of manifests that do not carry them, because they were removed from the
	// work or written without one, as a JSON list [{manifest, generation}] of at most [MaxTombstones] entries.
	AnnotationRemoved = "hyperfleet.io/removed"
)

// LabelOwner names the adapter that owns a work. A work with another owner's label is not overwritten unless forced.
const LabelOwner = "hyperfleet.io/adapter"

// Phase is where an operation stands; the value of the search attribute MaestroPhase.
type Phase string

// Phases in their order; the last six end an operation.
const (
	PhaseBuilding Phase = "Building"
	// PhaseQueued: the write waits behind the mutex of its consumer.
	PhaseQueued     Phase = "Queued"
	PhaseApplying   Phase = "Applying"
	PhaseWaiting    Phase = "Waiting"
	PhaseReporting  Phase = "Reporting"
	PhaseSucceeded  Phase = "Succeeded"
	PhaseFailed     Phase = "Failed"
	PhaseTimedOut   Phase = "TimedOut"
	PhaseCancelled  Phase = "Cancelled"
	PhaseSuperseded Phase = "Superseded"
	PhaseDeleted    Phase = "Deleted"
)
