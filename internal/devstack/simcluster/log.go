package simcluster

import (
	"fmt"
	"strings"

	"github.com/go-logr/logr"
)

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
