package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// firstLook leaves operations that end at once alone.
	firstLook = time.Second
	// noWorkerAfter is when a person should be told that nobody works on the operation.
	noWorkerAfter = 5 * time.Second
	// restartAfter is how long a worker that answered before may take to restart without a word.
	restartAfter = 20 * time.Second
	// lookMax between two looks at an operation on which nothing changes.
	lookMax = 30 * time.Second
)

// watcher says one line per change of a running operation. It only informs: the outcome comes from the operation's end.
type watcher struct {
	say       func(lines ...string)
	taskQueue string

	began    time.Time
	answered bool
	warned   bool
	last     string
	// silent: Temporal did not answer the last look.
	silent bool
	// missing: Temporal answered the last look, and no worker did.
	missing bool
	// seen is when a worker answered last.
	seen time.Time
}

// watch returns when ctx ends. It looks less and less often while nothing changes.
func (w *watcher) watch(ctx context.Context, server operations, workflowID string) {
	w.began = time.Now()
	for delay := firstLook; ; delay = min(2*delay, lookMax) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
		}
		status, err := server.Status(ctx, workflowID)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.unanswered(err)
			continue
		}
		w.answered, w.silent, w.missing, w.warned, w.seen = true, false, false, false, time.Now()
		if w.changed(status) {
			delay = firstLook
		}
	}
}

// unanswered says why nothing is seen, once. A worker that answered before may be restarting: that is no news.
func (w *watcher) unanswered(err error) {
	if errors.Is(err, starter.ErrTemporalUnavailable) {
		if !w.silent {
			w.say(fmt.Sprintf("[%s] Temporal does not answer; the operation goes on, waiting for Temporal to come back", w.elapsed()))
		}
		w.silent = true
		return
	}
	w.silent, w.missing = false, true
	if w.answered && !w.warned && time.Since(w.seen) >= restartAfter {
		w.warned = true
		w.say(fmt.Sprintf("[%s] no worker has answered for %s: is one running on task queue %q?",
			w.elapsed(), time.Since(w.seen).Round(time.Second), w.taskQueue))
	}
	if w.answered || w.warned || time.Since(w.began) < noWorkerAfter {
		return
	}
	w.warned = true
	w.say(fmt.Sprintf("[%s] the operation is started, but no worker has answered for it: is one running on task queue %q?", w.elapsed(), w.taskQueue))
}

func (w *watcher) changed(status contract.StatusResult) bool {
	line := progress(status)
	if line == w.last {
		return false
	}
	w.last = line
	w.say(fmt.Sprintf("[%s] %s", w.elapsed(), line))
	return true
}

func (w *watcher) elapsed() time.Duration { return time.Since(w.began).Round(time.Second) }

// progress is what a person sees of a running operation in one line.
func progress(status contract.StatusResult) string {
	line := string(status.Status)
	if status.Version > 0 {
		line += fmt.Sprintf(" version %d", status.Version)
	}
	for _, condition := range status.Conditions {
		line += fmt.Sprintf(" %s=%s", condition.Type, condition.Status)
	}
	if status.Message != "" {
		line += ": " + strings.Join(strings.Fields(status.Message), " ")
	}
	return line
}
