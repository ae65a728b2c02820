package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
)

// supervise owns the stack of `up` until it is told to end.
func supervise(ctx context.Context, args []string) error {
	teller := &teller{to: os.NewFile(progressFD, "progress")}
	err := superviseStack(ctx, args, teller)
	if err != nil {
		teller.logf("%v", err)
		teller.tell(failedPrefix + strings.ReplaceAll(err.Error(), "\n", "\x1f"))
		return exitCode(1)
	}
	return nil
}

func superviseStack(ctx context.Context, args []string, teller *teller) error {
	var c config
	flags := newFlags(superviseCommand, &c)
	stackFlags(flags, &c)
	portsFlags(flags, &c)
	if err := parse(flags, &c, args); err != nil {
		return err
	}
	// The lock, not the state file, decides between two that start at the same time.
	unlock, err := devstack.TryLock(filepath.Join(c.dir, "lock"))
	if errors.Is(err, devstack.ErrLocked) {
		if s, err := devstack.ReadState(c.dir); err == nil {
			return alreadyRunning(s)
		}
		return errors.New("another stack is starting or stopping in " + c.dir)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", c.dir, err)
	}
	defer unlock()
	if err := devstack.NewState().Write(c.dir); err != nil {
		return err
	}
	defer func() {
		if err := devstack.RemoveState(c.dir); err != nil {
			teller.logf("%v", err)
		}
	}()

	l, err := launch(ctx, c, teller.progress)
	if err != nil {
		return err
	}
	defer l.stop()
	state := l.state(c)
	if err := writeEnv(state); err != nil {
		return err
	}
	defer os.Remove(state.EnvFile)
	if err := state.Write(c.dir); err != nil {
		return err
	}
	teller.tell(readyLine)
	<-ctx.Done()
	teller.logf("stopping")
	return nil
}

// teller writes to the log and, until the stack is ready, to the process that waits for it.
type teller struct {
	mu sync.Mutex
	to *os.File // nil once there is nothing more to tell
}

// progress is a line for both.
func (t *teller) progress(format string, args ...any) {
	t.logf(format, args...)
	t.tell(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " | "))
}

// logf is a line for the log, which is this process' stderr.
func (t *teller) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

// tell writes a line to the waiting process. That one may be gone, which is no reason to stop.
func (t *teller) tell(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.to == nil {
		return
	}
	_, err := fmt.Fprintln(t.to, line)
	if err != nil || line == readyLine || strings.HasPrefix(line, failedPrefix) {
		t.to.Close()
		t.to = nil
	}
}
