package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// deleteFlags are the flags of delete that become parts of its request.
type deleteFlags struct {
	wait, patience, adapter string
	generation              int64
	dryRun, orphan, force   bool
	all                     bool
	manifests               []string
	onImmutable             string
}

func (a *app) deleteCommand() *cobra.Command {
	var work target
	var flags deleteFlags
	var shared operationFlags
	command := &cobra.Command{
		Use:   "delete (--name WORK [--manifest-name MANIFEST] | --all) --consumer NAME [--wait]",
		Short: "Delete a stored ManifestWork, or manifests in it, and wait until the cluster has confirmed",
		Long: `Delete a stored ManifestWork, and wait until the cluster has confirmed. With --manifest-name only manifests in it are removed,
and the work stays.

Without --wait the command ends when Maestro has accepted the deletion. A work that does not exist is a success, unless another
source has one of this name. --orphan first tells the cluster's agent to keep the objects, and waits until it has heard that.`,
		Example: `  maestro-cli delete --name web --consumer cluster-a1 --wait
  maestro-cli delete --name shared --manifest-name NodePool/clusters/west-1-gpu --consumer cluster-a1 --wait
  maestro-cli delete --all --consumer cluster-a1 --wait`,
		Args: noArguments,
	}
	work.add(command)
	set := command.Flags()
	set.StringVar(&flags.wait, "wait", "", "wait until the work is gone (true, false or Deleted; without a value: true)")
	set.Lookup("wait").NoOptDefVal = "true"
	patienceFlag(set, &flags.patience)
	set.Int64Var(&flags.generation, "generation", 0, "HyperFleet generation of the deletion")
	set.BoolVar(&flags.dryRun, "dry-run", false, "say what would be deleted, and change nothing; asks Maestro and needs no Temporal")
	set.BoolVar(&flags.all, "all", false, "delete every work of this source on this consumer, and say how each one ended")
	set.StringArrayVar(&flags.manifests, "manifest-name", nil, "remove only this manifest of the work: name, Kind/name or Kind/namespace/name; may be given several times")
	onImmutableFlag(set, &flags.onImmutable)
	set.BoolVar(&flags.orphan, "orphan", false, "leave the objects on the cluster")
	set.StringVar(&flags.adapter, "adapter", "", "refuse to delete the work of another adapter than this one (label hyperfleet.io/adapter)")
	set.BoolVar(&flags.force, "force", false, "delete the work of another adapter, or succeed although only another source has a work of this name")
	shared.add(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		if flags.dryRun && !flags.all && len(flags.manifests) == 0 {
			return a.dryRun(command, work)
		}
		deletion := func(settings config.CLI, name string) (contract.Request, error) {
			request := contract.Request{
				Source: settings.SourceID, Consumer: work.consumer, Action: contract.ActionDelete, Name: name,
				Generation: flags.generation, Timeout: timeoutOf(command), Patience: flags.patience,
				Orphan: flags.orphan, Adapter: flags.adapter, Force: flags.force,
			}
			var err error
			request.Wait, err = waitForDeletion(flags.wait)
			return request, err
		}
		if !flags.all {
			return a.operate(command, shared, func(_ context.Context, settings config.CLI) (contract.Request, error) {
				request, err := deletion(settings, work.name)
				request.OnImmutable = contract.OnImmutable(flags.onImmutable)
				if err := errors.Join(work.check(), err); err != nil || len(flags.manifests) == 0 {
					return request, err
				}
				return a.removal(command, settings, work, flags, request)
			})
		}
		return a.operateAll(command, shared, func(ctx context.Context, settings config.CLI) ([]contract.Request, error) {
			if work.name != "" || flags.dryRun || len(flags.manifests) > 0 || flags.onImmutable != "" {
				return nil, contract.Errorf(contract.ErrInvalidInput, "--all: not with --name, --manifest-name, --on-immutable or --dry-run")
			}
			// The envelope is checked before anything is asked for.
			request, err := deletion(settings, "any")
			if err := errors.Join(required("--consumer", work.consumer), err, request.Check()); err != nil {
				return nil, contract.Errorf(contract.ErrInvalidInput, "%w", err)
			}
			names, err := a.names(ctx, command, settings, work.consumer)
			var requests []contract.Request
			for _, name := range names {
				request.Name = name
				requests = append(requests, request)
			}
			return requests, err
		})
	}
	return command
}

// removal makes a deletion one of manifests in the stored work, which tells what their short names mean.
func (a *app) removal(command *cobra.Command, settings config.CLI, work target, flags deleteFlags, request contract.Request) (contract.Request, error) {
	if flags.dryRun || flags.orphan {
		return request, contract.Errorf(contract.ErrInvalidInput, "--manifest-name: not with --dry-run or --orphan; maestro-cli build --dry-run shows a merge")
	}
	request.Action = contract.ActionRemove
	stored, err := a.read(command, settings, work)
	var ids []manifest.Identity
	switch {
	case errors.Is(err, maestro.ErrNotFound):
	case err != nil:
		return request, err
	default:
		for _, one := range stored.Work.Spec.Workload.Manifests {
			if id, err := manifest.Identify(one); err == nil {
				ids = append(ids, id)
			}
		}
	}
	for _, text := range flags.manifests {
		id, err := chosen(text, ids)
		if err != nil {
			return request, err
		}
		request.Remove = append(request.Remove, id.String())
	}
	return request, nil
}

// chosen is the manifest that a text means among those of a work. A whole identity may be gone already, which the removal
// finds out.
func chosen(text string, ids []manifest.Identity) (manifest.Identity, error) {
	var found []manifest.Identity
	var known []string
	for _, id := range ids {
		known = append(known, id.String())
		if id.Is(text) {
			found = append(found, id)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if id, err := manifest.ParseIdentity(text); len(found) == 0 && err == nil {
		return id, nil
	}
	return manifest.Identity{}, contract.Errorf(contract.ErrInvalidInput, "--manifest-name %q: %d manifests are called that, the work holds %s", text, len(found), strings.Join(known, ", "))
}

// names lists the works of this source on a consumer.
func (a *app) names(ctx context.Context, command *cobra.Command, settings config.CLI, consumer string) ([]string, error) {
	look, err := a.lookup(command, settings)
	if err != nil {
		return nil, err
	}
	defer func() { _ = look.Close() }()
	ctx, stop := context.WithTimeout(ctx, look.limit)
	defer stop()
	names, err := look.Names(ctx, settings.SourceID, consumer)
	if err == nil && len(names) == 0 {
		err = look.Registered(ctx, consumer)
	}
	return names, err
}

// waitForDeletion reads --wait, which was a plain switch in the old tool.
func waitForDeletion(text string) (string, error) {
	switch text {
	case "", "false":
		return "", nil
	case "true", conditionDeleted:
		return conditionDeleted, nil
	default:
		return "", contract.Errorf(contract.ErrInvalidInput, "--wait %q: a deletion waits for %s only", text, conditionDeleted)
	}
}

// dryRun looks and says. Its result is final: nothing was to be changed, and nothing was.
func (a *app) dryRun(command *cobra.Command, work target) error {
	settings, configErr := settingsOf(command)
	return a.conclude(command, settings, func() outcome {
		request := contract.Request{Consumer: work.consumer, Action: contract.ActionDelete, Name: work.name}
		run := &execution{app: a, settings: settings, command: command.Name(), request: request}
		if err := errors.Join(configErr, work.check()); err != nil {
			return run.refused(err)
		}
		stored, err := a.read(command, settings, work)
		switch {
		case errors.Is(err, maestro.ErrNotFound):
			return run.ended(wouldDelete(work, nil))
		case command.Context().Err() != nil:
			return run.leave(errors.New("interrupted"))
		case err != nil:
			return run.refused(err)
		}
		return run.ended(wouldDelete(work, stored))
	})
}

func wouldDelete(work target, stored *manifest.Stored) contract.StatusResult {
	now := time.Now().UTC()
	result := contract.StatusResult{
		ManifestWorkName: work.name, Consumer: work.consumer, Status: contract.StatusNotFound, Reason: contract.ReasonUnchanged,
		Message: "dry run: there is no such work", Timestamp: now, FinishedAt: &now,
	}
	if stored == nil {
		return result
	}
	seen := manifest.Evaluate(stored.Status, stored.Version, manifest.Expression{})
	result.Status, result.Resources = seen.Overall, seen.Resources
	result.Version, result.ObservedVersion = stored.Version, stored.Status.ObservedVersion
	result.Generation, result.Conditions = stored.Generation(), stored.Status.Conditions
	result.Message = fmt.Sprintf("dry run: version %d with %d manifests would be deleted", stored.Version, len(stored.Work.Spec.Workload.Manifests))
	if stored.DeletedAt != nil {
		result.Message = fmt.Sprintf("dry run: the work is being deleted already, since %s", stored.DeletedAt.UTC().Format(time.RFC3339))
	}
	return result
}
