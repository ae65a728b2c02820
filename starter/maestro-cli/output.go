package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// print writes the document of a command, the only thing that standard output ever carries.
func (a *app) print(format string, document any) error {
	text, err := indented(document)
	if err == nil && format != formatJSON {
		text, err = manifest.YAML(text)
	}
	if err != nil {
		return fmt.Errorf("encode the document: %w", err)
	}
	if _, err := a.stdout.Write(text); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}

func indented(document any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(document)
	return buffer.Bytes(), err
}

// printResult prints a StatusResult, whose resources are a list even when there are none.
func (a *app) printResult(format string, result contract.StatusResult) error {
	if result.Resources == nil {
		result.Resources = []contract.ResourceStatus{}
	}
	return a.print(format, result)
}
