//go:build integration

package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// rounds of each way per benchmark: the medians of 20 are compared.
const rounds = 20

// barePoll is how often the bare client looks.
const barePoll = 20 * time.Millisecond

// BenchmarkStartToResult measures, in turn in one run and against the same servers, the time from start to result of
// an operation and of a bare client that creates the work and polls, for a cluster that is Available after 0.7 s.
func BenchmarkStartToResult(b *testing.B) {
	queue, consumer := unique("queue"), newConsumer(b)
	worker := mustWorker(b, queue, maestroConfig())
	defer func() { _ = worker.Stop() }()
	client := starter.New(temporal, queue)

	for b.Loop() {
		var operations, bare []time.Duration
		for range rounds {
			bare = append(bare, measure(b, func(ctx context.Context) error { return createAndPoll(ctx, consumer, unique("bare")) }))
			operations = append(operations, measure(b, func(ctx context.Context) error {
				operation, err := client.Start(ctx, contract.Request{
					Source: source, Consumer: consumer, Work: configMap(unique("work"), "a", nil), Wait: "Available",
				})
				if err != nil {
					return err
				}
				_, err = operation.Wait(ctx)
				return err
			}))
		}
		b.ReportMetric(median(operations).Seconds()*1000, "operation-ms")
		b.ReportMetric(median(bare).Seconds()*1000, "bare-ms")
		b.ReportMetric(median(operations).Seconds()/median(bare).Seconds(), "ratio")
	}
}

func measure(b *testing.B, run func(context.Context) error) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	require.NoError(b, run(ctx))
	return time.Since(began)
}

func createAndPoll(ctx context.Context, consumer, name string) error {
	work, err := manifest.ParseJSON(configMap(name, "a", nil))
	if err != nil {
		return err
	}
	if err := server.Create(ctx, source, manifest.Desired(work, consumer, 0)); err != nil {
		return err
	}
	available, err := manifest.ParseExpression("Available")
	if err != nil {
		return err
	}
	ticker := time.NewTicker(barePoll)
	defer ticker.Stop()
	for {
		stored, err := server.Get(ctx, consumer, name)
		if err != nil || manifest.Evaluate(stored.Status, 1, available).Met {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func median(durations []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[len(sorted)/2]
}
