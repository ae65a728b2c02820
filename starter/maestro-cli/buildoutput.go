package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/results"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	formatYAML = "yaml"
	formatJSON = "json"
)

// buildTarget is where the merged work goes, and in which form.
type buildTarget struct {
	// file is "" for standard output.
	file, format string
	// explicit: the form was asked for.
	explicit bool
}

// readTarget of the flags. --output takes a file as the design has it, and a form as every other command does.
func (f *buildFlags) readTarget() (buildTarget, error) {
	target := buildTarget{file: f.outputFile, format: formatYAML}
	var err error
	switch f.output {
	case "", "-":
	case formatYAML, formatJSON:
		target.format, target.explicit = f.output, true
	default:
		if f.outputFile != "" && f.outputFile != f.output {
			err = contract.Errorf(contract.ErrInvalidInput, "--output %s and --output-file %s: give one of them", f.output, f.outputFile)
		}
		target.file = f.output
	}
	if target.file == "-" {
		target.file = ""
	}
	if !target.explicit && strings.EqualFold(filepath.Ext(target.file), ".json") {
		target.format = formatJSON
	}
	switch f.format {
	case "":
	case formatYAML, formatJSON:
		target.format, target.explicit = f.format, true
	default:
		err = errors.Join(err, contract.Errorf(contract.ErrInvalidInput, "--format %q: give yaml or json", f.format))
	}
	return target, err
}

// writeWorks prints the merged works, several of them as documents of one YAML file or as a JSON List.
func (a *app) writeWorks(merges []merged, target buildTarget, showSecrets bool) error {
	documents, err := mergedWorks(merges)
	if err != nil {
		return err
	}
	if target.file == "" && !showSecrets {
		for index := range documents {
			if documents[index], err = manifest.Mask(documents[index]); err != nil {
				return contract.Errorf(contract.ErrInternal, "mask: %w", err)
			}
		}
	}
	text, err := printed(documents, target.format)
	if err != nil {
		return &failure{reason: reasonOutput, where: "build", err: err}
	}
	if target.file != "" {
		err = results.WriteDocument(target.file, text, modeOf(documents))
	} else if _, err = a.stdout.Write(text); err != nil {
		err = fmt.Errorf("write the document: %w", err)
	}
	if err != nil {
		return &failure{reason: reasonOutput, where: "build", err: err}
	}
	return nil
}

func printed(documents []json.RawMessage, format string) ([]byte, error) {
	if format == formatJSON {
		var document any = documents[0]
		if len(documents) > 1 {
			document = map[string]any{"apiVersion": "v1", "kind": "List", "items": documents}
		}
		return indented(document)
	}
	var out bytes.Buffer
	for index, document := range documents {
		if index > 0 {
			out.WriteString("---\n")
		}
		text, err := manifest.YAML(document)
		if err != nil {
			return nil, err
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// printChanges shows what merges would change: as text, or as a document when a form was asked for.
func (a *app) printChanges(merges []merged, document bool, format string) error {
	var documents []diffDocument
	for _, one := range merges {
		changes, err := compare(one.stored, one.merge.Work)
		if err != nil {
			return contract.Errorf(contract.ErrInvalidManifest, "%w", err)
		}
		documents = append(documents, changes)
	}
	if !document {
		for _, one := range documents {
			if err := a.printText(one); err != nil {
				return &failure{reason: reasonOutput, where: "build", err: err}
			}
		}
		return nil
	}
	var all any = documents
	if len(documents) == 1 {
		all = documents[0]
	}
	if err := a.print(format, all); err != nil {
		return &failure{reason: reasonOutput, where: "build", err: err}
	}
	return nil
}

// modeOf a file with these works: only its owner reads Secrets.
func modeOf(documents []json.RawMessage) os.FileMode {
	for _, document := range documents {
		if masked, err := manifest.Mask(document); err != nil || bytes.Contains(masked, []byte(manifest.Masked)) {
			return 0o600
		}
	}
	return 0o644
}
