package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// jsonObject keeps the order of its members and their bytes, so that one of them can be changed and nothing else.
type jsonObject []member

// readObject takes what is known to be valid JSON, see [scanner].
func readObject(raw []byte) (jsonObject, error) {
	if kindOf(raw) != "an object" {
		return nil, fmt.Errorf("not a JSON object")
	}
	return slices.Collect(members(raw)), nil
}

func (o jsonObject) get(key string) json.RawMessage {
	for _, m := range o {
		if m.key() == key {
			return m.value
		}
	}
	return nil
}

// with sets a member in its place, or as the last one.
func (o jsonObject) with(key string, value json.RawMessage) jsonObject {
	for index := range o {
		if o[index].key() == key {
			o[index].value = value
			return o
		}
	}
	return append(o, member{rawKey: quoted(key), value: value})
}

func (o jsonObject) without(key string) jsonObject {
	kept := o[:0:0]
	for _, m := range o {
		if m.key() != key {
			kept = append(kept, m)
		}
	}
	return kept
}

func (o jsonObject) raw() json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	for index, m := range o {
		if index > 0 {
			out.WriteByte(',')
		}
		out.Write(m.rawKey)
		out.WriteByte(':')
		out.Write(m.value)
	}
	out.WriteByte('}')
	return out.Bytes()
}

// setText sets a text three levels down, like metadata.annotations[key]; an empty text removes it, and the levels that
// become empty by that. Everything else keeps its bytes.
func setText(raw json.RawMessage, path [3]string, text string) (json.RawMessage, error) {
	root, err := readObject(raw)
	if err != nil {
		return nil, err
	}
	inner, err := readOptional(root.get(path[0]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path[0], err)
	}
	leaf, err := readOptional(inner.get(path[1]))
	if err != nil {
		return nil, fmt.Errorf("%s.%s: %w", path[0], path[1], err)
	}
	if text == "" {
		if leaf.get(path[2]) == nil {
			return raw, nil
		}
		if leaf = leaf.without(path[2]); len(leaf) == 0 {
			inner = inner.without(path[1])
			return root.with(path[0], inner.raw()).raw(), nil
		}
	} else {
		leaf = leaf.with(path[2], quoted(text))
	}
	return root.with(path[0], inner.with(path[1], leaf.raw()).raw()).raw(), nil
}

// readOptional takes absent and null for an object without members.
func readOptional(raw json.RawMessage) (jsonObject, error) {
	if raw == nil || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	return readObject(raw)
}
