package devstack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command describes one process.
type Command struct {
	Name string
	Path string
	Args []string
	Env  []string
	Dir  string
	// Log is the file that output of both kinds is appended to. Empty: the process shares this one's output,
	// and its input unless that is a terminal, from which a process group of its own may not read.
	Log string
	// Finite says that the process ends by itself, so that its end is not worth a notice.
	Finite bool

	// account is who runs it; nil is the current user.
	account *account
	// orphan is what the kernel sends when this process' owner dies; zero is SIGKILL.
	orphan syscall.Signal
}

// Process is a running command in a process group of its own.
type Process struct {
	name string
	log  string
	pid  int
	done chan struct{}
	err  error // result of Wait, valid after done is closed

	mu       sync.Mutex
	expected bool // the end was asked for
	reaped   bool // the process id may belong to somebody else
}

// Spawner starts processes. On Linux the kernel ties a child to the thread that forked it, not to the process,
// so all children of one spawner are forked by one goroutine that keeps its thread for as long as they live.
type Spawner struct {
	start chan func()
	logf  func(format string, args ...any)
}

// NewSpawner returns a spawner; Close it after its last process has ended.
func NewSpawner(logf func(format string, args ...any)) *Spawner {
	s := &Spawner{start: make(chan func()), logf: logf}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range s.start {
			f()
		}
	}()
	return s
}

// Close ends the spawner's goroutine.
func (s *Spawner) Close() { close(s.start) }

// Start runs the command.
func (s *Spawner) Start(c Command) (*Process, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	if c.Log == "" {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice == 0 {
			cmd.Stdin = os.Stdin
		}
	} else {
		log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, fmt.Errorf("open the log of %s: %w", c.Name, err)
		}
		defer log.Close()
		cmd.Stdout, cmd.Stderr = log, log
	}
	cmd.SysProcAttr = sysProcAttr(c.account, c.orphan)

	started := make(chan error)
	s.start <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{name: c.Name, log: c.Log, pid: cmd.Process.Pid, done: make(chan struct{}), expected: c.Finite}
	go p.reap(cmd, s.logf)
	return p, nil
}

// reap waits for the end. Until the process is reaped its id, and so that of its group, cannot be given to
// another one: that is when what it left in its group is killed, and after that nothing is signalled any more.
func (p *Process) reap(cmd *exec.Cmd, logf func(string, ...any)) {
	var err error
	kept := awaitExit(p.pid)
	if !kept {
		err = cmd.Wait()
	}
	p.mu.Lock()
	if kept {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
		err = cmd.Wait()
	}
	p.err, p.reaped = err, true
	expected := p.expected
	p.mu.Unlock()
	if !expected {
		logf("%s ended by itself: %s", p.name, p.ended())
	}
	close(p.done)
}

// PID is the process id, which is also the id of its process group.
func (p *Process) PID() int { return p.pid }

// Done is closed when the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the process ended. Only valid after Done.
func (p *Process) Err() error { return p.err }

// Kill ends the process group with SIGKILL and waits for it. Killing an ended process does nothing.
func (p *Process) Kill() {
	p.end(syscall.SIGKILL)
	<-p.done
}

// Stop asks the process to end with the signal, and kills its group when that takes longer than grace.
func (p *Process) Stop(sig syscall.Signal, grace time.Duration) {
	p.end(sig)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.Kill()
	}
}

// Signal sends the signal to the process group.
func (p *Process) Signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.pid, sig)
	}
}

// end is Signal for an end that is no surprise.
func (p *Process) end(sig syscall.Signal) {
	p.expectEnd()
	p.Signal(sig)
}

func (p *Process) expectEnd() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = true
}

// alive reports whether the process has not ended.
func (p *Process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// ended describes how the process ended, with the end of its log.
func (p *Process) ended() string {
	reason := "exit status 0"
	if p.err != nil {
		reason = p.err.Error()
	}
	return fmt.Sprintf("%s; last lines of %s:\n%s", reason, p.log, tail(p.log, 15))
}

// errEnded marks a component that ended before it was ready.
var errEnded = errors.New("ended before it was ready")

// tail returns the last lines of a file, indented.
func tail(path string, lines int) string {
	const most = 16 << 10
	f, err := os.Open(path)
	if err != nil {
		return "  (no log: " + err.Error() + ")"
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return "  (log not readable: " + err.Error() + ")"
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return "  " + strings.Join(all, "\n  ")
}
