package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	fileFlags

	work       target
	generation int64
}

// diffDocument is what diff prints.
type diffDocument struct {
	Name     string `json:"name"`
	Consumer string `json:"consumer"`
	// Version that was compared with, 0 for a work that Maestro does not have.
	Version int64 `json:"version"`
	Differs bool  `json:"differs"`
	// SetChanges: apply would change the number, the order or an apiVersion of the manifests, which servers before 2026-02-11
	// refuse.
	SetChanges bool              `json:"setChanges"`
	Changes    []manifest.Change `json:"changes"`
}

func (a *app) diffCommand() *cobra.Command {
	var flags diffFlags
	command := &cobra.Command{
		Use:   "diff --manifest-file FILE --consumer NAME",
		Short: "Show what apply would change in a stored ManifestWork",
		Long: `Show what apply would change in a stored ManifestWork, and change nothing.

Manifests are matched by group, kind, namespace and name. Key order and the spelling of numbers do not count; null, absent
and empty are three things. The values of Secrets are masked: only which keys change is shown.

The output is text for people, unless --output asks for a document. Exit codes: 0 nothing differs, 1 something differs,
2 an error, 5 cannot reach Maestro, 130 interrupted.`,
		Example: `  maestro-cli diff --manifest-file work.yaml --consumer cluster-a1
  maestro-cli diff --manifest-file - --consumer cluster-a1 --output json`,
		Args: noArguments,
	}
	set := command.Flags()
	flags.add(set, "one ManifestWork")
	consumerFlag(set, &flags.work.consumer)
	set.StringVar(&flags.work.name, "name", "", "name of the ManifestWork, to be sure that the file holds this one")
	set.Int64Var(&flags.generation, "generation", 0, "HyperFleet generation that apply would be given (default: the work's annotation)")
	command.RunE = func(command *cobra.Command, _ []string) error {
		where, differs, err := a.diff(command, flags)
		var failure *failure
		switch {
		case err != nil && command.Context().Err() != nil:
			return unanswered(interrupted(where))
		case errors.As(err, &failure):
			return unanswered(failure)
		case err != nil:
			return unanswered(failed(where, err))
		case differs:
			return difference(where)
		}
		return nil
	}
	return command
}

// diff compares, prints, and says where an error happened.
func (a *app) diff(command *cobra.Command, flags diffFlags) (where string, differs bool, err error) {
	where = "diff"
	settings, err := settingsOf(command)
	if err == nil {
		err = required("--manifest-file", flags.file, "--consumer", flags.work.consumer)
	}
	if err != nil {
		return where, false, err
	}
	where = "diff " + flags.file
	desired, err := a.desired(command.Context(), settings, flags)
	if err != nil {
		return where, false, err
	}
	flags.work.name = desired.Name
	where = "diff " + flags.work.String()
	server, err := a.lookup(command, settings)
	if err != nil {
		return where, false, err
	}
	defer func() { _ = server.Close() }() // the answers are read
	stored, err := server.read(command.Context(), flags.work)
	if errors.Is(err, maestro.ErrNotFound) {
		stored = nil
		err = a.absent(command.Context(), settings, server, flags.work)
	}
	if err != nil {
		return where, false, err
	}
	document, err := compare(stored, manifest.Settled(stored, desired))
	if err != nil {
		return where, false, contract.Errorf(contract.ErrInvalidManifest, "%w", err)
	}
	a.say(diffNotes(stored, desired, document)...)
	if command.Flags().Changed("output") {
		err = a.print(settings.Output, document)
	} else {
		err = a.printText(document)
	}
	if err != nil {
		return where, false, &failure{reason: reasonOutput, where: where, err: err}
	}
	return where, document.Differs, nil
}

// absent says what apply would do about a work that our source does not have.
func (a *app) absent(ctx context.Context, settings config.CLI, server *lookup, work target) error {
	err := server.creatable(ctx, work)
	switch {
	case contract.TypeOf(err) == contract.ErrOwnershipConflict:
		a.say(applyWould(err))
	case err != nil:
		return err
	default:
		a.say(fmt.Sprintf("note: source %s has no such work in Maestro %s, apply would create it", settings.SourceID, settings.HTTPEndpoint))
	}
	return nil
}

// applyWould says how apply would end, and what to do.
func applyWould(err error) string {
	reason := contract.TypeOf(err)
	return fmt.Sprintf("note: apply would answer %s: %s; %s", reason, oneLine(err), act(reason))
}

// desired reads and checks the work as apply does, but for Secrets, which are welcome.
func (a *app) desired(ctx context.Context, settings config.CLI, flags diffFlags) (*workv1.ManifestWork, error) {
	input, _, err := a.input(ctx, flags.file, manifest.Options{Consumer: flags.work.consumer, StripServerFields: flags.stripServerFields, Offline: true})
	if err != nil {
		return nil, a.problems("diff "+flags.file, err)
	}
	if input.Work == nil {
		return nil, contract.Errorf(contract.ErrInvalidInput, "%s holds bare objects, which are merged into a work: see what a merge would give with %s build --dry-run", input.Name, program)
	}
	if flags.work.name != "" && flags.work.name != input.Work.Name {
		return nil, contract.Errorf(contract.ErrInvalidInput, "--name %s: %s holds the work %s, which is the one that apply would write", flags.work.name, input.Name, input.Work.Name)
	}
	// Nothing goes to Temporal: the rules of a request that carries no work.
	request := contract.Request{Source: settings.SourceID, Consumer: flags.work.consumer, Action: contract.ActionDelete, Name: input.Work.Name, Generation: flags.generation}
	if err := request.Check(); err != nil {
		return nil, contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	if request.Work, err = manifest.Encode(input.Work); err != nil {
		return nil, err
	}
	generation, err := request.EffectiveGeneration()
	if err != nil {
		return nil, contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	return manifest.Desired(input.Work, flags.work.consumer, generation), nil
}

// problems says what is wrong with an input, one line each.
func (a *app) problems(where string, err error) error {
	a.say(strings.Split(err.Error(), "\n")...)
	failure := failed(where, err)
	failure.said = true
	return failure
}

// compare a work with what apply would write over it.
func compare(stored *manifest.Stored, desired *workv1.ManifestWork) (diffDocument, error) {
	document := diffDocument{Name: desired.Name, Consumer: desired.Namespace, Differs: true, Changes: []manifest.Change{}}
	var have *workv1.ManifestWork
	if stored != nil {
		have, document.Version = stored.Work, stored.Version
		document.SetChanges = !manifest.SameSet(have, desired)
	}
	changes, err := manifest.Diff(have, desired)
	if err != nil {
		return document, err
	}
	document.Changes = append(document.Changes, changes...)
	document.Differs = stored == nil || len(changes) > 0
	return document, nil
}

// setChanges is what an update meets that does not keep the set of manifests.
func setChanges(onImmutable contract.OnImmutable) string {
	if onImmutable == contract.OnImmutableRecreate {
		return "the number, the order or an apiVersion of the manifests changes; where Maestro refuses that, the work is deleted without its objects and created again"
	}
	return fmt.Sprintf("the number, the order or an apiVersion of the manifests changes; a Maestro before 2026-02-11 refuses that with %s: %s",
		contract.ErrManifestSetImmutable, act(contract.ErrManifestSetImmutable))
}

// diffNotes says what an apply of this would meet.
func diffNotes(stored *manifest.Stored, desired *workv1.ManifestWork, document diffDocument) []string {
	var notes []string
	if stored == nil {
		return notes
	}
	if _, _, err := manifest.Decide(stored, desired, false); err != nil {
		notes = append(notes, applyWould(err))
	}
	if document.SetChanges {
		notes = append(notes, "note: "+setChanges(contract.OnImmutableFail))
	}
	return notes
}
