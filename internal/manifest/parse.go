package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"bytes"

	goyaml "go.yaml.in/yaml/v3"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/yaml"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	workAPIVersion = "work.open-cluster-management.io/v1"
	workKind       = "ManifestWork"
)

// Parse reads exactly one ManifestWork from YAML or JSON. name is where the data came from, for messages. Unknown
// fields, doubled keys, a second document and everything that is not a ManifestWork are refused as InvalidManifest.
func Parse(name string, data []byte) (*workv1.ManifestWork, error) {
	if len(data) > contract.MaxWorkBytes {
		return nil, contract.Errorf(contract.ErrTooLarge, "%s: %d bytes, the limit is %d", name, len(data), contract.MaxWorkBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := oneDocument(data); err != nil {
		return nil, contract.Errorf(contract.ErrInvalidManifest, "%s: %w", name, err)
	}
	var work workv1.ManifestWork
	if err := yaml.UnmarshalStrict(data, &work); err != nil {
		return nil, contract.Errorf(contract.ErrInvalidManifest, "%s: %s", name, plainYAMLError(err))
	}
	if work.APIVersion != workAPIVersion || work.Kind != workKind {
		return nil, contract.Errorf(contract.ErrInvalidManifest, "%s: apiVersion %q, kind %q: want %s, %s",
			name, work.APIVersion, work.Kind, workAPIVersion, workKind)
	}
	return &work, nil
}

// oneDocument refuses an input that a single-document parser would cut short without a word. It also bounds what
// aliases may expand to, because the YAML library refuses excessive aliasing.
func oneDocument(data []byte) error {
	decoder := goyaml.NewDecoder(bytes.NewReader(data))
	documents := 0
	for {
		var document goyaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.New(plainYAMLError(err))
		}
		if !emptyDocument(&document) {
			documents++
		}
	}
	switch documents {
	case 0:
		return errors.New("empty: give one ManifestWork")
	case 1:
		return nil
	default:
		return fmt.Errorf("%d documents: give one ManifestWork per file", documents)
	}
}

func emptyDocument(document *goyaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].Tag == "!!null"
}

func plainYAMLError(err error) string {
	text := err.Error()
	for _, noise := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ", "json: "} {
		text = strings.Replace(text, noise, "", 1)
	}
	return strings.Join(strings.Fields(text), " ")
}

// ParseJSON reads a ManifestWork from a request. Unknown fields are refused as in [Parse].
func ParseJSON(raw json.RawMessage) (*workv1.ManifestWork, error) {
	return Parse("work", raw)
}

// Encode gives the JSON of a work for a request, without the status and the fields that a server sets.
func Encode(work *workv1.ManifestWork) (json.RawMessage, error) {
	raw, err := json.Marshal(work)
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
