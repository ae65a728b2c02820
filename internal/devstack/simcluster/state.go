package simcluster

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	feedbackSynced   = "StatusFeedbackSynced" // condition of a manifest
	deletedCondition = "Deleted"              // condition of a work of which nothing is left
)

// state is one work on the cluster: the objects that exist because of it and what the agent says about them.
type state struct {
	version   int64 // the newest one that was tried
	applied   int64 // the newest one of which an object was applied
	manifests []manifest
	objects   map[identity]manifest // as last applied
	status    workv1.ManifestWorkStatus
}

// refused reports whether the manifest cannot be applied at the time.
func refused(m manifest, now time.Duration) bool {
	return m.script.appliedError != "" && (m.script.errorUntil == 0 || m.script.errorUntil > now)
}

// apply puts a version on the cluster, except for what is refused. Objects that are no longer part of the work
// go once all the others are applied.
func (s *state) apply(version int64, manifests []manifest, now time.Duration) {
	s.version, s.manifests = version, manifests
	if s.objects == nil {
		s.objects = map[identity]manifest{}
	}
	before := s.status.ResourceStatus.Manifests
	s.status.ResourceStatus.Manifests = nil
	failed := false
	for _, m := range manifests {
		condition := metav1.Condition{
			Type: workv1.ManifestApplied, Status: metav1.ConditionTrue,
			Reason: "AppliedManifestComplete", Message: "Apply manifest complete",
		}
		switch {
		case refused(m, now):
			failed = true
			condition.Status = metav1.ConditionFalse
			condition.Reason, condition.Message = m.script.appliedReason, m.script.appliedError
		case m.script.available == metav1.ConditionFalse:
			delete(s.objects, m.identity())
		default:
			s.objects[m.identity()], s.applied = m, version
		}
		entry := workv1.ManifestCondition{ResourceMeta: m.meta}
		if old := find(before, m.identity()); old != nil {
			entry.Conditions, entry.StatusFeedbacks = slices.Clone(old.Conditions), old.StatusFeedbacks
		}
		meta.SetStatusCondition(&entry.Conditions, condition)
		s.status.ResourceStatus.Manifests = append(s.status.ResourceStatus.Manifests, entry)
	}
	if failed {
		s.set(workv1.WorkApplied, metav1.ConditionFalse, "AppliedManifestWorkFailed", "Failed to apply manifest work")
		return
	}
	s.set(workv1.WorkApplied, metav1.ConditionTrue, "AppliedManifestWorkComplete", "Apply manifest work complete")
	s.prune()
}

// prune removes the objects that the work no longer has.
func (s *state) prune() {
	for id := range s.objects {
		if !slices.ContainsFunc(s.manifests, func(m manifest) bool { return m.identity() == id }) {
			delete(s.objects, id)
		}
	}
}

// see looks whether the objects exist.
func (s *state) see(ids []identity) {
	for _, id := range ids {
		entry := find(s.status.ResourceStatus.Manifests, id)
		script := s.scriptOf(id)
		condition := metav1.Condition{
			Type: workv1.ManifestAvailable, Status: metav1.ConditionTrue,
			Reason: "ResourceAvailable", Message: "Resource is available",
		}
		_, exists := s.objects[id]
		switch {
		case script.available == metav1.ConditionUnknown:
			condition.Status = metav1.ConditionUnknown
			condition.Reason, condition.Message = "FetchingResourceFailed", "Failed to fetch resource"
		case !exists:
			condition.Status = metav1.ConditionFalse
			condition.Reason, condition.Message = "ResourceNotAvailable", "Resource is not available"
		}
		meta.SetStatusCondition(&entry.Conditions, condition)
		if script.degraded == "" {
			meta.RemoveStatusCondition(&entry.Conditions, workv1.ManifestDegraded)
			continue
		}
		meta.SetStatusCondition(&entry.Conditions, metav1.Condition{
			Type: workv1.ManifestDegraded, Status: metav1.ConditionTrue,
			Reason: "Degraded", Message: script.degraded,
		})
	}
}

// feed reads the feedback off the objects. A refused update leaves the values of the object that exists.
func (s *state) feed(ids []identity) {
	for _, id := range ids {
		found, exists := s.objects[id]
		if !exists {
			continue
		}
		entry := find(s.status.ResourceStatus.Manifests, id)
		entry.StatusFeedbacks.Values = found.script.feedback
		reason := "StatusFeedbackSynced"
		if len(found.script.feedback) == 0 {
			reason = "NoStatusFeedbackSynced"
		}
		meta.SetStatusCondition(&entry.Conditions, metav1.Condition{
			Type: feedbackSynced, Status: metav1.ConditionTrue, Reason: reason,
		})
	}
}

// aggregate derives the work's Available and Degraded from those of its manifests.
func (s *state) aggregate() {
	total := len(s.manifests)
	absent, unknown, degraded := 0, 0, ""
	for _, entry := range s.status.ResourceStatus.Manifests {
		available := meta.FindStatusCondition(entry.Conditions, workv1.ManifestAvailable)
		switch {
		case available == nil || available.Status == metav1.ConditionUnknown:
			unknown++
		case available.Status == metav1.ConditionFalse:
			absent++
		}
		if c := meta.FindStatusCondition(entry.Conditions, workv1.ManifestDegraded); c != nil && degraded == "" {
			degraded = c.Message
		}
	}
	switch {
	case absent > 0:
		s.set(workv1.WorkAvailable, metav1.ConditionFalse, "ResourcesNotAvailable",
			fmt.Sprintf("%d of %d resources are not available", absent, total))
	case unknown > 0:
		s.set(workv1.WorkAvailable, metav1.ConditionUnknown, "ResourcesStatusUnknown",
			fmt.Sprintf("%d of %d resources have unknown status", unknown, total))
	default:
		s.set(workv1.WorkAvailable, metav1.ConditionTrue, "ResourcesAvailable", "All resources are available")
	}
	if degraded == "" {
		meta.RemoveStatusCondition(&s.status.Conditions, workv1.WorkDegraded)
		return
	}
	s.set(workv1.WorkDegraded, metav1.ConditionTrue, "Degraded", degraded)
}

// remove takes everything off the cluster.
func (s *state) remove() {
	s.objects = nil
	meta.SetStatusCondition(&s.status.Conditions, metav1.Condition{
		Type: deletedCondition, Status: metav1.ConditionTrue,
		Reason: "ManifestsDeleted", Message: "The manifests are deleted from the cluster",
	})
}

// set writes a condition of the work, for the version that is on the cluster.
func (s *state) set(kind string, status metav1.ConditionStatus, reason, message string) {
	observed := s.version
	if slices.ContainsFunc(s.manifests, func(m manifest) bool { return m.script.noObserved }) {
		observed = 0
	}
	meta.SetStatusCondition(&s.status.Conditions, metav1.Condition{
		Type: kind, Status: status, ObservedGeneration: observed, Reason: reason, Message: message,
	})
}

func (s *state) scriptOf(id identity) script {
	for _, m := range s.manifests {
		if m.identity() == id {
			return m.script
		}
	}
	return defaultScript()
}

// existing are the objects of the work that exist, in the order of its manifests.
func (s *state) existing() []json.RawMessage {
	var all []json.RawMessage
	for _, m := range s.manifests {
		if o, ok := s.objects[m.identity()]; ok {
			all = append(all, o.raw)
		}
	}
	return all
}

// find returns the entry of an object, nil when there is none.
func find(entries []workv1.ManifestCondition, id identity) *workv1.ManifestCondition {
	for i := range entries {
		if identityOf(entries[i].ResourceMeta) == id {
			return &entries[i]
		}
	}
	return nil
}
