package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// What a file holds.
const (
	holdsWork    = "ManifestWork"
	holdsObjects = "objects"
)

// validDocument is what validate prints for an input without problems.
type validDocument struct {
	Valid bool `json:"valid"`
	// Kind is ManifestWork or objects; the latter have no name.
	Kind      string   `json:"kind"`
	Name      string   `json:"name,omitempty"`
	Consumer  string   `json:"consumer,omitempty"`
	Manifests []string `json:"manifests"`
	Warnings  []string `json:"warnings,omitempty"`
}

func (a *app) validateCommand() *cobra.Command {
	var flags inputFlags
	var consumer string
	command := &cobra.Command{
		Use:   "validate --manifest-file FILE [--consumer NAME]",
		Short: "Check a ManifestWork, or bare Kubernetes objects, without any server",
		Long: `Check a ManifestWork, or bare Kubernetes objects, without any server, with the code that apply uses.

All problems are printed on standard error, one per line with file, line and path; the exit code is 2 then. Warnings do
not change the exit code.`,
		Args: noArguments,
	}
	flags.add(command.Flags(), "one ManifestWork or Kubernetes objects")
	command.Flags().StringVar(&consumer, "consumer", "", "Maestro consumer that the work is meant for")
	command.RunE = func(command *cobra.Command, _ []string) error {
		settings, err := settingsOf(command)
		if err == nil {
			err = required("--manifest-file", flags.file)
		}
		if err != nil {
			return failed("validate", err)
		}
		document, err := a.validate(command.Context(), flags, consumer)
		if err != nil && command.Context().Err() != nil {
			return interrupted("validate " + flags.file)
		}
		if err != nil {
			return a.problems("validate "+flags.file, err)
		}
		if err := a.print(settings.Output, document); err != nil {
			return &failure{reason: reasonOutput, where: "validate " + flags.file, err: err}
		}
		return nil
	}
	return command
}

func (a *app) validate(ctx context.Context, flags inputFlags, consumer string) (validDocument, error) {
	document := validDocument{Valid: true, Kind: holdsObjects, Consumer: consumer, Manifests: []string{}}
	input, warnings, err := a.input(ctx, flags.file, flags.options(consumer))
	if err := errors.Join(err, checkConsumer(consumer)); err != nil {
		return document, err
	}
	for _, warning := range warnings {
		document.Warnings = append(document.Warnings, warning.String())
	}
	work := &workv1.ManifestWork{}
	if input.Work != nil {
		document.Kind, document.Name = holdsWork, input.Work.Name
	}
	work.Spec.Workload.Manifests = input.Manifests
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
