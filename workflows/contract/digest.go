package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ContentDigest covers what the operation would write: action, work and parts, whatever the order of keys.
func (r Request) ContentDigest() string {
	parts := []string{string(r.EffectiveAction()), canonical(r.Work)}
	if r.Orphan {
		parts = append(parts, "orphan")
	}
	if !r.partial() {
		return digest(parts...)
	}
	parts = append(parts, string(r.EffectiveStrategy()), r.Owner(), canonical(r.Nodepools), r.NodepoolTemplate)
	for _, manifest := range r.Manifests {
		parts = append(parts, canonical(manifest))
	}
	return digest(append(parts, r.Remove...)...)
}

// Digest covers everything that decides an operation's outcome, the times excepted. Equal requests attach to each other.
func (r Request) Digest() string {
	force := ""
	if r.Force {
		force = "force"
	}
	generation, _ := r.EffectiveGeneration()
	parts := []string{r.ContentDigest(), r.Wait, force, fmt.Sprint(generation)}
	if r.OnImmutable == OnImmutableRecreate {
		parts = append(parts, string(r.OnImmutable))
	}
	if r.FailOn != "" {
		parts = append(parts, r.FailOn)
	}
	// A part says its owner as content.
	if r.Adapter != "" && !r.partial() {
		parts = append(parts, r.Adapter)
	}
	return digest(parts...)
}

func digest(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))[:32]
}

// canonical re-encodes JSON with sorted keys and unchanged numbers; what is not JSON stays as it is.
func canonical(raw json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return string(raw)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return string(raw)
	}
	out, err := json.Marshal(value)
	if err != nil {
		return string(raw)
	}
	return string(out)
}
