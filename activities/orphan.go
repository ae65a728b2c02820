package activities

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// A deletion that leaves the objects on the cluster, and a recreation, are these steps, each of which may be repeated:
//
//	Orphan          sets deleteOption Orphan, by compare-and-swap, and remembers the work's own in an annotation
//	(Observe)       until the agent has received that version: it deletes by the spec that it knows
//	DeleteOrphaned  deletes, if the prepared version still is the stored one
//	(Observe)       until the bundle answers 404
//	Recreate        creates the new work, or the old one when Maestro refuses the new one
//	Unorphan        goes back to the work's own deleteOption when the deletion is given up before it was asked for
//
// Between the read of DeleteOrphaned and its publish another writer's update can be lost, because Maestro compares no
// version on a deletion.

// deleteWithin is how long after its start an attempt may still publish a deletion: one that its worker held back for
// longer could delete what was created meanwhile. See also the pause of the workflow before it creates.
const deleteWithin = ownedFor

// Orphan prepares the stored work for a deletion that leaves its objects. For a write it also says what has to be created
// afterwards: what the write makes of the work that was just read.
func (c *Committer) Orphan(ctx context.Context, params contract.CommitParams) (contract.OrphanResult, error) {
	defer heartbeat(ctx, heartbeatEvery)()
	attempt, done := uncancelled(ctx)
	defer done()
	result, err := c.orphan(attempt, params)
	return result, patient(activity.GetInfo(ctx), time.Now(), err)
}

func (c *Committer) orphan(ctx context.Context, params contract.CommitParams) (contract.OrphanResult, error) {
	stored, err := c.read(ctx, params)
	switch {
	case err != nil:
		return contract.OrphanResult{}, err
	case stored == nil && params.Action == contract.ActionDelete:
		return contract.OrphanResult{Outcome: contract.OrphanAbsent}, c.absent(ctx, params)
	case stored == nil:
		return contract.OrphanResult{Outcome: contract.OrphanNeedless}, nil
	case stored.DeletedAt != nil && params.Action == contract.ActionDelete:
		return contract.OrphanResult{Outcome: contract.OrphanDeleting, Version: stored.Version}, nil
	}
	result := contract.OrphanResult{Outcome: contract.OrphanReady, Version: stored.Version}
	if params.Action == contract.ActionDelete {
		err = deletable(params, stored)
	} else {
		err = replaces(params, stored, &result)
	}
	if err != nil || result.Outcome != contract.OrphanReady {
		return result, err
	}
	result.Version, err = c.keepObjects(ctx, params.Source, stored, 0)
	return result, err
}

// keepObjects sets deleteOption Orphan on the stored work, unless it has it, and gives the version that has it.
func (c *Committer) keepObjects(ctx context.Context, source string, stored *manifest.Stored, fence int64) (int64, error) {
	if stored.Orphaning {
		return stored.Version, nil
	}
	orphaned, err := manifest.Orphaned(stored.Work)
	if err != nil {
		return 0, contract.Errorf(contract.ErrInternal, "%w", err)
	}
	return stored.Version + 1, c.Writer.Update(ctx, source, stored, manifest.Fenced(orphaned, fence))
}

// replaces says what a write makes of the stored work.
func replaces(params contract.CommitParams, stored *manifest.Stored, result *contract.OrphanResult) error {
	decided, err := decide(params, stored)
	if err != nil {
		return err
	}
	if decided.Write != manifest.WriteUpdate || manifest.SameSet(stored.Work, decided.Work) {
		result.Outcome = contract.OrphanNeedless
		return nil
	}
	result.Warnings = append(decided.Warnings, kept(stored.Work, decided.Work)...)
	if result.Work, err = manifest.Encode(decided.Work); err == nil {
		result.Old, err = manifest.Encode(stored.Work)
	}
	return err
}

// kept names the manifests that a recreation takes out of the work and leaves on the cluster.
func kept(stored, desired *workv1.ManifestWork) []string {
	wanted, _ := manifest.Identities(desired)
	var warnings []string
	for _, one := range stored.Spec.Workload.Manifests {
		if id, err := manifest.Identify(one); err == nil && !slices.Contains(wanted, id) {
			warnings = append(warnings, id.String()+" stays on the cluster, which no work has any more: delete it there")
		}
	}
	return warnings
}

// Unorphan gives a prepared work its own deleteOption back.
func (c *Committer) Unorphan(ctx context.Context, params contract.OrphanedParams) error {
	defer heartbeat(ctx, heartbeatEvery)()
	stored, err := c.Reader.Read(ctx, params.Source, params.Consumer, params.Name)
	switch {
	case errors.Is(err, maestro.ErrNotFound):
		return nil
	case err == nil && stored.Orphaning && stored.DeletedAt == nil:
		err = c.Writer.Update(ctx, params.Source, stored, stored.Work)
	}
	return patient(activity.GetInfo(ctx), time.Now(), err)
}

// DeleteOrphaned asks for the deletion of the version that was prepared, and of no other: VersionConflict is final here.
func (c *Committer) DeleteOrphaned(ctx context.Context, params contract.OrphanedParams) (contract.CommitResult, error) {
	defer heartbeat(ctx, heartbeatEvery)()
	within, done := context.WithTimeout(ctx, deleteWithin)
	defer done()
	result, err := c.deleteOrphaned(within, params)
	result.Attempt = int(activity.GetInfo(ctx).Attempt)
	var failure *contract.Error
	if errors.As(err, &failure) && failure.Type == contract.ErrVersionConflict {
		return result, failure.Final()
	}
	return result, patient(activity.GetInfo(ctx), time.Now(), err)
}

func (c *Committer) deleteOrphaned(ctx context.Context, params contract.OrphanedParams) (contract.CommitResult, error) {
	stored, err := c.Reader.Read(ctx, params.Source, params.Consumer, params.Name)
	switch {
	case errors.Is(err, maestro.ErrNotFound):
		return contract.CommitResult{Outcome: contract.CommitAbsent}, nil
	case err != nil:
		return contract.CommitResult{}, err
	}
	result := contract.CommitResult{Outcome: contract.CommitDeleting, Version: stored.Version}
	switch {
	case stored.DeletedAt != nil:
		return result, nil
	case stored.Version != params.Version || !stored.Orphaning:
		return result, contract.Errorf(contract.ErrVersionConflict, "work %s on %s was written meanwhile: version %d is stored, %d was prepared",
			params.Name, params.Consumer, stored.Version, params.Version)
	}
	return result, c.Writer.Delete(ctx, params.Source, stored)
}

// Recreate creates the work again. When Maestro refuses the new one for good it creates the old one.
func (c *Committer) Recreate(ctx context.Context, params contract.OrphanedParams) (contract.RecreateResult, error) {
	defer heartbeat(ctx, heartbeatEvery)()
	result, err := c.recreate(ctx, params)
	result.Attempt = int(activity.GetInfo(ctx).Attempt)
	return result, patient(activity.GetInfo(ctx), time.Now(), err)
}

func (c *Committer) recreate(ctx context.Context, params contract.OrphanedParams) (contract.RecreateResult, error) {
	var result contract.RecreateResult
	wanted, err := c.orphanedWork(params, params.Work)
	if err != nil {
		return result, err
	}
	old, err := c.orphanedWork(params, params.Old)
	if err != nil {
		return result, err
	}
	stored, err := c.Reader.Read(ctx, params.Source, params.Consumer, params.Name)
	switch {
	case errors.Is(err, maestro.ErrNotFound):
	case err != nil:
		return result, err
	case stored.DeletedAt != nil:
		return result, contract.Errorf(contract.ErrUnderDeletion, "work %s on %s is being deleted", params.Name, params.Consumer)
	default:
		return standing(stored, wanted, old), nil
	}
	result.Outcome, result.Version = contract.CommitRecreated, 1
	err = c.Writer.Create(ctx, params.Source, manifest.Fenced(wanted, params.Fence))
	if err == nil || contract.Rules[contract.TypeOf(err)].Retryable {
		return result, err
	}
	result.Failure, result.Message = contract.TypeOf(err), "Maestro refused the new work, the old one is created again: "+err.Error()
	return result, c.Writer.Create(ctx, params.Source, manifest.Fenced(old, params.Fence))
}

// standing is for a work that is there already: an earlier attempt's, or somebody else's.
func standing(stored *manifest.Stored, wanted, old *workv1.ManifestWork) contract.RecreateResult {
	var result contract.RecreateResult
	result.Outcome, result.Version = contract.CommitForeign, stored.Version
	switch {
	case manifest.Same(stored.Work, wanted):
		result.Outcome = contract.CommitRecreated
	case manifest.Same(stored.Work, old):
		result.Outcome = contract.CommitRecreated
		result.Failure, result.Message = contract.ErrManifestRefused, "Maestro refused the new work, the old one is created again"
	}
	return result
}

func (c *Committer) orphanedWork(params contract.OrphanedParams, raw []byte) (*workv1.ManifestWork, error) {
	work, err := manifest.ParseJSON(raw)
	if err != nil {
		return nil, contract.Errorf(contract.ErrInternal, "read the work %s to create: %w", params.Name, err)
	}
	work.Namespace = params.Consumer
	return work, nil
}
