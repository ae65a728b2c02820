package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// dialLimit bounds the connection to Temporal.
	dialLimit = 10 * time.Second
	// lookLimit of one query, which Temporal holds until a worker takes it.
	lookLimit = 4 * time.Second
	// healthLimit of the question whether Temporal itself answers.
	healthLimit = 2 * time.Second
)

// errNoWorker: Temporal answers, and nobody answers for the operation.
var errNoWorker = errors.New("no worker answers")

// dialTemporal is the one place that connects to Temporal.
func dialTemporal(ctx context.Context, settings config.CLI, logger *slog.Logger) (operations, error) {
	ctx, stop := context.WithTimeout(ctx, dialLimit)
	defer stop()
	connection, err := client.DialContext(ctx, client.Options{
		HostPort:  settings.TemporalAddress,
		Namespace: settings.TemporalNamespace,
		Logger:    log.NewStructuredLogger(logger),
	})
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", starter.ErrTemporalUnavailable, settings.TemporalAddress, err)
	}
	return &temporalOperations{connection: connection, starter: starter.New(connection, settings.TaskQueue), settings: settings}, nil
}

// dialMaestro is the one place that makes a Maestro client, which refuses plaintext unless it is asked for.
func dialMaestro(settings config.CLI) (works, error) {
	return maestro.New(maestro.Config{
		GRPCEndpoint: settings.GRPCEndpoint,
		HTTPEndpoint: settings.HTTPEndpoint,
		Insecure:     settings.GRPCInsecure,
		Source:       settings.SourceID,
	})
}

// temporalOperations adds to the starter what a person needs: a missing worker told from a missing Temporal.
type temporalOperations struct {
	connection client.Client
	starter    *starter.Client
	settings   config.CLI
}

func (t *temporalOperations) Start(ctx context.Context, request contract.Request) (operation, error) {
	started, err := t.starter.Start(ctx, request)
	if err != nil {
		return operation{}, t.explained(ctx, err)
	}
	return operation{
		WorkflowID: started.WorkflowID, RunID: started.RunID, Attached: started.Attached, cancel: started.Cancel,
		Wait: func(ctx context.Context) (contract.StatusResult, error) {
			result, err := started.Wait(ctx)
			var terminated *temporal.TerminatedError
			if errors.As(err, &terminated) {
				err = contract.Errorf(contract.ErrCancelled, "somebody terminated the operation: %w", err)
			}
			return result, err
		},
	}, nil
}

func (t *temporalOperations) Status(ctx context.Context, workflowID string) (contract.StatusResult, error) {
	return looked(ctx, t, func(ctx context.Context) (contract.StatusResult, error) { return t.starter.Status(ctx, workflowID) })
}

func (t *temporalOperations) Cancel(ctx context.Context, started operation) error {
	return t.explained(ctx, started.cancel(ctx))
}

func (t *temporalOperations) Mutex(source, consumer string) mutex {
	return &temporalMutex{operations: t, mutex: t.starter.Mutex(source, consumer)}
}

// temporalMutex is the same for a mutex.
type temporalMutex struct {
	operations *temporalOperations
	mutex      *starter.Mutex
}

func (m *temporalMutex) Status(ctx context.Context) (contract.MutexStatus, error) {
	return looked(ctx, m.operations, m.mutex.Status)
}

func (m *temporalMutex) Hold(ctx context.Context, request contract.HoldRequest) (contract.HoldAnswer, error) {
	return looked(ctx, m.operations, func(ctx context.Context) (contract.HoldAnswer, error) { return m.mutex.Hold(ctx, request) })
}

func (m *temporalMutex) Release(ctx context.Context, request contract.HoldRelease) (contract.MutexAnswer, error) {
	return looked(ctx, m.operations, func(ctx context.Context) (contract.MutexAnswer, error) { return m.mutex.Release(ctx, request) })
}

func (m *temporalMutex) ForceRelease(ctx context.Context, operator contract.Operator) (contract.MutexAnswer, error) {
	return looked(ctx, m.operations, func(ctx context.Context) (contract.MutexAnswer, error) { return m.mutex.ForceRelease(ctx, operator) })
}

func (m *temporalMutex) Pause(ctx context.Context, operator contract.Operator) (contract.MutexAnswer, error) {
	return looked(ctx, m.operations, func(ctx context.Context) (contract.MutexAnswer, error) { return m.mutex.Pause(ctx, operator) })
}

func (m *temporalMutex) Resume(ctx context.Context, operator contract.Operator) (contract.MutexAnswer, error) {
	return looked(ctx, m.operations, func(ctx context.Context) (contract.MutexAnswer, error) { return m.mutex.Resume(ctx, operator) })
}

// looked bounds a question to a worker.
func looked[T any](ctx context.Context, operations *temporalOperations, ask func(context.Context) (T, error)) (T, error) {
	look, stop := context.WithTimeout(ctx, lookLimit)
	defer stop()
	answer, err := ask(look)
	return answer, operations.explained(look, err)
}

func (t *temporalOperations) Close() { t.connection.Close() }

// explained asks Temporal's health when a call got no answer: the deadline of a call looks the same whether Temporal or
// the worker is missing.
func (t *temporalOperations) explained(ctx context.Context, err error) error {
	var namespace *serviceerror.NamespaceNotFound
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &namespace):
		return contract.Errorf(contract.ErrInvalidInput, "Temporal at %s has no namespace %q", t.settings.TemporalAddress, t.settings.TemporalNamespace)
	case !late && !errors.Is(err, starter.ErrTemporalUnavailable):
		return err
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), healthLimit)
	defer stop()
	if _, healthErr := t.connection.CheckHealth(ctx, &client.CheckHealthRequest{}); healthErr != nil {
		return fmt.Errorf("%w: %w", starter.ErrTemporalUnavailable, err)
	}
	return fmt.Errorf("%w on task queue %q", errNoWorker, t.settings.TaskQueue)
}
