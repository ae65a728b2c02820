package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// together runs operations side by side and makes one outcome of theirs.
func together(ctx context.Context, runs []*execution) outcome {
	if len(runs) == 1 {
		return runs[0].do(ctx)
	}
	outcomes := make([]outcome, len(runs))
	var group sync.WaitGroup
	for index, run := range runs {
		run.beside = true
		group.Go(func() { outcomes[index] = run.do(ctx) })
	}
	group.Wait()
	return combined(runs, outcomes)
}

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
		out.failure = &failure{reason: out.failure.reason, where: runs[0].command + " " + runs[0].request.Consumer, err: errors.New(out.result.Message)}
		if out.result.Reason == "" {
			out.result.Reason = string(contract.ErrInternal)
		}
	}
	return out
}
