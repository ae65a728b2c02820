package manifest

import (
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// PartOf reads what a merge or a removal writes. The error is typed InvalidManifest or InvalidInput.
func PartOf(params contract.CommitParams) (Part, error) {
	part := Part{
		Work: &workv1.ManifestWork{}, Owner: params.Owner, Generation: params.Generation,
		Strategy: params.Strategy, Force: params.Force,
	}
	part.Work.APIVersion, part.Work.Kind = workAPIVersion, workKind
	if len(params.Work) > 0 {
		work, err := ParseJSON(params.Work)
		if err != nil {
			return part, err
		}
		if at := work.Namespace; at != "" && at != params.Consumer {
			return part, source{name: "work"}.fail(contract.ErrInvalidManifest, notTheConsumer(place{}, at, params.Consumer))
		}
		part.Work = work
	}
	part.Work.Name, part.Work.Namespace = params.Name, params.Consumer
	if params.Claim && params.Owner != "" {
		part.Work.Labels = put(part.Work.Labels, map[string]string{contract.LabelOwner: params.Owner})
	}
	for index, raw := range params.Manifests {
		input, err := parseInput(source{name: fmt.Sprintf("manifests[%d]", index)}, raw, Options{})
		switch {
		case err != nil:
			return part, err
		case input.Work != nil:
			return part, contract.Errorf(contract.ErrInvalidManifest, "manifests[%d]: a ManifestWork: give it as work", index)
		}
		part.Work.Spec.Workload.Manifests = append(part.Work.Spec.Workload.Manifests, input.Manifests...)
	}
	for _, text := range params.Remove {
		id, err := ParseIdentity(text)
		if err != nil {
			return part, contract.Errorf(contract.ErrInvalidInput, "remove: %w", err)
		}
		part.Remove = append(part.Remove, id)
	}
	return part, part.renderNodepools(params)
}

// Check finds what is wrong with a part whatever the stored work holds, all at once; see [Validate].
func (p Part) Check(consumer string) (warnings []string, err error) {
	if len(p.Remove) > 0 {
		return nil, nil
	}
	work := p.Work.DeepCopy()
	if p.Render != nil {
		rendered, err := p.Render(nil)
		if err != nil {
			return nil, err
		}
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, rendered...)
	}
	if warnings, err = (&checker{part: true}).whole(work, consumer); err != nil {
		return warnings, err
	}
	return warnings, p.checkGenerations()
}

// checkGenerations: a manifest's own generation must be the request's, when both are given.
func (p Part) checkGenerations() error {
	for index, manifest := range p.Work.Spec.Workload.Manifests {
		if generation := generationOf(manifest); p.Generation > 0 && generation > 0 && generation != p.Generation {
			id, _ := Identify(manifest)
			return contract.Errorf(contract.ErrInvalidInput, "manifest %d, %s: its annotation %s says %d, the request's generation is %d",
				index, id, contract.AnnotationGeneration, generation, p.Generation)
		}
	}
	return nil
}

func (p *Part) renderNodepools(params contract.CommitParams) error {
	if len(params.Nodepools) == 0 {
		return nil
	}
	config, err := ParseNodepools("nodepools", params.Nodepools)
	if err != nil {
		return err
	}
	template := DefaultNodepoolTemplate()
	if params.NodepoolTemplate != "" {
		if template, err = ParseNodepoolTemplate("nodepoolTemplate", []byte(params.NodepoolTemplate)); err != nil {
			return err
		}
	}
	p.Cluster = config.Metadata.Cluster
	p.Render = func(stored []workv1.Manifest) ([]workv1.Manifest, error) { return config.Render(template, stored) }
	return nil
}
