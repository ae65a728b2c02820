package activities

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/hyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// nodepoolsAgain is the delay before a cluster's node pools are looked for again.
const nodepoolsAgain = 30 * time.Second

// StatusAPI is what a status report needs of the HyperFleet API.
type StatusAPI interface {
	Report(ctx context.Context, target contract.HyperFleetReport, body hyperfleet.Body) (hyperfleet.Answer, error)
	Resource(ctx context.Context, target contract.HyperFleetReport) (hyperfleet.ResourceHead, error)
	Nodepools(ctx context.Context, cluster string) ([]string, error)
}

// StatusReporter tells the HyperFleet API how an operation stands.
type StatusReporter struct {
	// API is nil in a worker that has none.
	API StatusAPI
	Now func() time.Time
}

// reportMemory is what an attempt leaves to the next one.
type reportMemory struct {
	// Tried is the latest time that a report carried or that the API was seen to have.
	Tried time.Time `json:"tried"`
}

// ReportStatus puts an adapter status. Each attempt replaces the status as a whole, with a time later than that of every
// attempt before, so that running it twice is harmless and a late attempt loses.
//
// A resource that is not being deleted is not reported as finalized. A cluster is not, either, while it has node pools: the API would call it reconciled and keep it for
// ever. The report then says so and is tried again until they are gone.
func (r *StatusReporter) ReportStatus(ctx context.Context, params contract.ReportStatusParams) (contract.ReportStatusResult, error) {
	if r.API == nil {
		return contract.ReportStatusResult{}, application(contract.Errorf(contract.ErrReportFailed,
			"report %s: this worker has no HyperFleet API (hyperfleet-url)", params.Target.Resource()))
	}
	var memory reportMemory
	if activity.HasHeartbeatDetails(ctx) {
		// Details that cannot be read cost an attempt at most: the API drops a time that is too early.
		_ = activity.GetHeartbeatDetails(ctx, &memory)
	}
	delivery := &delivery{reporter: r, params: params, tried: later(params.Last, memory.Tried)}
	delivery.remember = func() { activity.RecordHeartbeat(ctx, reportMemory{Tried: delivery.tried}) }
	result, err := delivery.run(ctx)
	return result, application(err)
}

// delivery is one attempt.
type delivery struct {
	reporter *StatusReporter
	params   contract.ReportStatusParams
	// kept: the resource is not being deleted, so that nothing can be finalized.
	kept     bool
	tried    time.Time
	remember func()
}

func (d *delivery) run(ctx context.Context) (contract.ReportStatusResult, error) {
	nodepools, err := d.nodepools(ctx)
	if errors.Is(err, hyperfleet.ErrGone) {
		return contract.ReportStatusResult{Outcome: contract.ReportGone, Time: d.params.Last}, nil
	}
	if err != nil {
		return contract.ReportStatusResult{}, err
	}
	result, err := d.put(ctx, nodepools)
	if err != nil || len(nodepools) == 0 || result.Outcome != contract.ReportStored {
		return result, err
	}
	waiting := contract.Errorf(contract.ErrNodePoolsExist, "%s is not finalized yet, node pools still exist: %s",
		d.params.Target.Resource(), strings.Join(nodepools, ", "))
	waiting.Delay = nodepoolsAgain
	return contract.ReportStatusResult{}, waiting
}

// shownNodepools of a cluster are named.
const shownNodepools = 10

// nodepools that keep a cluster from being reported as finalized.
func (d *delivery) nodepools(ctx context.Context) ([]string, error) {
	if !d.params.Finalizing || !hyperfleet.Confirmed(d.params.Result) {
		return nil, nil
	}
	head, err := d.reporter.API.Resource(ctx, d.params.Target)
	d.kept = err == nil && head.DeletedTime == nil
	if err != nil || head.Kind != "Cluster" || d.kept {
		return nil, err
	}
	names, err := d.reporter.API.Nodepools(ctx, head.ID)
	if len(names) > shownNodepools {
		names = append(names[:shownNodepools:shownNodepools], "…")
	}
	return names, err
}

func (d *delivery) put(ctx context.Context, nodepools []string) (contract.ReportStatusResult, error) {
	at := later(hyperfleet.Truncate(d.reporter.Now()), hyperfleet.Truncate(d.tried).Add(time.Microsecond))
	d.tried = at
	d.remember()
	body := hyperfleet.StatusBody(hyperfleet.Status{
		Adapter: d.params.Target.Adapter, Result: d.params.Result, Finalizing: d.params.Finalizing, Kept: d.kept, Nodepools: nodepools, Time: at,
	})
	answer, err := d.reporter.API.Report(ctx, d.params.Target, body)
	if answer.Last.After(d.tried) {
		d.tried = answer.Last
		d.remember()
	}
	if err != nil {
		return contract.ReportStatusResult{}, err
	}
	return contract.ReportStatusResult{Outcome: answer.Outcome, Time: at, Generation: answer.Generation}, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
