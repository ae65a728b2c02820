package manifest

import (
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// feedbackCondition is the agent's word for whether it could read and report an object's feedback.
const feedbackCondition = "StatusFeedbackSynced"

// hopeless adds to what was found of a manifest why it will not come true any more: a Job that ended the other way, a
// Deployment that gave up, feedback that the agent cannot report.
func (v view) hopeless(term Term, manifest selected, f answer) answer {
	job := manifest.id.kindIn() == kindIn{"batch", "Job"}
	f = v.doubted(term, manifest, f)
	if job && asksForSuccess(term) {
		// A rule of WellKnownConditions says Complete when the Job failed, too.
		if failed, is := v.isTrue(manifest.status, "Failed"); is && (f.truth != yes || term.Type != "") {
			text := manifest.id.String() + ": Failed is True" + because(failed)
			f = answer{truth: no, text: text, never: text}
		}
		return v.dropped(term, manifest, f)
	}
	if phase, fresh := v.phase(manifest); fresh && phase == "Failed" && asksForPodSuccess(term) {
		text := manifest.id.String() + ": phase is Failed"
		return answer{truth: no, text: text, never: text}
	}
	if f.truth == yes {
		return f
	}
	if complete, is := v.isTrue(manifest.status, "Complete"); is && job && term.Type == "Failed" && term.Status == "True" {
		f.never = manifest.id.String() + ": Complete is True" + because(complete)
	}
	if stalled := v.stalled(manifest); stalled != "" && manifest.id.kindIn() == (kindIn{"apps", "Deployment"}) && !slices.Contains(agentConditions, term.Type) {
		f.never, f.lasting = manifest.id.String()+": "+stalled, v.mayBeOld()
	}
	return v.dropped(term, manifest, f)
}

// mayBeOld: what an agent said of the object in an earlier version can still stand there for a while, because it reads
// feedback every ten seconds or so. There is nothing earlier than the first version.
func (v view) mayBeOld() bool { return v.version > 1 }

// asksForSuccess: the term wants a Job's success, under one of its names.
func asksForSuccess(term Term) bool {
	switch {
	case term.Type != "":
		return term.Status == "True" && (term.Type == "Complete" || term.Type == "JobComplete" || term.Type == "SuccessCriteriaMet")
	case term.Value.Text == "0" || strings.EqualFold(term.Value.Text, "false"):
		return false
	}
	for _, source := range term.sources(kindIn{"batch", "Job"}) {
		if slices.Contains([]string{"succeeded", "JobSucceeded", "Complete", "JobComplete"}, source.name) && source.path == "" {
			return true
		}
	}
	return false
}

var podKind = kindIn{"", "Pod"}

// phase of a Pod, "" when no feedback holds it; fresh when it is of the version that was asked for.
func (v view) phase(manifest selected) (phase string, fresh bool) {
	if manifest.id.kindIn() != podKind {
		return "", false
	}
	for _, field := range phaseFields {
		if text, found := (Term{Field: field}).valueIn(manifest.status); found {
			phase, _ = text.(string)
			return phase, v.status.ObservedVersion >= v.version && v.settled(manifest.status, answer{truth: yes}).truth == yes
		}
	}
	return "", false
}

// phaseFields are the names of feedback values that hold a Pod's phase.
var phaseFields = []string{"PodPhase", "phase", "status.phase"}

// asksForPodSuccess: the term wants that a Pod goes on or has succeeded, neither of which comes after the phase Failed.
func asksForPodSuccess(term Term) bool {
	if term.Type != "" {
		return term.Status == "True" && slices.Contains([]string{workv1.ManifestComplete, "Ready", "PodReady", "Initialized", "ContainersReady"}, term.Type)
	}
	return term.Operator == "==" && slices.Contains([]string{"Pending", "Running", "Succeeded"}, term.Value.Text)
}

// doubted looks behind a Complete that the rule WellKnownConditions gave, which is True of a Job and a Pod that failed,
// too: where the work has feedback of the object's own word, that has to agree. Without any the rule's word is all there
// is, and the answer says so.
func (v view) doubted(term Term, manifest selected, f answer) answer {
	if f.truth != yes || term.Type != workv1.ManifestComplete || term.Status != "True" || v.work == nil {
		return f
	}
	rules := rulesFor(v.work, manifest.id)
	if !rules.finishes(manifest.id) {
		return f
	}
	_, succeeded := v.isOwn(manifest.status, workv1.ManifestComplete)
	phase, fresh := v.phase(manifest)
	switch {
	case succeeded || fresh && phase == "Succeeded":
		return f
	case rules.tellsSuccess(manifest.id):
		text := manifest.id.String() + ": finished, but its own feedback does not say that it succeeded"
		return answer{text: text, never: text, lasting: true}
	case rules.tellsFailure(manifest.id):
		return f
	}
	f.text += " (by the rule WellKnownConditions, which says so of one that failed, too, and no feedback tells them apart)"
	return f
}

// isOwn: a condition of the object itself, from its feedback, is True for the version.
func (v view) isOwn(resource contract.ResourceStatus, name string) (contract.Condition, bool) {
	condition, found := v.ofObject(resource, name)
	f := v.settled(resource, v.judge(Term{Type: name, Status: "True"}, condition, found))
	return condition, f.truth == yes
}

// isTrue: an object's own condition, or one of a rule for it, is True for the version.
func (v view) isTrue(resource contract.ResourceStatus, name string) (contract.Condition, bool) {
	condition, found := v.ofObject(resource, name)
	if !found {
		condition, found = v.findOn(resource, name)
	}
	f := v.settled(resource, v.judge(Term{Type: name, Status: "True"}, condition, found))
	return condition, f.truth == yes
}

const deadlineExceeded = "ProgressDeadlineExceeded"

// stalled is what a Deployment says that does not get on.
func (v view) stalled(manifest selected) string {
	if v.status.ObservedVersion < v.version || v.appliedOn(manifest.status).truth == no {
		return ""
	}
	for _, condition := range append(slices.Clone(manifest.status.Conditions), objectConditions(manifest.status)...) {
		if condition.Type == "Progressing" && condition.Reason == deadlineExceeded && v.fresh(condition) {
			return "Progressing is " + condition.Status + because(condition)
		}
	}
	for _, raw := range manifest.status.Feedback {
		if string(raw) == `"`+deadlineExceeded+`"` {
			return "Progressing is False (" + deadlineExceeded + ")"
		}
	}
	return ""
}

// Samples of what an agent says about feedback that it does not report, and will not until the rule or the agent changes:
//
//	Sync status feedback failed with error the length of returned json raw string for name conditions is larger than the maximum length 1024
//	Sync status feedback failed with error the type map[string]interface {} of the value for status is not found
//	Sync status feedback failed with error failed to parse json path …
func dropped(message string) bool {
	return strings.Contains(message, "is larger than the maximum length") || strings.Contains(message, "of the value for") ||
		strings.Contains(message, "failed to parse json path")
}

// dropped adds that the agent cannot report the feedback that a term needs.
func (v view) dropped(term Term, manifest selected, f answer) answer {
	if f.truth != unknown || f.never != "" || slices.Contains(agentConditions, term.Type) {
		return f
	}
	synced, found := find(manifest.status.Conditions, feedbackCondition)
	if !found || synced.Status != "False" || !v.fresh(synced) || !dropped(synced.Message) {
		return f
	}
	if _, reported := v.reportedAtAll(term, manifest.status); reported {
		return f
	}
	f.never, f.lasting = manifest.id.String()+": its feedback is dropped"+because(synced), v.mayBeOld()
	return f
}

// reportedAtAll: the cluster reports what a term asks for, whatever version it is of.
func (v view) reportedAtAll(term Term, resource contract.ResourceStatus) (contract.Condition, bool) {
	if term.Type == "" {
		_, found := term.valueIn(resource)
		return contract.Condition{}, found
	}
	if condition, found := v.findOn(resource, term.Type); found {
		return condition, true
	}
	return v.ofObject(resource, term.Type)
}
