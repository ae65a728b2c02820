package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// endMargin is how long after its own deadline an operation may still report its end before the command stops
	// waiting for it: without a worker nobody would keep that deadline.
	endMargin = 30 * time.Second
	// cancelLimit is below the 30 s that Kubernetes leaves between SIGTERM and SIGKILL.
	cancelLimit = 25 * time.Second
)

var errNoEnd = errors.New("no end within the deadline")

// follow waits for the end of a started operation, says on standard error how it goes, and stops early for an interrupt,
// which cancels ctx, and at the limit, which ends limited.
func (e *execution) follow(ctx, limited context.Context, server operations, started operation) outcome {
	watchCtx, stop := context.WithCancel(limited)
	defer stop()
	watcher := &watcher{say: e.say, taskQueue: e.settings.TaskQueue}
	var watching sync.WaitGroup
	watching.Go(func() { watcher.watch(watchCtx, server, started.WorkflowID) })
	result, err := started.Wait(limited)
	stop()
	watching.Wait()

	switch {
	case hasEnded(result, err):
		return e.ended(result)
	case ctx.Err() != nil:
		return e.interrupted(ctx, server, started)
	case errors.Is(err, starter.ErrTemporalUnavailable) && limited.Err() == nil, limited.Err() != nil && watcher.silent:
		return e.withIDs(started, e.unreachable(fmt.Errorf("how operation %s ended is not known: %w", started.WorkflowID, starter.ErrTemporalUnavailable)))
	case limited.Err() != nil && watcher.answered && !watcher.missing:
		return e.withIDs(started, e.refused(contract.Errorf(contract.ErrWaitTimeout,
			"operation %s has not ended within %s and goes on; last seen: %s", started.WorkflowID, e.limit, watcher.last)))
	case limited.Err() != nil:
		return e.withIDs(started, e.refused(contract.Errorf(contract.ErrWaitTimeout,
			"operation %s has not ended within %s and is still open: is a worker running on task queue %q?", started.WorkflowID, e.limit, e.settings.TaskQueue)))
	default:
		return e.withIDs(started, e.refused(err))
	}
}

// hasEnded: an operation that failed gives its result beside the error; every other error leaves the reason empty.
func hasEnded(result contract.StatusResult, err error) bool { return err == nil || result.Reason != "" }

func (e *execution) withIDs(started operation, out outcome) outcome {
	out.result.WorkflowID, out.result.RunID = started.WorkflowID, started.RunID
	return out
}

// interrupted leaves the operation running and says how to get back to it, or cancels it when the user wants that.
func (e *execution) interrupted(ctx context.Context, server operations, started operation) outcome {
	left := e.leave(errors.New("interrupted"))
	left.failure.said = true
	if !e.flags.cancelOnInterrupt {
		e.say(fmt.Sprintf("%s: %s: interrupted; the operation %s goes on", program, e.where(), started.WorkflowID))
		e.say(e.waysBack(started)...)
		return left
	}
	e.say(fmt.Sprintf("%s: %s: interrupted; cancelling the operation %s", program, e.where(), started.WorkflowID))
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelLimit)
	defer stop()
	err := server.Cancel(ctx, started)
	if err == nil {
		var result contract.StatusResult
		result, err = started.Wait(ctx)
		if hasEnded(result, err) {
			out := e.ended(result)
			if result.Status == contract.StatusCancelled && out.failure != nil {
				out.failure.reason = reasonInterrupted
			}
			return out
		}
	}
	e.say(fmt.Sprintf("%s: %s: the operation has not ended by cancelling: %s", program, e.where(), oneLine(err)))
	e.say(e.waysBack(started)...)
	return left
}

// waysBack tells a person how to see, await and end an operation that this command leaves running.
func (e *execution) waysBack(started operation) []string {
	target := fmt.Sprintf("--workflow-id %s --address %s --namespace %s",
		quoted(started.WorkflowID), quoted(e.settings.TemporalAddress), quoted(e.settings.TemporalNamespace))
	lines := []string{
		"  attach again:  the same command",
		"  look at it:    temporal workflow describe " + target,
		"  cancel it:     temporal workflow cancel " + target,
	}
	condition := e.request.Wait
	switch e.request.EffectiveAction() {
	case contract.ActionWait:
		return lines
	case contract.ActionDelete:
		condition = conditionDeleted
	default:
		if condition == "" {
			condition = conditionAvailable
		}
	}
	return append(lines, fmt.Sprintf("  wait for it:   %s wait --consumer %s --name %s --for %s",
		program, quoted(e.request.Consumer), quoted(e.request.WorkName()), quoted(condition)))
}

// quoted makes one word of a shell command line.
func quoted(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
