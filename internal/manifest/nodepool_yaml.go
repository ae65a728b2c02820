package manifest

import (
	"errors"
	"fmt"

	goyaml "go.yaml.in/yaml/v3"
)

// configJSON gives the JSON of a config's document, also of one with doubled keys, as far as it can be read. What is
// wrong is said line by line.
func configJSON(data []byte) ([]byte, error) {
	var found findings
	raws := documents(data, &found)
	if len(raws) == 0 {
		return nil, foundError(found)
	}
	return raws[0], foundError(found)
}

// renderedJSON gives the JSON of one rendered document. nodes counts those of all documents, see [maxNodes].
func renderedJSON(document *goyaml.Node, nodes *int) ([]byte, error) {
	var found findings
	e := newEncoder(&found)
	e.nodes = *nodes
	_ = e.value(document) // what is wrong stands among the findings
	*nodes = e.nodes
	return e.out.Bytes(), foundError(found)
}

// lineIn gives the line of the field at a path, or of the nearest field around it.
func lineIn(root *goyaml.Node, path string) int { return spotOf(root, path).line }

// readerError is what a library says, in one line.
func readerError(err error) error { return errors.New(plainError(err)) }

// foundError gives the findings as lines with their line in front.
func foundError(found findings) error {
	var problems []error
	for _, one := range found.list {
		problems = append(problems, fmt.Errorf("line %d: %s", one.line, one.text))
	}
	return errors.Join(problems...)
}
