package manifest

import (
	"fmt"
	"strings"

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
	// Met: every term holds for the version that was asked for.
	Met bool
	// Missing says, when not met, what is missing and what the cluster said instead.
	Missing string
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
// ObservedVersion, is at least version. Available needs Applied=True beside it, because the agent reports
// Available=True for objects that are left over from an earlier version while the new one was refused.
func Evaluate(status Status, version int64, expression Expression) Evaluation {
	view := view{status: status, version: version}
	evaluation := Evaluation{Resources: view.resources(), Overall: view.overall()}
	evaluation.Refused, evaluation.Heals = view.refusal()
	var missing []string
	for _, term := range expression.Terms {
		if text := view.lacks(term); text != "" {
			missing = append(missing, text)
		}
	}
	evaluation.Met = len(missing) == 0
	if !evaluation.Met {
		if evaluation.Refused != "" && !strings.Contains(strings.Join(missing, " "), evaluation.Refused) {
			missing = append(missing, evaluation.Refused)
		}
		evaluation.Missing = strings.Join(missing, "; ")
	}
	return evaluation
}

type view struct {
	status  Status
	version int64
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

// lacks says what a term is missing; "" when it holds.
func (v view) lacks(term Term) string {
	if !v.status.Reported {
		return fmt.Sprintf("%s: the cluster has not reported yet", term)
	}
	if term.Kind != "" {
		return v.lacksOnManifests(term)
	}
	condition, found := find(v.status.Conditions, term.Type)
	if text := v.differs(term, condition, found); text != "" {
		return text
	}
	if term.Type == "Available" && term.Status == "True" && !v.holds("Applied", "True") {
		applied, found := find(v.status.Conditions, "Applied")
		return "Available is True, but " + v.differs(Term{Type: "Applied", Status: "True", text: "Applied"}, applied, found)
	}
	return ""
}

func (v view) lacksOnManifests(term Term) string {
	selected := 0
	for _, resource := range v.status.Resources {
		id := Identity{Group: resource.Group, Kind: resource.Kind, Namespace: resource.Namespace, Name: resource.Name}
		if !term.selects(id) {
			continue
		}
		selected++
		if text := v.lacksOnManifest(term, resource); text != "" {
			return id.String() + ": " + text
		}
	}
	if selected == 0 {
		return fmt.Sprintf("%s: the cluster reports no such manifest", term)
	}
	return ""
}

// lacksOnManifest is [view.lacks] for one manifest. As for the work, Available needs Applied beside it: the manifest's,
// or the work's when the cluster gives none for the manifest.
func (v view) lacksOnManifest(term Term, resource contract.ResourceStatus) string {
	condition, found := v.findOn(resource, term.Type)
	if text := v.differs(term, condition, found); text != "" || term.Type != "Available" || term.Status != "True" {
		return text
	}
	applied, found := v.findOn(resource, "Applied")
	if !found {
		applied, found = find(v.status.Conditions, "Applied")
	}
	if text := v.differs(Term{Type: "Applied", Status: "True", text: "Applied"}, applied, found); text != "" {
		return "Available is True, but " + text
	}
	return ""
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

// differs compares one condition with what a term wants; "" when it is as wanted.
func (v view) differs(term Term, condition contract.Condition, found bool) string {
	switch {
	case !found:
		return term.Type + " is not reported"
	case condition.Status != term.Status:
		text := fmt.Sprintf("%s is %s%s", term.Type, condition.Status, because(condition))
		if !v.fresh(condition) {
			text += fmt.Sprintf(" (for version %d, wanted %d)", v.age(condition), v.version)
		}
		return text
	case !v.fresh(condition):
		return fmt.Sprintf("%s is %s, but for version %d, wanted %d", term.Type, condition.Status, v.age(condition), v.version)
	default:
		return ""
	}
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
