package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// readLimit of get and diff, unless --timeout is given.
const readLimit = 30 * time.Second

func (a *app) getCommand() *cobra.Command {
	var work target
	command := &cobra.Command{
		Use:   "get --name WORK --consumer NAME",
		Short: "Print a stored ManifestWork with what the cluster reported for it",
		Long: `Print a stored ManifestWork with what the cluster reported for it.

The values of Secrets are masked.`,
		Args: noArguments,
	}
	work.add(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		where := "get " + work.String()
		settings, err := settingsOf(command)
		if err == nil {
			err = work.check()
		}
		if err != nil {
			return failed("get", err)
		}
		stored, err := a.read(command, settings, work)
		switch {
		case errors.Is(err, maestro.ErrNotFound):
			return &failure{reason: reasonNotFound, where: where, err: fmt.Errorf("source %s has no such work in Maestro %s", settings.SourceID, settings.HTTPEndpoint)}
		case command.Context().Err() != nil:
			return interrupted(where)
		case err != nil:
			return failed(where, err)
		}
		document, err := describe(settings.SourceID, stored)
		if err != nil {
			return failed(where, err)
		}
		if err := a.print(settings.Output, document); err != nil {
			return &failure{reason: reasonOutput, where: where, err: err}
		}
		return nil
	}
	return command
}

// read asks Maestro for one work.
func (a *app) read(command *cobra.Command, settings config.CLI, work target) (*manifest.Stored, error) {
	limit := readLimit
	if text := timeoutOf(command); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil || limit < 0 {
			return nil, contract.Errorf(contract.ErrInvalidInput, "--timeout %q: give a positive duration with a unit, like 90s or 5m", text)
		}
	}
	server, err := a.dialMaestro(settings)
	if err != nil {
		return nil, err
	}
	defer func() { _ = server.Close() }() // the answer is read
	ctx, stop := context.WithTimeout(command.Context(), limit)
	defer stop()
	stored, err := server.Get(ctx, work.consumer, work.name)
	if !errors.Is(err, maestro.ErrNotFound) {
		return stored, err
	}
	// A misspelled consumer must not look like a work that is still to come.
	if unknown := server.Registered(ctx, work.consumer); unknown != nil {
		return nil, unknown
	}
	return nil, err
}
