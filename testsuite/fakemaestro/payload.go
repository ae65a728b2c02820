package fakemaestro

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	ce "github.com/cloudevents/sdk-go/v2"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// jsonMap is a cloud event as the server keeps it: its JSON as a map, with the work's metadata as an object instead
// of the string that cloud events allow, so that it can be searched.
type jsonMap map[string]any

// eventToMap converts an event to what the server would store. All numbers are float64 here, which is where integers
// above 2^53 lose their last digits.
func eventToMap(evt *ce.Event) (jsonMap, error) {
	data, err := json.Marshal(evt)
	if err != nil {
		return nil, fmt.Errorf("failed to marshal cloudevent to JSONMAP: %v", err)
	}
	m := jsonMap{}
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("failed to unmarshal cloudevent JSON to JSONMAP: %v", err)
	}
	if text, ok := m[types.ExtensionWorkMeta]; ok {
		meta := map[string]any{}
		if err := json.Unmarshal([]byte(fmt.Sprintf("%s", text)), &meta); err != nil {
			return nil, fmt.Errorf("failed to unmarshal metadata extension to object: %v", err)
		}
		m[types.ExtensionWorkMeta] = meta
	}
	return m, nil
}

// event converts back; the receiver is not changed.
func (m jsonMap) event() (*ce.Event, error) {
	if len(m) == 0 {
		return nil, fmt.Errorf("failed to convert empty jsonmap to cloudevent")
	}
	flat := make(jsonMap, len(m))
	for key, value := range m {
		flat[key] = value
	}
	if meta, ok := m[types.ExtensionWorkMeta]; ok {
		text, err := json.Marshal(meta)
		if err != nil {
			return nil, fmt.Errorf("failed to marshal metadata to JSON: %v", err)
		}
		flat[types.ExtensionWorkMeta] = string(text)
	}
	data, err := json.Marshal(flat)
	if err != nil {
		return nil, fmt.Errorf("failed to marshal JSONMAP to cloudevent JSON: %v", err)
	}
	evt := &ce.Event{}
	if err := json.Unmarshal(data, evt); err != nil {
		return nil, fmt.Errorf("failed to unmarshal JSONMAP to cloudevent: %v", err)
	}
	return evt, nil
}

// stored passes the map through the database: what comes back has its numbers as text. It is therefore never deeply
// equal to a new payload that contains a number, which is why the server takes an unchanged update for a change.
func (m jsonMap) stored() (jsonMap, *serviceError) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, failf(codeGeneral, "%v", err)
	}
	if hasNUL(data) {
		return nil, failf(codeGeneral, "%s", unsupportedEscape)
	}
	decoded, failure := decodeNumbers(data)
	if failure != nil {
		return nil, failure
	}
	return asNumeric(map[string]any(decoded)).(map[string]any), nil
}

// asNumeric writes numbers as the database does: without exponent and without a sign on zero.
func asNumeric(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, entry := range v {
			v[key] = asNumeric(entry)
		}
	case []any:
		for i, entry := range v {
			v[i] = asNumeric(entry)
		}
	case json.Number:
		return plainNumber(v)
	}
	return value
}

func plainNumber(n json.Number) json.Number {
	if n == "-0" {
		return "0"
	}
	if !strings.ContainsAny(n.String(), "eE") {
		return n
	}
	rational, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return n
	}
	if rational.IsInt() {
		return json.Number(rational.Num().String())
	}
	return json.Number(strings.TrimRight(rational.FloatString(smallestExponent), "0"))
}

// smallestExponent is the number of digits behind the point that the smallest float64 needs to be told from zero.
const smallestExponent = 345

func decodeNumbers(data []byte) (jsonMap, *serviceError) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	m := jsonMap{}
	if err := decoder.Decode(&m); err != nil {
		return nil, failf(codeGeneral, "%v", err)
	}
	return m, nil
}

// withMetadata returns a shallow copy whose metadata object is a copy with the given entries set. A payload without
// metadata is returned as it is.
func (m jsonMap) withMetadata(entries map[string]any) jsonMap {
	meta, ok := m[types.ExtensionWorkMeta].(map[string]any)
	if !ok {
		return m
	}
	changed := make(map[string]any, len(meta)+len(entries))
	for key, value := range meta {
		changed[key] = value
	}
	for key, value := range entries {
		changed[key] = value
	}
	out := make(jsonMap, len(m))
	for key, value := range m {
		out[key] = value
	}
	out[types.ExtensionWorkMeta] = changed
	return out
}

// hasNUL looks for the escape of a NUL, and not for the same letters behind an escaped backslash.
func hasNUL(data []byte) bool {
	for {
		at := bytes.IndexByte(data, '\\')
		if at < 0 || at+1 >= len(data) {
			return false
		}
		if bytes.HasPrefix(data[at:], []byte(`\u0000`)) {
			return true
		}
		data = data[at+2:]
	}
}
