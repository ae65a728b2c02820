package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

const (
	masked     = "(masked)"
	kindSecret = "Secret"
	// lastApplied is where kubectl keeps a copy of what it applied.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// maskManifest hides the values of every Secret in a manifest and keeps everything else exactly, numbers included.
func maskManifest(raw []byte) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var object any
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	maskSecrets(object)
	out, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return out, nil
}

// maskSecrets goes into everything: a Secret may stand in a List or in the template of another object.
func maskSecrets(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			maskSecrets(item)
		}
	case map[string]any:
		if value["kind"] == kindSecret {
			maskSecret(value)
			return
		}
		for _, item := range value {
			maskSecrets(item)
		}
	}
}

// maskSecret keeps the keys of a Secret, which are no secret and help to find a mistake.
func maskSecret(secret map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		content, found := secret[field]
		if !found {
			continue
		}
		values, isMap := content.(map[string]any)
		if !isMap {
			secret[field] = masked
			continue
		}
		for key := range values {
			values[key] = masked
		}
	}
	metadata, _ := secret["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, found := annotations[lastApplied]; found {
		annotations[lastApplied] = masked
	}
}

// maskAnnotations hides kubectl's copy of the whole ManifestWork, in which Secrets stand in the clear.
func maskAnnotations(annotations map[string]string) map[string]string {
	if _, found := annotations[lastApplied]; !found {
		return annotations
	}
	annotations = maps.Clone(annotations)
	annotations[lastApplied] = masked
	return annotations
}
