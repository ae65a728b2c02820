package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// startingAtOnce bounds the operations that are being started: each is a write to Temporal, or waits for the answer of
	// a worker when an operation of the work is running.
	startingAtOnce = 64
	// followedAtOnce bounds the operations whose end is awaited: each holds a long poll, of which Temporal allows all
	// callers of a namespace 1200 by default. The others run all the same, so it is apart from the starts: waiting for a
	// cluster keeps no operation from being started.
	followedAtOnce = 64
	// lateLook is how long the end of an operation may take to read whose turn comes after its deadline.
	lateLook = 10 * time.Second
)

// turns are what the operations of a command have to share.
type turns struct{ start, follow *semaphore.Weighted }

// together runs operations side by side on one connection and makes one outcome of theirs.
func (a *app) together(ctx context.Context, settings config.CLI, runs []*execution) outcome {
	server, err := a.dialTemporal(ctx, settings, a.logger(settings))
	if err != nil {
		return noneStarted(ctx, runs, err)
	}
	defer server.Close()
	shared := turns{start: semaphore.NewWeighted(startingAtOnce), follow: semaphore.NewWeighted(followedAtOnce)}
	if len(runs) == 1 {
		return runs[0].do(ctx, server, shared)
	}
	outcomes := make([]outcome, len(runs))
	var group sync.WaitGroup
	for index, run := range runs {
		run.beside = true
		group.Go(func() { outcomes[index] = run.do(ctx, server, shared) })
	}
	group.Wait()
	return combined(runs, outcomes)
}

// noneStarted is the outcome without a connection.
func noneStarted(ctx context.Context, runs []*execution, err error) outcome {
	if ctx.Err() != nil {
		return runs[0].leave(errors.New("interrupted before anything was started"))
	}
	out := runs[0].notStarted(ctx, err)
	if len(runs) == 1 {
		return out
	}
	var names []string
	for _, run := range runs {
		names = append(names, run.request.WorkName())
	}
	out.result.ManifestWorkName = strings.Join(names, ", ")
	out.failure.where = placeOf(runs)
	return out
}

// placeOf several operations.
func placeOf(runs []*execution) string { return runs[0].command + " " + runs[0].request.Consumer }

// combined is a success when all are. Otherwise it is as bad as the first that is not, and says how each one ended.
func combined(runs []*execution, outcomes []outcome) outcome {
	out := outcome{final: true, show: true}
	var names, ids, messages []string
	failed := 0
	for index, one := range outcomes {
		name := runs[index].request.WorkName()
		result := one.result
		if one.failure != nil {
			failed++
			if out.failure == nil {
				out.failure = one.failure
			}
			messages = append(messages, fmt.Sprintf("%s: %s: %v", name, one.failure.reason, one.failure.err))
		} else {
			messages = append(messages, fmt.Sprintf("%s: %s", name, result.Message))
		}
		// The first failure decides what the whole is called, else the first success.
		if index == 0 || one.failure != nil && failed == 1 {
			out.result = result
		}
		out.final = out.final && one.final
		out.show = out.show && one.show
		names = append(names, name)
		ids = append(ids, result.WorkflowID)
	}
	out.result.Resources, out.result.Conditions, out.result.Warnings = nil, nil, nil
	for _, one := range outcomes {
		out.result.Resources = append(out.result.Resources, one.result.Resources...)
		out.result.Warnings = append(out.result.Warnings, one.result.Warnings...)
	}
	out.result.ManifestWorkName, out.result.WorkflowID, out.result.RunID = strings.Join(names, ", "), strings.Join(ids, ", "), ""
	out.result.Version, out.result.ObservedVersion = 0, 0
	out.result.Message = strings.Join(messages, "; ")
	if failed > 0 {
		out.result.Message = fmt.Sprintf("%d of %d works failed: %s", failed, len(outcomes), out.result.Message)
		out.failure = &failure{reason: out.failure.reason, where: placeOf(runs), err: errors.New(out.result.Message)}
		if out.result.Reason == "" {
			out.result.Reason = string(contract.ErrInternal)
		}
	}
	return out
}
