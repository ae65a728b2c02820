package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// commitFirst and commitMax bound the delay between two attempts to write.
	commitFirst = 500 * time.Millisecond
	commitMax   = 15 * time.Second
	// lastAttempt is what an attempt that ends the patience needs.
	lastAttempt = time.Second
	// heartbeatEvery lets Temporal see within the heartbeat timeout that a worker was killed.
	heartbeatEvery = 2 * time.Second
)

// patient gives a retryable error its delay, so that the last attempt comes at the end of the patience: left alone,
// Temporal gives up as soon as the next backoff would end after it, which can be half of the patience early.
func patient(info activity.Info, now time.Time, err error) error {
	if err == nil {
		return nil
	}
	failure := &contract.Error{Type: contract.TypeOf(err), Message: err.Error(), Delay: delayOf(err)}
	if failure.Delay == 0 {
		failure.Delay = contract.Rules[failure.Type].Delay
	}
	if failure.Delay == 0 {
		failure.Delay = doubled(commitFirst, commitMax, info.Attempt)
	}
	if info.ScheduleToCloseTimeout > 0 {
		left := info.ScheduledTime.Add(info.ScheduleToCloseTimeout).Sub(now)
		if left > 2*lastAttempt && failure.Delay > left-lastAttempt {
			failure.Delay = left - lastAttempt
		}
	}
	return failure.Application()
}

// doubled is first for attempt 1 and doubles with each attempt, up to longest.
func doubled(first, longest time.Duration, attempt int32) time.Duration {
	delay := first
	for range attempt - 1 {
		if delay *= 2; delay >= longest {
			return longest
		}
	}
	return delay
}

func delayOf(err error) time.Duration {
	var typed *contract.Error
	if errors.As(err, &typed) {
		return typed.Delay
	}
	return 0
}

// heartbeat tells Temporal that the attempt is alive until the returned function is called.
func heartbeat(ctx context.Context, every time.Duration) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}

// uncancelled keeps the attempt's deadline but not its cancel, of which the heartbeat tells: a write whose answer is on
// its way is heard to its end, or nobody would know what is stored. Each request has its own, shorter time-out.
func uncancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	detached := context.WithoutCancel(ctx)
	if deadline, limited := ctx.Deadline(); limited {
		return context.WithDeadline(detached, deadline)
	}
	return context.WithCancel(detached)
}
