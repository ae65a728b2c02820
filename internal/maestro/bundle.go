package maestro

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// bundle is the HTTP form of a resource bundle. Manifests stay bytes: numbers must not pass through a double here.
type bundle struct {
	ID              string                        `json:"id"`
	ConsumerName    string                        `json:"consumer_name"`
	Version         int64                         `json:"version"`
	CreatedAt       time.Time                     `json:"created_at"`
	UpdatedAt       time.Time                     `json:"updated_at"`
	DeletedAt       *time.Time                    `json:"deleted_at"`
	Metadata        metav1.ObjectMeta             `json:"metadata"`
	Manifests       []json.RawMessage             `json:"manifests"`
	ManifestConfigs []workv1.ManifestConfigOption `json:"manifest_configs"`
	DeleteOption    json.RawMessage               `json:"delete_option"`
	Status          *bundleStatus                 `json:"status"`
}

type bundleStatus struct {
	ObservedVersion int64                      `json:"ObservedVersion"`
	Conditions      []metav1.Condition         `json:"conditions"`
	ResourceStatus  []workv1.ManifestCondition `json:"resourceStatus"`
}

func decodeBundle(body []byte) (*manifest.Stored, error) {
	var b bundle
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, fmt.Errorf("resource bundle: %w", err)
	}
	if b.ID == "" || b.Version < 1 {
		return nil, fmt.Errorf("resource bundle: id %q, version %d", b.ID, b.Version)
	}
	work := &workv1.ManifestWork{
		TypeMeta: metav1.TypeMeta{APIVersion: workv1.GroupVersion.String(), Kind: "ManifestWork"},
		ObjectMeta: metav1.ObjectMeta{
			Name:            b.Metadata.Name,
			Namespace:       b.ConsumerName,
			Labels:          b.Metadata.Labels,
			Annotations:     b.Metadata.Annotations,
			OwnerReferences: b.Metadata.OwnerReferences,
		},
		Spec: workv1.ManifestWorkSpec{ManifestConfigs: b.ManifestConfigs},
	}
	for _, raw := range b.Manifests {
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
	}
	if option := bytes.TrimSpace(b.DeleteOption); len(option) > 0 && !bytes.Equal(option, []byte("{}")) && !bytes.Equal(option, []byte("null")) {
		if err := json.Unmarshal(option, &work.Spec.DeleteOption); err != nil {
			return nil, fmt.Errorf("resource bundle %s: delete_option: %w", b.ID, err)
		}
	}
	if err := restoreExecutor(work); err != nil {
		return nil, fmt.Errorf("resource bundle %s: %w", b.ID, err)
	}
	orphaning, err := manifest.Unorphan(work)
	if err != nil {
		return nil, fmt.Errorf("resource bundle %s: %w", b.ID, err)
	}
	return &manifest.Stored{
		Orphaning: orphaning, Fence: manifest.Unfence(work),
		ID: b.ID, Consumer: b.ConsumerName, Version: b.Version,
		CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt, DeletedAt: deletion(b),
		Work: work, Status: reported(b.Status),
	}, nil
}

func deletion(b bundle) *time.Time {
	if b.DeletedAt != nil && !b.DeletedAt.IsZero() {
		return b.DeletedAt
	}
	if b.Metadata.DeletionTimestamp != nil {
		return &b.Metadata.DeletionTimestamp.Time
	}
	return nil
}

// keepExecutor and restoreExecutor are each other's inverse: see [contract.AnnotationExecutor].
func keepExecutor(work *workv1.ManifestWork) error {
	if work.Spec.Executor == nil {
		return nil
	}
	raw, err := json.Marshal(work.Spec.Executor)
	if err != nil {
		return fmt.Errorf("keep executor: %w", err)
	}
	if work.Annotations == nil {
		work.Annotations = map[string]string{}
	}
	work.Annotations[contract.AnnotationExecutor] = string(raw)
	return nil
}

func restoreExecutor(work *workv1.ManifestWork) error {
	raw, found := work.Annotations[contract.AnnotationExecutor]
	if !found {
		return nil
	}
	if err := json.Unmarshal([]byte(raw), &work.Spec.Executor); err != nil {
		return fmt.Errorf("annotation %s: %w", contract.AnnotationExecutor, err)
	}
	delete(work.Annotations, contract.AnnotationExecutor)
	if len(work.Annotations) == 0 {
		work.Annotations = nil
	}
	return nil
}

func reported(s *bundleStatus) manifest.Status {
	if s == nil {
		return manifest.Status{}
	}
	out := manifest.Status{Reported: true, ObservedVersion: s.ObservedVersion, Conditions: conditions(s.Conditions)}
	for _, resource := range s.ResourceStatus {
		meta := resource.ResourceMeta
		out.Resources = append(out.Resources, contract.ResourceStatus{
			Group: meta.Group, Version: meta.Version, Kind: meta.Kind, Namespace: meta.Namespace, Name: meta.Name,
			Conditions: conditions(resource.Conditions),
			Feedback:   feedback(resource.StatusFeedbacks.Values),
		})
	}
	return out
}

func conditions(in []metav1.Condition) []contract.Condition {
	out := make([]contract.Condition, 0, len(in))
	for _, condition := range in {
		seen := contract.Condition{
			Type: condition.Type, Status: string(condition.Status), Reason: condition.Reason, Message: condition.Message,
			ObservedGeneration: condition.ObservedGeneration,
		}
		if at := condition.LastTransitionTime.Time; !at.IsZero() {
			seen.LastTransitionTime = &at
		}
		out = append(out, seen)
	}
	return out
}

func feedback(values []workv1.FeedbackValue) map[string]json.RawMessage {
	if len(values) == 0 {
		return nil
	}
	out := map[string]json.RawMessage{}
	for _, value := range values {
		if raw := feedbackValue(value.Value); raw != nil {
			out[value.Name] = raw
		}
	}
	return out
}

// feedbackValue keeps the type that the cluster reported. JsonRaw that is not JSON is shown as a string.
func feedbackValue(value workv1.FieldValue) json.RawMessage {
	switch {
	case value.Integer != nil:
		return must(json.Marshal(*value.Integer))
	case value.Boolean != nil:
		return must(json.Marshal(*value.Boolean))
	case value.String != nil:
		return must(json.Marshal(*value.String))
	case value.JsonRaw != nil && json.Valid([]byte(*value.JsonRaw)):
		return json.RawMessage(*value.JsonRaw)
	case value.JsonRaw != nil:
		return must(json.Marshal(*value.JsonRaw))
	default:
		return nil
	}
}

// must is for the encoding of integers, booleans and strings, which cannot fail.
func must(raw []byte, err error) json.RawMessage {
	if err != nil {
		panic(err)
	}
	return raw
}
