package manifest

import (
	"encoding/json"
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Orphaned is a work that leaves its objects on the cluster when it is deleted. It keeps its own deleteOption in
// [contract.AnnotationDeleteOption]; see [Unorphan]. The argument is not changed.
func Orphaned(work *workv1.ManifestWork) (*workv1.ManifestWork, error) {
	raw, err := json.Marshal(work.Spec.DeleteOption)
	if err != nil {
		return nil, fmt.Errorf("keep deleteOption: %w", err)
	}
	orphaned := work.DeepCopy()
	orphaned.Annotations = put(orphaned.Annotations, map[string]string{contract.AnnotationDeleteOption: string(raw)})
	orphaned.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	return orphaned, nil
}

// Unorphan gives a stored work its own deleteOption back and reports whether it had another one.
func Unorphan(work *workv1.ManifestWork) (bool, error) {
	raw, found := work.Annotations[contract.AnnotationDeleteOption]
	if !found {
		return false, nil
	}
	var option *workv1.DeleteOption
	if err := json.Unmarshal([]byte(raw), &option); err != nil {
		return false, fmt.Errorf("annotation %s: %w", contract.AnnotationDeleteOption, err)
	}
	work.Spec.DeleteOption = option
	delete(work.Annotations, contract.AnnotationDeleteOption)
	if len(work.Annotations) == 0 {
		work.Annotations = nil
	}
	return true, nil
}
