package operation

import (
	"math"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// The activities' options, all in one place:
//
//	activity  StartToClose  heartbeat  ScheduleToClose            backoff        cancel
//	Build     10 s          -          until the deadline         1 s → 10 s     at once
//	Commit    40 s          8 s        request's patience         see activity   waits for the attempt under way
//	SubmitTicket 10 s       -          until the deadline         1 s → 30 s     at once
//	Observe   15 s          -          until the deadline + 30 s  see activity   at once
//	Report    10 s          -          10 min                     1 s → 10 s     never
//	ReportStatus, by what it says:
//	  under way  15 s       -          until the deadline         1 s → 5 min    waits for the attempt under way
//	  outcome    15 s       -          24 h                       1 s → 5 min    at once, by another request
//	  superseded 15 s       -          20 s                       1 s → 5 min    at once, by another request
//
// The steps of a recreation (Orphan, DeleteOrphaned, Unorphan, Recreate) have Commit's StartToClose and heartbeat; from
// DeleteOrphaned on they are tried until they are done, see recreate.go.
//
// StartToClose, or the heartbeat, bounds the delay after a worker was killed in an attempt; ScheduleToClose is the
// patience.
// Errors say themselves whether they are retryable ([contract.Rules]), and Observe says itself when to look again.

func buildOptions(work string, remaining time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    10 * time.Second,
		ScheduleToCloseTimeout: remaining,
		RetryPolicy:            backoff(time.Second, 10*time.Second),
		Summary:                "check " + work,
	}
}

func commitOptions(work string, patience time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    40 * time.Second,
		HeartbeatTimeout:       8 * time.Second,
		ScheduleToCloseTimeout: patience,
		RetryPolicy:            backoff(500*time.Millisecond, 15*time.Second),
		WaitForCancellation:    true,
		Summary:                "write " + work,
	}
}

func ticketOptions(work string, patience time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    10 * time.Second,
		ScheduleToCloseTimeout: patience,
		RetryPolicy:            backoff(time.Second, 30*time.Second),
		Summary:                "queue " + work,
	}
}

// unlimited is for steps that must not be given up half-way.
func unlimited(options workflow.ActivityOptions) workflow.ActivityOptions {
	options.ScheduleToCloseTimeout = 0
	return options
}

// lateLook is how long after the deadline the last look may still end.
const lateLook = 30 * time.Second

func observeOptions(work string, remaining time.Duration) workflow.ActivityOptions {
	options := workflow.ActivityOptions{
		StartToCloseTimeout:    15 * time.Second,
		ScheduleToCloseTimeout: max(remaining, 0) + lateLook,
		RetryPolicy:            backoff(time.Second, contract.PollMax),
		Summary:                "wait for " + work,
	}
	// More than any wait makes: the deadline ends it. The SDK's test environment takes none for ten.
	options.RetryPolicy.MaximumAttempts = math.MaxInt32
	return options
}

// lateOptions are for the one look after a deadline at which nobody looked.
func lateOptions(work string) workflow.ActivityOptions {
	options := observeOptions(work, 0)
	options.RetryPolicy.MaximumAttempts = 1
	return options
}

// pokeOptions are for the one look that an operator asks for.
func pokeOptions(work string) workflow.ActivityOptions {
	options := lateOptions(work)
	options.Summary = "look at " + work
	return options
}

func reportOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    10 * time.Second,
		ScheduleToCloseTimeout: 10 * time.Minute,
		RetryPolicy:            backoff(time.Second, 10*time.Second),
		Summary:                "report the outcome",
	}
}

// What a status report is worth waiting for.
const (
	reportPatience = 24 * time.Hour
	// supersededPatience is short: a newer request waits for it, whose own reports say more.
	supersededPatience = 20 * time.Second
)

func statusOptions(patience time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout:    15 * time.Second,
		ScheduleToCloseTimeout: patience,
		RetryPolicy:            backoff(time.Second, 5*time.Minute),
		Summary:                "report to HyperFleet",
	}
}

func backoff(first, longest time.Duration) *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: first, BackoffCoefficient: 2, MaximumInterval: longest}
}
