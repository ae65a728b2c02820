package results_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// accepted is what the status-reporter takes from a file.
type accepted struct {
	Status, Reason, Message string
	Details                 json.RawMessage
}

// acceptedByReporter restates the public status-reporter's parser (openshift-hyperfleet/status-reporter, pkg/result).
// It is stricter in one point: a reason or message that the reporter would have to cut or replace is an error here.
func acceptedByReporter(document []byte) (accepted, error) {
	var none accepted
	if len(document) < 1 || len(document) > 1024*1024 {
		return none, fmt.Errorf("size %d", len(document))
	}
	var fields struct {
		Status  string          `json:"status"`
		Reason  *string         `json:"reason"`
		Message *string         `json:"message"`
		Details json.RawMessage `json:"details"`
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	if err := decoder.Decode(&fields); err != nil {
		return none, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return none, errors.New("trailing data")
	}
	if fields.Status != "success" && fields.Status != "failure" {
		return none, fmt.Errorf("status %q", fields.Status)
	}
	for name, field := range map[string]struct {
		text  *string
		limit int
	}{"reason": {fields.Reason, 128}, "message": {fields.Message, 1024}} {
		switch {
		case field.text == nil || strings.TrimSpace(*field.text) == "":
			return none, fmt.Errorf("%s is empty", name)
		case *field.text != strings.TrimSpace(*field.text):
			return none, fmt.Errorf("%s is not trimmed", name)
		case len(*field.text) > field.limit:
			return none, fmt.Errorf("%s has %d bytes", name, len(*field.text))
		case !utf8.ValidString(*field.text):
			return none, fmt.Errorf("%s is not UTF-8", name)
		}
	}
	return accepted{fields.Status, *fields.Reason, *fields.Message, fields.Details}, nil
}
