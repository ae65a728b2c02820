package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// manyPools is more than are started, or followed, at once.
const manyPools = 200

func manyPoolsFile(t *testing.T) string {
	t.Helper()
	var pools []string
	for index := range manyPools {
		pools = append(pools, fmt.Sprintf(`{"name":"p%03d","instanceType":"m5.large","replicas":1}`, index))
	}
	return manifestFile(t, `{"nodepools":[`+strings.Join(pools, ",")+`],"metadata":{"cluster":"west-1","version":"4.17"}}`)
}

// gauge counts what is under way.
type gauge struct {
	mutex           sync.Mutex
	now, most, done int
}

func (g *gauge) enter() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.now++
	g.most = max(g.most, g.now)
}

func (g *gauge) leave() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.now--
	g.done++
}

func TestManyOperationsShareAConnectionAndTakeTurns(t *testing.T) {
	pools := manyPoolsFile(t)
	synctest.Test(t, func(t *testing.T) {
		var starting, following gauge
		b := &bench{temporal: &fakeTemporal{}}
		b.temporal.start = func(ctx context.Context, request contract.Request) (operation, error) {
			starting.enter()
			defer starting.leave()
			time.Sleep(time.Second)
			started, err := ending(time.Minute, available())(ctx, request)
			wait := started.Wait
			started.Wait = func(ctx context.Context) (contract.StatusResult, error) {
				following.enter()
				defer following.leave()
				return wait(ctx)
			}
			return started, err
		}
		began := time.Now()
		require.Equal(t, 0, b.run(buildOf("--apply", "--wait", "--nodepool-file", pools)...), b.stderr.String())
		assert.Equal(t, 1, b.temporal.dialled)
		assert.True(t, b.temporal.closed)
		assert.Equal(t, []int{manyPools, startingAtOnce, 0}, []int{starting.done, starting.most, starting.now})
		assert.Equal(t, []int{manyPools, followedAtOnce, 0}, []int{following.done, following.most, following.now})
		// Four rounds of starts of a second; who waits for the cluster holds up nobody.
		assert.Equal(t, time.Minute+4*time.Second, time.Since(began))
	})
}

// An operation whose turn to be followed comes after its deadline has long ended, and that is found out.
func TestOperationsThatAreFollowedLateAreKnownToHaveEnded(t *testing.T) {
	pools, path := manyPoolsFile(t), stale(t)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := &bench{temporal: &fakeTemporal{}}
		b.temporal.start = func(ctx context.Context, request contract.Request) (operation, error) {
			started, err := never(ctx, request)
			hang := started.Wait
			started.Wait = func(ctx context.Context) (contract.StatusResult, error) {
				if ctx.Err() != nil || time.Since(began) < time.Minute {
					return hang(ctx)
				}
				return available(), nil
			}
			return started, err
		}
		assert.Equal(t, 3, b.run(buildOf("--apply", "--wait", "--nodepool-file", pools, "--results-path", path)...))
		assert.Equal(t, 5*time.Minute+endMargin, time.Since(began))
		got := readResults(t, path)
		assert.Equal(t, "WaitTimeout", got.Reason)
		last := b.said()[len(b.said())-1]
		for _, text := range []string{got.Message, last} {
			assert.Contains(t, text, fmt.Sprintf("%d of %d works failed", followedAtOnce, manyPools))
		}
		assert.Equal(t, manyPools-followedAtOnce, strings.Count(last, "Available is True for version 1"))
	})
}

func TestInterruptLeavesManyOperationsRunningAndSaysHowToGetBackToEach(t *testing.T) {
	pools, path := manyPoolsFile(t), stale(t)
	synctest.Test(t, func(t *testing.T) {
		b := &bench{ctx: interruptedAfter(10 * time.Second), temporal: &fakeTemporal{start: never}}
		require.Equal(t, 130, b.run(buildOf("--apply", "--wait", "--nodepool-file", pools, "--results-path", path)...))
		said := b.stderr.String()
		for index := range manyPools {
			name := fmt.Sprintf("west-1-nodepool-p%03d", index)
			assert.Contains(t, said, "the operation op/maestro-cli/cluster-a1/"+name+" goes on")
			assert.Contains(t, said, "maestro-cli wait --consumer cluster-a1 --name "+name+" --for Available")
		}
		assert.NoFileExists(t, path)
		assert.Empty(t, b.stdout.String())
	})
}

func TestInterruptStartsNoMoreOperations(t *testing.T) {
	pools := manyPoolsFile(t)
	synctest.Test(t, func(t *testing.T) {
		b := &bench{ctx: interruptedAfter(10 * time.Second), temporal: &fakeTemporal{start: func(ctx context.Context, _ contract.Request) (operation, error) {
			<-ctx.Done()
			return operation{}, ctx.Err()
		}}}
		require.Equal(t, 130, b.run(buildOf("--apply", "--nodepool-file", pools)...))
		assert.Len(t, b.temporal.requests, startingAtOnce)
		last := b.said()[len(b.said())-1]
		assert.Equal(t, startingAtOnce, strings.Count(last, "whether it runs is not known"))
		assert.Equal(t, manyPools-startingAtOnce, strings.Count(last, "interrupted before it was started"))
	})
}

func TestMissingTemporalIsSaidOnceForAllWorks(t *testing.T) {
	path := stale(t)
	b := &bench{temporal: &fakeTemporal{dialErr: fmt.Errorf("%w: connection refused", starter.ErrTemporalUnavailable)}}
	assert.Equal(t, 5, b.run(buildOf("--apply", "--nodepool-file", manifestFile(t, twoPools), "--results-path", path)...))
	require.Len(t, b.said(), 1)
	assert.Equal(t, 1, strings.Count(b.said()[0], "connection refused"))
	assert.Contains(t, b.said()[0], "maestro-cli: build cluster-a1: TemporalUnavailable: ")
	got := readResults(t, path)
	assert.Equal(t, "west-1-nodepool-workers, west-1-nodepool-gpu", got.Details.ManifestWorkName)
	assert.Equal(t, "TemporalUnavailable", got.Reason)
}
