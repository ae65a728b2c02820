//go:build integration

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// The peers of the mutex: the classic mutex of workflows that signal each other, and compare-and-swap with retries alone.
// Both are written as their users write them, with the product's Maestro client.

const (
	classicRequest = "request-lock"
	classicAcquire = "acquire-lock"
	// classicUnlock is how long the classic mutex waits for a holder that does not release.
	classicUnlock = 10 * time.Minute
)

// classic is the signal mutex: acquire, fetch, merge, apply, release.
type classic struct{ consumer string }

// Lock is the mutex workflow. It serves one requester after the other, and ends when nobody asks.
func (c *classic) Lock(ctx workflow.Context) error {
	requests := workflow.GetSignalChannel(ctx, classicRequest)
	for {
		var requester string
		if !requests.ReceiveAsync(&requester) {
			return nil
		}
		var release string
		name := workflow.SideEffect(ctx, func(workflow.Context) any { return "unlock-" + requester })
		if err := name.Get(&release); err != nil {
			return err
		}
		if err := workflow.SignalExternalWorkflow(ctx, requester, "", classicAcquire, release).Get(ctx, nil); err != nil {
			continue // the requester has ended
		}
		timing, stop := workflow.WithCancel(ctx)
		selector := workflow.NewSelector(ctx)
		selector.AddFuture(workflow.NewTimer(timing, classicUnlock), func(workflow.Future) {})
		selector.AddReceive(workflow.GetSignalChannel(ctx, release), func(channel workflow.ReceiveChannel, _ bool) {
			channel.Receive(ctx, nil)
		})
		selector.Select(ctx)
		stop()
	}
}

func (c *classic) lockID() string { return "classic/" + c.consumer }

// Merge is the requester.
func (c *classic) Merge(ctx workflow.Context, name string, replicas int) error {
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{ScheduleToCloseTimeout: time.Minute})
	var run string
	if err := workflow.ExecuteLocalActivity(local, c.Ask, workflow.GetInfo(ctx).WorkflowExecution.ID).Get(ctx, &run); err != nil {
		return err
	}
	var release string
	workflow.GetSignalChannel(ctx, classicAcquire).Receive(ctx, &release)
	step := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 30 * time.Second})
	var fetched, merged snapshot
	if err := workflow.ExecuteActivity(step, c.Fetch).Get(ctx, &fetched); err != nil {
		return err
	}
	if err := workflow.ExecuteActivity(step, c.Change, fetched, name, replicas).Get(ctx, &merged); err != nil {
		return err
	}
	if err := workflow.ExecuteActivity(step, c.Apply, fetched, merged).Get(ctx, nil); err != nil {
		return err
	}
	return workflow.SignalExternalWorkflow(ctx, c.lockID(), run, release, true).Get(ctx, nil)
}

// Ask signals the mutex, which it starts when none runs, and gives the run that was asked.
func (c *classic) Ask(ctx context.Context, requester string) (string, error) {
	queue := "classic-" + c.consumer
	run, err := temporal.SignalWithStartWorkflow(ctx, c.lockID(), classicRequest, requester, client.StartWorkflowOptions{ID: c.lockID(), TaskQueue: queue}, c.Lock)
	if err != nil {
		return "", err
	}
	return run.GetRunID(), nil
}

// snapshot is a stored work as it travels between activities.
type snapshot struct {
	ID      string
	Version int64
	Work    *workv1.ManifestWork
}

func (c *classic) Fetch(ctx context.Context) (snapshot, error) {
	stored, err := server.Get(ctx, c.consumer, "shared")
	if err != nil {
		return snapshot{}, err
	}
	return snapshot{stored.ID, stored.Version, stored.Work}, nil
}

// Change sets the replicas of one nodepool.
func (c *classic) Change(_ context.Context, from snapshot, name string, replicas int) (snapshot, error) {
	for n, raw := range from.Work.Spec.Workload.Manifests {
		var object map[string]any
		if err := json.Unmarshal(raw.Raw, &object); err != nil {
			return from, err
		}
		if object["metadata"].(map[string]any)["name"] != name {
			continue
		}
		object["spec"].(map[string]any)["replicas"] = replicas
		changed, err := json.Marshal(object)
		if err != nil {
			return from, err
		}
		from.Work.Spec.Workload.Manifests[n].Raw = changed
	}
	return from, nil
}

func (c *classic) Apply(ctx context.Context, from, to snapshot) error {
	return server.Update(ctx, source, &manifest.Stored{ID: from.ID, Consumer: c.consumer, Version: from.Version, Work: from.Work}, to.Work)
}

// CompareAndSwap is a merge without a mutex: fetch, merge, apply, and again after a conflict.
func (c *classic) CompareAndSwap(ctx workflow.Context, name string, replicas int) error {
	step := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Second,
		RetryPolicy:         &sdk.RetryPolicy{InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second},
	})
	return workflow.ExecuteActivity(step, c.Swap, name, replicas).Get(ctx, nil)
}

func (c *classic) Swap(ctx context.Context, name string, replicas int) error {
	from, err := c.Fetch(ctx)
	if err != nil {
		return err
	}
	to := snapshot{from.ID, from.Version, from.Work.DeepCopy()}
	if to, err = c.Change(ctx, to, name, replicas); err != nil {
		return err
	}
	return c.Apply(ctx, from, to)
}

// figures of one way to merge.
type figures struct {
	merges                       int
	took                         time.Duration
	latencies                    []time.Duration
	versions, requests           int64
	lockEvents, requestersEvents int64
}

func (f figures) rate() float64 { return float64(f.merges) / f.took.Seconds() }

func (f figures) percentile(share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(f.latencies))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func (f figures) each(count int64) float64 { return float64(count) / float64(f.merges) }

func (f figures) String() string {
	return fmt.Sprintf("%6.1f merges/s  p50 %7s  p99 %7s  %3d versions  %5.1f events/merge (the lock %4.1f)  %4.1f Maestro requests/merge",
		f.rate(), f.percentile(0.5).Round(time.Millisecond), f.percentile(0.99).Round(time.Millisecond), f.versions,
		f.each(f.lockEvents+f.requestersEvents), f.each(f.lockEvents), f.each(f.requests))
}

// contest is one work with a nodepool for each merge.
type contest struct {
	b        *testing.B
	consumer string
	merges   int
	// round makes each merge change something.
	round int
}

func newContest(b *testing.B, queue string, merges int) *contest {
	b.Helper()
	c := &contest{b: b, consumer: newConsumer(b), merges: merges}
	var entries []string
	for pool := range merges {
		entries = append(entries, poolEntry(fmt.Sprintf("pool-%d", pool), 0))
	}
	first := poolMerge(c.consumer, 0, 0)
	first.Nodepools, first.Generation, first.Source = poolsConfig(entries...), 0, source
	operation, err := starter.New(temporal, queue).Start(b.Context(), first)
	require.NoError(b, err)
	_, err = operation.Wait(b.Context())
	require.NoError(b, err)
	return c
}

// run starts all merges at once and waits for them. Each gives the workflow ID of its requester.
func (c *contest) run(merge func(ctx context.Context, pool, replicas int) (string, error), lock string) figures {
	c.b.Helper()
	c.round++
	f := figures{merges: c.merges, latencies: make([]time.Duration, c.merges)}
	before, err := server.Get(c.b.Context(), c.consumer, "shared")
	require.NoError(c.b, err)
	requests, locked := maestroRequests(c.b), events(c.b, lock)
	began := time.Now()
	var group sync.WaitGroup
	ids, failures := make([]string, c.merges), make([]error, c.merges)
	for pool := range c.merges {
		group.Go(func() {
			ids[pool], failures[pool] = merge(c.b.Context(), pool, c.round)
			f.latencies[pool] = time.Since(began)
		})
	}
	group.Wait()
	f.took = time.Since(began)
	for _, err := range failures {
		require.NoError(c.b, err)
	}
	f.requests = maestroRequests(c.b) - requests
	after, err := server.Get(c.b.Context(), c.consumer, "shared")
	require.NoError(c.b, err)
	f.versions = after.Version - before.Version
	for name, replicas := range replicasIn(c.b, after) {
		require.Equal(c.b, c.round, replicas, "%s was lost", name)
	}
	f.lockEvents = events(c.b, lock) - locked
	for _, id := range ids {
		latest, err := temporal.DescribeWorkflow(c.b.Context(), id, "")
		require.NoError(c.b, err)
		f.requestersEvents += latest.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength()
	}
	return f
}

// events of all runs of a workflow so far.
func events(b *testing.B, id string) (count int64) {
	b.Helper()
	if id == "" {
		return 0
	}
	for _, run := range runsOf(b, id) {
		one, err := temporal.DescribeWorkflow(b.Context(), id, run)
		require.NoError(b, err)
		count += one.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength()
	}
	return count
}

// runsOf a workflow, those that were continued and those that came after an end.
func runsOf(b *testing.B, id string) (runs []string) {
	b.Helper()
	latest, err := temporal.DescribeWorkflow(b.Context(), id, "")
	if err != nil {
		return nil // it has not run
	}
	for !slices.Contains(runs, latest.WorkflowExecution.RunID) { // the list comes late
		listed, err := temporal.ListWorkflow(b.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			PageSize: 1000, Query: fmt.Sprintf("WorkflowId = '%s'", id),
		})
		require.NoError(b, err)
		runs = nil
		for _, one := range listed.GetExecutions() {
			runs = append(runs, one.GetExecution().GetRunId())
		}
	}
	return runs
}

// maestroRequests that Maestro has counted.
func maestroRequests(b *testing.B) (count int64) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, stack.MaestroMetricsURL(), nil)
	require.NoError(b, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(b, err)
	defer func() { _ = response.Body.Close() }()
	found := 0
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		line := lines.Text()
		published := strings.HasPrefix(line, "grpc_server_called_total{") && strings.Contains(line, `"Publish"`)
		if !published && !strings.HasPrefix(line, "rest_api_inbound_request_count{") {
			continue
		}
		found++
		value, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
		require.NoError(b, err)
		count += int64(value)
	}
	require.Positive(b, found, "Maestro counts its requests")
	return count
}

// BenchmarkMergesIntoOneWork lets a hundred requests change one nodepool each of one work, all at once, in turn through the
// product's mutex, through the classic signal mutex, and by compare-and-swap with retries alone, against the same servers.
// The product's requests are whole operations, which are checked first; the others only merge.
func BenchmarkMergesIntoOneWork(b *testing.B) {
	const count = 100
	queue := unique("queue")
	product := mustWorker(b, queue, maestroConfig())
	defer func() { _ = product.Stop() }()
	c := newContest(b, queue, count)
	peer := &classic{consumer: c.consumer}
	peers := worker.New(temporal, "classic-"+c.consumer, worker.Options{})
	peers.RegisterWorkflow(peer.Lock)
	peers.RegisterWorkflow(peer.Merge)
	peers.RegisterWorkflow(peer.CompareAndSwap)
	for _, step := range []any{peer.Ask, peer.Fetch, peer.Change, peer.Apply, peer.Swap} {
		peers.RegisterActivity(step)
	}
	require.NoError(b, peers.Start())
	defer peers.Stop()
	started := starter.New(temporal, queue)
	operation := func(ctx context.Context, pool, replicas int) (string, error) {
		request := poolMerge(c.consumer, pool, replicas)
		request.Source = source
		op, err := started.Start(ctx, request)
		if err != nil {
			return "", err
		}
		_, err = op.Wait(ctx)
		return op.WorkflowID, err
	}
	other := func(of any, name string) func(ctx context.Context, pool, replicas int) (string, error) {
		return func(ctx context.Context, pool, replicas int) (string, error) {
			id := fmt.Sprintf("%s-%s-%d-%d", name, c.consumer, pool, replicas)
			run, err := temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: "classic-" + c.consumer}, of, fmt.Sprintf("west-1-pool-%d", pool), replicas)
			if err != nil {
				return "", err
			}
			return id, run.Get(ctx, nil)
		}
	}
	mutex := started.Mutex(source, c.consumer)
	for b.Loop() {
		own := c.run(operation, contract.MutexID(source, c.consumer))
		signals := c.run(other(peer.Merge, "classic"), peer.lockID())
		alone := c.run(other(peer.CompareAndSwap, "swap"), "")

		// Full batches: all wait before the first one begins.
		_, err := mutex.Pause(b.Context(), contract.Operator{By: "benchmark", Reason: "let them queue"})
		require.NoError(b, err)
		go func() {
			for {
				status, err := mutex.Status(b.Context())
				if err != nil || len(status.Queue) == count {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			_, _ = mutex.Resume(b.Context(), contract.Operator{By: "benchmark", Reason: "they queue"}) // or the merges end as timed out
		}()
		full := c.run(operation, contract.MutexID(source, c.consumer))

		b.Logf("\nthe mutex:         %s\nthe classic mutex: %s\ncompare-and-swap:  %s\nbatches of %d:     %s", own, signals, alone, contract.MaxBatchTickets, full)
		b.ReportMetric(own.rate(), "merges/s")
		b.ReportMetric(own.rate()/signals.rate(), "x-classic")
		b.ReportMetric(own.rate()/alone.rate(), "x-swap")
		b.ReportMetric(full.each(full.lockEvents), "events/merge")
	}
}
