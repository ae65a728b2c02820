package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
)

const (
	superviseCommand = "supervise" // the process that owns the stack; not for people
	progressFD       = 3           // what it tells the process that waits for it
	readyLine        = "ready"
	failedPrefix     = "failed: "
)

// up starts a supervisor in a session of its own, waits until it is ready, and leaves.
func up(ctx context.Context, args []string) error {
	var c config
	flags := newFlags("up", &c)
	stackFlags(flags, &c)
	portsFlags(flags, &c)
	if err := parse(flags, &c, args); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(c.dir, "logs"), 0o755); err != nil {
		return fmt.Errorf("make the directory of the stack: %w", err)
	}
	if s, err := devstack.ReadState(c.dir); err == nil && s.Alive() {
		return alreadyRunning(s)
	}
	if err := c.checkPorts(); err != nil {
		return err
	}
	supervisor, lines, err := startSupervisor(c.dir, args)
	if err != nil {
		return err
	}
	stopWatching := context.AfterFunc(ctx, func() { _ = supervisor.Process.Signal(syscall.SIGTERM) })
	defer stopWatching()

	failure := ""
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := scanner.Text()
		if line == readyLine {
			s, err := devstack.ReadState(c.dir)
			if err != nil {
				return err
			}
			describe(os.Stdout, s)
			return nil
		}
		if text, found := strings.CutPrefix(line, failedPrefix); found {
			failure = strings.ReplaceAll(text, "\x1f", "\n")
			continue
		}
		progress("%s", line)
	}
	waitErr := supervisor.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case failure != "":
		return errors.New(failure)
	default:
		return fmt.Errorf("the supervisor ended: %w; see %s", waitErr, supervisorLog(c.dir))
	}
}

func alreadyRunning(s devstack.State) error {
	what := "runs"
	if !s.Ready {
		what = "is starting"
	}
	return fmt.Errorf("the stack %s already (pid %d, since %s): stop it with make down", what, s.PID, s.Since.Local().Format("15:04:05"))
}

// startSupervisor runs this program again, detached, with the same flags.
func startSupervisor(dir string, args []string) (*exec.Cmd, *os.File, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find this program: %w", err)
	}
	log, err := os.OpenFile(supervisorLog(dir), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("open the supervisor's log: %w", err)
	}
	defer log.Close()
	lines, tell, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe to the supervisor: %w", err)
	}
	defer tell.Close()
	cmd := exec.Command(self, append([]string{superviseCommand}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{tell} // becomes progressFD
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start the supervisor: %w", err)
	}
	return cmd, lines, nil
}
