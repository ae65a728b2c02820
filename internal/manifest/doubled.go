package manifest

import (
	"bytes"
	"fmt"
)

// doubledKeys names the keys that an object of valid JSON holds twice, of which a decoder would keep the last one
// without a word. Lines count from the first byte of data; the document starts at its offset.
func doubledKeys(data []byte, offset, document int, found *findings) {
	d := &doubles{scanner: scanner{raw: data, pos: offset}, document: document, found: found}
	d.value(nil)
}

type doubles struct {
	scanner
	document int
	found    *findings
}

func (d *doubles) value(path trail) {
	switch d.peek() {
	case '{':
		d.object(path)
	case '[':
		for index := 0; d.next(); index++ {
			d.value(path.item(index))
		}
	default:
		d.take()
	}
}

func (d *doubles) object(path trail) {
	seen := map[string]int{} // offsets
	for d.next() {
		d.peek()
		offset := d.pos
		key := textOf(d.key())
		if first, found := seen[key]; !found {
			seen[key] = offset
		} else if !d.found.full() {
			d.found.list = append(d.found.list, finding{
				place: place{d.document, path.key(key).below("")}, line: d.line(offset), text: doubledText(key, d.line(first)),
			})
		}
		d.value(path.key(key))
	}
}

func (d *doubles) line(offset int) int { return lineAt(d.raw, offset) }

// lineAt is the line of an offset, from 1.
func lineAt(data []byte, offset int) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }

func doubledText(key string, line int) string {
	return fmt.Sprintf("key %q is already set on line %d: keep one of the two", key, line)
}

// headKeys refuses a key that the head of a manifest holds twice: who reads it as a structure takes the parts of both,
// Maestro takes the last. Files and requests are searched whole, see [doubledKeys], other works come here first.
func (c *checker) headKeys(at place, raw []byte) {
	c.onceEach(at, raw)
	for member := range members(raw) {
		if member.key() == fieldMetadata {
			c.onceEach(at.under(fieldMetadata), member.value)
		}
	}
}

func (c *checker) onceEach(at place, raw []byte) {
	seen := map[string]bool{}
	for member := range members(raw) {
		key := member.key()
		if seen[key] {
			c.problems.add(at.under(key), "the key is there twice: keep one of the two")
		}
		seen[key] = true
	}
}
