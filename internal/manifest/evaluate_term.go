package manifest

import (
	"fmt"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// find looks for what a term asks.
func (v view) find(term Term) answer {
	if term.Kind != "" {
		return v.findOnManifests(term)
	}
	if !v.status.Reported {
		return answer{text: fmt.Sprintf("%s: the cluster has not reported yet", term)}
	}
	condition, found := find(v.status.Conditions, term.Type)
	f := v.judge(term, condition, found)
	if !found && slices.Contains(ruledConditions, term.Type) {
		f.text += " (agents report it only where a conditionRule asks for it)"
	}
	if term.Type == "Available" && term.Status == "True" && f.truth == yes {
		applied, found := find(v.status.Conditions, "Applied")
		f = beside(f, v.judge(isApplied, applied, found))
	}
	if term.Type == workv1.ManifestComplete && term.Status == "True" && v.work != nil {
		f = v.allComplete(term, f)
	}
	return f
}

// allComplete asks each Job and Pod, too, that the rule WellKnownConditions calls Complete, see doubted.
func (v view) allComplete(term Term, f answer) answer {
	n := &node{joint: jointAnd, parts: []*node{{}}}
	of := answers{n.parts[0]: f}
	for _, manifest := range v.work.Spec.Workload.Manifests {
		id, err := Identify(manifest)
		if err != nil || !rulesFor(v.work, id).finishes(id) {
			continue
		}
		one := selected{id: id}
		for _, resource := range v.status.Resources {
			if statusID(resource) == id {
				one = selected{id: id, status: resource, reported: true}
			}
		}
		part := &node{}
		of[part] = v.findOnManifest(term, one)
		n.parts = append(n.parts, part)
	}
	return n.answer(of)
}

// ruledConditions of a work are gathered from the conditions that rules give to its manifests.
var ruledConditions = []string{"Progressing", "Degraded", "Complete"}

var isApplied = Term{Type: "Applied", Status: "True", text: "Applied"}

// beside adds that the version must be applied for a condition to mean something.
func beside(f, applied answer) answer {
	if applied.truth != yes {
		f.truth, f.text = applied.truth, f.text+", but "+applied.text
	}
	return f
}

// judge compares one condition with what a term wants. One that is unknown is neither True nor False.
func (v view) judge(term Term, condition contract.Condition, found bool) answer {
	if !found {
		return answer{text: term.Type + " is not reported"}
	}
	text := fmt.Sprintf("%s is %s", term.Type, condition.Status)
	switch {
	case !v.fresh(condition) && condition.Status == term.Status:
		return answer{text: fmt.Sprintf("%s, but for version %d, wanted %d", text, v.age(condition), v.version)}
	case !v.fresh(condition):
		return answer{text: fmt.Sprintf("%s%s (for version %d, wanted %d)", text, because(condition), v.age(condition), v.version)}
	case condition.Status == term.Status:
		if f := because(condition); condition.Status != "True" || term.Type != "Applied" && term.Type != "Available" {
			text += f
		}
		return answer{truth: yes, text: text}
	case condition.Status == "Unknown":
		return answer{text: text + because(condition)}
	default:
		return answer{truth: no, text: text + because(condition)}
	}
}

// selected is a manifest that a term selects, and what the cluster reports of it.
type selected struct {
	id       Identity
	status   contract.ResourceStatus
	reported bool
}

func statusID(resource contract.ResourceStatus) Identity {
	return Identity{Group: resource.Group, Kind: resource.Kind, Namespace: resource.Namespace, Name: resource.Name}
}

// selection gives the manifests of the work that a term selects; without the work those that the cluster reports.
// known is false when that leaves open which there are.
func (v view) selection(term Term) (manifests []selected, known bool) {
	var reported []selected
	for _, resource := range v.status.Resources {
		if id := statusID(resource); term.selects(id) {
			reported = append(reported, selected{id: id, status: resource, reported: true})
		}
	}
	if v.work == nil || len(v.work.Spec.Workload.Manifests) == 0 {
		return reported, false
	}
	for _, manifest := range v.work.Spec.Workload.Manifests {
		id, err := Identify(manifest)
		if err != nil || !term.selects(id) {
			continue
		}
		one := selected{id: id}
		if index := slices.IndexFunc(reported, func(s selected) bool { return s.id == id }); index >= 0 {
			one = reported[index]
		}
		manifests = append(manifests, one)
	}
	return manifests, true
}

// shownManifests bounds how many manifests of one term a message names.
const shownManifests = 3

func (v view) findOnManifests(term Term) answer {
	manifests, known := v.selection(term)
	switch {
	case known && len(manifests) == 0:
		text := fmt.Sprintf("%s: the work has no such manifest in version %d", term, v.version)
		return answer{text: text, never: text, gone: true}
	case !v.status.Reported:
		return answer{text: fmt.Sprintf("%s: the cluster has not reported yet", term)}
	case len(manifests) == 0:
		return answer{text: fmt.Sprintf("%s: the cluster reports no such manifest", term)}
	}
	n := &node{joint: jointAnd}
	if term.Any {
		n.joint = jointOr
	}
	of := answers{}
	for _, manifest := range manifests {
		part := &node{}
		of[part] = v.findOnManifest(term, manifest)
		n.parts = append(n.parts, part)
	}
	return n.answer(of)
}

// answer of the parts together.
func (n *node) answer(of answers) answer {
	f := answer{truth: n.truth(of), text: n.summary(of)}
	if !n.can(true, of, true) {
		f.never, f.lasting, f.gone = n.nevers(of), n.can(true, of, false), !n.can(false, of, true)
	}
	return f
}

// summary is [node.why] for many manifests of one term.
func (n *node) summary(of answers) string {
	truth := n.truth(of)
	short := &node{joint: n.joint}
	others := 0
	for _, part := range n.parts {
		switch {
		case n.joint == jointAnd && truth != yes && of[part].truth == yes, n.joint == jointOr && truth == yes && of[part].truth != yes:
		case len(short.parts) < shownManifests:
			short.parts = append(short.parts, part)
		default:
			others++
		}
	}
	text := short.why(yes, of)
	if others > 0 {
		text += fmt.Sprintf(" (and %d more)", others)
	}
	return text
}

func (v view) findOnManifest(term Term, manifest selected) answer {
	if !manifest.reported {
		return answer{text: fmt.Sprintf("%s: the cluster has not reported this manifest", manifest.id)}
	}
	var f answer
	if term.Type != "" {
		f = v.condition(term, manifest)
		f.text = manifest.id.String() + ": " + f.text
	} else {
		f = v.value(term, manifest)
	}
	return v.hopeless(term, manifest, f)
}

// condition finds a manifest's condition: one that the agent reports, by itself or by a rule, else one of the object's
// own, which feedback holds. What is said of the object counts only when the version is applied.
func (v view) condition(term Term, manifest selected) answer {
	resource := manifest.status
	condition, found := v.findOn(resource, term.Type)
	if !found {
		condition, found = v.ofObject(resource, term.Type)
	}
	f := v.judge(term, condition, found)
	if !found {
		f.text += reportedConditions(resource)
	}
	switch {
	case term.Type == "Available" && term.Status == "True" && f.truth == yes:
		return beside(f, v.appliedOn(resource))
	case slices.Contains(agentConditions, term.Type):
		return f
	default:
		return v.settled(resource, f)
	}
}

// ofObject finds a condition that the object has, in the feedback.
func (v view) ofObject(resource contract.ResourceStatus, name string) (contract.Condition, bool) {
	if condition, found := find(objectConditions(resource), name); found {
		return condition, true
	}
	return statusIn(resource, name)
}

// reportedConditions names those that are known, as a hint at a misspelled one.
func reportedConditions(resource contract.ResourceStatus) string {
	var names []string
	for _, condition := range append(slices.Clone(resource.Conditions), objectConditions(resource)...) {
		if !slices.Contains(agentConditions, condition.Type) && !slices.Contains(names, condition.Type) {
			names = append(names, condition.Type)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", only " + strings.Join(names[:min(len(names), 8)], ", ")
}

// appliedOn is the manifest's Applied, or the work's when the cluster gives none for the manifest.
func (v view) appliedOn(resource contract.ResourceStatus) answer {
	applied, found := v.findOn(resource, "Applied")
	if !found {
		applied, found = find(v.status.Conditions, "Applied")
	}
	return v.judge(isApplied, applied, found)
}

// settled: what is said of an object is about the version only when that was applied. An agent that reports no Applied
// at all is believed.
func (v view) settled(resource contract.ResourceStatus, f answer) answer {
	if f.truth == unknown {
		return f
	}
	_, ofManifest := v.findOn(resource, "Applied")
	_, ofWork := find(v.status.Conditions, "Applied")
	if applied := v.appliedOn(resource); (ofManifest || ofWork) && applied.truth != yes {
		return answer{text: f.text + ", but " + applied.text}
	}
	return f
}

// value compares a feedback value.
func (v view) value(term Term, manifest selected) answer {
	resource := manifest.status
	have, found := term.valueIn(resource)
	where := fmt.Sprintf("%s: %s", manifest.id, term.Field)
	if !found {
		return v.absent(term, manifest)
	}
	if v.status.ObservedVersion < v.version {
		return answer{text: fmt.Sprintf("%s is %s, but for version %d, wanted %d", where, valueText(have), v.status.ObservedVersion, v.version)}
	}
	return v.settled(resource, compare(term, have, where, ""))
}

func compare(term Term, have any, where, note string) answer {
	is, problem := compared(have, term.Operator, term.Value)
	if problem != "" {
		return answer{text: where + " " + problem + note}
	}
	text := where + " is " + valueText(have) + note
	if !is {
		text += fmt.Sprintf(", wanted %s %s", term.Operator, term.Value.Text)
	}
	return answer{truth: truthOf(is), text: text}
}

// absent is a value that is not reported. It counts as the term's default once the agent has read the object's status;
// until then nothing is known.
func (v view) absent(term Term, manifest selected) answer {
	text := fmt.Sprintf("the cluster has not reported field %s of %s", term.Field, manifest.id)
	synced, found := find(manifest.status.Conditions, feedbackCondition)
	switch {
	case found && synced.Status == "False":
		return answer{text: text + because(synced)}
	case v.status.ObservedVersion < v.version:
		return answer{text: fmt.Sprintf("%s for version %d, only for %d", text, v.version, v.status.ObservedVersion)}
	case term.Absent == nil:
		if is, problem := compared(Literal{Text: "0"}.value(), term.Operator, term.Value); is && problem == "" {
			text += fmt.Sprintf(" (agents leave a zero out: @%s|0 counts what is absent as 0)", term.Field)
		}
		return answer{text: text}
	case !found && len(manifest.status.Feedback) == 0:
		return answer{text: text + ", nor any other"}
	}
	where := fmt.Sprintf("%s: %s", manifest.id, term.Field)
	return v.settled(manifest.status, compare(term, term.Absent.value(), where, ", because it is not reported"))
}
