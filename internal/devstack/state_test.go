package devstack

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStateOfThisProcessIsAlive(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadState(dir)
	require.ErrorIs(t, err, os.ErrNotExist)

	written := NewState()
	written.Consumers, written.Ports = []string{"cluster-a1"}, Ports{Temporal: 7233}
	require.NoError(t, written.Write(dir))
	read, err := ReadState(dir)
	require.NoError(t, err)
	assert.Equal(t, written, read)
	assert.True(t, read.Alive())

	require.NoError(t, RemoveState(dir))
	require.NoError(t, RemoveState(dir), "removing it again")
}

func TestStateOfEndedOrReusedProcessIsStale(t *testing.T) {
	cmd := exec.Command("sleep", "100")
	require.NoError(t, cmd.Start())
	state := State{PID: cmd.Process.Pid, StartedTicks: startedTicks(cmd.Process.Pid)}
	assert.True(t, state.Alive())

	reused := state
	reused.StartedTicks--
	assert.False(t, reused.Alive(), "the process id belongs to somebody else")

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	assert.False(t, state.Alive())
	assert.False(t, State{}.Alive())
}

func TestDamagedStateIsAnError(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(StateFile(dir), []byte("{"), 0o644))
	_, err := ReadState(dir)
	require.ErrorContains(t, err, StateFile(dir))
	require.NotErrorIs(t, err, os.ErrNotExist)
}
