package fakehyperfleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// report is the body of a PUT.
type report struct {
	Adapter            string            `json:"adapter"`
	ObservedGeneration int32             `json:"observed_generation"`
	ObservedTime       *time.Time        `json:"observed_time"`
	Conditions         []ReportCondition `json:"conditions"`
	Data               map[string]any    `json:"data"`
	Metadata           *metadata         `json:"metadata"`
}

// metadata is typed: other keys are dropped.
type metadata struct {
	JobName       string     `json:"job_name,omitempty"`
	JobNamespace  string     `json:"job_namespace,omitempty"`
	Attempt       int32      `json:"attempt,omitempty"`
	StartedTime   *time.Time `json:"started_time,omitempty"`
	CompletedTime *time.Time `json:"completed_time,omitempty"`
	Duration      string     `json:"duration,omitempty"`
}

// ReportCondition is a condition of an adapter.
type ReportCondition struct {
	Type               string     `json:"type"`
	Status             string     `json:"status"`
	Reason             string     `json:"reason,omitempty"`
	Message            string     `json:"message,omitempty"`
	LastTransitionTime *time.Time `json:"last_transition_time,omitempty"`
}

// Stored is the status of one adapter.
type Stored struct {
	Adapter            string            `json:"adapter"`
	Conditions         []ReportCondition `json:"conditions"`
	CreatedTime        time.Time         `json:"created_time"`
	Data               map[string]any    `json:"data"`
	Metadata           *metadata         `json:"metadata,omitempty"`
	LastReportTime     time.Time         `json:"last_report_time"`
	ObservedGeneration int64             `json:"observed_generation"`
}

type stored struct{ Stored }

func (s *stored) is(kind, status string) bool {
	condition, found := find(s.Conditions, kind)
	return found && condition.Status == status
}

func find(conditions []ReportCondition, kind string) (ReportCondition, bool) {
	at := slices.IndexFunc(conditions, func(c ReportCondition) bool { return c.Type == kind })
	if at < 0 {
		return ReportCondition{}, false
	}
	return conditions[at], true
}

// Status gives the stored status of an adapter; false when there is none.
func (s *Server) Status(id, adapter string) (Stored, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, found := s.resources[id]
	if !found {
		return Stored{}, false
	}
	status, found := r.statuses[adapter]
	if !found {
		return Stored{}, false
	}
	return status.Stored, true
}

const (
	maxAhead = 5 * time.Minute
	maxAge   = 30 * time.Minute
)

// mandatory conditions of every report.
var mandatory = []string{"Available", "Applied", "Health"}

// check is the first step: the shape and the values that can be judged without the resource.
func (s *Server) check(body []byte) (report, *failure) {
	var in report
	if fail := decode(body, &in); fail != nil {
		return in, fail
	}
	switch {
	case in.Adapter == "":
		return in, invalid("adapter: must not be empty")
	case in.ObservedGeneration < 1:
		return in, invalid("observed_generation: must be at least 1")
	case in.ObservedTime != nil && in.ObservedTime.Sub(s.clock()) > maxAhead:
		return in, invalid("observed_time: more than 5 minutes ahead")
	case in.ObservedTime != nil && s.clock().Sub(*in.ObservedTime) > maxAge:
		return in, invalid("observed_time: more than 30 minutes old")
	}
	seen := map[string]bool{}
	for _, condition := range in.Conditions {
		switch {
		case condition.Type == "":
			return in, invalid("conditions: a type is empty")
		case seen[condition.Type]:
			return in, invalid(fmt.Sprintf("conditions: duplicate type '%s'", condition.Type))
		case !slices.Contains([]string{"True", "False", "Unknown"}, condition.Status):
			return in, invalid(fmt.Sprintf("conditions: status '%s' of '%s' is not True, False or Unknown", condition.Status, condition.Type))
		}
		seen[condition.Type] = true
	}
	return in, nil
}

// put is the server's evaluation in its order. A status is stored and shown, or dropped (nil without a failure).
func (s *Server) put(id string, in report) (*Stored, *failure) {
	r, found := s.resources[id]
	if !found {
		return nil, absent("resource")
	}
	own := r.statuses[in.Adapter]
	generation := int64(in.ObservedGeneration)
	if generation > r.generation || own != nil && generation < own.ObservedGeneration {
		return nil, nil
	}
	observed := s.clock()
	if in.ObservedTime != nil && !in.ObservedTime.IsZero() {
		observed = *in.ObservedTime
	}
	kept := observed.UTC().Round(time.Microsecond)
	same := own != nil && own.ObservedGeneration == generation
	// The database has rounded the time, so an exact replay with nanoseconds is another time.
	if same && (observed.Before(own.LastReportTime) || kept.Equal(own.LastReportTime) && !observed.Equal(kept)) {
		return nil, nil
	}
	for _, kind := range mandatory {
		if _, found := find(in.Conditions, kind); !found {
			return nil, invalid(fmt.Sprintf("missing mandatory condition '%s': every report has Available, Applied and Health", kind))
		}
	}
	available, _ := find(in.Conditions, "Available")
	if available.Status == "Unknown" && own != nil {
		return nil, nil
	}
	if len(in.Adapter) > 255 {
		return nil, &failure{http.StatusInternalServerError, "INT-001", "value too long for type character varying(255)"}
	}
	if same && kept.Equal(own.LastReportTime) {
		return &own.Stored, nil // the old content: this report is lost
	}
	r.statuses[in.Adapter] = s.store(in, own, kept)
	status := &r.statuses[in.Adapter].Stored
	if available.Status != "Unknown" && !s.removeWhenFinalized(r) {
		s.aggregate(r)
	}
	return status, nil
}

func (s *Server) store(in report, own *stored, observed time.Time) *stored {
	now := s.now()
	next := &stored{Stored{
		Adapter: in.Adapter, CreatedTime: now, Data: in.Data, Metadata: in.Metadata,
		LastReportTime: observed, ObservedGeneration: int64(in.ObservedGeneration),
	}}
	if next.Data == nil {
		next.Data = map[string]any{}
	}
	for _, condition := range in.Conditions {
		condition.LastTransitionTime = &now
		if own != nil {
			if before, found := find(own.Conditions, condition.Type); found && before.Status == condition.Status {
				condition.LastTransitionTime = before.LastTransitionTime
			}
		}
		next.Conditions = append(next.Conditions, condition)
	}
	if own != nil {
		next.CreatedTime = own.CreatedTime
	}
	return next
}

func (s *Server) servePut(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	in, fail := s.check(body)
	var status *Stored
	if fail == nil {
		status, fail = s.put(id, in)
	}
	switch {
	case fail != nil:
		s.problem(w, r, fail.status, fail.code, fail.detail)
	case status == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		writeJSON(w, http.StatusCreated, status)
	}
}

// decode reads a body as the server does: what is no JSON, and a time that is none, is malformed, and a value of
// another type is invalid.
func decode(body []byte, into any) *failure {
	decoder := json.NewDecoder(bytes.NewReader(body))
	err := decoder.Decode(into)
	var mistyped *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mistyped):
		return invalid(strings.TrimPrefix(mistyped.Field+": wrong type", ": "))
	case errors.Is(err, io.EOF):
		return malformed("the body is empty")
	default:
		return malformed(err.Error())
	}
}
