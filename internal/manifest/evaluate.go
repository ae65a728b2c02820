package manifest

import (
	"fmt"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Status is what the cluster reported last for a work.
type Status struct {
	// Reported is false until the agent has answered for the first time.
	Reported bool
	// ObservedVersion is the version of the work that the whole status was sent for.
	ObservedVersion int64
	Conditions      []contract.Condition
	// Resources in the order of the work; Applied and Available are not set, see [Evaluation].
	Resources []contract.ResourceStatus
}

// Evaluation is the answer of one look at a work.
type Evaluation struct {
	// Met: the expression is true for the version that was asked for.
	Met bool
	// Holds says, when met, what makes it so.
	Holds string
	// Missing says, when not met, what is missing and what the cluster said instead.
	Missing string
	// Never says, when not met, why it will not be met any more; Stuck does so when that lasts for a while.
	Never, Stuck string
	// Refused is set when the cluster could not apply the version that was asked for; Heals is false when the
	// reason is one that the agent's next attempt cannot change.
	Refused string
	Heals   bool
	// Overall is the one word for the status of the version that was asked for.
	Overall contract.Status
	// Resources with Applied and Available decided for the version that was asked for.
	Resources []contract.ResourceStatus
}

// Evaluate decides an expression for version, the version of the work that was written.
//
// A condition counts only when it belongs to that version: its observedGeneration, or without one the status's
// ObservedVersion, is at least version; feedback counts when ObservedVersion is. Available needs Applied=True beside it,
// because the agent reports Available=True for objects that are left over from an earlier version while the new one was
// refused. What is not reported, or for an older version, is unknown, and so is its NOT.
func Evaluate(status Status, version int64, expression Expression) Evaluation {
	return view{status: status, version: version}.evaluate(expression)
}

// EvaluateStored is [Evaluate] for a stored work, whose manifests say what the cluster has to report.
func EvaluateStored(stored *Stored, version int64, expression Expression) Evaluation {
	return view{status: stored.Status, version: version, work: stored.Work}.evaluate(expression)
}

func (v view) evaluate(expression Expression) Evaluation {
	evaluation := Evaluation{Resources: v.resources(), Overall: v.overall(), Met: true}
	evaluation.Refused, evaluation.Heals = v.refusal()
	root := expression.root
	if root == nil {
		return evaluation
	}
	of := answers{}
	root.each(func(n *node) { of[n] = v.find(n.term) })
	if evaluation.Met = root.truth(of) == yes; evaluation.Met {
		evaluation.Holds = root.why(yes, of)
		return evaluation
	}
	evaluation.Missing = root.why(yes, of)
	if evaluation.Refused != "" && !strings.Contains(evaluation.Missing, evaluation.Refused) {
		evaluation.Missing += "; " + evaluation.Refused
	}
	nevers := root.nevers(of)
	if nevers != "" && !strings.Contains(evaluation.Missing, nevers) {
		evaluation.Missing += "; " + nevers
	}
	switch {
	case !root.can(true, of, false):
		evaluation.Never = nevers
	case !root.can(true, of, true):
		evaluation.Stuck = nevers
	}
	return evaluation
}

type view struct {
	status  Status
	version int64
	// work is nil when only the status is known.
	work *workv1.ManifestWork
}

func (v view) fresh(condition contract.Condition) bool {
	return v.age(condition) >= v.version
}

// age is the version that a condition belongs to.
func (v view) age(condition contract.Condition) int64 {
	if condition.ObservedGeneration > 0 {
		return condition.ObservedGeneration
	}
	return v.status.ObservedVersion
}

func find(conditions []contract.Condition, name string) (contract.Condition, bool) {
	for _, condition := range conditions {
		if condition.Type == name {
			return condition, true
		}
	}
	return contract.Condition{}, false
}

// holds: the work's condition has the status, for the version asked for.
func (v view) holds(name, status string) bool {
	condition, found := find(v.status.Conditions, name)
	return found && condition.Status == status && v.fresh(condition)
}

// findOn finds a manifest's condition. The agent writes a manifest's Applied, which has no generation of its own, in
// one pass with the work's, and may send a newer Available before: so it belongs to the version of the work's.
func (v view) findOn(resource contract.ResourceStatus, name string) (contract.Condition, bool) {
	condition, found := find(resource.Conditions, name)
	if name == "Applied" && condition.ObservedGeneration == 0 {
		if applied, whole := find(v.status.Conditions, "Applied"); whole {
			condition.ObservedGeneration = applied.ObservedGeneration
		}
	}
	return condition, found
}

func because(condition contract.Condition) string {
	text := strings.TrimSpace(condition.Message)
	switch {
	case text != "" && condition.Reason != "":
		return fmt.Sprintf(" (%s: %s)", condition.Reason, text)
	case text != "" || condition.Reason != "":
		return fmt.Sprintf(" (%s)", condition.Reason+text)
	default:
		return ""
	}
}

// resources decides Applied and Available of each manifest for the version asked for.
func (v view) resources() []contract.ResourceStatus {
	resources := make([]contract.ResourceStatus, len(v.status.Resources))
	for index, resource := range v.status.Resources {
		resource.Applied = v.true(resource, "Applied")
		resource.Available = v.true(resource, "Available")
		resources[index] = resource
	}
	return resources
}

func (v view) true(resource contract.ResourceStatus, name string) bool {
	condition, found := v.findOn(resource, name)
	return found && condition.Status == "True" && v.fresh(condition)
}

func (v view) overall() contract.Status {
	switch {
	case !v.status.Reported:
		return contract.StatusInProgress
	case v.holds("Applied", "False"), v.holds("Degraded", "True"):
		return contract.StatusDegraded
	case v.holds("Applied", "True") && v.holds("Available", "True"):
		return contract.StatusAvailable
	case v.holds("Progressing", "True"):
		return contract.StatusProgressing
	case v.holds("Applied", "True"):
		return contract.StatusApplied
	default:
		return contract.StatusInProgress
	}
}

// refusal collects what the cluster said about manifests that it could not apply in the version asked for.
func (v view) refusal() (text string, heals bool) {
	applied, found := find(v.status.Conditions, "Applied")
	if !found || applied.Status != "False" || !v.fresh(applied) {
		return "", true
	}
	var causes []string
	heals = true
	for _, resource := range v.status.Resources {
		condition, found := v.findOn(resource, "Applied")
		if !found || condition.Status != "False" || !v.fresh(condition) {
			continue
		}
		id := Identity{Group: resource.Group, Kind: resource.Kind, Namespace: resource.Namespace, Name: resource.Name}
		causes = append(causes, id.String()+" is not applied"+because(condition))
		heals = heals && canHeal(condition.Message)
	}
	if len(causes) == 0 {
		return "the work is not applied" + because(applied), canHeal(applied.Message)
	}
	return strings.Join(causes, "; "), heals
}

// Samples of what a Kubernetes API server answers, quoted by the agent behind its own prefix:
//
//	Deployment.apps "web" is invalid: spec.selector: Invalid value: …: field is immutable
//	configmaps "a" is forbidden: User "system:serviceaccount:…" cannot create resource …
//	pods "a" is forbidden: exceeded quota: …            heals when the quota is raised or pods go
//	configmaps "a" is forbidden: unable to create new content in namespace b because it is being terminated
//	                                                    heals when the namespace is gone and made again
//	no matches for kind "Widget" in version "…"         heals when the CRD is there
func canHeal(message string) bool {
	switch {
	case strings.Contains(message, "exceeded quota"), strings.Contains(message, "because it is being terminated"):
		return true
	case strings.Contains(message, "field is immutable"), strings.Contains(message, "is invalid:"), strings.Contains(message, "is forbidden:"):
		return false
	default:
		return true
	}
}
