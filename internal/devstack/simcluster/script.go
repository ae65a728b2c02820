package simcluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Prefix is what the annotations of a script begin with.
const Prefix = "simcluster.hyperfleet.io/"

// script is what one manifest's annotations ask for.
type script struct {
	applyDelay     time.Duration
	availableDelay time.Duration
	appliedError   string
	appliedReason  string
	errorUntil     time.Duration // 0: for good
	available      metav1.ConditionStatus
	degraded       string
	feedback       []workv1.FeedbackValue
	feedbackDelay  time.Duration
	noObserved     bool
	silent         bool
	deleteDelay    time.Duration
}

func defaultScript() script {
	return script{
		applyDelay:     200 * time.Millisecond,
		availableDelay: 500 * time.Millisecond,
		deleteDelay:    200 * time.Millisecond,
		appliedReason:  "AppliedManifestFailed",
		available:      metav1.ConditionTrue,
	}
}

// setters reads one annotation each. An error leaves the default.
var setters = map[string]func(*script, string) error{
	"apply-delay":            func(s *script, v string) error { return setDuration(&s.applyDelay, v) },
	"available-delay":        func(s *script, v string) error { return setDuration(&s.availableDelay, v) },
	"applied-error":          func(s *script, v string) error { s.appliedError = v; return nil },
	"applied-reason":         func(s *script, v string) error { s.appliedReason = v; return nil },
	"applied-error-until":    func(s *script, v string) error { return setDuration(&s.errorUntil, v) },
	"available":              func(s *script, v string) error { return setStatus(&s.available, v) },
	"degraded":               func(s *script, v string) error { s.degraded = v; return nil },
	"feedback":               func(s *script, v string) error { return setFeedback(&s.feedback, v) },
	"feedback-delay":         func(s *script, v string) error { return setDuration(&s.feedbackDelay, v) },
	"no-observed-generation": func(s *script, v string) error { return setBool(&s.noObserved, v) },
	"silent":                 func(s *script, v string) error { return setBool(&s.silent, v) },
	"delete-delay":           func(s *script, v string) error { return setDuration(&s.deleteDelay, v) },
}

// parseScript reads the annotations of a manifest. The script is always usable; the errors say which
// annotations were ignored.
func parseScript(annotations map[string]string) (script, []error) {
	s := defaultScript()
	var ignored []error
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		name, ours := strings.CutPrefix(key, Prefix)
		if !ours {
			continue
		}
		set, known := setters[name]
		if !known {
			ignored = append(ignored, fmt.Errorf("annotation %s: unknown", key))
			continue
		}
		if err := set(&s, annotations[key]); err != nil {
			ignored = append(ignored, fmt.Errorf("annotation %s: %w", key, err))
		}
	}
	return s, ignored
}

func setDuration(to *time.Duration, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil {
		return err
	}
	if d < 0 {
		return fmt.Errorf("%q is negative", value)
	}
	*to = d
	return nil
}

func setBool(to *bool, value string) error {
	b, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", value)
	}
	*to = b
	return nil
}

func setStatus(to *metav1.ConditionStatus, value string) error {
	switch status := metav1.ConditionStatus(value); status {
	case metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown:
		*to = status
		return nil
	default:
		return fmt.Errorf("%q is none of True, False, Unknown", value)
	}
}

// setFeedback turns a JSON object into feedback values, sorted by name.
func setFeedback(to *[]workv1.FeedbackValue, value string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &fields); err != nil {
		return fmt.Errorf("%q is no JSON object: %w", value, err)
	}
	var values []workv1.FeedbackValue
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		values = append(values, workv1.FeedbackValue{Name: name, Value: fieldValue(fields[name])})
	}
	*to = values
	return nil
}

// fieldValue types a value as the real agent does: whole numbers, strings and booleans have types of their
// own, the rest stays JSON.
func fieldValue(raw json.RawMessage) workv1.FieldValue {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	// The text was parsed once already, as part of its object.
	_ = decoder.Decode(&value)
	switch v := value.(type) {
	case string:
		return workv1.FieldValue{Type: workv1.String, String: &v}
	case bool:
		return workv1.FieldValue{Type: workv1.Boolean, Boolean: &v}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return workv1.FieldValue{Type: workv1.Integer, Integer: &n}
		}
	}
	text := string(raw)
	return workv1.FieldValue{Type: workv1.JsonRaw, JsonRaw: &text}
}
