package contract

import (
	"fmt"
	"math"
	"time"
)

// Report names the receivers of an operation's outcome. Two of them are compared with [Report.Equal].
type Report struct {
	// ResultsFile is a file name relative to the worker's results directory.
	ResultsFile string `json:"resultsFile,omitempty"`
	// HyperFleet is the resource whose adapter status says how the operation stands.
	HyperFleet *HyperFleetReport `json:"hyperfleet,omitempty"`
}

// HyperFleetReport names one adapter status in the HyperFleet API: the resource by Href or by Kind and ID, and the
// adapter. Two processes that use the same adapter name for a resource overwrite each other.
type HyperFleetReport struct {
	// Kind of the resource, like Cluster or NodePool.
	Kind string `json:"kind,omitempty"`
	ID   string `json:"id,omitempty"`
	// Href is the resource's own, like /api/hyperfleet/v1/clusters/<id>. It comes before Kind and ID.
	Href string `json:"href,omitempty"`
	// Adapter is the name that the API knows the reporter by, at most [MaxAdapterBytes].
	Adapter string `json:"adapter"`
}

// Equal compares by value.
func (r Report) Equal(other Report) bool {
	if r.ResultsFile != other.ResultsFile || (r.HyperFleet == nil) != (other.HyperFleet == nil) {
		return false
	}
	return r.HyperFleet == nil || *r.HyperFleet == *other.HyperFleet
}

// Resource names the target for people.
func (r HyperFleetReport) Resource() string {
	if r.Href != "" {
		return r.Href
	}
	return r.Kind + " " + r.ID
}

// checkReport finds what is wrong with the receivers. The generation is required, because every status of the
// HyperFleet API belongs to one.
func (r Request) checkReport() []error {
	if r.Report == nil || r.Report.HyperFleet == nil {
		return nil
	}
	var problems []error
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("report.hyperfleet."+format, args...))
	}
	target := r.Report.HyperFleet
	switch {
	case target.Adapter == "":
		bad("adapter: required")
	case len(target.Adapter) > MaxAdapterBytes:
		bad("adapter: %d bytes, the limit is %d", len(target.Adapter), MaxAdapterBytes)
	}
	if target.Href == "" && (target.Kind == "" || target.ID == "") {
		bad("href: give it, or kind and id")
	}
	generation, err := r.EffectiveGeneration()
	if err == nil && (generation <= 0 || generation > math.MaxInt32) {
		problems = append(problems, fmt.Errorf("generation %d: a report to HyperFleet needs the resource's, from 1 to %d", generation, math.MaxInt32))
	}
	return problems
}

// ReportStatusParams asks for the delivery of one status to the HyperFleet API.
type ReportStatusParams struct {
	Target HyperFleetReport `json:"target"`
	Result StatusResult     `json:"result"`
	// Finalizing: the operation deletes, so the status says whether the clean-up is finished.
	Finalizing bool `json:"finalizing,omitempty"`
	// Last is the time of the target's last known report; the next one's is later.
	Last time.Time `json:"last"`
}

// ReportStatusOutcome ends the delivery of a status.
type ReportStatusOutcome string

// Outcomes of a status report.
const (
	ReportStored ReportStatusOutcome = "Stored"
	// ReportGone: the resource does not exist any more, nobody can be told.
	ReportGone ReportStatusOutcome = "Gone"
	// ReportSuperseded: the resource is at a newer generation, which takes no report of this one.
	ReportSuperseded ReportStatusOutcome = "Superseded"
)

// ReportStatusResult says what became of a status.
type ReportStatusResult struct {
	Outcome ReportStatusOutcome `json:"outcome"`
	// Time that the report carried.
	Time time.Time `json:"time"`
	// Generation that is stored; the resource's when it is newer.
	Generation int64 `json:"generation,omitempty"`
}
