// Package wiring constructs a worker: the Maestro client, the activities, the workflow, and the Temporal worker that
// serves them. It is the only place where they meet; the binary and the tests use it alike.
package wiring

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/activities"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/hyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/clustermutex"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/operation"
)

// Config of a worker.
type Config struct {
	// TaskQueue defaults to [contract.DefaultTaskQueue].
	TaskQueue string
	// Namespace of the Temporal client, for the registration of search attributes.
	Namespace string
	Maestro   maestro.Config
	// ResultsDir is where Report writes results files; empty = nowhere.
	ResultsDir string
	// HyperFleet is where ReportStatus reports to; without a URL such reports are refused.
	HyperFleet hyperfleet.Config
	// Activities that run at once, default 200. Most of them wait for one of the request slots to Maestro.
	Activities int
	// StopTimeout is how long activities may go on after a stop was asked for, default 30 s.
	StopTimeout time.Duration
}

const (
	defaultActivities  = 200
	defaultStopTimeout = 30 * time.Second
	heartbeatThrottle  = 2 * time.Second
)

// Worker serves operations until it is stopped.
type Worker struct {
	temporal worker.Worker
	maestro  *maestro.Client
	reports  *hyperfleet.Client // nil without a HyperFleet API
	// fatal carries the error that ended the worker by itself.
	fatal chan error
}

// New makes a worker on a connection that the caller keeps and closes. The search attributes of operations are
// registered when they are missing; where that is not allowed and they are missing it is an error, because a workflow
// that writes an unknown search attribute never gets on.
func New(ctx context.Context, temporal client.Client, config Config) (*Worker, error) {
	if config.TaskQueue == "" {
		config.TaskQueue = contract.DefaultTaskQueue
	}
	if config.Activities == 0 {
		config.Activities = defaultActivities
	}
	if config.StopTimeout == 0 {
		config.StopTimeout = defaultStopTimeout
	}
	if err := ensureSearchAttributes(ctx, temporal.OperatorService(), config.Namespace); err != nil {
		return nil, err
	}
	reports, err := reportsTo(config.HyperFleet)
	if err != nil {
		return nil, err
	}
	server, err := maestro.New(config.Maestro)
	if err != nil {
		return nil, err
	}
	fatal := make(chan error, 1)
	w := worker.New(temporal, config.TaskQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: config.Activities,
		WorkerStopTimeout:                  config.StopTimeout,
		// The default of four fifths of the heartbeat timeout leaves a busy worker too little.
		MaxHeartbeatThrottleInterval: heartbeatThrottle,
		OnFatalError: func(err error) {
			select {
			case fatal <- err:
			default:
			}
		},
	})
	register(w, parts{
		server: server, reports: reports, resultsDir: config.ResultsDir,
		tickets: &activities.Tickets{Temporal: temporal, Converter: converter.GetDefaultDataConverter(), TaskQueue: config.TaskQueue},
	})
	return &Worker{temporal: w, maestro: server, reports: reports, fatal: fatal}, nil
}

// reportsTo is nil without an address.
func reportsTo(config hyperfleet.Config) (*hyperfleet.Client, error) {
	if config.URL == "" {
		return nil, nil
	}
	return hyperfleet.New(config)
}

// Start begins to poll and returns.
func (w *Worker) Start() error {
	if err := w.temporal.Start(); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	return nil
}

// Fatal gives the error with which the worker has stopped by itself, for instance because its namespace is gone.
func (w *Worker) Fatal() <-chan error { return w.fatal }

// Stop waits for the activities under way, up to the stop timeout, and closes the connections to the servers.
func (w *Worker) Stop() error {
	w.temporal.Stop()
	if w.reports != nil {
		w.reports.Close()
	}
	return w.maestro.Close()
}

// parts of a worker.
type parts struct {
	server     *maestro.Client
	reports    *hyperfleet.Client // nil without a HyperFleet API
	tickets    *activities.Tickets
	resultsDir string
}

func register(registry worker.Registry, p parts) {
	registry.RegisterWorkflowWithOptions(operation.ManifestWorkOperation, workflow.RegisterOptions{Name: contract.WorkflowOperation})
	registry.RegisterWorkflowWithOptions(clustermutex.ClusterMutex, workflow.RegisterOptions{Name: contract.WorkflowClusterMutex})
	committer := &activities.Committer{Reader: p.server, Writer: p.server, Requests: p.tickets}
	observer := &activities.Observer{Reader: p.server, Writer: p.server, Now: time.Now}
	reporter := &activities.Reporter{Dir: p.resultsDir}
	statuses := &activities.StatusReporter{Now: time.Now}
	if p.reports != nil {
		statuses.API = p.reports
	}
	for _, one := range []struct {
		name string
		does any
	}{
		{contract.ActivityBuild, activities.Build},
		{contract.ActivityCommit, committer.Commit},
		{contract.ActivityOrphan, committer.Orphan},
		{contract.ActivityUnorphan, committer.Unorphan},
		{contract.ActivityDeleteOrphaned, committer.DeleteOrphaned},
		{contract.ActivityRecreate, committer.Recreate},
		{contract.ActivityObserve, observer.Observe},
		{contract.ActivityReport, reporter.Report},
		{contract.ActivityReportStatus, statuses.ReportStatus},
		{contract.ActivitySubmitTicket, p.tickets.SubmitTicket},
		{contract.ActivityCommitBatch, committer.CommitBatch},
		{contract.ActivityOrphanBatch, committer.OrphanBatch},
		{contract.ActivityDeliver, p.tickets.Deliver},
		{contract.ActivityDescribeHolder, p.tickets.DescribeHolder},
	} {
		registry.RegisterActivityWithOptions(one.does, activity.RegisterOptions{Name: one.name})
	}
}
