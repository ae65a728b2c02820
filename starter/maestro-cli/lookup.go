package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// readLimit of the commands that only read, unless --timeout is given.
const readLimit = 30 * time.Second

// lookup is a connection to Maestro that only reads.
type lookup struct {
	works
	source string
	// limit of each question.
	limit time.Duration
}

// lookup connects; the caller closes.
func (a *app) lookup(command *cobra.Command, settings config.CLI) (*lookup, error) {
	limit, err := limitOf(command)
	if err != nil {
		return nil, err
	}
	server, err := a.dialMaestro(settings)
	if err != nil {
		return nil, err
	}
	return &lookup{works: server, source: settings.SourceID, limit: limit}, nil
}

// limitOf is [readLimit], or --timeout.
func limitOf(command *cobra.Command) (time.Duration, error) {
	text := timeoutOf(command)
	if text == "" {
		return readLimit, nil
	}
	limit, err := time.ParseDuration(text)
	if err != nil || limit < 0 {
		return 0, contract.Errorf(contract.ErrInvalidInput, "--timeout %q: give a positive duration with a unit, like 90s or 5m", text)
	}
	if limit == 0 {
		return readLimit, nil
	}
	return limit, nil
}

// read asks for one work.
func (l *lookup) read(ctx context.Context, work target) (*manifest.Stored, error) {
	ctx, stop := context.WithTimeout(ctx, l.limit)
	defer stop()
	stored, err := l.Get(ctx, work.consumer, work.name)
	if !errors.Is(err, maestro.ErrNotFound) {
		return stored, err
	}
	// A misspelled consumer must not look like a work that is still to come.
	if unknown := l.Registered(ctx, work.consumer); unknown != nil {
		return nil, unknown
	}
	return nil, err
}

// creatable is nil when an operation would create this work, which our source does not have.
func (l *lookup) creatable(ctx context.Context, work target) error {
	ctx, stop := context.WithTimeout(ctx, l.limit)
	defer stop()
	others, err := l.Others(ctx, l.source, work.consumer, work.name)
	if err != nil {
		return err
	}
	return maestro.RefuseForeign(l.source, work.consumer, work.name, others)
}

// read asks Maestro for one work and nothing else.
func (a *app) read(command *cobra.Command, settings config.CLI, work target) (*manifest.Stored, error) {
	server, err := a.lookup(command, settings)
	if err != nil {
		return nil, err
	}
	defer func() { _ = server.Close() }() // the answer is read
	return server.read(command.Context(), work)
}
