package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// Masked stands where a secret value would.
const Masked = "(masked)"

// kubectlCopy is where kubectl keeps a copy of what it applied, in which Secrets stand in the clear.
const kubectlCopy = "kubectl.kubernetes.io/last-applied-configuration"

// Mask hides the values of every Secret in a manifest, wherever it stands, and kubectl's copies of objects. Everything
// else is kept exactly, numbers included, and what has nothing to hide keeps its bytes. Values are hidden by their place:
// a copy of one in a field that is not secret stays.
func Mask(raw []byte) (json.RawMessage, error) {
	object, err := decodeExact(raw)
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	if masked := encodeMasked(object, shadeOpen); bytes.Contains(masked, []byte(Masked)) {
		return masked, nil
	}
	return raw, nil
}

// MaskAnnotations hides kubectl's copy of the whole ManifestWork. The argument is not changed.
func MaskAnnotations(annotations map[string]string) map[string]string {
	if _, found := annotations[kubectlCopy]; !found {
		return annotations
	}
	annotations = maps.Clone(annotations)
	annotations[kubectlCopy] = Masked
	return annotations
}

// shade says how much of a value may be shown.
type shade int

const (
	// shadeOpen: everything but the Secrets inside.
	shadeOpen shade = iota
	// shadeSecret: a Secret. Its head is shown; all else can hold its values, a misspelt "stringdata" too.
	shadeSecret
	// shadeSecretList: a list object whose items are Secrets without saying so.
	shadeSecretList
	// shadeSecretItems: those items.
	shadeSecretItems
	// shadeKeys: the content of a Secret. The keys are no secret, and help to find a mistake.
	shadeKeys
	// shadeHidden: nothing.
	shadeHidden
)

// secretHead are the fields of a Secret that hold no value of it, and those of a reference to one, which has its kind.
var secretHead = map[string]bool{
	"apiVersion": true, "kind": true, "metadata": true, "type": true, "immutable": true,
	"group": true, "apiGroup": true, "version": true, "namespace": true, "name": true, "uid": true, "resourceVersion": true,
	"fieldPath": true, "key": true, "optional": true, "controller": true, "blockOwnerDeletion": true,
}

// sharpened by what the values say about themselves; of two, the one that hides more decides.
func (s shade) sharpened(values ...any) shade {
	if s != shadeOpen {
		return s
	}
	for _, value := range values {
		object, _ := value.(map[string]any)
		kind, _ := object["kind"].(string)
		switch {
		case strings.EqualFold(kind, "Secret"):
			return shadeSecret
		case strings.EqualFold(kind, "SecretList"):
			s = shadeSecretList
		}
	}
	return s
}

// under gives the shade of the value under a key.
func (s shade) under(key string) shade {
	switch {
	case key == kubectlCopy || s == shadeHidden || s == shadeKeys:
		return shadeHidden
	case s == shadeSecret && !secretHead[key]:
		return shadeKeys
	case s == shadeSecretList && key == "items":
		return shadeSecretItems
	default:
		return shadeOpen
	}
}

// item gives the shade of an item of a list.
func (s shade) item() shade {
	switch s {
	case shadeOpen:
		return shadeOpen
	case shadeSecretItems:
		return shadeSecret
	default:
		return shadeHidden
	}
}

// masked copies as much of a value as its shade lets through. A null is no secret, and not the same as a value.
func (s shade) masked(value any) any {
	s = s.sharpened(value)
	switch value := value.(type) {
	case nil:
		return nil
	case map[string]any:
		if s == shadeHidden {
			return Masked
		}
		out := make(map[string]any, len(value))
		for key, inner := range value {
			out[key] = s.under(key).masked(inner)
		}
		return out
	case []any:
		if s != shadeOpen && s != shadeSecretItems {
			return Masked
		}
		out := make([]any, len(value))
		for index, inner := range value {
			out[index] = s.item().masked(inner)
		}
		return out
	default:
		if s != shadeOpen {
			return Masked
		}
		return value
	}
}

// encodeMasked gives the JSON of what a shade lets through of a decoded value: compact, keys sorted, numbers as they
// were.
func encodeMasked(value any, s shade) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s.masked(value)); err != nil {
		return json.RawMessage(`"` + Masked + `"`) // what was decoded can be encoded
	}
	return bytes.TrimSpace(out.Bytes())
}
