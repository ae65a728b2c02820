//go:build integration

package starter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/operation"
)

// patience with anything that has to happen.
const patience = time.Minute

// prompt is how soon something must be known that nobody has to wait for.
const prompt = 5 * time.Second

// address of the Temporal that all tests share.
var address string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	stack, err := devstack.Start(ctx, devstack.Options{WithoutMaestro: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, "start Temporal:", err)
		return 1
	}
	defer stack.Stop()
	address = stack.TemporalAddress()
	return m.Run()
}

// world is what the operations of one test act on: a Maestro that takes everything, and a cluster that answers when it
// is told to. Works are called like the test.
type world struct {
	t        *testing.T
	ctx      context.Context
	queue    string
	temporal client.Client
	starter  *starter.Client

	mu       sync.Mutex
	commits  []string // the contents in the order in which they were written
	writing  bool
	overlaps int
	ready    map[string]bool // contents that the cluster has taken
	stored   string
	newest   int64
}

// newWorld does not start a worker, see [world.works].
func newWorld(t *testing.T) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	temporal, err := client.DialContext(ctx, client.Options{HostPort: address, Logger: quiet{}})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	queue := strings.ReplaceAll(strings.ToLower(t.Name()), "/", "-")
	return &world{t: t, ctx: ctx, queue: queue, temporal: temporal, starter: starter.New(temporal, queue), ready: map[string]bool{}}
}

// works starts the worker.
func (w *world) works() *world {
	w.t.Helper()
	served := worker.New(w.temporal, w.queue, worker.Options{})
	served.RegisterWorkflowWithOptions(operation.ManifestWorkOperation, workflow.RegisterOptions{Name: contract.WorkflowOperation})
	name := func(name string) activity.RegisterOptions { return activity.RegisterOptions{Name: name} }
	served.RegisterActivityWithOptions(func(_ context.Context, params contract.BuildParams) (contract.BuildResult, error) {
		return contract.BuildResult{Name: params.Request.WorkName(), Generation: params.Request.Generation}, nil
	}, name(contract.ActivityBuild))
	served.RegisterActivityWithOptions(w.commit, name(contract.ActivityCommit))
	served.RegisterActivityWithOptions(w.observe, name(contract.ActivityObserve))
	require.NoError(w.t, served.Start())
	w.t.Cleanup(served.Stop)
	return w
}

func (w *world) commit(_ context.Context, params contract.CommitParams) (contract.CommitResult, error) {
	content := contentOf(params.Work)
	w.mu.Lock()
	if w.writing {
		w.overlaps++
	}
	w.writing = true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.writing = false
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	if params.Generation > 0 && params.Generation < w.newest {
		return contract.CommitResult{}, contract.Errorf(contract.ErrSuperseded, "generation %d is stored", w.newest).Application()
	}
	w.newest = max(w.newest, params.Generation)
	if w.stored == content {
		return contract.CommitResult{Outcome: contract.CommitUnchanged, Version: int64(len(w.commits)), Attempt: 1}, nil
	}
	w.stored = content
	w.commits = append(w.commits, content)
	return contract.CommitResult{Outcome: contract.CommitUpdated, Version: int64(len(w.commits)), Attempt: 1}, nil
}

func (w *world) observe(_ context.Context, params contract.ObserveParams) (contract.ObserveResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ready[w.stored] {
		return contract.ObserveResult{Outcome: contract.ObserveMet, Status: contract.StatusAvailable, Message: w.stored, Version: params.Version}, nil
	}
	failure := contract.Errorf(contract.ErrNotReady, "the cluster has not taken %s", w.stored)
	failure.Delay = 20 * time.Millisecond
	return contract.ObserveResult{}, failure.Application()
}

// takes lets the cluster take a content.
func (w *world) takes(content string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ready[content] = true
}

// written gives the contents so far, and asserts that no two writes ran at once.
func (w *world) written() []string {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	assert.Zero(w.t, w.overlaps, "two requests wrote at the same time")
	return append([]string(nil), w.commits...)
}

func contentOf(work json.RawMessage) string {
	var content struct {
		Metadata struct{ Labels map[string]string }
	}
	_ = json.Unmarshal(work, &content)
	return content.Metadata.Labels["content"]
}

// request to apply a content; it waits for the cluster when there is a condition.
func (w *world) request(content string, generation int64, wait string) contract.Request {
	return contract.Request{
		Source: "hyperfleet", Consumer: "cluster-a1", Generation: generation, Wait: wait, Timeout: "1m",
		Work: json.RawMessage(fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"content":%q}}}`, w.queue, content)),
	}
}

func (w *world) start(request contract.Request) *starter.Operation {
	w.t.Helper()
	operation, err := w.starter.Start(w.ctx, request)
	require.NoError(w.t, err)
	return operation
}

// succeeds waits and expects the outcome of the request itself.
func (w *world) succeeds(operation *starter.Operation, request contract.Request) contract.StatusResult {
	w.t.Helper()
	result, err := operation.Wait(w.ctx)
	require.NoError(w.t, err)
	assert.Equal(w.t, request.Digest(), result.RequestDigest)
	assert.True(w.t, result.Succeeded(), result.Reason)
	return result
}

// waits until the operation is parked in its wait.
func (w *world) waits(operation *starter.Operation) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		result, err := w.starter.Status(w.ctx, operation.WorkflowID)
		return err == nil && strings.HasPrefix(result.Message, "waiting for ")
	}, patience, 10*time.Millisecond)
}

// soon bounds a step that must not wait for anybody.
func (w *world) soon() context.Context {
	ctx, cancel := context.WithTimeout(w.ctx, prompt)
	w.t.Cleanup(cancel)
	return ctx
}

// quiet drops the SDK's log.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
