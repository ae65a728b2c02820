//go:build integration

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// command is one call of maestro-cli as a user makes it.
type command struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

func newCommand(t *testing.T, queue string, args ...string) *command {
	t.Helper()
	c := &command{cmd: exec.CommandContext(t.Context(), cliBin, args...)}
	c.cmd.Env = envOf(queue)
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	return c
}

// run gives the exit code.
func (c *command) run(t *testing.T) int {
	t.Helper()
	err := c.cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return c.cmd.ProcessState.ExitCode()
}

func (c *command) result(t *testing.T) contract.StatusResult {
	t.Helper()
	var result contract.StatusResult
	require.NoError(t, json.Unmarshal(c.stdout.Bytes(), &result), "stdout:\n%s\nstderr:\n%s", c.stdout.String(), c.stderr.String())
	return result
}

// document is what a reader of the default results file relies on.
type document struct {
	Status  string                `json:"status"`
	Reason  string                `json:"reason"`
	Message string                `json:"message"`
	Details contract.StatusResult `json:"details"`
}

func readResults(t *testing.T, path string) document {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var d document
	require.NoError(t, json.Unmarshal(content, &d))
	return d
}

func workFile(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "work.json")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	return path
}

// The command dies in its wait. Called again it attaches to the operation, which has published once.
func TestCommandKilledAndCalledAgainAttaches(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	results := filepath.Join(t.TempDir(), "results.json")
	args := []string{"apply", "--manifest-file", workFile(t, configMap("work", "a", script{"available-delay": "8s"})),
		"--consumer", consumer, "--wait", "--timeout", "1m", "--output", "json", "--results-path", results}

	victim := newCommand(t, queue, args...)
	require.NoError(t, victim.cmd.Start())
	first := &starter.Operation{WorkflowID: contract.OperationID(source, consumer, "work")}
	parked(t, first, 0)
	description, err := temporal.DescribeWorkflow(t.Context(), first.WorkflowID, "")
	require.NoError(t, err)
	require.NoError(t, victim.cmd.Process.Kill())
	require.Error(t, victim.cmd.Wait())
	require.NoFileExists(t, results, "only final results are written")

	again := newCommand(t, queue, args...)
	require.Equal(t, 0, again.run(t), again.stderr.String())
	result := again.result(t)
	assert.Equal(t, contract.StatusAvailable, result.Status)
	assert.Equal(t, description.WorkflowExecution.RunID, result.RunID, "the same run")
	assert.EqualValues(t, 1, stored(t, consumer, "work").Version)
	assert.Equal(t, "success", readResults(t, results).Status)
}

// Each kind of a Maestro that does not do what is asked ends with its own type, within the patience, and the results
// file says so.
func TestRefusalsHaveTheirOwnOutcome(t *testing.T) {
	const limit = 8 * time.Second
	tests := map[string]struct {
		fault *fakemaestro.Fault
		// unknown: the consumer is not registered; seed: the work exists before the fault.
		unknown, seed bool
		want          contract.ErrorType
		exit          int
		says          string
	}{
		"only conflicts":   {fault: fault(fakemaestro.PublishConflict()), seed: true, want: contract.ErrVersionConflict, exit: 1, says: "version moved"},
		"only refusals":    {fault: fault(fakemaestro.PublishRefused("the policy of this server forbids it")), want: contract.ErrManifestRefused, exit: 1, says: "the policy of this server forbids it"},
		"unknown consumer": {unknown: true, want: contract.ErrConsumerNotFound, exit: 1, says: "no consumer"},
		"bad token":        {fault: fault(fakemaestro.BadToken()), want: contract.ErrUnauthorized, exit: 1, says: "token"},
		"no answer":        {fault: fault(fakemaestro.PublishHang()), want: contract.ErrUnavailable, exit: 5, says: "gave up after"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			consumer, queue := unique("cluster"), unique("queue")
			options := fakemaestro.Options{Consumers: []string{consumer}}
			if test.unknown {
				options.Consumers = nil
			}
			fake := fakemaestro.New(t, options)
			startWorker(t, queue, maestro.Config{
				GRPCEndpoint: fake.GRPCAddress(), HTTPEndpoint: fake.HTTPURL(), Insecure: true, CallTimeout: 2 * time.Second,
			})
			if test.seed {
				require.Equal(t, 0, newCommand(t, queue, "apply", "--manifest-file", workFile(t, configMap("work", "before", nil)), "--consumer", consumer).run(t))
			}
			if test.fault != nil {
				fake.Faults().Inject(*test.fault)
			}
			results := filepath.Join(t.TempDir(), "results.json")
			cmd := newCommand(t, queue, "apply", "--manifest-file", workFile(t, configMap("work", "a", nil)), "--consumer", consumer,
				"--wait", "--timeout", "1m", "--patience", limit.String(), "--results-path", results, "--output", "json")
			began := time.Now()
			assert.Equal(t, test.exit, cmd.run(t), cmd.stderr.String())
			assert.Less(t, time.Since(began), limit+20*time.Second, "within the patience, and what a loaded machine adds")
			written := readResults(t, results)
			assert.Equal(t, "failure", written.Status)
			assert.Equal(t, string(test.want), written.Reason)
			assert.Contains(t, written.Message, test.says)
			assert.Equal(t, contract.StatusFailed, written.Details.Status)
			assert.Equal(t, string(test.want), cmd.result(t).Reason)
		})
	}
}

func fault(f fakemaestro.Fault) *fakemaestro.Fault { return &f }

// Bad input ends before anything is sent, and the results file says what is wrong.
func TestBadInputIsRefusedAndReported(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	tooLarge := configMap("work", string(bytes.Repeat([]byte("x"), contract.MaxManifestsBytes)), nil)
	tests := map[string]struct {
		work json.RawMessage
		args []string
		want contract.ErrorType
	}{
		"too large":          {work: tooLarge, want: contract.ErrTooLarge},
		"no manifests":       {work: workOf("work"), want: contract.ErrInvalidManifest},
		"malformed wait":     {work: configMap("work", "a", nil), args: []string{"--wait=Available AND"}, want: contract.ErrInvalidInput},
		"wait for no object": {work: configMap("work", "a", nil), args: []string{"--wait=Job/missing:Complete"}, want: contract.ErrInvalidInput},
		"duration":           {work: configMap("work", "a", nil), args: []string{"--timeout", "5"}, want: contract.ErrInvalidInput},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			results := filepath.Join(t.TempDir(), "results.json")
			args := append([]string{"apply", "--manifest-file", workFile(t, test.work), "--consumer", consumer, "--results-path", results}, test.args...)
			cmd := newCommand(t, queue, args...)
			assert.Equal(t, 2, cmd.run(t), cmd.stderr.String())
			written := readResults(t, results)
			assert.Equal(t, "failure", written.Status)
			assert.Equal(t, string(test.want), written.Reason)
			_, err := server.Get(t.Context(), consumer, "work")
			assert.ErrorIs(t, err, maestro.ErrNotFound, "nothing was published")
		})
	}
}

// 499 KiB of manifests go all the way: command, Temporal, Maestro, agent.
func TestLargestWorkIsDelivered(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	manifests := []map[string]any{}
	for index := range 499 {
		manifests = append(manifests, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": unique("part"), "namespace": "default"},
			"data":     map[string]any{"value": string(bytes.Repeat([]byte{'a' + byte(index%26)}, 880))},
		})
	}
	cmd := newCommand(t, queue, "apply", "--manifest-file", workFile(t, workOf("large", manifests...)), "--consumer", consumer,
		"--wait", "--timeout", "2m", "--output", "json")
	require.Equal(t, 0, cmd.run(t), cmd.stderr.String())
	assert.Len(t, cmd.result(t).Resources, len(manifests))
}

// The life of a work, command by command.
func TestCommandsOnOneWork(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	path := workFile(t, configMap("work", "a", nil))
	steps := []struct {
		args []string
		exit int
	}{
		{[]string{"validate", "--manifest-file", path, "--consumer", consumer}, 0},
		{[]string{"get", "--name", "work", "--consumer", consumer}, 1},
		{[]string{"apply", "--manifest-file", path, "--consumer", consumer, "--generation", "7"}, 0},
		{[]string{"wait", "--name", "work", "--consumer", consumer, "--for", "Applied AND ConfigMap/settings:Available"}, 0},
		{[]string{"get", "--name", "work", "--consumer", consumer}, 0},
		{[]string{"apply", "--manifest-file", path, "--consumer", consumer, "--generation", "6"}, 4},
		{[]string{"wait", "--name", "work", "--consumer", consumer, "--for", "Degraded", "--timeout", "2s"}, 3},
		{[]string{"delete", "--name", "work", "--consumer", consumer}, 0},
		{[]string{"wait", "--name", "work", "--consumer", consumer, "--for", "Deleted"}, 0},
		{[]string{"get", "--name", "work", "--consumer", consumer}, 1},
		{[]string{"delete", "--name", "work", "--consumer", consumer, "--wait"}, 0},
		{[]string{"wait", "--name", "work", "--consumer", consumer, "--timeout", "2s"}, 3},
	}
	for _, step := range steps {
		cmd := newCommand(t, queue, step.args...)
		require.Equal(t, step.exit, cmd.run(t), "%v\nstdout: %s\nstderr: %s", step.args, cmd.stdout.String(), cmd.stderr.String())
	}
}
