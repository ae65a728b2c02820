package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Validate finds, all at once, what Maestro, its client and its agents would refuse later, and what no request should
// hold. consumer may be empty when it is not known yet. The error is typed TooLarge or InvalidManifest and has one line
// per problem, see [Problems]; warnings do not stop an apply.
func Validate(work *workv1.ManifestWork, consumer string) (warnings []string, err error) {
	return (&checker{}).whole(work, consumer)
}

func (c *checker) whole(work *workv1.ManifestWork, consumer string) (warnings []string, err error) {
	c.work(place{}, work, consumer)
	c.manifests(work.Spec.Workload.Manifests, manifestPlace)
	c.size(place{path: "spec.workload.manifests"}, work)
	c.spec(place{path: "spec"}, work)
	for _, warning := range (source{}).problems(c.warnings) {
		warnings = append(warnings, warning.String())
	}
	return warnings, source{}.fail(c.errorType(), c.problems)
}

// checker collects what is wrong with a work or with bare objects.
type checker struct {
	problems, warnings findings
	// secrets are looked at, and allowed.
	secrets, allowSecrets, offline bool
	// part: the work is merged into a stored one, which may hold what its configs are for.
	part bool

	heads    []checkedHead
	bytes    int
	tooLarge bool
}

// checkedHead is the head of a manifest that can be identified.
type checkedHead struct {
	head
	// What matching needs, see [newMatcher]; next has the same group, namespace and name.
	inGroup, plural string
	next            *checkedHead
}

func (c *checker) errorType() contract.ErrorType {
	if c.tooLarge {
		return contract.ErrTooLarge
	}
	return contract.ErrInvalidManifest
}

// manifestPlace is where a work holds a manifest.
func manifestPlace(index int) place { return place{path: at("spec.workload.manifests", index)} }

// work checks everything of a work but its spec.
func (c *checker) work(at place, work *workv1.ManifestWork, consumer string) {
	metadata := at.under(fieldMetadata)
	for _, text := range validation.IsDNS1123Label(work.Name) {
		c.problems.add(metadata.under("name"), "%q: %s", work.Name, text)
	}
	if work.GenerateName != "" {
		c.problems.add(metadata.under("generateName"), "not allowed, give metadata.name")
	}
	if consumer != "" && work.Namespace != "" && work.Namespace != consumer {
		c.problems.join(notTheConsumer(at, work.Namespace, consumer))
	}
	annotations := metadata.under("annotations")
	if text, found := work.Annotations[contract.AnnotationGeneration]; found {
		if _, err := contract.ParseGeneration(text); err != nil {
			c.problems.add(annotations.under(contract.AnnotationGeneration), "%s", err)
		}
	}
	if _, found := work.Annotations[contract.AnnotationRemoved]; found {
		c.problems.add(annotations.under(contract.AnnotationRemoved), "written by maestro-workflows, leave it out")
	}
	if _, found := work.Annotations[contract.AnnotationExecutor]; found {
		c.problems.add(annotations.under(contract.AnnotationExecutor), "written by maestro-workflows, give spec.executor")
	}
	if _, found := work.Annotations[contract.AnnotationDeleteOption]; found {
		c.problems.add(annotations.under(contract.AnnotationDeleteOption), "written by maestro-workflows, give spec.deleteOption")
	}
	if work.Annotations[kubectlCopy] == Masked {
		c.problems.add(annotations.under(kubectlCopy), "%s is the mask that get and build print, not a value: leave it out", Masked)
	}
	c.annotations(annotations, work.Annotations)
	c.labels(metadata.under("labels"), work.Labels)
	c.workServerFields(at, work)
	c.keepable(at, work)
}

// notTheConsumer is what is wrong with the namespace of a work.
func notTheConsumer(at place, namespace, consumer string) findings {
	var found findings
	found.add(at.under(fieldMetadata).under("namespace"), "%q is not the consumer %q; leave it out", namespace, consumer)
	return found
}

// labels by the rules of Kubernetes, each with its own path.
func (c *checker) labels(at place, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		for _, text := range validation.IsQualifiedName(key) {
			c.problems.add(at.under(key), "key %q: %s", key, text)
		}
		for _, text := range validation.IsValidLabelValue(labels[key]) {
			c.problems.add(at.under(key), "%q: %s", labels[key], text)
		}
	}
}

func (c *checker) annotations(at place, annotations map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		for _, text := range validation.IsQualifiedName(strings.ToLower(key)) { // as Kubernetes does
			c.problems.add(at.under(key), "key %q: %s", key, text)
		}
	}
	if err := apivalidation.ValidateAnnotationsSize(annotations); err != nil {
		c.problems.add(at, "%s: shorten them", err)
	}
}

// manifests checks each object by itself and all against each other.
func (c *checker) manifests(manifests []workv1.Manifest, placeOf func(index int) place) {
	seen := map[Identity]place{}
	for index, manifest := range manifests {
		at := placeOf(index)
		// manifest.Size, the figure that Maestro's client and every agent compare with their limit, is a few bytes
		// more than the JSON itself.
		c.bytes += manifest.Size()
		c.content(at, manifest.Raw)
		c.serverFields(at, manifest.Raw)
		c.headKeys(at, manifest.Raw)
		h, readable := c.head(at, manifest.Raw)
		if !readable || h.Kind == "" || h.Metadata.Name == "" {
			continue
		}
		c.heads = append(c.heads, checkedHead{head: h})
		identity := h.identity()
		if first, found := seen[identity]; found {
			c.problems.clash(at, first, "%s is there twice (the API version does not tell objects apart): leave one out; the first is", identity)
			continue
		}
		seen[identity] = at
	}
}

func (c *checker) head(at place, raw []byte) (h head, readable bool) {
	if kind := kindOf(raw); kind != "an object" {
		if len(raw) == 0 {
			kind = "nothing"
		}
		c.problems.add(at, "not a Kubernetes object, but %s: give one", kind)
		return h, false
	}
	h, err := headOf(raw)
	if err != nil {
		c.problems.typeError(at, raw, err)
		return h, false
	}
	if h.Kind == "List" && h.APIVersion == "v1" {
		c.problems.add(at.under("kind"), "a List is no object that a cluster keeps: give its items as manifests of their own")
		return h, false
	}
	for _, text := range apiVersionProblems(h.APIVersion) {
		c.problems.add(at.under("apiVersion"), "%s", text)
	}
	if h.Kind == "" {
		c.problems.add(at.under("kind"), "required")
	}
	c.metadata(at.under(fieldMetadata), h)
	return h, true
}

func (c *checker) metadata(at place, h head) {
	if h.Metadata.Name == "" {
		c.problems.add(at.under("name"), "required")
	}
	if h.Metadata.GenerateName != "" {
		c.problems.add(at.under("generateName"), "not allowed, give metadata.name: every apply would make another object")
	}
	if h.Metadata.Namespace != "" {
		for _, text := range apivalidation.ValidateNamespaceName(h.Metadata.Namespace, false) {
			c.problems.add(at.under("namespace"), "%q: %s", h.Metadata.Namespace, text)
		}
	}
	c.annotations(at.under("annotations"), h.Metadata.Annotations)
	c.labels(at.under("labels"), h.Metadata.Labels)
	if len(h.Metadata.Finalizers) == 0 {
		return
	}
	for _, problem := range apivalidation.ValidateFinalizers(h.Metadata.Finalizers, field.NewPath("")) {
		c.problems.add(at.under("finalizers"), "%s", problem.ErrorBody())
	}
}

// size checks the manifests of a work together.
func (c *checker) size(at place, work *workv1.ManifestWork) {
	switch {
	case len(work.Spec.Workload.Manifests) == 0 && (!c.part || !setsSomething(work)):
		c.problems.add(at, "empty, give at least one manifest")
	case c.bytes > contract.MaxManifestsBytes:
		c.tooLarge = true
		c.problems.add(at, "%s: split the work", tooManyBytes(c.bytes))
	}
}

// setsSomething: merging the work changes something besides manifests.
func setsSomething(work *workv1.ManifestWork) bool {
	spec := work.Spec
	return spec.DeleteOption != nil || spec.Executor != nil || len(spec.ManifestConfigs)+len(work.Labels)+len(work.Annotations)+len(work.OwnerReferences) > 0
}

// bareSize checks bare objects, which may end in several works.
func (c *checker) bareSize(manifests []workv1.Manifest, placeOf func(index int) place) {
	for index, manifest := range manifests {
		if size := manifest.Size(); size > contract.MaxManifestsBytes {
			c.tooLarge = true
			c.problems.add(placeOf(index), "%s: make the object smaller", tooManyBytes(size))
		}
	}
	if !c.tooLarge && c.bytes > contract.MaxManifestsBytes {
		c.warnings.add(place{document: -1}, "%s of one ManifestWork: the objects need several", tooManyBytes(c.bytes))
	}
}

func tooManyBytes(size int) string {
	return fmt.Sprintf("%d bytes, the limit is %d", size, contract.MaxManifestsBytes)
}
