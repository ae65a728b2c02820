package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestApplyWaitsAndPrintsTheResult(t *testing.T) {
	path, file := stale(t), manifestFile(t, workYAML)
	synctest.Test(t, func(t *testing.T) {
		b := &bench{temporal: &fakeTemporal{start: ending(time.Minute, available())}}
		code := b.run("apply", "--manifest-file", file, "--consumer", "cluster-a", "--wait", "--timeout", "10m", "--generation", "7",
			"--output", "json", "--results-path", path)
		require.Equal(t, 0, code, b.stderr.String())

		document := b.document(t)
		assert.Equal(t, "Available", document["status"])
		assert.Equal(t, []any{}, document["resources"])
		assert.Equal(t, "op/maestro-cli/cluster-a/web", document["workflowID"])
		got := readResults(t, path)
		assert.Equal(t, "success", got.Status)
		assert.Equal(t, "ConditionMet", got.Reason)
		assert.Equal(t, "Available", got.Phase)

		require.Len(t, b.temporal.requests, 1)
		request := b.temporal.requests[0]
		assert.Equal(t, "Available", request.Wait, "a bare --wait")
		assert.Equal(t, "10m", request.Timeout)
		assert.EqualValues(t, 7, request.Generation)
		assert.Equal(t, "maestro-cli", request.Source)
		assert.Contains(t, string(request.Work), `"ConfigMap"`)
		assert.True(t, b.temporal.closed)
		assert.Contains(t, b.said()[0], "op/maestro-cli/cluster-a/web")
	})
}

func TestApplyReadsStandardInputAndPrintsYAML(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		published := contract.StatusResult{Status: contract.StatusInProgress, Reason: contract.ReasonPublished, Message: "m", Version: 1}
		b := &bench{stdin: workYAML, temporal: &fakeTemporal{start: ending(0, published)}}
		require.Equal(t, 0, b.run("apply", "--manifest-file", "-", "--consumer", "cluster-a"), b.stderr.String())
		assert.Contains(t, b.stdout.String(), "manifestWorkName: web\n")
		assert.Contains(t, b.stdout.String(), "resources: []\n")
		assert.Empty(t, b.temporal.requests[0].Wait)
	})
}

func TestApplyTakesSecretsWhenAsked(t *testing.T) {
	file := manifestFile(t, strings.Replace(workYAML, "kind: ConfigMap", "kind: Secret", 1))
	for _, more := range [][]string{nil, {"--manifest-name", "web"}} {
		b := &bench{temporal: &fakeTemporal{start: ending(0, available())}}
		require.Equal(t, 0, b.run(append([]string{"apply", "--manifest-file", file, "--consumer", "cluster-a", "--allow-plaintext-secrets"}, more...)...), b.stderr.String())
		assert.True(t, b.temporal.requests[0].AllowPlaintextSecrets)
	}
}

func TestApplyOutcomes(t *testing.T) {
	file := manifestFile(t, workYAML)
	for reason, want := range map[contract.ErrorType]int{
		contract.ErrApplyFailed: 1, contract.ErrWaitTimeout: 3, contract.ErrSuperseded: 4, contract.ErrUnavailable: 5,
		contract.ErrManifestRefused: 1, contract.ErrConsumerNotFound: 1, contract.ErrCancelled: 1,
	} {
		path := stale(t)
		synctest.Test(t, func(t *testing.T) {
			result := contract.StatusResult{Status: contract.StatusFailed, Reason: string(reason), Message: "what the cluster said"}
			b := &bench{temporal: &fakeTemporal{start: ending(0, result)}}
			assert.Equal(t, want, b.run("apply", "--manifest-file", file, "--consumer", "cluster-a", "--wait", "--output=json", "--results-path", path), reason)
			assert.Equal(t, string(reason), b.document(t)["reason"])
			got := readResults(t, path)
			assert.Equal(t, "failure", got.Status)
			assert.Equal(t, string(reason), got.Reason)
			last := b.said()[len(b.said())-1]
			assert.Equal(t, fmt.Sprintf("maestro-cli: apply cluster-a/web: %s: what the cluster said; %s", reason, contract.Rules[reason].Act), last)
		})
	}
}

func TestApplyRefusedAtTheStart(t *testing.T) {
	file := manifestFile(t, workYAML)
	unavailable := fmt.Errorf("%w: connection refused", starter.ErrTemporalUnavailable)
	for name, test := range map[string]struct {
		temporal *fakeTemporal
		err      error
		code     int
		reason   string
		phase    string
	}{
		"stale generation":     {err: contract.Errorf(contract.ErrSuperseded, "generation 8 is newer"), code: 4, reason: "Superseded", phase: "Superseded"},
		"generation conflict":  {err: contract.Errorf(contract.ErrGenerationConflict, "other content"), code: 4, reason: "GenerationConflict", phase: "Failed"},
		"Temporal gone":        {err: unavailable, code: 5, reason: "TemporalUnavailable", phase: "Failed"},
		"no worker":            {err: errNoWorker, code: 3, reason: "WaitTimeout", phase: "TimedOut"},
		"Temporal not dialled": {temporal: &fakeTemporal{dialErr: unavailable}, code: 5, reason: "TemporalUnavailable", phase: "Failed"},
		"something else":       {err: errors.New("odd"), code: 1, reason: "Internal", phase: "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			path := stale(t)
			if test.temporal == nil {
				test.temporal = &fakeTemporal{start: refusing(test.err)}
			}
			b := &bench{temporal: test.temporal}
			assert.Equal(t, test.code, b.run("apply", "--manifest-file", file, "--consumer", "cluster-a", "--results-path", path))
			assert.Empty(t, b.stdout.String(), "no operation, no document")
			got := readResults(t, path)
			assert.Equal(t, "failure", got.Status)
			assert.Equal(t, test.reason, got.Reason)
			assert.Equal(t, test.phase, got.Phase)
			assert.Equal(t, "web", got.Details.ManifestWorkName)
			assert.Len(t, b.said(), 1, "one line")
		})
	}
}

func TestApplyRefusesBadInputBeforeAnythingIsSent(t *testing.T) {
	folder := t.TempDir()
	good := manifestFile(t, workYAML)
	bad := manifestFile(t, strings.Replace(workYAML, "spec:", "specs:", 1))
	empty := manifestFile(t, strings.Replace(workYAML, "name: web\n", "name: Web_1\n", 1))
	large := manifestFile(t, workYAML+"# "+strings.Repeat("x", contract.MaxWorkBytes))
	secret := manifestFile(t, strings.Replace(workYAML, "kind: ConfigMap", "kind: Secret", 1))
	bare := manifestFile(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
	for name, test := range map[string]struct {
		arguments []string
		reason    string
		say       string
	}{
		"nothing":          {nil, "InvalidInput", "--manifest-file and --consumer is required"},
		"no consumer":      {[]string{"--manifest-file", good}, "InvalidInput", "--consumer is required"},
		"bad consumer":     {[]string{"--manifest-file", good, "--consumer", "A/b"}, "InvalidInput", "consumer"},
		"no file":          {[]string{"--manifest-file", folder + "/none", "--consumer", "c"}, "InvalidInput", "no such file"},
		"folder":           {[]string{"--manifest-file", folder, "--consumer", "c"}, "InvalidInput", "is a directory"},
		"unknown field":    {[]string{"--manifest-file", bad, "--consumer", "c"}, "InvalidManifest", "specs"},
		"bad name":         {[]string{"--manifest-file", empty, "--consumer", "c"}, "InvalidManifest", "metadata.name"},
		"too large":        {[]string{"--manifest-file", large, "--consumer", "c"}, "TooLarge", "limit"},
		"a Secret":         {[]string{"--manifest-file", secret, "--consumer", "c"}, "InvalidManifest", "--allow-plaintext-secrets"},
		"bare objects":     {[]string{"--manifest-file", bare, "--consumer", "c"}, "InvalidManifest", "maestro-cli build"},
		"bad timeout":      {[]string{"--manifest-file", good, "--consumer", "c", "--timeout", "5"}, "InvalidInput", "timeout"},
		"bad grace":        {[]string{"--manifest-file", good, "--consumer", "c", "--grace", "-1s"}, "InvalidInput", "grace"},
		"bad generation":   {[]string{"--manifest-file", good, "--consumer", "c", "--generation", "-1"}, "InvalidInput", "generation"},
		"bad condition":    {[]string{"--manifest-file", good, "--consumer", "c", "--wait=Available OR"}, "InvalidInput", "--wait"},
		"absent manifest":  {[]string{"--manifest-file", good, "--consumer", "c", "--wait=Job/x:Complete"}, "InvalidInput", "--wait"},
		"bad endpoint":     {[]string{"--manifest-file", good, "--consumer", "c", "--temporal-address", "x"}, "InvalidInput", "temporal-address"},
		"bad output":       {[]string{"--manifest-file", good, "--consumer", "c", "--output", "table"}, "InvalidInput", "output"},
		"bad results form": {[]string{"--manifest-file", good, "--consumer", "c", "--results-format", "x"}, "InvalidInput", "results-format"},
	} {
		t.Run(name, func(t *testing.T) {
			path := stale(t)
			b := &bench{}
			assert.Equal(t, 2, b.run(append([]string{"apply", "--results-path", path}, test.arguments...)...))
			got := readResults(t, path)
			assert.Equal(t, "failure", got.Status)
			assert.Equal(t, "Failed", got.Phase)
			assert.Equal(t, test.reason, got.Reason)
			assert.Empty(t, b.stdout.String())
			said := b.said()
			last := said[len(said)-1]
			assert.Contains(t, last, contract.Rules[contract.ErrorType(test.reason)].Act)
			assert.Contains(t, strings.Join(said, "\n"), test.say)
			if len(said) > 1 {
				assert.Contains(t, last, fmt.Sprintf("%d problems", len(said)-1), "one line for each problem, and one for all")
			}
		})
	}
}

func TestDetachPrintsTheWorkflowIDAndWritesNoResultsFile(t *testing.T) {
	path, file := stale(t), manifestFile(t, workYAML)
	b := &bench{temporal: &fakeTemporal{start: never}}
	require.Equal(t, 0, b.run("apply", "--manifest-file", file, "--consumer", "cluster-a", "--detach", "--output=json", "--results-path", path))
	document := b.document(t)
	assert.Equal(t, "op/maestro-cli/cluster-a/web", document["workflowID"])
	assert.Equal(t, "Running", document["reason"])
	assert.NoFileExists(t, path, "the stale one is gone, and nothing final is known")
	assert.Contains(t, b.stderr.String(), "temporal workflow describe --workflow-id op/maestro-cli/cluster-a/web")
}

func TestResultsFileThatCannotBeWrittenFailsTheCommand(t *testing.T) {
	file := manifestFile(t, workYAML)
	b := &bench{} // before anything is started
	assert.Equal(t, 1, b.run("apply", "--manifest-file", file, "--consumer", "cluster-a", "--results-path", filepath.Join(t.TempDir(), "none", "result.json")))
	assert.Contains(t, b.stderr.String(), "no such file or directory")
	assert.Len(t, b.said(), 1)

	folder := t.TempDir()
	path := filepath.Join(folder, "volume", "result.json")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o755))
	start := func(outcome contract.StatusResult) *fakeTemporal {
		return &fakeTemporal{start: func(ctx context.Context, request contract.Request) (operation, error) {
			_ = os.Remove(filepath.Dir(path)) // the volume goes away while the operation runs
			return ending(0, outcome)(ctx, request)
		}}
	}
	b = &bench{temporal: start(available())}
	assert.Equal(t, 1, b.run("apply", "--manifest-file", file, "--consumer", "cluster-a", "--output=json", "--results-path", path))
	assert.Equal(t, "Available", b.document(t)["status"], "the outcome is said all the same")
	assert.Contains(t, b.said()[len(b.said())-1], "write results file "+path)
}

func TestResultsPathFromTheEnvironmentAndStatusResultFormat(t *testing.T) {
	path, file := stale(t), manifestFile(t, workYAML)
	t.Setenv("RESULTS_PATH", path)
	b := &bench{temporal: &fakeTemporal{start: ending(0, available())}}
	require.Equal(t, 0, b.run("apply", "--manifest-file", file, "--consumer", "cluster-a", "--wait", "--results-format", "statusresult"))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var result contract.StatusResult
	require.NoError(t, json.Unmarshal(data, &result))
	assert.Equal(t, contract.StatusAvailable, result.Status)
}

func TestFullStandardOutputFailsTheCommandAfterTheResultsFileIsWritten(t *testing.T) {
	path, file := stale(t), manifestFile(t, workYAML)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	defer full.Close()
	b := &bench{temporal: &fakeTemporal{start: ending(0, available())}}
	b.output = full
	assert.Equal(t, 1, b.run("apply", "--manifest-file", file, "--consumer", "cluster-a", "--wait", "--results-path", path))
	assert.Equal(t, "success", readResults(t, path).Status)
}
