package manifest

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	workGroup      = "work.open-cluster-management.io"
	workAPIVersion = workGroup + "/v1"
	workKind       = "ManifestWork"
)

// Parse reads exactly one ManifestWork from YAML or JSON. name is where the data came from, for messages. Unknown
// fields, doubled keys, a second document and everything that is not a ManifestWork are refused as InvalidManifest, all
// problems at once. Manifests keep the text of their numbers.
func Parse(name string, data []byte) (*workv1.ManifestWork, error) {
	return parseWork(source{name: name, data: data}, data)
}

// ParseJSON reads a ManifestWork from a request. Unknown fields are refused as in [Parse].
func ParseJSON(raw json.RawMessage) (*workv1.ManifestWork, error) {
	return parseWork(source{name: "work"}, raw)
}

func parseWork(from source, data []byte) (*workv1.ManifestWork, error) {
	input, err := parseInput(from, data, Options{})
	if err != nil {
		return nil, err
	}
	if input.Work == nil {
		input.problems.add(input.places[0], "%s, want one ManifestWork (apiVersion %s); maestro-cli build makes one of bare objects",
			fileObject{raw: input.Manifests[0].Raw, kind: memberText(input.Manifests[0].Raw, "kind")}.named(), workAPIVersion)
	}
	if err := input.from.fail(contract.ErrInvalidManifest, input.problems); err != nil {
		return nil, err
	}
	return input.Work, nil
}

// Encode gives the JSON of a work for a request, without the status and the fields that a server sets.
func Encode(work *workv1.ManifestWork) (json.RawMessage, error) {
	own := *work
	clearServerFields(&own.ObjectMeta)
	raw, err := json.Marshal(&own)
	if err != nil {
		return nil, fmt.Errorf("encode work %s: %w", work.Name, err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("encode work %s: %w", work.Name, err)
	}
	delete(object, "status")
	return json.Marshal(object)
}

func clearServerFields(meta *metav1.ObjectMeta) {
	meta.ResourceVersion, meta.UID, meta.Generation = "", "", 0
	meta.SetSelfLink("")
	meta.CreationTimestamp, meta.DeletionTimestamp, meta.DeletionGracePeriodSeconds = metav1.Time{}, nil, nil
	meta.ManagedFields = nil
}
