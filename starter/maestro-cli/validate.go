package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// validDocument is what validate prints for a work without problems.
type validDocument struct {
	Valid     bool     `json:"valid"`
	Name      string   `json:"name"`
	Consumer  string   `json:"consumer,omitempty"`
	Manifests []string `json:"manifests"`
	Warnings  []string `json:"warnings,omitempty"`
}

func (a *app) validateCommand() *cobra.Command {
	var file, consumer string
	command := &cobra.Command{
		Use:   "validate --manifest-file FILE [--consumer NAME]",
		Short: "Check a ManifestWork without any server",
		Long: `Check a ManifestWork without any server, with the code that apply uses.

Problems are printed on standard error, one per line; the exit code is 2 then.`,
		Args: noArguments,
	}
	command.Flags().StringVar(&file, "manifest-file", "", "file with one ManifestWork, YAML or JSON; - for standard input (required)")
	command.Flags().StringVar(&consumer, "consumer", "", "Maestro consumer that the work is meant for")
	command.RunE = func(command *cobra.Command, _ []string) error {
		settings, err := settingsOf(command)
		if err == nil {
			err = required("--manifest-file", file)
		}
		if err != nil {
			return failed("validate", err)
		}
		document, err := a.validate(command.Context(), file, consumer)
		if err != nil && command.Context().Err() != nil {
			return &failure{reason: reasonInterrupted, where: "validate " + file, err: errors.New("interrupted")}
		}
		if err != nil {
			a.say(strings.Split(err.Error(), "\n")...)
			failure := failed("validate "+file, err)
			failure.said = true
			return failure
		}
		if err := a.print(settings.Output, document); err != nil {
			return &failure{reason: reasonOutput, where: "validate " + file, err: err}
		}
		return nil
	}
	return command
}

func (a *app) validate(ctx context.Context, file, consumer string) (validDocument, error) {
	document := validDocument{Valid: true, Consumer: consumer, Manifests: []string{}}
	name, data, err := a.readManifest(ctx, file)
	if err != nil {
		return document, err
	}
	work, err := manifest.Parse(name, data)
	if err != nil {
		return document, err
	}
	document.Name = work.Name
	document.Warnings, err = manifest.Validate(work, consumer)
	for _, warning := range document.Warnings {
		a.say("warning: " + warning)
	}
	if err := errors.Join(err, checkConsumer(consumer)); err != nil {
		return document, err
	}
	identities, err := manifest.Identities(work)
	if err != nil {
		return document, contract.Errorf(contract.ErrInvalidManifest, "%w", err)
	}
	for _, identity := range identities {
		document.Manifests = append(document.Manifests, identity.String())
	}
	return document, nil
}

// checkConsumer checks the consumer, when there is one, with the rules of a request.
func checkConsumer(consumer string) error {
	if consumer == "" {
		return nil
	}
	request := contract.Request{Source: program, Consumer: consumer, Action: contract.ActionDelete, Name: "any"}
	if err := request.Check(); err != nil {
		return contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	return nil
}
