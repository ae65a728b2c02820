package manifest

import (
	"strconv"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Fenced is a work that says which fence it was written with; 0 means none. The argument is not changed.
func Fenced(work *workv1.ManifestWork, fence int64) *workv1.ManifestWork {
	if fence == 0 {
		return work
	}
	fenced := work.DeepCopy()
	fenced.Annotations = put(fenced.Annotations, map[string]string{contract.AnnotationFence: strconv.FormatInt(fence, 10)})
	return fenced
}

// Unfence takes the fence out of a stored work; 0 when it has none that can be read.
func Unfence(work *workv1.ManifestWork) int64 {
	text, found := work.Annotations[contract.AnnotationFence]
	if !found {
		return 0
	}
	delete(work.Annotations, contract.AnnotationFence)
	if len(work.Annotations) == 0 {
		work.Annotations = nil
	}
	fence, err := strconv.ParseInt(text, 10, 64)
	if err != nil || fence < 0 {
		return 0
	}
	return fence
}
