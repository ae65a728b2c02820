package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLocateFindsTheLineOfAField(t *testing.T) {
	const data = `# a comment
---
apiVersion: v1
--- # another
base: &base
  from: base
metadata:
  labels:
    hyperfleet.io/gpu: true
    index: 01
  list:
    - a
    - {b: 1,
       c: 2}
merged:
  <<: *base
  own: x
`
	for path, line := range map[string]int{
		"":                                    5,
		"metadata.labels[hyperfleet.io/gpu]":  9,
		"metadata.labels.index":               10,
		"metadata.list[0]":                    12,
		"metadata.list[1].c":                  14,
		"metadata.list[1].missing.more":       13,
		"metadata.nothing":                    7,
		"merged.from":                         6,
		"merged.own":                          17,
		"metadata.labels[hyperfleet.io/gpu].": 9,
	} {
		assert.Equal(t, line, locate([]byte(data), 1, path), "%s", path)
	}
	assert.Equal(t, 3, locate([]byte(data), 0, "apiVersion"))
	assert.Zero(t, locate([]byte(data), 2, "apiVersion"))
	assert.Zero(t, locate([]byte("a: [b"), 0, "a"))
	assert.Equal(t, 2, locate([]byte("{\n\"a\":1,\t\"b\":2}"), 0, "b"))
	assert.Equal(t, 1, locate([]byte("a: &a [*a]"), 0, "a[0][0][0]"))
}

func TestProblemIsOneLine(t *testing.T) {
	assert.Equal(t, "w.yaml:3: spec: wrong", Problem{File: "w.yaml", Line: 3, Path: "spec", Text: "wrong"}.String())
	assert.Equal(t, "wrong", Problem{Text: "wrong"}.String())
	assert.Equal(t, "metadata.labels[a/b][0]", at(under(under("metadata", "labels"), "a/b"), 0))
}
