package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// note says what the walk through a manifest has found.
type note int

const (
	// notText is a label or annotation that is no text.
	notText note = iota
	// unkeepable is JSON that Maestro cannot keep: its server reads numbers as doubles, its database takes no NUL.
	unkeepable
	// tooDeep is a value below more levels than decoders take; the walk does not go into it.
	tooDeep
	// inexact is a number that Maestro keeps as another one.
	inexact
	// secret is a Secret's data or stringData with content.
	secret
	// maskedValue is what get and build print in place of a secret.
	maskedValue
)

// walkContent goes through a manifest once and tells everything that its values give cause for.
func walkContent(raw []byte, tell func(what note, path trail, value []byte)) {
	if !json.Valid(raw) {
		return // said already, see readHead
	}
	w := &contentWalk{scanner: scanner{raw: raw}, tell: tell}
	w.value(nil, nil)
}

type contentWalk struct {
	scanner
	tell func(what note, path trail, value []byte)
}

// secretData is what stands under a key data or stringData, until it is known whether its object is a Secret.
type secretData struct {
	field   string
	content bool
	masks   []string
}

// value walks through one value; data is set for what a Secret would keep secret, and for one scalar in it.
func (w *contentWalk) value(path trail, data *secretData) {
	first := w.peek()
	if path.isText() && first != '"' {
		w.tell(notText, path, (&scanner{raw: w.raw, pos: w.pos}).take())
	}
	if (first == '{' || first == '[') && len(path) >= contract.MaxNesting {
		w.tell(tooDeep, path, w.take())
		return
	}
	switch first {
	case '{':
		w.object(path, data)
	case '[':
		for index := 0; w.next(); index++ {
			data.some()
			w.value(path.item(index), nil)
		}
	case '"':
		text := w.take()
		w.text(path, text)
		data.add(path, text)
	case 't', 'f':
		w.take()
		data.some()
	case 'n':
		w.take()
	default:
		w.number(path, w.take())
		data.some()
	}
}

func (w *contentWalk) object(path trail, outer *secretData) {
	isSecret := false
	var parts []*secretData
	for w.next() {
		rawKey := w.key()
		key := textOf(rawKey)
		inner := path.key(key)
		if hasNUL(rawKey) {
			w.tell(unkeepable, inner, rawKey)
		}
		first, start := w.peek(), w.pos
		nested := first == '{' || first == '['
		if nested {
			outer.some()
		}
		switch {
		case outer != nil && !nested:
			w.value(inner, outer)
		case key == "data" || key == "stringData":
			part := &secretData{field: key}
			parts = append(parts, part)
			w.value(inner, part)
		default:
			w.value(inner, nil)
		}
		isSecret = isSecret || key == "kind" && textOf(w.raw[start:w.pos]) == kindSecret
	}
	if isSecret {
		w.secret(path, parts)
	}
}

// text finds what a text may not be.
func (w *contentWalk) text(path trail, text []byte) {
	if hasNUL(text) {
		w.tell(unkeepable, path, text)
	}
	if len(path) > 0 && path[len(path)-1].key == kubectlCopy && textOf(text) == Masked {
		w.tell(maskedValue, path, text)
	}
}

func (w *contentWalk) number(path trail, number []byte) {
	if len(number) <= 15 && !bytes.ContainsAny(number, "eE") {
		return // every double has 15 digits
	}
	value, err := strconv.ParseFloat(string(number), 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && value != 0:
		w.tell(unkeepable, path, number)
	case !sameDecimal(string(number), strconv.FormatFloat(value, 'e', -1, 64)):
		w.tell(inexact, path, number)
	}
}

// hasNUL looks for the one escape that a NUL has in JSON.
func hasNUL(text []byte) bool {
	for rest := text; ; {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 || at+1 >= len(rest) {
			return false
		}
		if bytes.HasPrefix(rest[at:], []byte(`\u0000`)) {
			return true
		}
		rest = rest[at+2:]
	}
}

// content checks the values of a manifest.
func (c *checker) content(at place, raw []byte) {
	deep := false
	walkContent(raw, func(what note, path trail, value []byte) {
		here := func() place { return place{at.document, path.below(at.path)} }
		switch what {
		case notText:
			c.problems.noText(here(), value)
		case unkeepable:
			if path.inData() && value[0] != '"' {
				value = []byte("the number")
			}
			c.problems.add(here(), "%s", unkeepableText(value))
		case tooDeep:
			if !deep {
				c.problems.add(at, "values lie more than %d levels deep: no server can read it", contract.MaxNesting)
			}
			deep = true
		case inexact:
			if path.inData() {
				c.warnings.add(here(), "not kept exactly: Maestro keeps numbers as doubles; write it in quotes if the field takes a text")
				return
			}
			c.warnings.add(here(), "%s becomes %s: Maestro keeps numbers as doubles; write it in quotes if the field takes a text",
				abbreviated(value), storedNumber(value))
		case secret:
			c.secret(here())
		case maskedValue:
			c.problems.add(here(), "%s is the mask that get and build print, not a value: give the value", Masked)
		}
	})
}

func unkeepableText(value []byte) string {
	if value[0] == '"' {
		return "holds a NUL character, which Maestro's database cannot keep: leave it out"
	}
	return fmt.Sprintf("%s is beyond the numbers that Maestro can keep: write it in quotes if a text is meant", abbreviated(value))
}

// keepable finds the texts of a work beside its manifests that Maestro's database cannot keep.
func (c *checker) keepable(at place, work *workv1.ManifestWork) {
	kept := map[string]any{
		fieldMetadata: map[string]any{"annotations": work.Annotations, "ownerReferences": work.OwnerReferences},
		"spec": map[string]any{
			"manifestConfigs": work.Spec.ManifestConfigs, "deleteOption": work.Spec.DeleteOption, "executor": work.Spec.Executor,
		},
	}
	raw, err := json.Marshal(kept)
	if err != nil || !hasNUL(raw) {
		return
	}
	walkContent(raw, func(what note, path trail, value []byte) {
		if what == unkeepable {
			c.problems.add(place{at.document, path.below(at.path)}, "%s", unkeepableText(value))
		}
	})
}
