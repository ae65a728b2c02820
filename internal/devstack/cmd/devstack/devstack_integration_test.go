//go:build integration

package main_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
)

// command is the built devstack.
type command struct {
	path, dir string
}

// built is the command, built once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "devstack-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "devstack")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

func buildCommand(t *testing.T) command {
	t.Helper()
	path, err := built()
	require.NoError(t, err)
	return command{path: path, dir: filepath.Join(t.TempDir(), "stack")}
}

// run calls the command and returns what it printed and its exit code.
func (c command) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(c.path, args...)
	out, _ := cmd.CombinedOutput()
	t.Logf("devstack %s: exit code %d\n%s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), out)
	return string(out), cmd.ProcessState.ExitCode()
}

func TestUpAndDown(t *testing.T) {
	c := buildCommand(t)
	t.Cleanup(func() { c.run(t, "down", "--dir", c.dir) })
	out, code := c.run(t, "down", "--dir", c.dir)
	assert.Zero(t, code)
	assert.Contains(t, out, "nothing runs")

	worker := filepath.Join(t.TempDir(), "worker")
	require.NoError(t, os.WriteFile(worker, []byte("#!/bin/sh\necho to $MAESTRO_HTTP_ENDPOINT\nexec sleep 1000\n"), 0o755))
	out, code = c.run(t, "up", "--dir", c.dir, "--free-ports", "--consumers", "cluster-a1", "--worker", worker)
	require.Zero(t, code)
	assert.Contains(t, out, "http://127.0.0.1:")
	state, err := devstack.ReadState(c.dir)
	require.NoError(t, err)
	assert.True(t, state.Alive())
	for _, name := range []string{"worker", "maestro", "temporal", "postgres"} {
		assert.Contains(t, state.Components, name)
	}
	env, err := os.ReadFile(state.EnvFile)
	require.NoError(t, err)
	assert.Contains(t, string(env), "export TEMPORAL_ADDRESS=127.0.0.1:")
	log, err := os.ReadFile(state.Logs["worker"])
	require.NoError(t, err)
	assert.Contains(t, string(log), "to http://127.0.0.1:")

	out, code = c.run(t, "up", "--dir", c.dir, "--free-ports")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "runs already (pid")
	assert.Contains(t, out, "make down")
	assert.Equal(t, 1, strings.Count(out, "\n"), "one line")
	_, code = c.run(t, "status", "--dir", c.dir)
	assert.Zero(t, code, "the running one is not disturbed")

	// Nothing may outlive a supervisor that could not clean up.
	require.NoError(t, syscall.Kill(state.PID, syscall.SIGKILL))
	for name, pid := range state.Components {
		assert.Eventually(t, func() bool { return !running(pid) }, 10*time.Second, 10*time.Millisecond, name)
	}
	out, code = c.run(t, "status", "--dir", c.dir)
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "stale")

	_, code = c.run(t, "up", "--dir", c.dir, "--free-ports", "--no-ui")
	require.Zero(t, code, "over the remains of a killed one")
	state, err = devstack.ReadState(c.dir)
	require.NoError(t, err)
	out, code = c.run(t, "down", "--dir", c.dir, "--wipe")
	assert.Zero(t, code)
	assert.Contains(t, out, "stopped")
	for name, pid := range state.Components {
		assert.False(t, running(pid), name)
	}
	left, err := os.ReadDir(c.dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestUpNamesTheTakenPort(t *testing.T) {
	c := buildCommand(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	out, code := c.run(t, "up", "--dir", c.dir, "--free-ports", "--maestro-grpc-port", port)
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "port "+port)
	assert.Contains(t, out, "--maestro-grpc-port")
}

func TestRunForwardsTheExitCodeAndCleansUp(t *testing.T) {
	c := buildCommand(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	out, code := c.run(t, "run", "--", "sh", "-c", "echo maestro is $MAESTRO_GRPC_ENDPOINT; exit 7")
	assert.Equal(t, 7, code)
	assert.Contains(t, out, "maestro is 127.0.0.1:")
	assertNothingLeft(t, tmp)

	_, code = c.run(t, "run", "--worker", "/bin/false", "--", "true")
	assert.Equal(t, 1, code, "a worker that does not work")
	assertNothingLeft(t, tmp)

	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		started := filepath.Join(tmp, "started")
		cmd := exec.Command(c.path, "run", "--", "sh", "-c", "sleep 1000 & touch "+started+"; wait")
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			_, err := os.Stat(started)
			return err == nil
		}, time.Minute, 10*time.Millisecond)
		require.NoError(t, cmd.Process.Signal(sig))
		require.Error(t, cmd.Wait())
		assert.Equal(t, 130, cmd.ProcessState.ExitCode(), sig)
		require.NoError(t, os.Remove(started))
		assertNothingLeft(t, tmp)
	}
}

// assertNothingLeft looks for files, and for processes that know the directory.
func assertNothingLeft(t *testing.T, tmp string) {
	t.Helper()
	files, err := os.ReadDir(tmp)
	require.NoError(t, err)
	assert.Empty(t, files)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err == nil && strings.Contains(string(env), "TMPDIR="+tmp) {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			assert.Empty(t, string(line), dir)
		}
	}
}

// running reports whether the process exists and is no zombie.
func running(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && len(line) > 0
}
