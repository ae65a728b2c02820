package main

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
)

// maxValueText of a value in text, in bytes; a document has it whole.
const maxValueText = 200

// printText writes a diff for people: the work, then each object with its fields. Nothing at all when nothing differs.
func (a *app) printText(document diffDocument) error {
	if !document.Differs {
		a.say(fmt.Sprintf("work %s/%s: no differences", document.Consumer, document.Name))
		return nil
	}
	var out bytes.Buffer
	version := "not stored yet"
	if document.Version > 0 {
		version = fmt.Sprintf("version %d", document.Version)
	}
	fmt.Fprintf(&out, "work %s/%s (%s)\n", document.Consumer, document.Name, version)
	head := ""
	for _, change := range document.Changes {
		if change.Path == "" && change.Op != manifest.Changed {
			head = ""
			fmt.Fprintf(&out, "%s %s\n", sign(change.Op), printable(change.Manifest))
			if change.Op == manifest.Added {
				out.WriteString(contentText(change.New))
			}
			continue
		}
		if change.Manifest != head {
			head = change.Manifest
			fmt.Fprintf(&out, "%s %s\n", sign(manifest.Changed), printable(head))
		}
		fmt.Fprintf(&out, "    %s %s: %s\n", sign(change.Op), printable(change.Path), values(change))
	}
	if _, err := a.stdout.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}

// maxContentLines of a new object in text; a document has it whole.
const maxContentLines = 60

// contentText is what a new object holds, as indented YAML.
func contentText(raw []byte) string {
	text, err := manifest.YAML(raw)
	if err != nil {
		return "" // the head line says what it is
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if more := len(lines) - maxContentLines; more > 0 {
		lines = append(lines[:maxContentLines], fmt.Sprintf("… %d lines more", more))
	}
	for index, line := range lines {
		lines[index] = "    " + printable(line)
		if runes := []rune(lines[index]); len(runes) > maxValueText {
			lines[index] = string(runes[:maxValueText]) + "…"
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func sign(op manifest.ChangeOp) string {
	switch op {
	case manifest.Added:
		return "+"
	case manifest.Removed:
		return "-"
	case manifest.Changed, manifest.Moved:
		return "~"
	}
	return "?"
}

func values(change manifest.Change) string {
	switch change.Op {
	case manifest.Added:
		return valueText(change.New)
	case manifest.Removed:
		return valueText(change.Old)
	case manifest.Moved:
		return "order " + valueText(change.Old) + " -> " + valueText(change.New)
	case manifest.Changed:
		return valueText(change.Old) + " -> " + valueText(change.New)
	}
	return ""
}

// valueText cuts a long value at a rune.
func valueText(raw []byte) string {
	if len(raw) <= maxValueText {
		return printable(string(raw))
	}
	end := maxValueText
	for end > 0 && !utf8.RuneStart(raw[end]) {
		end--
	}
	return printable(string(raw[:end])) + "…"
}

// printable writes what would change lines or the terminal as an escape: names come from outside.
func printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, "\\u%04x", r)
		}
	}
	return out.String()
}
