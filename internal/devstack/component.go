package devstack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// component is one server of the stack. Its command stays the same over restarts.
type component struct {
	command Command
	stop    syscall.Signal
	grace   time.Duration
	patient time.Duration                   // how long ready may take
	ready   func(ctx context.Context) error // one attempt

	process *Process // nil before the first start
}

// start runs the component and waits until it is ready. When that fails, the process is gone.
func (c *component) start(ctx context.Context, s *Spawner) error {
	if c.process != nil && c.process.alive() {
		return fmt.Errorf("start %s: it is running already (pid %d)", c.command.Name, c.process.PID())
	}
	p, err := s.Start(c.command)
	if err != nil {
		return err
	}
	c.process = p
	if err := c.await(ctx); err != nil {
		p.Stop(c.stop, c.grace)
		return fmt.Errorf("start %s: %w", c.command.Name, err)
	}
	return nil
}

func (c *component) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.patient)
	defer cancel()
	for {
		err := c.ready(ctx)
		if !c.process.alive() {
			// Whoever answered, if somebody did, it was another process.
			return fmt.Errorf("%w: %s", errEnded, c.process.ended())
		}
		if err == nil {
			return nil
		}
		select {
		case <-c.process.Done():
		case <-time.After(25 * time.Millisecond):
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return fmt.Errorf("not ready after %s: %w; last lines of %s:\n%s",
				c.patient, err, c.command.Log, tail(c.command.Log, 15))
		}
	}
}

// end stops the component if it runs.
func (c *component) end() {
	if c.process != nil {
		c.process.Stop(c.stop, c.grace)
	}
}

// kill ends the component with SIGKILL if it runs.
func (c *component) kill() {
	if c.process != nil {
		c.process.Kill()
	}
}

// pid is 0 when the component does not run.
func (c *component) pid() int {
	if c.process == nil || !c.process.alive() {
		return 0
	}
	return c.process.PID()
}

// bindClash reports whether a component ended because somebody else had its port.
func bindClash(err error) bool {
	return errors.Is(err, errEnded) && strings.Contains(strings.ToLower(err.Error()), "address already in use")
}
