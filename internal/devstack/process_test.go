package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func startShell(t *testing.T, script string) (*Process, string) {
	t.Helper()
	s := NewSpawner(t.Logf)
	log := filepath.Join(t.TempDir(), "log")
	p, err := s.Start(Command{Name: "shell", Path: "/bin/sh", Args: []string{"-c", script}, Log: log, Finite: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Kill()
		s.Close()
	})
	return p, log
}

// awaitLine waits for the first line of a log.
func awaitLine(t *testing.T, log string) string {
	t.Helper()
	var line string
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(log)
		line = firstLine(string(data))
		return err == nil && strings.Contains(string(data), "\n")
	}, 5*time.Second, time.Millisecond)
	return line
}

func TestKillEndsTheWholeGroup(t *testing.T) {
	p, log := startShell(t, "sleep 100 & echo $!; wait")
	var child int
	_, err := fmt.Sscan(awaitLine(t, log), &child)
	require.NoError(t, err)
	p.Kill()
	p.Kill()
	require.Error(t, p.Err())
	assertEnds(t, child)
}

func TestChildrenOfAnEndedProcessDoNotStay(t *testing.T) {
	p, log := startShell(t, "sleep 100 & echo $!")
	var child int
	_, err := fmt.Sscan(awaitLine(t, log), &child)
	require.NoError(t, err)
	<-p.Done()
	require.NoError(t, p.Err())
	assertEnds(t, child)
}

func TestStopKillsAfterItsGrace(t *testing.T) {
	p, log := startShell(t, "trap '' TERM; echo ready; sleep 100 & wait; sleep 100")
	awaitLine(t, log)
	began := time.Now()
	p.Stop(syscall.SIGTERM, 50*time.Millisecond)
	assert.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
	assert.False(t, p.alive())
}

func assertEnds(t *testing.T, pid int) {
	t.Helper()
	assert.Eventually(t, func() bool { return startedTicks(pid) == 0 }, 5*time.Second, time.Millisecond)
}

func TestComponentThatEndsEarlyShowsItsLog(t *testing.T) {
	s := NewSpawner(t.Logf)
	defer s.Close()
	c := &component{
		command: Command{
			Name: "server", Path: "/bin/sh", Args: []string{"-c", "echo listen: address already in use; exit 3"},
			Log: filepath.Join(t.TempDir(), "log"),
		},
		stop: syscall.SIGTERM, grace: time.Second, patient: 10 * time.Second,
		ready: func(context.Context) error { return errors.New("no answer") },
	}
	err := c.start(t.Context(), s)
	require.ErrorIs(t, err, errEnded)
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "address already in use")
	assert.True(t, bindClash(err))
	assert.Zero(t, c.pid())
}

func TestComponentThatIsNeverReadyIsStopped(t *testing.T) {
	s := NewSpawner(t.Logf)
	defer s.Close()
	c := &component{
		command: Command{
			Name: "server", Path: "/bin/sh", Args: []string{"-c", "exec sleep 100"},
			Log: filepath.Join(t.TempDir(), "log"),
		},
		stop: syscall.SIGTERM, grace: time.Second, patient: 100 * time.Millisecond,
		ready: func(context.Context) error { return errors.New("no answer yet") },
	}
	require.ErrorContains(t, c.start(t.Context(), s), "no answer yet")
	assert.Zero(t, c.pid())
}
