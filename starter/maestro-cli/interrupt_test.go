package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// interruptedAfter is a context that a signal ends after a while.
func interruptedAfter(after time.Duration) context.Context {
	ctx, interrupt := context.WithCancel(context.Background())
	time.AfterFunc(after, interrupt)
	return ctx
}

func TestInterruptLeavesTheOperationRunningAndSaysHowToGetBack(t *testing.T) {
	path, file := stale(t), manifestFile(t, workYAML)
	synctest.Test(t, func(t *testing.T) {
		b := &bench{ctx: interruptedAfter(10 * time.Second), temporal: &fakeTemporal{start: never}}
		require.Equal(t, 130, b.run("apply", "--manifest-file", file, "--consumer", "cluster-a", "--wait=Available AND Applied", "--results-path", path))
		assert.NoFileExists(t, path)
		assert.Empty(t, b.stdout.String())
		said := b.stderr.String()
		assert.Contains(t, said, "the operation op/maestro-cli/cluster-a/web goes on")
		assert.Contains(t, said, "the same command")
		assert.Contains(t, said, "temporal workflow describe --workflow-id op/maestro-cli/cluster-a/web --address localhost:7233 --namespace default")
		assert.Contains(t, said, "maestro-cli wait --consumer cluster-a --name web --for 'Available AND Applied'")
	})
}

func TestCancelOnInterruptWaitsForTheEndAndReportsIt(t *testing.T) {
	cancelled := contract.StatusResult{Status: contract.StatusCancelled, Reason: string(contract.ErrCancelled), Message: "cancelled while waiting"}
	for name, test := range map[string]struct {
		end    contract.StatusResult
		code   int
		status string
	}{
		"cancelled":          {cancelled, 130, "failure"},
		"ended by then":      {available(), 0, "success"},
		"failed by then":     {contract.StatusResult{Status: contract.StatusFailed, Reason: "ApplyFailed", Message: "m"}, 1, "failure"},
		"timed out by then":  {contract.StatusResult{Status: contract.StatusTimedOut, Reason: "WaitTimeout", Message: "m"}, 3, "failure"},
		"superseded by then": {contract.StatusResult{Status: contract.StatusSuperseded, Reason: "Superseded", Message: "m"}, 4, "failure"},
	} {
		path, file := stale(t), manifestFile(t, workYAML)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				b := &bench{ctx: interruptedAfter(10 * time.Second), temporal: &fakeTemporal{
					start:  ending(12*time.Second, test.end),
					cancel: func(context.Context) error { calls++; return nil },
				}}
				assert.Equal(t, test.code, b.run("apply", "--manifest-file", file, "--consumer", "cluster-a", "--wait", "--cancel-on-interrupt", "--results-path", path))
				assert.Equal(t, 1, calls)
				assert.Equal(t, test.status, readResults(t, path).Status)
			})
		})
	}
}

func TestCancelOnInterruptGivesUpBeforeKubernetesKills(t *testing.T) {
	for name, cancelErr := range map[string]error{"no end": nil, "no answer": starter.ErrTemporalUnavailable} {
		path := stale(t)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				b := &bench{ctx: interruptedAfter(time.Second), temporal: &fakeTemporal{start: never, cancel: func(context.Context) error { return cancelErr }}}
				assert.Equal(t, 130, b.run("delete", "--name", "web", "--consumer", "cluster-a", "--wait", "--cancel-on-interrupt", "--results-path", path))
				assert.Less(t, time.Since(began), 30*time.Second)
				assert.NoFileExists(t, path)
				assert.Contains(t, b.stderr.String(), "has not ended by cancelling")
			})
		})
	}
}

func TestInterruptWhileStartingDoesNotPretendToKnow(t *testing.T) {
	path := stale(t)
	synctest.Test(t, func(t *testing.T) {
		b := &bench{ctx: interruptedAfter(time.Second), temporal: &fakeTemporal{start: func(ctx context.Context, _ contract.Request) (operation, error) {
			<-ctx.Done()
			return operation{}, ctx.Err()
		}}}
		assert.Equal(t, 130, b.run("wait", "--name", "web", "--consumer", "cluster-a", "--results-path", path))
		assert.NoFileExists(t, path)
		assert.Contains(t, b.stderr.String(), "whether it runs is not known")
	})
}

func TestMissingWorkerIsSaidAndDoesNotLastForEver(t *testing.T) {
	path := stale(t)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := &bench{}
		b.temporal = &fakeTemporal{start: never, status: func(context.Context) (contract.StatusResult, error) {
			return contract.StatusResult{}, fmt.Errorf("%w on task queue", errNoWorker)
		}}
		early := make(chan []string, 1)
		time.AfterFunc(8*time.Second, func() { early <- b.said() })
		assert.Equal(t, 3, b.run("wait", "--name", "web", "--consumer", "cluster-a", "--timeout", "2m", "--results-path", path))
		said := <-early
		require.Len(t, said, 2, "within seconds")
		assert.Contains(t, said[1], `no worker has answered for it: is one running on task queue "maestro-workflows"?`)
		assert.Equal(t, 2*time.Minute+endMargin, time.Since(began))
		assert.Len(t, b.said(), 3, "once, and the end")
		got := readResults(t, path)
		assert.Equal(t, "WaitTimeout", got.Reason)
		assert.Equal(t, "TimedOut", got.Phase)
		assert.Contains(t, got.Message, "still open")
		assert.Equal(t, "run-1", got.Details.RunID)
	})
}

func TestAttachedOperationWithALongerDeadlineIsLeftAtTheOwnOne(t *testing.T) {
	path := stale(t)
	synctest.Test(t, func(t *testing.T) {
		b := &bench{temporal: &fakeTemporal{start: never, status: func(context.Context) (contract.StatusResult, error) {
			return contract.StatusResult{Status: contract.StatusInProgress, Message: "waiting for Available"}, nil
		}}}
		assert.Equal(t, 3, b.run("wait", "--name", "web", "--consumer", "cluster-a", "--results-path", path))
		got := readResults(t, path)
		assert.Equal(t, "WaitTimeout", got.Reason)
		assert.Contains(t, got.Message, "goes on; last seen: InProgress: waiting for Available")
	})
}

func TestOfferToARunningOperationWithoutWorkerIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{temporal: &fakeTemporal{start: func(ctx context.Context, _ contract.Request) (operation, error) {
			<-ctx.Done()
			return operation{}, errNoWorker
		}}}
		assert.Equal(t, 3, b.run("delete", "--name", "web", "--consumer", "cluster-a"))
		assert.Contains(t, b.said()[0], "the request is not taken yet")
		assert.Contains(t, b.said()[1], "nobody has taken the request within 5m30s")
	})
}

func TestTemporalThatGoesAwayIsWaitedForAndSaid(t *testing.T) {
	for name, back := range map[string]bool{"for good": false, "and comes back": true} {
		path := stale(t)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				start := never
				if back {
					start = ending(3*time.Minute, available())
				}
				b := &bench{temporal: &fakeTemporal{start: start, status: func(context.Context) (contract.StatusResult, error) {
					if back && time.Since(began) > time.Minute {
						return contract.StatusResult{Status: contract.StatusInProgress, Message: "waiting for Available"}, nil
					}
					return contract.StatusResult{}, fmt.Errorf("%w: refused", starter.ErrTemporalUnavailable)
				}}}
				code := b.run("wait", "--name", "web", "--consumer", "cluster-a", "--results-path", path)
				assert.Contains(t, b.said()[1], "Temporal does not answer; the operation goes on")
				if back {
					assert.Equal(t, 0, code)
					assert.Contains(t, b.said()[2], "InProgress: waiting for Available")
					return
				}
				assert.Equal(t, 5, code)
				assert.Equal(t, "TemporalUnavailable", readResults(t, path).Reason)
			})
		})
	}
}

func TestProgressIsOneLinePerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		looks := 0
		b := &bench{temporal: &fakeTemporal{start: ending(10*time.Minute, available()), status: func(context.Context) (contract.StatusResult, error) {
			looks++
			status := contract.StatusResult{Status: contract.StatusInProgress, Message: "building"}
			if time.Since(began) > 20*time.Second {
				status.Version, status.Message = 1, "waiting\nfor Available"
				status.Conditions = []contract.Condition{{Type: "Applied", Status: "True"}}
			}
			return status, nil
		}}}
		require.Equal(t, 0, b.run("wait", "--name", "web", "--consumer", "cluster-a", "--timeout", "15m"))
		require.Len(t, b.said(), 3)
		assert.Equal(t, "[1s] InProgress: building", b.said()[1])
		assert.Regexp(t, `^\[\d+s\] InProgress version 1 Applied=True: waiting for Available$`, b.said()[2])
		assert.Less(t, looks, 35, "queries get rare while nothing changes")
	})
}

func TestOperationThatEndedWithoutAResultIsAFailure(t *testing.T) {
	path := stale(t)
	b := &bench{temporal: &fakeTemporal{start: func(_ context.Context, request contract.Request) (operation, error) {
		return operation{WorkflowID: request.WorkflowID(), RunID: "r", Wait: func(context.Context) (contract.StatusResult, error) {
			return contract.StatusResult{}, contract.Errorf(contract.ErrCancelled, "somebody terminated the operation: %w", errors.New("by ops"))
		}}, nil
	}}}
	assert.Equal(t, 1, b.run("wait", "--name", "web", "--consumer", "cluster-a", "--results-path", path))
	got := readResults(t, path)
	assert.Equal(t, "Cancelled", got.Phase)
	assert.Equal(t, "Cancelled", got.Reason)
	assert.NotEmpty(t, got.Details.WorkflowID)
}
