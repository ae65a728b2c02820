package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const workYAML = `apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata:
  name: web
spec:
  workload:
    manifests:
    - apiVersion: v1
      kind: ConfigMap
      metadata: {name: web, namespace: demo}
      data: {a: "1"}
`

// fakeTemporal answers as the functions say; what is not set must not be called.
type fakeTemporal struct {
	dialErr error
	start   func(ctx context.Context, request contract.Request) (operation, error)
	status  func(ctx context.Context) (contract.StatusResult, error)
	cancel  func(ctx context.Context) error
	steered mutex

	mutex    sync.Mutex // operations that share nothing run side by side
	requests []contract.Request
	dialled  int
	closed   bool
}

func (f *fakeTemporal) Start(ctx context.Context, request contract.Request) (operation, error) {
	f.mutex.Lock()
	f.requests = append(f.requests, request)
	f.mutex.Unlock()
	return f.start(ctx, request)
}

func (f *fakeTemporal) Status(ctx context.Context, _ string) (contract.StatusResult, error) {
	if f.status == nil {
		<-ctx.Done()
		return contract.StatusResult{}, ctx.Err()
	}
	return f.status(ctx)
}

func (f *fakeTemporal) Cancel(ctx context.Context, _ operation) error { return f.cancel(ctx) }
func (f *fakeTemporal) Mutex(source, consumer string) mutex {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.requests = append(f.requests, contract.Request{Source: source, Consumer: consumer})
	return f.steered
}
func (f *fakeTemporal) Close() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.closed = true
}

// ending makes a start whose operation ends after a while; the error is the starter's for results that did not succeed.
func ending(after time.Duration, result contract.StatusResult) func(context.Context, contract.Request) (operation, error) {
	return func(_ context.Context, request contract.Request) (operation, error) {
		result := result // of this operation
		result.ManifestWorkName, result.Consumer = request.WorkName(), request.Consumer
		result.WorkflowID, result.RunID, result.Timestamp = request.WorkflowID(), "run-1", time.Now()
		end := time.After(after)
		return operation{WorkflowID: request.WorkflowID(), RunID: "run-1", Wait: func(ctx context.Context) (contract.StatusResult, error) {
			select {
			case <-end:
			case <-ctx.Done():
				return contract.StatusResult{}, ctx.Err()
			}
			if result.Succeeded() {
				return result, nil
			}
			return result, contract.Errorf(contract.ErrorType(result.Reason), "%s", result.Message)
		}}, nil
	}
}

func refusing(err error) func(context.Context, contract.Request) (operation, error) {
	return func(context.Context, contract.Request) (operation, error) { return operation{}, err }
}

func never(_ context.Context, request contract.Request) (operation, error) {
	return ending(1000*time.Hour, contract.StatusResult{})(context.Background(), request)
}

func available() contract.StatusResult {
	return contract.StatusResult{Status: contract.StatusAvailable, Reason: contract.ReasonConditionMet, Message: "Available is True for version 1", Version: 1}
}

type fakeMaestro struct {
	names  []string
	stored *manifest.Stored
	works  map[string]*manifest.Stored // by name, before stored
	err    error
	// unknown is the answer to whether the consumer is registered.
	unknown error
	// others are the works of other sources, or what the search for them ends as.
	others    []*manifest.Stored
	searchErr error

	asked, searched []string
	dialled, closed int
}

func (f *fakeMaestro) Get(_ context.Context, consumer, name string) (*manifest.Stored, error) {
	f.asked = append(f.asked, consumer+"/"+name)
	if stored, found := f.works[name]; found {
		return stored, nil
	}
	return f.stored, f.err
}
func (f *fakeMaestro) Registered(context.Context, string) error { return f.unknown }
func (f *fakeMaestro) Others(_ context.Context, source, consumer, name string) ([]*manifest.Stored, error) {
	f.searched = append(f.searched, source+" "+consumer+"/"+name)
	return f.others, f.searchErr
}
func (f *fakeMaestro) Names(_ context.Context, source, consumer string) ([]string, error) {
	f.searched = append(f.searched, source+" "+consumer)
	return f.names, f.searchErr
}
func (f *fakeMaestro) Close() error { f.closed++; return nil }

// bench runs command lines in-process.
type bench struct {
	temporal *fakeTemporal
	maestro  *fakeMaestro
	stdin    string
	ctx      context.Context
	output   io.Writer // instead of stdout

	mutex          sync.Mutex
	stdout, stderr bytes.Buffer
}

// Write collects standard error, which several goroutines write.
func (b *bench) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.stderr.Write(text)
}

func (b *bench) run(arguments ...string) int {
	if b.ctx == nil {
		b.ctx = context.Background()
	}
	if b.output == nil {
		b.output = &b.stdout
	}
	cli := &app{
		stdin: strings.NewReader(b.stdin), stdout: b.output, stderr: b,
		build: buildInfo{Version: "v1.2.3", Commit: "abc", Date: "2026-03-01"},
		dialTemporal: func(context.Context, config.CLI, *slog.Logger) (operations, error) {
			switch {
			case b.temporal == nil:
				return nil, errors.New("this test has no Temporal")
			case b.temporal.dialErr != nil:
				return nil, b.temporal.dialErr
			}
			b.temporal.mutex.Lock()
			defer b.temporal.mutex.Unlock()
			b.temporal.dialled++
			return b.temporal, nil
		},
		dialMaestro: func(settings config.CLI) (works, error) {
			if b.maestro == nil {
				return dialMaestro(settings)
			}
			b.maestro.dialled++
			return b.maestro, nil
		},
	}
	return cli.run(b.ctx, arguments)
}

// said gives the lines of standard error so far.
func (b *bench) said() []string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return strings.Split(strings.TrimSpace(b.stderr.String()), "\n")
}

// document decodes standard output, which must be one JSON document and nothing else.
func (b *bench) document(t *testing.T) map[string]any {
	t.Helper()
	var document map[string]any
	require.NoError(t, json.Unmarshal(b.stdout.Bytes(), &document), "%s", b.stdout.String())
	return document
}

func manifestFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "work.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// stale makes a results file of an earlier run.
func stale(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "result.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"status":"success","reason":"Stale"}`), 0o600))
	return path
}

type resultsFile struct {
	Status, Reason, Message, Phase string
	Details                        contract.StatusResult
}

func readResults(t *testing.T, path string) resultsFile {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var file resultsFile
	require.NoError(t, json.Unmarshal(data, &file))
	require.NotEmpty(t, file.Reason)
	assert.NotEmpty(t, file.Message)
	assert.False(t, file.Details.Timestamp.IsZero())
	return file
}
