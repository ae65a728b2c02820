package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// print writes the document of a command, the only thing that standard output ever carries.
func (a *app) print(format string, document any) error {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("encode the document: %w", err)
	}
	text := buffer.Bytes()
	if format != "json" {
		converted, err := yaml.JSONToYAML(text)
		if err != nil {
			return fmt.Errorf("encode the document: %w", err)
		}
		text = converted
	}
	if _, err := a.stdout.Write(text); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}

// printResult prints a StatusResult, whose resources are a list even when there are none.
func (a *app) printResult(format string, result contract.StatusResult) error {
	if result.Resources == nil {
		result.Resources = []contract.ResourceStatus{}
	}
	return a.print(format, result)
}
