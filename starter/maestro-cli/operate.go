package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/results"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// requestMaker makes the request of a command. What it could find out is in the request even with an error.
type requestMaker func(ctx context.Context, settings config.CLI) (contract.Request, error)

// requestsMaker is the same for a command that may need several operations, at least one request unless it fails.
type requestsMaker func(ctx context.Context, settings config.CLI) ([]contract.Request, error)

// outcome is how a command ended.
type outcome struct {
	result contract.StatusResult
	// failure is nil for a success.
	failure *failure
	// final results go to the results file.
	final bool
	// show: the result came from an operation and is the command's document.
	show bool
}

// operate is what apply, delete and wait have in common: settings, results file, operation, document.
func (a *app) operate(command *cobra.Command, flags operationFlags, build requestMaker) error {
	return a.operateAll(command, flags, func(ctx context.Context, settings config.CLI) ([]contract.Request, error) {
		request, err := build(ctx, settings)
		return []contract.Request{request}, err
	})
}

// operateAll is [app.operate] for works that share nothing: their operations run side by side, and none starts unless
// all requests are right.
func (a *app) operateAll(command *cobra.Command, flags operationFlags, build requestsMaker) error {
	settings, err := settingsOf(command)
	return a.conclude(command, settings, func() outcome {
		ctx := command.Context()
		var requests []contract.Request
		if err == nil {
			requests, err = build(ctx, settings)
		}
		for index := 0; err == nil && index < len(requests); index++ {
			if problems := requests[index].Check(); problems != nil {
				err = contract.Errorf(contract.ErrInvalidInput, "%w", problems)
			}
		}
		nothing := err == nil && len(requests) == 0
		if len(requests) == 0 {
			requests = []contract.Request{{}}
		}
		var runs []*execution
		for _, request := range requests {
			runs = append(runs, &execution{app: a, settings: settings, flags: flags, command: command.Name(), request: request})
		}
		switch {
		case nothing:
			return runs[0].ended(nothingToDo())
		case err != nil && ctx.Err() != nil:
			return runs[0].leave(errors.New("interrupted before anything was done"))
		case err != nil:
			return runs[0].refused(err)
		default:
			return a.together(ctx, settings, runs)
		}
	})
}

func nothingToDo() contract.StatusResult {
	now := time.Now().UTC()
	return contract.StatusResult{
		Status: contract.StatusNotFound, Reason: contract.ReasonUnchanged, Message: "there is nothing to do",
		Timestamp: now, FinishedAt: &now, Resources: []contract.ResourceStatus{},
	}
}

// conclude wraps a command in the rules of the results file: a stale one is gone before anything happens, and every
// final outcome is written, the file before the document because a reader of the pipe may be gone.
func (a *app) conclude(command *cobra.Command, settings config.CLI, do func() outcome) error {
	if settings.ResultsPath != "" {
		if err := results.Prepare(settings.ResultsPath); err != nil {
			return &failure{reason: reasonOutput, where: command.Name(), err: err}
		}
	}
	ended := do()
	var writeErr, printErr error
	if ended.final && settings.ResultsPath != "" {
		writeErr = results.Write(settings.ResultsPath, results.Format(settings.ResultsFormat), ended.result)
	}
	if ended.show {
		printErr = a.printResult(settings.Output, ended.result)
	}
	if err := errors.Join(writeErr, printErr); err != nil {
		if ended.failure != nil {
			a.say(errorLine(command, ended.failure))
		}
		return &failure{reason: reasonOutput, where: command.Name(), err: err}
	}
	if ended.failure != nil {
		return ended.failure
	}
	return nil
}

// execution is one operation from the command's point of view.
type execution struct {
	app      *app
	settings config.CLI
	flags    operationFlags
	command  string
	request  contract.Request
	// limit of start and wait together.
	limit time.Duration
	// beside others: what is said names the work.
	beside bool
}

func (e *execution) say(lines ...string) {
	if e.beside {
		for index, line := range lines {
			lines[index] = e.request.WorkName() + ": " + line
		}
	}
	e.app.say(lines...)
}

func (e *execution) where() string {
	text := strings.Trim(e.request.Consumer+"/"+e.request.WorkName(), "/")
	return strings.TrimSpace(e.command + " " + text)
}

// do starts the operation and follows it to its end. One limit bounds both, because without a worker neither may end:
// nobody would keep the operation's own deadline, or answer for an operation that runs already. Waiting for a turn does
// not count.
func (e *execution) do(ctx context.Context, server operations, shared turns) outcome {
	durations, err := e.request.ParseDurations()
	if err != nil {
		return e.refused(contract.Errorf(contract.ErrInvalidInput, "%w", err))
	}
	if shared.start.Acquire(ctx, 1) != nil {
		return e.leave(errors.New("interrupted before it was started"))
	}
	e.limit = durations.Timeout + endMargin
	limited, stop := context.WithTimeoutCause(ctx, e.limit, errNoEnd)
	defer stop()
	started, err := e.start(limited, server)
	shared.start.Release(1)
	if err != nil {
		return e.notStarted(ctx, err)
	}
	if e.flags.detach {
		e.say(e.waysBack(started)...)
		return outcome{result: e.running(started), show: true}
	}
	if shared.follow.Acquire(ctx, 1) != nil {
		return e.interrupted(ctx, server, started)
	}
	defer shared.follow.Release(1)
	if end, _ := limited.Deadline(); time.Until(end) < lateLook {
		// It ends, or has ended, while others were followed.
		limited, stop = context.WithTimeoutCause(ctx, lateLook, errNoEnd)
		defer stop()
	}
	return e.follow(ctx, limited, server, started)
}

// start says so when it takes long: a request that has to be offered to a running operation needs a worker.
func (e *execution) start(ctx context.Context, server operations) (operation, error) {
	late := time.AfterFunc(noWorkerAfter, func() {
		e.say(fmt.Sprintf("the request is not taken yet: an operation of this work is running, and no worker has answered for it; is one running on task queue %q?", e.settings.TaskQueue))
	})
	defer late.Stop()
	started, err := server.Start(ctx, e.request)
	if err != nil {
		return started, err
	}
	verb := "started"
	if started.Attached {
		verb = "attached to, an equal request is running"
	}
	e.say(fmt.Sprintf("operation %s: %s (run %s)", started.WorkflowID, verb, started.RunID))
	return started, nil
}

func (e *execution) notStarted(ctx context.Context, err error) outcome {
	switch {
	case ctx.Err() != nil:
		return e.leave(errors.New("interrupted while the operation was being started, whether it runs is not known"))
	case errors.Is(err, starter.ErrTemporalUnavailable):
		return e.unreachable(err)
	case errors.Is(err, errNoWorker):
		return e.refused(contract.Errorf(contract.ErrWaitTimeout, "nobody has taken the request within %s: %w", e.limit, err))
	default:
		return e.refused(err)
	}
}

// leave ends a command by a signal, without a final result.
func (e *execution) leave(err error) outcome {
	return outcome{failure: &failure{reason: reasonInterrupted, where: e.where(), err: err}}
}

// refused ends a command whose operation did not start, or whose end is unknown, with a typed error.
func (e *execution) refused(err error) outcome {
	return e.broken(failed(e.where(), err))
}

func (e *execution) unreachable(err error) outcome {
	return e.broken(&failure{reason: reasonTemporalUnavailable, where: e.where(), err: err})
}

func (e *execution) broken(failure *failure) outcome {
	now := time.Now().UTC()
	generation, _ := e.request.EffectiveGeneration()
	result := contract.StatusResult{
		ManifestWorkName: e.request.WorkName(), Consumer: e.request.Consumer,
		Status: contract.StatusFailed, Reason: string(failure.reason), Message: failure.err.Error(),
		Timestamp: now, FinishedAt: &now, Generation: generation,
	}
	switch failure.reason {
	case contract.ErrWaitTimeout:
		result.Status = contract.StatusTimedOut
	case contract.ErrSuperseded:
		result.Status = contract.StatusSuperseded
	case contract.ErrCancelled:
		result.Status = contract.StatusCancelled
	}
	return outcome{result: result, failure: failure, final: true}
}

// running is the document of a command that leaves its operation alone.
func (e *execution) running(started operation) contract.StatusResult {
	generation, _ := e.request.EffectiveGeneration()
	return contract.StatusResult{
		ManifestWorkName: e.request.WorkName(), Consumer: e.request.Consumer,
		Status: contract.StatusInProgress, Reason: contract.ReasonRunning, Message: "the operation runs on by itself",
		Timestamp: time.Now().UTC(), Generation: generation, WorkflowID: started.WorkflowID, RunID: started.RunID,
	}
}

// ended makes the outcome of an operation that came to its own end.
func (e *execution) ended(result contract.StatusResult) outcome {
	out := outcome{result: result, final: true, show: true}
	if !result.Succeeded() {
		out.failure = &failure{reason: contract.ErrorType(result.Reason), where: e.where(), err: errors.New(result.Message)}
	}
	return out
}
