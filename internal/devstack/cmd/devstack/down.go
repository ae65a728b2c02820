package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
)

// patience is how long the supervisor may take to stop everything.
const patience = 60 * time.Second

// down stops the stack that up started.
func down(ctx context.Context, args []string) error {
	var c config
	flags := newFlags("down", &c)
	flags.BoolVar(&c.wipe, "wipe", false, "remove logs and data, too")
	if err := parse(flags, &c, args); err != nil {
		return err
	}
	s, err := devstack.ReadState(c.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		progress("nothing runs")
	case err != nil:
		return err
	case !s.Alive():
		progress("nothing runs: the state of pid %d is stale, removing it", s.PID)
	default:
		if err := end(ctx, s); err != nil {
			return err
		}
		progress("stopped (pid %d)", s.PID)
	}
	if err := devstack.RemoveState(c.dir); err != nil {
		return err
	}
	if !c.wipe {
		return nil
	}
	for _, name := range []string{"data", "logs", "env", "lock"} {
		if err := os.RemoveAll(filepath.Join(c.dir, name)); err != nil {
			return fmt.Errorf("wipe the stack: %w", err)
		}
	}
	return nil
}

// end signals the supervisor and waits until it is gone. What it owns dies with it at the latest.
func end(ctx context.Context, s devstack.State) error {
	if err := syscall.Kill(s.PID, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the stack (pid %d): %w", s.PID, err)
	}
	deadline := time.After(patience)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for s.Alive() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			progress("pid %d did not stop within %s, killing it", s.PID, patience)
			_ = syscall.Kill(s.PID, syscall.SIGKILL)
			deadline = nil
		}
	}
	return nil
}

// status says what runs. Exit code 0: the stack runs and is ready; 1: it does not.
func status(_ context.Context, args []string) error {
	var c config
	flags := newFlags("status", &c)
	if err := parse(flags, &c, args); err != nil {
		return err
	}
	s, err := devstack.ReadState(c.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		fmt.Println("not running")
		return exitCode(1)
	case err != nil:
		return err
	case !s.Alive():
		fmt.Printf("not running: the state of pid %d is stale\n", s.PID)
		return exitCode(1)
	case !s.Ready:
		fmt.Printf("starting (pid %d)\n", s.PID)
		return exitCode(1)
	}
	fmt.Printf("running (pid %d, since %s)\n", s.PID, s.Since.Local().Format(time.DateTime))
	describe(os.Stdout, s)
	for _, name := range slices.Sorted(maps.Keys(s.Components)) {
		// Process ids are those at the start; a component that was killed meanwhile shows as ended.
		what := fmt.Sprintf("pid %d", s.Components[name])
		if syscall.Kill(s.Components[name], 0) != nil {
			what += ", ended"
		}
		fmt.Printf("%-18s %s, log %s\n", name, what, s.Logs[name])
	}
	return nil
}
