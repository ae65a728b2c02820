package manifest

import (
	"errors"
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Validate finds, all at once, what Maestro, its client and its agents would refuse later. consumer may be empty when
// it is not known yet. The error is typed TooLarge or InvalidManifest and has one line per problem; warnings do not
// stop an apply.
func Validate(work *workv1.ManifestWork, consumer string) (warnings []string, err error) {
	var problems []error
	bad := func(path, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
	}
	for _, text := range validation.IsDNS1123Label(work.Name) {
		bad("metadata.name", "%q: %s", work.Name, text)
	}
	if work.GenerateName != "" {
		bad("metadata.generateName", "not allowed, give metadata.name")
	}
	if consumer != "" && work.Namespace != "" && work.Namespace != consumer {
		bad("metadata.namespace", "%q is not the consumer %q; leave it out", work.Namespace, consumer)
	}
	if text, found := work.Annotations[contract.AnnotationGeneration]; found {
		if _, err := contract.ParseGeneration(text); err != nil {
			bad("metadata.annotations", "%s", err)
		}
	}
	if _, found := work.Annotations[contract.AnnotationExecutor]; found {
		bad("metadata.annotations", "annotation %s: written by maestro-workflows, give spec.executor", contract.AnnotationExecutor)
	}
	collect(&problems, apivalidation.ValidateAnnotations(work.Annotations, field.NewPath("metadata", "annotations")))
	collect(&problems, metavalidation.ValidateLabels(work.Labels, field.NewPath("metadata", "labels")))

	size, manifestProblems := validateManifests(work.Spec.Workload.Manifests)
	problems = append(problems, manifestProblems...)
	configProblems, warnings := validateConfigs(work)
	problems = append(problems, configProblems...)

	if size > contract.MaxManifestsBytes {
		problems = append(problems, fmt.Errorf("spec.workload.manifests: %d bytes, the limit is %d", size, contract.MaxManifestsBytes))
		return warnings, contract.Errorf(contract.ErrTooLarge, "%w", errors.Join(problems...))
	}
	if len(problems) > 0 {
		return warnings, contract.Errorf(contract.ErrInvalidManifest, "%w", errors.Join(problems...))
	}
	return warnings, nil
}

func collect(problems *[]error, found field.ErrorList) {
	for _, problem := range found {
		*problems = append(*problems, problem)
	}
}

func validateManifests(manifests []workv1.Manifest) (size int, problems []error) {
	if len(manifests) == 0 {
		return 0, []error{errors.New("spec.workload.manifests: empty, give at least one manifest")}
	}
	seen := map[Identity]int{}
	for index, manifest := range manifests {
		path := fmt.Sprintf("spec.workload.manifests[%d]", index)
		// manifest.Size, the figure that Maestro's client and every agent compare with their limit, is a few bytes
		// more than the JSON itself.
		size += manifest.Size()
		h, err := readHead(manifest)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", path, err))
			continue
		}
		problems = append(problems, validateHead(path, h)...)
		for _, problem := range validateContent(manifest) {
			problems = append(problems, fmt.Errorf("%s: %w", path, problem))
		}
		if h.Kind == "" || h.Metadata.Name == "" {
			continue
		}
		identity := h.identity()
		if first, found := seen[identity]; found {
			problems = append(problems, fmt.Errorf("%s: %s is already manifest %d; the API version does not tell objects apart", path, identity, first))
			continue
		}
		seen[identity] = index
	}
	return size, problems
}

func validateHead(path string, h head) []error {
	var problems []error
	bad := func(where, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s.%s: %s", path, where, fmt.Sprintf(format, args...)))
	}
	for _, text := range apiVersionProblems(h.APIVersion) {
		bad("apiVersion", "%s", text)
	}
	if h.Kind == "" {
		bad("kind", "required")
	}
	if h.Metadata.Name == "" {
		bad("metadata.name", "required")
	}
	if h.Metadata.GenerateName != "" {
		bad("metadata.generateName", "not allowed, give metadata.name")
	}
	if h.Metadata.ResourceVersion != "" {
		bad("metadata.resourceVersion", "set by a server, leave it out")
	}
	if h.Metadata.DeletionGracePeriodSeconds != nil {
		bad("metadata.deletionGracePeriodSeconds", "set by a server, leave it out")
	}
	if h.Metadata.Namespace != "" {
		for _, text := range apivalidation.ValidateNamespaceName(h.Metadata.Namespace, false) {
			bad("metadata.namespace", "%q: %s", h.Metadata.Namespace, text)
		}
	}
	metadata := field.NewPath(path).Child("metadata")
	collect(&problems, apivalidation.ValidateAnnotations(h.Metadata.Annotations, metadata.Child("annotations")))
	collect(&problems, apivalidation.ValidateFinalizers(h.Metadata.Finalizers, metadata.Child("finalizers")))
	collect(&problems, metavalidation.ValidateLabels(h.Metadata.Labels, metadata.Child("labels")))
	return problems
}

// validateConfigs warns about manifestConfigs that match no manifest: the agent would never report what they ask for.
func validateConfigs(work *workv1.ManifestWork) (problems []error, warnings []string) {
	names := map[[3]string]bool{}
	for _, manifest := range work.Spec.Workload.Manifests {
		if h, err := readHead(manifest); err == nil {
			names[[3]string{h.group(), h.Metadata.Namespace, h.Metadata.Name}] = true
		}
	}
	for index, config := range work.Spec.ManifestConfigs {
		id := config.ResourceIdentifier
		path := fmt.Sprintf("spec.manifestConfigs[%d].resourceIdentifier", index)
		if id.Resource == "" || id.Name == "" {
			problems = append(problems, fmt.Errorf("%s: resource %q, name %q: both are required", path, id.Resource, id.Name))
			continue
		}
		if !names[[3]string{id.Group, id.Namespace, id.Name}] {
			warnings = append(warnings, fmt.Sprintf("%s: %s.%s %s/%s matches no manifest of the work", path, id.Resource, id.Group, id.Namespace, id.Name))
		}
	}
	return problems, warnings
}
