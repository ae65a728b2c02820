package simcluster

import (
	"fmt"
	"strings"
	"sync"

	"github.com/go-logr/logr"
)

// gate lets lines through until it is closed: the client library does not say when its goroutines have ended,
// and a test's log may not be used after the test.
type gate struct {
	mu     sync.RWMutex
	closed bool
	to     func(format string, args ...any)
}

func (g *gate) logf(format string, args ...any) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if !g.closed {
		g.to(format, args...)
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// librarySink passes on the errors of the client library and drops its chatter. The errors matter: a work that
// is too big, for instance, is dropped with nothing but such a line.
type librarySink struct {
	logf   func(format string, args ...any)
	values []any
}

var _ logr.LogSink = librarySink{}

// Init has nothing to adjust.
func (librarySink) Init(logr.RuntimeInfo) {}

// Enabled says that no information is wanted.
func (librarySink) Enabled(int) bool { return false }

// Info drops the line.
func (librarySink) Info(int, string, ...any) {}

// Error passes the line on, unless it is about the connection, which the session reports itself.
func (s librarySink) Error(err error, message string, more ...any) {
	if strings.Contains(message, "subscribe") {
		return
	}
	var line strings.Builder
	fmt.Fprintf(&line, "agent library: %s: %v", message, err)
	all := append(s.values[:len(s.values):len(s.values)], more...)
	for i := 0; i+1 < len(all); i += 2 {
		fmt.Fprintf(&line, " %v=%v", all[i], all[i+1])
	}
	s.logf("%s", line.String())
}

// WithValues adds to every line.
func (s librarySink) WithValues(more ...any) logr.LogSink {
	s.values = append(s.values[:len(s.values):len(s.values)], more...)
	return s
}

// WithName changes nothing.
func (s librarySink) WithName(string) logr.LogSink { return s }
