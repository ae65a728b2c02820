//go:build integration

package chaos

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakehyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

// repeat does something at random intervals around a mean until the context ends.
func repeat(ctx context.Context, random *rand.Rand, mean time.Duration, what func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(float64(mean) * (0.5 + random.Float64()))):
			what()
		}
	}
}

// breaksMaestro loses answers, refuses, conflicts, and goes away altogether. A fault that has not struck when the next one
// comes is taken back, or they would pile up while everybody waits longer and longer.
func breaksMaestro(ctx context.Context, random *rand.Rand, fake *fakemaestro.Server) {
	repeat(ctx, random, 300*time.Millisecond, func() {
		faults := fake.Faults()
		_ = faults.Clear()
		switch random.IntN(8) {
		case 0:
			faults.Inject(fakemaestro.AnswerLost().Times(2))
		case 1:
			faults.Inject(fakemaestro.ConnectionCut().Times(1))
		case 2:
			faults.Inject(fakemaestro.PublishConflict().Times(2))
		case 3:
			faults.Inject(fakemaestro.HTTPStatus(503).Times(5))
		case 4:
			faults.Inject(fakemaestro.PublishSlow(time.Second).Times(2))
		case 5:
			faults.Inject(fakemaestro.EventLost().Times(1))
		case 6:
			faults.CutConnections()
		default:
			_, _, _ = faults.PauseHTTP(), faults.PauseGRPC(), faults.PauseBroker()
			time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
			_, _, _ = faults.ResumeHTTP(), faults.ResumeGRPC(), faults.ResumeBroker()
		}
	})
}

// breaksHyperFleet does what an API behind a proxy does, about half of the time: the pauses of a report that fails again
// and again grow to minutes, and the chaos would outlast its patience.
func breaksHyperFleet(ctx context.Context, random *rand.Rand, api *fakehyperfleet.Server) {
	repeat(ctx, random, 500*time.Millisecond, func() {
		api.Heal()
		if random.IntN(2) == 0 {
			return
		}
		api.Inject([]fakehyperfleet.Fault{
			fakehyperfleet.Unavailable().Times(3), fakehyperfleet.ResetAfterStoring().Times(2), fakehyperfleet.NotJSON(502).Times(2),
			fakehyperfleet.TooManyRequests(time.Second).Times(1), fakehyperfleet.Slow(time.Second).Times(2),
		}[random.IntN(5)])
	})
}

// killsWorkers replaces one worker after the other.
func killsWorkers(ctx context.Context, t *testing.T, random *rand.Rand, spawn func(int) *devstack.Process) {
	workers := []*devstack.Process{spawn(0), spawn(1)}
	defer func() {
		for _, worker := range workers {
			worker.Kill()
		}
	}()
	kills := 0
	repeat(ctx, random, 3*time.Second, func() {
		victim := random.IntN(len(workers))
		workers[victim].Kill()
		workers[victim] = spawn(victim)
		kills++
	})
	t.Logf("%d workers were killed", kills)
}

// readsResults reads the results files as a sidecar does, and counts.
func readsResults(ctx context.Context, t *testing.T, folder string) {
	var reads atomic.Int64
	for ctx.Err() == nil {
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		require.NoError(t, err)
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				continue // not there any more
			}
			var document struct{ Status, Reason string }
			if !assert.NoError(t, json.Unmarshal(content, &document), "%s: %q", file, content) ||
				!assert.Contains(t, []string{"success", "failure"}, document.Status) {
				return
			}
			reads.Add(1)
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Logf("%d reads of results files", reads.Load())
}
