package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Build checks a request with everything that needs no server. It is pure, so that running it twice is harmless.
//
// The body of the work is not a part of the result: it stands in the history often enough, as the input of the workflow,
// of Build and of Commit.
func Build(ctx context.Context, params contract.BuildParams) (contract.BuildResult, error) {
	request := params.Request
	if err := request.Check(); err != nil {
		return contract.BuildResult{}, application(contract.Errorf(contract.ErrInvalidInput, "%w", err))
	}
	if id := activity.GetInfo(ctx).WorkflowExecution.ID; id != request.WorkflowID() {
		return contract.BuildResult{}, application(contract.Errorf(contract.ErrInvalidInput,
			"workflow ID %s: this request must run as %s, or it could write beside another operation on the same work", id, request.WorkflowID()))
	}
	result, err := build(request)
	return result, application(err)
}

func build(request contract.Request) (contract.BuildResult, error) {
	result := contract.BuildResult{Name: request.WorkName()}
	generation, err := request.EffectiveGeneration()
	if err != nil {
		return result, contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	result.Generation = generation
	if err := checkConditions(request); err != nil {
		return result, err
	}
	switch request.EffectiveAction() {
	case contract.ActionApply:
	case contract.ActionMerge, contract.ActionRemove:
		return buildPart(request, result)
	default:
		return result, nil
	}
	work, err := manifest.ParseJSON(request.Work)
	if err != nil {
		return result, err
	}
	if result.Warnings, err = manifest.Validate(work, request.Consumer); err != nil {
		return result, err
	}
	identities, err := manifest.Identities(work)
	if err != nil {
		return result, contract.Errorf(contract.ErrInvalidManifest, "%w", err)
	}
	if err := manifest.CheckWait(request.Wait, work); err != nil {
		return result, err
	}
	if err := manifest.CheckWait(request.FailOn, work); err != nil {
		return result, contract.Errorf(contract.ErrInvalidInput, "failOn: %w", err)
	}
	for _, identity := range identities {
		result.Manifests = append(result.Manifests, identity.String())
	}
	return result, nil
}

// buildPart checks what needs no stored work; the condition may mean a manifest that is stored already, so that Commit
// checks it against the merged work.
func buildPart(request contract.Request, result contract.BuildResult) (contract.BuildResult, error) {
	part, err := manifest.PartOf(request.Commit(result.Name, result.Generation))
	if err != nil {
		return result, err
	}
	if result.Warnings, err = part.Check(request.Consumer); err != nil {
		return result, err
	}
	for _, given := range part.Work.Spec.Workload.Manifests {
		identity, err := manifest.Identify(given)
		if err != nil {
			return result, contract.Errorf(contract.ErrInvalidManifest, "%w", err)
		}
		result.Manifests = append(result.Manifests, identity.String())
	}
	return result, nil
}

// checkConditions reads the conditions, so that a malformed one is refused before anything is written.
func checkConditions(request contract.Request) error {
	if request.Wait == "" || request.EffectiveAction() == contract.ActionDelete {
		return nil
	}
	expression, err := manifest.ParseExpression(request.Wait)
	if err != nil {
		return contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	if expression.AwaitsDeletion() && !request.AwaitsDeletion() && !request.AwaitsRemoval() {
		return contract.Errorf(contract.ErrInvalidInput, "wait condition %q: Deleted stands alone, and only with delete, remove or wait", request.Wait)
	}
	if request.FailOn == "" {
		return nil
	}
	switch expression, err = manifest.ParseExpression(request.FailOn); {
	case err != nil:
		return contract.Errorf(contract.ErrInvalidInput, "failOn: %w", err)
	case expression.AwaitsDeletion():
		return contract.Errorf(contract.ErrInvalidInput, "failOn %q: a work that is deleted ends every wait", request.FailOn)
	}
	return nil
}
