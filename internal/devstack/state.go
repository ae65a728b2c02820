package devstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// State describes a stack that runs in the background. It is written to a file by the process that owns the
// stack, for `devstack down`, `devstack status` and tools.
type State struct {
	// PID and StartedTicks identify the owner: a process id alone may have been given to somebody else.
	PID          int    `json:"pid"`
	StartedTicks uint64 `json:"startedTicks"`
	// Ready is set once everything answers.
	Ready bool `json:"ready"`

	Since      time.Time         `json:"since"`
	Consumers  []string          `json:"consumers,omitempty"`
	Ports      Ports             `json:"ports"`
	Database   string            `json:"database,omitempty"`
	UIURL      string            `json:"uiURL,omitempty"`
	Env        []string          `json:"env,omitempty"`
	EnvFile    string            `json:"envFile,omitempty"`
	Components map[string]int    `json:"components,omitempty"` // process ids
	Logs       map[string]string `json:"logs,omitempty"`
}

// NewState describes a stack that this process is about to start.
func NewState() State {
	return State{PID: os.Getpid(), StartedTicks: startedTicks(os.Getpid()), Since: time.Now().UTC().Truncate(time.Second)}
}

// StateFile is where the state of the stack in dir is kept.
func StateFile(dir string) string { return filepath.Join(dir, "state.json") }

// ReadState reads the state of the stack in dir. An error that is os.ErrNotExist: there is none.
func ReadState(dir string) (State, error) {
	var s State
	data, err := os.ReadFile(StateFile(dir))
	if err != nil {
		return s, fmt.Errorf("read the state of the stack: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read the state of the stack in %s: %w", StateFile(dir), err)
	}
	return s, nil
}

// Write replaces the state of the stack in dir.
func (s State) Write(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the state of the stack: %w", err)
	}
	partial := StateFile(dir) + ".partial"
	if err := os.WriteFile(partial, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the state of the stack: %w", err)
	}
	if err := os.Rename(partial, StateFile(dir)); err != nil {
		return fmt.Errorf("write the state of the stack: %w", err)
	}
	return nil
}

// RemoveState removes the state of the stack in dir, if there is one.
func RemoveState(dir string) error {
	if err := os.Remove(StateFile(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the state of the stack: %w", err)
	}
	return nil
}

// Alive reports whether the owner still runs. False: the state is stale.
func (s State) Alive() bool {
	if s.PID <= 0 {
		return false
	}
	if err := syscall.Kill(s.PID, 0); err != nil && !errors.Is(err, syscall.EPERM) {
		return false
	}
	return startedTicks(s.PID) == s.StartedTicks
}

// startedTicks is when a process started, in clock ticks since boot. 0: there is no such process, it has ended
// and was not reaped, or this system does not tell.
func startedTicks(pid int) uint64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The second field is the name in parentheses and may hold anything. State follows, then 18 others.
	_, rest, found := cutLast(string(data), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 || fields[0] == "Z" {
		return 0
	}
	ticks, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0
	}
	return ticks
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
