package manifest

import (
	"errors"

	goyaml "go.yaml.in/yaml/v3"
)

// configJSON gives the JSON of a config's document, also of one with doubled keys, as far as it can be read. What is
// wrong is said line by line.
func configJSON(data []byte) ([]byte, error) { return toJSON(data) }

// renderedJSON gives the JSON of one rendered document.
func renderedJSON(document *goyaml.Node) ([]byte, error) { return yamlToJSON(document) }

// lineIn gives the line of the field at a path, or of the nearest field around it.
func lineIn(root *goyaml.Node, path string) int { return lineOf(root, path) }

// readerError is what a library says, in one line.
func readerError(err error) error { return errors.New(plainYAMLError(err)) }
