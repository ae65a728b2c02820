package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
)

// childGrace is how long an interrupted command may take to end.
const childGrace = 15 * time.Second

// run starts a stack for the time of one command.
func run(ctx context.Context, args []string) error {
	var c config
	flags := newFlags("run", &c)
	stackFlags(flags, &c)
	keep := flags.Bool("keep", false, "keep logs and data, and say where they are")
	dir, err := os.MkdirTemp("", "devstack-")
	if err != nil {
		return fmt.Errorf("make the directory of the stack: %w", err)
	}
	defer func() {
		if *keep {
			progress("logs and data are in %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			progress("remove %s: %v", dir, err)
		}
	}()
	c.dir = dir
	if err := parse(flags, &c, args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		progress("run: no command given: devstack run [flags] -- COMMAND ARGS...")
		return exitCode(2)
	}
	path, err := exec.LookPath(flags.Arg(0))
	if err != nil {
		return fmt.Errorf("find the command: %w", err)
	}
	l, err := launch(ctx, c, progress)
	if err != nil {
		return err
	}
	defer l.stop()
	return runCommand(ctx, path, flags.Args()[1:], l.stack.Environment())
}

// runCommand runs the command in a process group of its own, so that an interruption, and the end, reach what
// it has started, too. Such a group may not read from a terminal; it reads from anything else.
func runCommand(ctx context.Context, path string, args, env []string) error {
	spawner := devstack.NewSpawner(progress)
	defer spawner.Close()
	p, err := spawner.Start(devstack.Command{
		Name: path, Path: path, Args: args, Env: append(os.Environ(), env...), Finite: true,
	})
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		progress("interrupted, stopping %s", path)
		p.Stop(syscall.SIGTERM, childGrace)
	}
	var exit *exec.ExitError
	switch err := p.Err(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return nil
	case errors.As(err, &exit):
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return exitCode(128 + int(status.Signal()))
		}
		return exitCode(exit.ExitCode())
	default:
		return fmt.Errorf("run %s: %w", path, err)
	}
}
