package contract

import (
	"encoding/json"
	"time"
)

// Status is the one-word outcome of an operation, or where it stands.
type Status string

// Statuses.
const (
	// StatusInProgress: running, or published without a wait: nothing is known about the cluster yet.
	StatusInProgress  Status = "InProgress"
	StatusApplied     Status = "Applied"
	StatusAvailable   Status = "Available"
	StatusProgressing Status = "Progressing"
	StatusDegraded    Status = "Degraded"
	StatusFailed      Status = "Failed"
	StatusTimedOut    Status = "TimedOut"
	StatusCancelled   Status = "Cancelled"
	StatusSuperseded  Status = "Superseded"
	StatusDeleted     Status = "Deleted"
	StatusNotFound    Status = "NotFound"
)

// Reasons of a success. The reason of a failure is its [ErrorType].
const (
	ReasonConditionMet      = "ConditionMet"
	ReasonPublished         = "Published"
	ReasonUnchanged         = "Unchanged"
	ReasonDeleted           = "Deleted"
	ReasonDeletionRequested = "DeletionRequested"
	// ReasonWaitSkipped: an operator ended the wait; what was written is stored, and nothing is known about the cluster.
	ReasonWaitSkipped = "WaitSkipped"
	ReasonRunning     = "Running"
)

// StatusResult is what an operation says about itself, while it runs (query) and when it ends (result, failure details,
// results file).
type StatusResult struct {
	ManifestWorkName string `json:"manifestWorkName"`
	Consumer         string `json:"consumer"`
	Status           Status `json:"status"`
	// Reason is PascalCase, never empty, from the closed sets of reasons and error types.
	Reason string `json:"reason"`
	// Message carries the cause from the resource level: which manifest, and what the cluster said.
	Message string `json:"message"`
	// Timestamp of the last change of this result.
	Timestamp time.Time        `json:"timestamp"`
	Resources []ResourceStatus `json:"resources"`
	// Generation is HyperFleet's, 0 when there is none.
	Generation int64 `json:"generation,omitempty"`
	// Version is Maestro's version of the work that was written (or found unchanged).
	Version int64 `json:"version,omitempty"`
	// ObservedVersion is the version that the cluster's last status belongs to.
	ObservedVersion int64 `json:"observedVersion,omitempty"`
	// Conditions of the work as last seen.
	Conditions []Condition `json:"conditions,omitempty"`
	WorkflowID string      `json:"workflowID,omitempty"`
	RunID      string      `json:"runID,omitempty"`
	// Attempts that the writing step took.
	Attempts   int        `json:"attempts,omitempty"`
	StartedAt  *time.Time `json:"startedAt,omitempty"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
	// Warnings of the build step, one line each.
	Warnings []string `json:"warnings,omitempty"`
	// RequestDigest tells a caller whether this is the outcome of its own request.
	RequestDigest string `json:"requestDigest,omitempty"`
}

// ResourceStatus is what the cluster said about one manifest.
type ResourceStatus struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Applied and Available are true only when the condition is True for the version that was asked for.
	Applied    bool        `json:"applied"`
	Available  bool        `json:"available"`
	Conditions []Condition `json:"conditions"`
	// Feedback values by name, in the type that the cluster reported.
	Feedback map[string]json.RawMessage `json:"feedback,omitempty"`
}

// Condition is a Kubernetes condition.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// ObservedGeneration is Maestro's version of the work that the condition was computed for; 0 when not given.
	ObservedGeneration int64      `json:"observedGeneration,omitempty"`
	LastTransitionTime *time.Time `json:"lastTransitionTime,omitempty"`
}

// Succeeded reports whether the result is that of an operation that did what it was asked to.
func (r StatusResult) Succeeded() bool {
	switch r.Reason {
	case ReasonConditionMet, ReasonPublished, ReasonUnchanged, ReasonDeleted, ReasonDeletionRequested, ReasonWaitSkipped:
		return true
	default:
		return false
	}
}
