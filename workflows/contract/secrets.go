package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

var errSecrets = errors.New("payloads are not encrypted, so its values could be read in the workflow's history: " +
	"deliver it another way, or accept that with allowPlaintextSecrets (--allow-plaintext-secrets)")

// secretTemplate finds a template that may make a Secret: it says so, it writes a text in one of YAML's hidden ways, or
// its kind is not a plain word.
var secretTemplate = regexp.MustCompile(`\bSecret\b|\\[ux\r\n]|!!binary|\bkind["']?\s*:[^\n]*(?:\{\{|\*)`)

// lastApplied is where kubectl keeps a copy of an object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Secrets names the Secrets in a request, whose values would stand readable in the workflow's history.
func (r Request) Secrets() []string {
	var found []string
	look := func(raw json.RawMessage) {
		if !bytes.Contains(raw, []byte("Secret")) && !bytes.Contains(raw, []byte(`\u`)) {
			return
		}
		var value any
		if json.Unmarshal(raw, &value) == nil {
			secretsIn(value, &found)
		}
	}
	look(r.Work)
	for _, manifest := range r.Manifests {
		look(manifest)
	}
	if secretTemplate.MatchString(r.NodepoolTemplate) {
		found = append(found, "nodepoolTemplate: it may make a Secret")
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// secretsIn goes into everything: a Secret may stand in a List or in the template of another object.
func secretsIn(value any, found *[]string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			secretsIn(item, found)
		}
	case map[string]any:
		// The items of a list of one kind have none of their own.
		if items, isList := value["items"].([]any); isList && value["kind"] == "SecretList" {
			for _, item := range items {
				if secret, ok := item.(map[string]any); ok {
					secretsIn(withKind(secret), found)
				}
			}
			return
		}
		metadata, _ := value["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		if value["kind"] == "Secret" && (hasContent(value["data"]) || hasContent(value["stringData"]) || annotations[lastApplied] != nil) {
			name := fmt.Sprint(metadata["name"])
			if namespace, _ := metadata["namespace"].(string); namespace != "" {
				name = namespace + "/" + name
			}
			*found = append(*found, "Secret/"+name)
			return
		}
		for _, item := range value {
			secretsIn(item, found)
		}
	}
}

func withKind(secret map[string]any) map[string]any {
	if secret["kind"] != "SecretList" {
		secret["kind"] = "Secret"
	}
	return secret
}

func hasContent(content any) bool {
	switch content := content.(type) {
	case nil:
		return false
	case map[string]any:
		return len(content) > 0
	default:
		return true
	}
}
