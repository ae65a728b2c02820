package contract

import (
	"encoding/json"
	"time"
)

// BuildParams asks for the checked form of a request.
type BuildParams struct {
	Request Request `json:"request"`
}

// BuildResult is a request that passed every check that needs no server.
type BuildResult struct {
	Name       string   `json:"name"`
	Generation int64    `json:"generation,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`
	// Manifests are the identities, in the order of the work, for people.
	Manifests []string `json:"manifests,omitempty"`
}

// CommitParams asks for one write: what Request.Action says, decided on the stored work.
type CommitParams struct {
	Action     Action          `json:"action"`
	Consumer   string          `json:"consumer"`
	Name       string          `json:"name"`
	Source     string          `json:"source"`
	Work       json.RawMessage `json:"work,omitempty"`
	Generation int64           `json:"generation,omitempty"`
	Force      bool            `json:"force,omitempty"`
	// What a merge or a removal writes; see [Request].
	Manifests        []json.RawMessage `json:"manifests,omitempty"`
	Nodepools        json.RawMessage   `json:"nodepools,omitempty"`
	NodepoolTemplate string            `json:"nodepoolTemplate,omitempty"`
	Strategy         Strategy          `json:"strategy,omitempty"`
	// Owner is the adapter that a merge writes for, or that a deletion names; "" when it is not known. With Claim a work that it makes is its own.
	Owner  string   `json:"owner,omitempty"`
	Claim  bool     `json:"claim,omitempty"`
	Remove []string `json:"remove,omitempty"`
	// Wait is the condition of a merge, checked against the merged work before it is written.
	Wait string `json:"wait,omitempty"`
}

// Commit asks for the write of a request whose work and generation are known.
func (r Request) Commit(name string, generation int64) CommitParams {
	params := CommitParams{
		Action: r.EffectiveAction(), Source: r.Source, Consumer: r.Consumer, Name: name,
		Work: r.Work, Generation: generation, Force: r.Force,
	}
	if r.EffectiveAction() == ActionDelete {
		params.Owner = r.Adapter
	}
	if r.partial() {
		params.Manifests, params.Nodepools, params.NodepoolTemplate = r.Manifests, r.Nodepools, r.NodepoolTemplate
		params.Strategy, params.Owner, params.Remove, params.Wait = r.EffectiveStrategy(), r.Owner(), r.Remove, r.Wait
		params.Claim = r.named() && r.Granularity != GranularityCluster
	}
	return params
}

// CommitOutcome is what a commit found to do.
type CommitOutcome string

// Outcomes of a commit.
const (
	CommitCreated   CommitOutcome = "Created"
	CommitUpdated   CommitOutcome = "Updated"
	CommitUnchanged CommitOutcome = "Unchanged"
	CommitDeleting  CommitOutcome = "Deleting"
	// CommitAbsent: there was nothing to delete.
	CommitAbsent CommitOutcome = "Absent"
	// CommitRecreated: the work was deleted without its objects and created with other manifests.
	CommitRecreated CommitOutcome = "Recreated"
	// CommitForeign: somebody else has written a work of this name meanwhile.
	CommitForeign CommitOutcome = "Foreign"
)

// CommitResult says what is stored now.
type CommitResult struct {
	Outcome CommitOutcome `json:"outcome"`
	// Version of the stored work; 0 when absent.
	Version int64 `json:"version,omitempty"`
	// Attempt that succeeded, from 1.
	Attempt  int      `json:"attempt"`
	Warnings []string `json:"warnings,omitempty"`
}

// OrphanOutcome is what preparing a work for a deletion without its objects found.
type OrphanOutcome string

// Outcomes of Orphan.
const (
	// OrphanReady: the stored work keeps its objects when it is deleted.
	OrphanReady OrphanOutcome = "Ready"
	// OrphanAbsent: there is no such work.
	OrphanAbsent OrphanOutcome = "Absent"
	// OrphanDeleting: it is being deleted already.
	OrphanDeleting OrphanOutcome = "Deleting"
	// OrphanNeedless: the write changes no set of manifests (any more), commit it.
	OrphanNeedless OrphanOutcome = "Needless"
)

// OrphanResult is a work that is ready to be deleted without its objects.
type OrphanResult struct {
	Outcome OrphanOutcome `json:"outcome"`
	// Version that the agent must have received before the deletion.
	Version int64 `json:"version,omitempty"`
	// Work is what has to be created afterwards, Old what was stored; empty for a mere deletion.
	Work     json.RawMessage `json:"work,omitempty"`
	Old      json.RawMessage `json:"old,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
}

// OrphanedParams name a work that was prepared, for DeleteOrphaned, Unorphan and Recreate.
type OrphanedParams struct {
	Source   string `json:"source"`
	Consumer string `json:"consumer"`
	Name     string `json:"name"`
	// Version that was prepared; another one is not deleted.
	Version int64           `json:"version,omitempty"`
	Work    json.RawMessage `json:"work,omitempty"`
	Old     json.RawMessage `json:"old,omitempty"`
	// Fence of the mutex that creates the work; 0 when none does.
	Fence int64 `json:"fence,omitempty"`
}

// RecreateResult says what stands in place of the deleted work.
type RecreateResult struct {
	CommitResult
	// Failure is why the old work was created again and not the new one; "" when the new one stands.
	Failure ErrorType `json:"failure,omitempty"`
	Message string    `json:"message,omitempty"`
}

// ObserveParams asks for the answer to one wait.
type ObserveParams struct {
	Source   string `json:"source"`
	Consumer string `json:"consumer"`
	Name     string `json:"name"`
	// Version that was written; 0 means the one that is stored at each look.
	Version    int64  `json:"version,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	Wait       string `json:"wait"`
	// FailOn ends the wait when it holds; see [Request].
	FailOn string `json:"failOn,omitempty"`
	// Deleted: wait for the bundle's 404 instead of a condition.
	Deleted bool `json:"deleted,omitempty"`
	// Removed: wait until the cluster has applied Version and reports none of these manifests, instead of a condition.
	Removed []string `json:"removed,omitempty"`
	// Ask: the deletion is the operation's own, and is asked for again from time to time while the cluster does not
	// confirm it: agents have lost one.
	Ask bool `json:"ask,omitempty"`
	// Received: wait until the agent has reported for Version, whatever it says.
	Received bool `json:"received,omitempty"`
	// MustExist: a 404 is the end, not a work that is still to come.
	MustExist bool          `json:"mustExist,omitempty"`
	Grace     time.Duration `json:"grace"`
	// Until is the absolute deadline; the last look happens at it.
	Until time.Time `json:"until"`
}

// ObserveOutcome ends a wait.
type ObserveOutcome string

// Outcomes of a wait.
const (
	ObserveMet      ObserveOutcome = "Met"
	ObserveFailed   ObserveOutcome = "Failed"
	ObserveTimedOut ObserveOutcome = "TimedOut"
	ObserveGone     ObserveOutcome = "Gone"
)

// ObserveResult is the answer to a wait, with what was last seen.
type ObserveResult struct {
	Outcome ObserveOutcome `json:"outcome"`
	// Failure is the error type for every outcome that is not a success.
	Failure ErrorType `json:"failure,omitempty"`
	Message string    `json:"message"`
	// Status is the one word for what the cluster last reported.
	Status          Status           `json:"status"`
	Version         int64            `json:"version,omitempty"`
	ObservedVersion int64            `json:"observedVersion,omitempty"`
	Conditions      []Condition      `json:"conditions,omitempty"`
	Resources       []ResourceStatus `json:"resources,omitempty"`
}

// ReportParams asks for the delivery of an outcome.
type ReportParams struct {
	Report Report       `json:"report"`
	Result StatusResult `json:"result"`
}

// ReportResult says what was delivered.
type ReportResult struct {
	// File that was written, relative to the worker's results directory.
	File string `json:"file,omitempty"`
}
