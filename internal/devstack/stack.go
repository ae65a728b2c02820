package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Stack is a set of running servers. Its methods may be called from several goroutines.
type Stack struct {
	opts      Options
	layout    layout
	ports     Ports
	spawner   *Spawner
	temporary bool   // Dir is ours to remove
	pooled    string // how Maestro reaches PostgreSQL, in words

	mu         sync.Mutex
	stopped    bool
	components map[string]*component
}

// stopOrder is dependents first.
var stopOrder = []string{"maestro", "temporal", "pgbouncer", "postgres"}

// Start builds what is missing, starts the components and waits until all of them answer. The context bounds
// the start only: the stack runs until Stop. On an error nothing is left behind but the logs in a named Dir.
func Start(ctx context.Context, opts Options) (*Stack, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, opts)
	if bindClash(err) {
		// Somebody took a port between our choice and its use.
		opts.Logf("a chosen port was taken meanwhile, starting once more: %v", err)
		s, err = start(ctx, opts)
	}
	return s, err
}

func start(ctx context.Context, opts Options) (*Stack, error) {
	s := &Stack{opts: opts, ports: opts.Ports, components: map[string]*component{}}
	if opts.Dir == "" {
		dir, err := os.MkdirTemp("", "devstack-")
		if err != nil {
			return nil, fmt.Errorf("make the directory of the stack: %w", err)
		}
		s.opts.Dir, s.temporary = dir, true
	}
	s.spawner = NewSpawner(opts.Logf)
	if err := s.startAll(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// startAll starts Temporal beside PostgreSQL and Maestro: they do not know each other.
func (s *Stack) startAll(ctx context.Context) error {
	var err error
	if s.layout, err = newLayout(s.opts.Dir); err != nil {
		return err
	}
	if err := s.ports.fill(); err != nil {
		return err
	}
	temporalPath, maestroPath := "", ""
	if !s.opts.WithoutTemporal {
		if temporalPath, err = temporalBinary.find(ctx, s.opts); err != nil {
			return err
		}
	}
	if !s.opts.WithoutMaestro {
		if maestroPath, err = maestroBinary.find(ctx, s.opts); err != nil {
			return err
		}
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make(chan error, 2)
	run := func(left bool, f func() error) {
		if left {
			errs <- nil
			return
		}
		err := f()
		if err != nil {
			cancel(err)
		}
		errs <- err
	}
	go run(s.opts.WithoutTemporal, func() error { return s.add(ctx, temporal(temporalPath, s.layout, s.ports, s.opts.UI)) })
	go run(s.opts.WithoutMaestro, func() error { return s.startMaestroChain(ctx, maestroPath) })
	both := errors.Join(<-errs, <-errs)
	// One that failed interrupts the other; the cause is the one that explains it. A deadline explains nothing.
	if cause := context.Cause(ctx); both != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return both
}

func (s *Stack) startMaestroChain(ctx context.Context, path string) error {
	who, err := serverAccount(s.layout.data)
	if err != nil {
		return err
	}
	pg, err := postgres(ctx, s.spawner, s.layout, s.ports.Postgres, who)
	if err != nil {
		return err
	}
	if err := s.add(ctx, pg); err != nil {
		return err
	}
	databasePort := s.ports.Postgres
	s.pooled = "direct: PgBouncer is not installed"
	switch pool := pgbouncerPath(); {
	case s.opts.DirectPostgres:
		s.pooled = "direct"
	case pool != "":
		c, err := pgbouncer(pool, s.layout, s.ports.PgBouncer, s.ports.Postgres, who)
		if err != nil {
			return err
		}
		if err := s.add(ctx, c); err != nil {
			return err
		}
		databasePort, s.pooled = s.ports.PgBouncer, "through PgBouncer in session mode"
	}
	s.opts.Logf("maestro reaches postgres %s", s.pooled)
	m, err := maestro(ctx, s.spawner, path, s.layout, s.ports, databasePort)
	if err != nil {
		return err
	}
	if err := s.add(ctx, m); err != nil {
		return err
	}
	for _, name := range s.opts.Consumers {
		if err := s.CreateConsumer(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// add makes the component part of the stack, so that Stop knows it, and starts it.
func (s *Stack) add(ctx context.Context, c *component) error {
	s.mu.Lock()
	s.components[c.command.Name] = c
	s.mu.Unlock()
	return s.run(ctx, c)
}

func (s *Stack) run(ctx context.Context, c *component) error {
	began := time.Now()
	if err := c.start(ctx, s.spawner); err != nil {
		return err
	}
	s.opts.Logf("%s is up after %s (pid %d)", c.command.Name, time.Since(began).Round(10*time.Millisecond), c.pid())
	return nil
}

// Stop ends every component, dependents first, and removes a temporary Dir. It may be called again.
func (s *Stack) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	s.stopped = true
	for _, name := range stopOrder {
		if c := s.components[name]; c != nil {
			c.end()
		}
	}
	s.spawner.Close()
	if s.temporary {
		if err := os.RemoveAll(s.opts.Dir); err != nil {
			s.opts.Logf("remove %s: %v", s.opts.Dir, err)
		}
	}
}
