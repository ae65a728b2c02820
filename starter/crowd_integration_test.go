//go:build integration

package starter_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const crowd = 20

// outcome of one caller.
type outcome struct {
	request   contract.Request
	operation *starter.Operation
	refused   error
	result    contract.StatusResult
	err       error
}

// all starts every request at once and waits for each.
func (w *world) all(requests []contract.Request, started func()) []outcome {
	outcomes := make([]outcome, len(requests))
	var starts, ends sync.WaitGroup
	for i, request := range requests {
		outcomes[i].request = request
		starts.Add(1)
		ends.Go(func() {
			o := &outcomes[i]
			o.operation, o.refused = w.starter.Start(w.ctx, request)
			starts.Done()
			if o.refused == nil {
				o.result, o.err = o.operation.Wait(w.ctx)
			}
		})
	}
	starts.Wait()
	started()
	ends.Wait()
	return outcomes
}

func TestCrowdWithOneRequestIsOneOperation(t *testing.T) {
	w := newWorld(t).works()
	requests := make([]contract.Request, crowd)
	for i := range requests {
		requests[i] = w.request("1", 1, "Available")
	}
	starts := 0
	for _, o := range w.all(requests, func() { w.takes("1") }) {
		require.NoError(t, o.refused)
		require.NoError(t, o.err)
		assert.Equal(t, contract.ReasonConditionMet, o.result.Reason)
		assert.Equal(t, o.operation.RunID, o.result.RunID)
		if !o.operation.Attached {
			starts++
		}
	}
	assert.Equal(t, 1, starts)
	assert.Equal(t, []string{"1"}, w.written())
}

// settled checks that a caller has exactly one of the outcomes that a caller can have, and says whether it succeeded.
func settled(t *testing.T, o outcome) bool {
	t.Helper()
	switch {
	case o.refused != nil:
		assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(o.refused), "%v", o.refused)
		return false
	case o.err != nil:
		assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(o.err), "%v", o.err)
		assert.Equal(t, o.request.Digest(), o.result.RequestDigest)
		return false
	default:
		assert.Equal(t, o.request.Digest(), o.result.RequestDigest, "the outcome of another request")
		assert.True(t, o.result.Succeeded())
		return true
	}
}

func TestCrowdOfGenerationsEndsWithTheNewest(t *testing.T) {
	w := newWorld(t).works()
	newest := fmt.Sprint(crowd)
	w.takes(newest)
	requests := make([]contract.Request, crowd)
	for i := range requests {
		requests[i] = w.request(fmt.Sprint(i+1), int64(i+1), "Available")
	}
	outcomes := w.all(requests, func() {})
	for i, o := range outcomes {
		assert.Equal(t, i == crowd-1, settled(t, o), "generation %d", i+1)
	}
	written := w.written()
	assert.Equal(t, newest, written[len(written)-1])
	assert.IsIncreasing(t, numbers(t, written), "never an older one after a newer one")
}

func numbers(t *testing.T, contents []string) []int {
	t.Helper()
	out := make([]int, len(contents))
	for i, content := range contents {
		_, err := fmt.Sscan(content, &out[i])
		require.NoError(t, err)
	}
	return out
}

func TestCrowdWithoutGenerationsLosesNoRequest(t *testing.T) {
	w := newWorld(t).works()
	requests := make([]contract.Request, crowd)
	for i := range requests {
		requests[i] = w.request(fmt.Sprint(i+1), 0, "")
	}
	successes := 0
	outcomes := w.all(requests, func() {})
	written := w.written()
	for _, o := range outcomes {
		assert.NoError(t, o.refused)
		if settled(t, o) {
			successes++
			assert.Contains(t, written, contentOf(o.request.Work), "a success whose content was never written")
		}
	}
	assert.Positive(t, successes)
	assert.LessOrEqual(t, len(written), crowd)
}

// Operations that end as soon as they have begun, so that requests meet runs which are closing.
func TestRequestThatMeetsAClosingRunIsNotLost(t *testing.T) {
	const callers, rounds = 4, 5
	w := newWorld(t).works()
	var all sync.WaitGroup
	outcomes := make([][]outcome, callers)
	for caller := range callers {
		all.Go(func() {
			for round := range rounds {
				o := outcome{request: w.request(fmt.Sprintf("%d-%d", caller, round), 0, "")}
				if o.operation, o.refused = w.starter.Start(w.ctx, o.request); o.refused == nil {
					o.result, o.err = o.operation.Wait(w.ctx)
				}
				outcomes[caller] = append(outcomes[caller], o)
			}
		})
	}
	all.Wait()
	written := w.written()
	for caller := range callers {
		require.Len(t, outcomes[caller], rounds)
		for _, o := range outcomes[caller] {
			assert.NoError(t, o.refused)
			if settled(t, o) {
				assert.Contains(t, written, contentOf(o.request.Work))
			}
		}
	}
}
