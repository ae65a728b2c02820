package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v3"
	workv1 "open-cluster-management.io/api/work/v1"
	k8sjson "sigs.k8s.io/json"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	workAPIVersion = "work.open-cluster-management.io/v1"
	workKind       = "ManifestWork"
)

// Parse reads exactly one ManifestWork from YAML or JSON. name is where the data came from, for messages. Unknown
// fields, doubled keys, a second document and everything that is not a ManifestWork are refused as InvalidManifest.
// Manifests keep the text of their numbers.
func Parse(name string, data []byte) (*workv1.ManifestWork, error) {
	if len(data) > contract.MaxWorkBytes {
		return nil, contract.Errorf(contract.ErrTooLarge, "%s: %d bytes, the limit is %d", name, len(data), contract.MaxWorkBytes)
	}
	raw, err := toJSON(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil, contract.Errorf(contract.ErrInvalidManifest, "%s: %w", name, err)
	}
	var work workv1.ManifestWork
	problems, err := k8sjson.UnmarshalStrict(raw, &work)
	if err != nil {
		return nil, contract.Errorf(contract.ErrInvalidManifest, "%s: %s", name, plainYAMLError(err))
	}
	if work.APIVersion != workAPIVersion || work.Kind != workKind {
		return nil, contract.Errorf(contract.ErrInvalidManifest, "%s: apiVersion %q, kind %q: want %s, %s",
			name, work.APIVersion, work.Kind, workAPIVersion, workKind)
	}
	if len(problems) > 0 {
		return nil, contract.Errorf(contract.ErrInvalidManifest, "%s: %w", name, errors.Join(problems...))
	}
	return &work, nil
}

// toJSON gives the compact JSON of a document, with the characters escaped that Maestro's own encoder escapes: the
// size of a manifest is measured in that form. JSON does not go through the YAML reader, which knows fewer escapes.
func toJSON(data []byte) ([]byte, error) {
	if !json.Valid(data) || !utf8.Valid(data) {
		document, err := oneDocument(data)
		if err != nil {
			return nil, err
		}
		return yamlToJSON(document)
	}
	if err := doubledKeys(data); err != nil {
		return nil, err
	}
	var compact, escaped bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return nil, err
	}
	json.HTMLEscape(&escaped, compact.Bytes())
	return escaped.Bytes(), nil
}

// oneDocument refuses an input that a single-document reader would cut short without a word. Documents without
// content do not count.
func oneDocument(data []byte) (*goyaml.Node, error) {
	decoder := goyaml.NewDecoder(bytes.NewReader(data))
	var found *goyaml.Node
	documents := 0
	for {
		var document goyaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.New(plainYAMLError(err))
		}
		if !emptyDocument(&document) {
			found = &document
			documents++
		}
	}
	switch documents {
	case 0:
		return nil, errors.New("empty: give one ManifestWork")
	case 1:
		return found, nil
	default:
		return nil, fmt.Errorf("%d documents: give one ManifestWork per file", documents)
	}
}

func emptyDocument(document *goyaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null"
}

func plainYAMLError(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "json: ", "")), " ")
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
