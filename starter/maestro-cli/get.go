package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
)

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
