package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// layout is where the files of a stack are.
type layout struct {
	dir, logs, data string
}

func newLayout(dir string) (layout, error) {
	l := layout{dir: dir, logs: filepath.Join(dir, "logs"), data: filepath.Join(dir, "data")}
	for _, d := range []string{l.dir, l.logs, l.data} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return l, fmt.Errorf("make the directories of the stack: %w", err)
		}
	}
	return l, nil
}

// log is the log file of a component.
func (l layout) log(name string) string { return filepath.Join(l.logs, name+".log") }

// environment is all that components get from outside: what a developer has exported for other servers
// (PGPORT, TEMPORAL_ADDRESS, configuration files in the home directory) must not reach these.
func (l layout) environment(more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + l.data, "TMPDIR=" + os.TempDir(), "LANG=C", "TZ=UTC",
	}, more...)
}

// runOnce runs a command that ends by itself.
func runOnce(ctx context.Context, s *Spawner, c Command) error {
	c.Finite = true
	p, err := s.Start(c)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Stop(syscall.SIGTERM, 5*time.Second)
		return fmt.Errorf("run %s: %w", c.Name, ctx.Err())
	case <-time.After(2 * time.Minute):
		p.Kill()
		return fmt.Errorf("run %s: %w", c.Name, errors.New("took longer than 2 minutes; last lines of "+c.Log+":\n"+tail(c.Log, 15)))
	}
	if p.Err() != nil {
		return fmt.Errorf("run %s: %s", c.Name, p.ended())
	}
	return nil
}
