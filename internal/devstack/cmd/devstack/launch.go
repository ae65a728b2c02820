package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack/simcluster"
)

// launched is a running stack with its clusters and, if one was asked for, its worker.
type launched struct {
	stack    *devstack.Stack
	clusters *simcluster.Cluster
	spawner  *devstack.Spawner
	worker   *devstack.Process
}

// launch starts everything, in the order of dependence. On an error nothing is left.
func launch(ctx context.Context, c config, logf func(string, ...any)) (*launched, error) {
	l := &launched{}
	if err := l.start(ctx, c, logf); err != nil {
		l.stop()
		return nil, err
	}
	return l, nil
}

func (l *launched) start(ctx context.Context, c config, logf func(string, ...any)) error {
	if c.worker != "" {
		if _, err := os.Stat(c.worker); err != nil {
			return fmt.Errorf("find the worker: %w", err)
		}
	}
	var err error
	l.stack, err = devstack.Start(ctx, devstack.Options{
		Dir: c.dir, Consumers: c.names(), UI: !c.noUI, Ports: c.ports, Logf: logf,
	})
	if err != nil {
		return err
	}
	l.clusters, err = simcluster.Start(ctx, simcluster.Options{
		BrokerAddress: l.stack.BrokerAddress(), Consumers: c.names(), Logf: logf,
	})
	if err != nil {
		return err
	}
	logf("%d simulated clusters are connected", len(c.names()))
	if c.worker == "" {
		return nil
	}
	l.spawner = devstack.NewSpawner(logf)
	l.worker, err = l.spawner.Start(devstack.Command{
		Name: "worker", Path: c.worker, Log: l.stack.LogFile("worker"), Dir: l.stack.Dir(),
		Env: append(os.Environ(), l.stack.Environment()...),
	})
	if err != nil {
		return err
	}
	// The worker has no port to ask; one that cannot work says so soon.
	select {
	case <-l.worker.Done():
		return fmt.Errorf("the worker ended at once: %w; see %s", l.worker.Err(), l.stack.LogFile("worker"))
	case <-time.After(500 * time.Millisecond):
		logf("worker is up (pid %d)", l.worker.PID())
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop ends what was started, dependents first.
func (l *launched) stop() {
	if l.worker != nil {
		l.worker.Stop(syscall.SIGTERM, 20*time.Second)
	}
	if l.spawner != nil {
		l.spawner.Close()
	}
	if l.clusters != nil {
		l.clusters.Stop()
	}
	if l.stack != nil {
		l.stack.Stop()
	}
}

// state describes the launched stack.
func (l *launched) state(c config) devstack.State {
	s := devstack.NewState()
	s.Ready = true
	s.Consumers, s.Ports, s.Database = c.names(), l.stack.Ports(), l.stack.Database()
	s.UIURL, s.Env, s.EnvFile = l.stack.UIURL(), l.stack.Environment(), filepath.Join(c.dir, "env")
	s.Components = l.stack.PIDs()
	if l.worker != nil {
		s.Components["worker"] = l.worker.PID()
	}
	s.Logs = map[string]string{"supervisor": supervisorLog(c.dir)}
	for name := range s.Components {
		s.Logs[name] = l.stack.LogFile(name)
	}
	return s
}

// writeEnv writes what a shell reads to find the stack.
func writeEnv(s devstack.State) error {
	var text strings.Builder
	for _, kv := range s.Env {
		fmt.Fprintf(&text, "export %s\n", kv)
	}
	if err := os.WriteFile(s.EnvFile, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write the environment of the stack: %w", err)
	}
	return nil
}

func supervisorLog(dir string) string { return filepath.Join(dir, "logs", "supervisor.log") }
