package fakehyperfleet

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// aggregate computes a resource's conditions from the statuses of its required adapters. It needs s.mu.
func (s *Server) aggregate(r *resource) {
	s.set(r, s.reconciled(r))
	s.set(r, s.lastKnown(r))
	for _, adapter := range s.required[r.kind] {
		status, reported := r.statuses[adapter]
		if !reported {
			continue
		}
		available, _ := find(status.Conditions, "Available")
		s.set(r, Condition{
			Type: pascal(adapter) + "Successful", Status: available.Status, Reason: available.Reason,
			Message: available.Message, ObservedGeneration: status.ObservedGeneration, LastUpdatedTime: status.LastReportTime,
		})
	}
}

func (s *Server) set(r *resource, condition Condition) {
	now := s.now()
	condition.CreatedTime, condition.LastTransitionTime = now, now
	if condition.LastUpdatedTime.IsZero() {
		condition.LastUpdatedTime = now
	}
	at := slices.IndexFunc(r.conditions, func(c Condition) bool { return c.Type == condition.Type })
	if at < 0 {
		r.conditions = append(r.conditions, condition)
		return
	}
	condition.CreatedTime = r.conditions[at].CreatedTime
	if r.conditions[at].Status == condition.Status {
		condition.LastTransitionTime = r.conditions[at].LastTransitionTime
	}
	r.conditions[at] = condition
}

// reconciled: every required adapter is done with the current generation. Children that are being deleted do not count.
func (s *Server) reconciled(r *resource) Condition {
	done, required := "Available", slices.Sorted(slices.Values(s.required[r.kind]))
	if r.deleted != nil {
		done = "Finalized"
	}
	var missing, reporting []string
	var oldest time.Time
	for _, adapter := range required {
		status, reported := r.statuses[adapter]
		current := reported && status.ObservedGeneration == r.generation
		if current && (oldest.IsZero() || status.LastReportTime.Before(oldest)) {
			oldest = status.LastReportTime
		}
		if current && status.is(done, "True") {
			reporting = append(reporting, adapter)
			continue
		}
		missing = append(missing, adapter)
	}
	if oldest.IsZero() {
		oldest = r.updated
	}
	condition := Condition{Type: "Reconciled", Status: "False", ObservedGeneration: r.generation, LastUpdatedTime: oldest}
	active := func(child *resource) bool { return child.deleted == nil }
	switch {
	case len(missing) > 0 || len(required) == 0:
		condition.Reason = "ReconciledMissingAdapters"
		condition.Message = fmt.Sprintf("Required adapters not reporting %s=True: [%s]. Currently reporting: [%s]", done, strings.Join(missing, ", "), strings.Join(reporting, ", "))
	case r.deleted != nil && slices.ContainsFunc(s.children(r), active):
		condition.Reason, condition.Message = "ReconciledWaitingForChildren", "children are still active"
	default:
		condition.Status, condition.Reason = "True", "ReconciledAll"
		condition.Message = "All required adapters report " + done + "=True"
	}
	return condition
}

// lastKnown sticks across generations: True stays until a required adapter says False at the tracked generation, or all
// have reported for another one.
func (s *Server) lastKnown(r *resource) Condition {
	generations := map[int64]bool{}
	available, atTracked, missing := true, true, len(s.required[r.kind]) == 0
	for _, adapter := range s.required[r.kind] {
		status, reported := r.statuses[adapter]
		if !reported {
			missing = true
			continue
		}
		generations[status.ObservedGeneration] = true
		available = available && status.is("Available", "True")
		if status.ObservedGeneration == r.tracked {
			atTracked = atTracked && status.is("Available", "True")
		}
	}
	before := slices.IndexFunc(r.conditions, func(c Condition) bool { return c.Type == "LastKnownReconciled" && c.Status == "True" })
	condition := Condition{Type: "LastKnownReconciled", Status: "False", ObservedGeneration: r.tracked}
	switch {
	case missing:
		condition.Reason = "AdaptersMissingReports"
	case len(generations) == 1:
		for generation := range generations {
			r.tracked, condition.ObservedGeneration = generation, generation
		}
		condition.Reason = "AdapterReportedNotAvailable"
		if available {
			condition.Status, condition.Reason = "True", "AllAdaptersReconciled"
		}
	case before >= 0 && atTracked:
		return r.conditions[before]
	case before >= 0:
		condition.Reason = "AdapterReportedNotAvailable"
	default:
		condition.Reason = "AdaptersNotAtSameGeneration"
	}
	return condition
}

// pascal turns my-adapter into MyAdapter.
func pascal(adapter string) string {
	var out strings.Builder
	for _, word := range strings.FieldsFunc(adapter, func(r rune) bool { return r == '-' || r == '_' }) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}
