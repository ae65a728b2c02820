package main

import (
	"context"

	"github.com/spf13/cobra"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// applyFlags are the flags of apply that become parts of its request.
type applyFlags struct {
	inputFlags

	manifestName, consumer, wait, patience, grace string
	generation                                    int64
	force                                         bool
	onImmutable, failOn                           string
	addFeedback                                   bool
}

func (a *app) applyCommand() *cobra.Command {
	var flags applyFlags
	var shared operationFlags
	command := &cobra.Command{
		Use:   "apply --manifest-file FILE --consumer NAME [--wait[=CONDITION]]",
		Short: "Make the stored ManifestWork equal to a file, and wait for the cluster",
		Long: `Make the stored ManifestWork equal to a file, and wait for the cluster.

Without --wait the command ends when Maestro has stored the work. The same command again attaches to an operation that is
running; a work that already is as wanted is not written again.`,
		Example: `  maestro-cli apply --manifest-file work.yaml --consumer cluster-a1 --wait
  maestro-cli apply --manifest-file - --consumer cluster-a1 --wait='Job/migrate:Complete' --timeout 20m`,
		Args: noArguments,
	}
	set := command.Flags()
	flags.add(set, "one ManifestWork")
	set.StringVar(&flags.manifestName, "manifest-name", "", "apply only this one of the file's manifests, and keep the rest of the stored work: name, Kind/name or Kind/namespace/name")
	consumerFlag(set, &flags.consumer)
	set.StringVar(&flags.wait, "wait", "", "wait for a condition; without a value: Available")
	set.Lookup("wait").NoOptDefVal = conditionAvailable
	patienceFlag(set, &flags.patience)
	graceFlag(set, &flags.grace)
	set.Int64Var(&flags.generation, "generation", 0, "HyperFleet generation; an older one never replaces a newer one (default: the work's annotation)")
	set.BoolVar(&flags.force, "force", false, "overwrite the work of another owner, or other content of the same generation")
	failOnFlag(set, &flags.failOn)
	set.BoolVar(&flags.addFeedback, "add-feedback", false, "add the feedbackRules to the work that the conditions of --wait and --fail-on need")
	onImmutableFlag(set, &flags.onImmutable)
	shared.add(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		return a.operate(command, shared, func(ctx context.Context, settings config.CLI) (contract.Request, error) {
			request := contract.Request{
				Source: settings.SourceID, Consumer: flags.consumer, Action: contract.ActionApply,
				Generation: flags.generation, Wait: flags.wait, Force: flags.force, AllowPlaintextSecrets: flags.plaintext,
				Timeout: timeoutOf(command), Patience: flags.patience, Grace: flags.grace,
				OnImmutable: contract.OnImmutable(flags.onImmutable), FailOn: flags.failOn,
			}
			if err := required("--manifest-file", flags.file, "--consumer", flags.consumer); err != nil {
				return request, err
			}
			if err := checkFailOn(flags.failOn, flags.wait); err != nil {
				return request, err
			}
			request, err := a.withWork(ctx, request, flags.inputFlags, flags.addFeedback)
			if err != nil || flags.manifestName == "" {
				return request, err
			}
			_, err = choose(flags.manifestName, &request, nil)
			request.Action = contract.ActionMerge
			return request, err
		})
	}
	return command
}

// withWork reads and checks the work, the condition included, with the code that the operation uses too.
func (a *app) withWork(ctx context.Context, request contract.Request, flags inputFlags, addFeedback bool) (contract.Request, error) {
	input, _, err := a.input(ctx, flags.file, flags.options(request.Consumer))
	if input != nil && input.Work != nil {
		request.Name = input.Work.Name
	}
	if err != nil {
		return request, err
	}
	if input.Work == nil {
		return request, contract.Errorf(contract.ErrInvalidManifest, "%w", manifest.Problems{{
			File: input.Name, Text: "bare objects, want one ManifestWork; maestro-cli build makes one of them",
		}})
	}
	work := input.Work
	if addFeedback {
		if err := a.addFeedback(work, request.Wait, request.FailOn); err != nil {
			return request, err
		}
	}
	if request.Work, err = manifest.Encode(work); err != nil {
		return request, err
	}
	if _, err := request.EffectiveGeneration(); err != nil {
		return request, contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	if request.Wait == "" {
		return request, nil
	}
	expression, err := checkWait("wait", request.Wait)
	if err != nil {
		return request, err
	}
	if err := expression.CheckAgainst(work); err != nil {
		return request, contract.Errorf(contract.ErrInvalidInput, "--wait: %w", err)
	}
	if err := manifest.CheckWait(request.FailOn, work); err != nil {
		return request, contract.Errorf(contract.ErrInvalidInput, "--fail-on: %w", err)
	}
	return request, nil
}

// addFeedback adds what conditions need to the work, and says it.
func (a *app) addFeedback(work *workv1.ManifestWork, conditions ...string) error {
	for _, condition := range conditions {
		if condition == "" {
			continue
		}
		expression, err := manifest.ParseExpression(condition)
		if err != nil {
			return contract.Errorf(contract.ErrInvalidInput, "%w", err)
		}
		added, err := manifest.AddFeedback(work, expression)
		for _, line := range added {
			a.say("note: added " + line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
