package manifest

import (
	"fmt"
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// agentConditions are those that every agent reports for every manifest; all others need a rule in manifestConfigs.
var agentConditions = []string{"Applied", "Available", feedbackCondition}

// CheckWait reads a wait condition ("" for none) and refuses one that can never hold for the work. The error is typed
// InvalidInput.
func CheckWait(condition string, work *workv1.ManifestWork) error {
	if condition == "" {
		return nil
	}
	expression, err := ParseExpression(condition)
	if err != nil {
		return contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	return expression.CheckAgainst(work)
}

// CheckAgainst refuses an expression with a term that can never be reported for the work, wherever it stands: one that
// selects no manifest, or asks a manifest for a condition or a feedback value that no rule of the work makes the agent
// report. The error is typed InvalidInput.
func (e Expression) CheckAgainst(work *workv1.ManifestWork) error {
	for _, term := range e.Terms() {
		if term.Kind == "" {
			continue
		}
		selected := 0
		for _, manifest := range work.Spec.Workload.Manifests {
			id, err := Identify(manifest)
			if err != nil || !term.selects(id) {
				continue
			}
			selected++
			if problem := rulesFor(work, id).lack(term, id); problem != "" {
				return contract.Errorf(contract.ErrInvalidInput, "wait condition %q: %s", term, problem)
			}
		}
		if selected == 0 {
			return contract.Errorf(contract.ErrInvalidInput, "wait condition %q: the work has no such manifest%s", term, term.others(work))
		}
	}
	return nil
}

// others names the manifests of a term's kind, as a hint.
func (t Term) others(work *workv1.ManifestWork) string {
	var texts []string
	for _, manifest := range work.Spec.Workload.Manifests {
		if id, err := Identify(manifest); err == nil && strings.EqualFold(id.Kind, t.Kind) {
			texts = append(texts, id.String())
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return ", only " + strings.Join(texts[:min(len(texts), 5)], ", ")
}

// reports are the rules by which agents report one manifest. They take the first manifestConfig that matches it and has
// feedback rules, and the first that has condition rules.
type reports struct {
	feedback   []workv1.FeedbackRule
	conditions []workv1.ConditionRule
}

func rulesFor(work *workv1.ManifestWork, id Identity) reports {
	var found reports
	for _, config := range work.Spec.ManifestConfigs {
		if !configures(config.ResourceIdentifier, id) {
			continue
		}
		if len(found.feedback) == 0 {
			found.feedback = config.FeedbackRules
		}
		if len(found.conditions) == 0 {
			found.conditions = config.ConditionRules
		}
	}
	return found
}

// lack says what no rule makes the agent report of a term; "" when it is reported.
func (r reports) lack(term Term, id Identity) string {
	fields := r.fields(id)
	if term.Type == "" {
		for _, source := range term.sources(id.kindIn()) {
			if slices.Contains(fields, source.name) {
				return ""
			}
		}
		return fmt.Sprintf("nothing reports field %s of %s: %s; a feedbackRule in its manifestConfigs makes agents report it, which maestro-cli apply adds with --add-feedback",
			term.Field, id, fieldsHint(term.Field, fields))
	}
	conditions := r.named(id)
	if slices.Contains(conditions, term.Type) {
		return ""
	}
	for _, name := range statusFields(id.kindIn(), term.Type) {
		if slices.Contains(fields, name) {
			return ""
		}
	}
	hint := meant(term.Type, append(conditions, fields...))
	// A list of the object's conditions may hold any, but none of a name that no Kubernetes condition has.
	if r.listed() {
		first := term.Type[:1]
		if strings.ToUpper(first) == first || strings.Contains(term.Type, "/") {
			return ""
		}
		hint = "; did you mean " + strings.ToUpper(first) + term.Type[1:] + "?"
	}
	return fmt.Sprintf("nothing reports %s for %s: agents report %v, and what the conditionRules of its manifestConfigs ask for or a feedbackRule for its .status.conditions%s",
		term.Type, id, agentConditions, hint)
}

func fieldsHint(field string, fields []string) string {
	if len(fields) == 0 {
		return "it has no feedback"
	}
	return "its feedback is " + strings.Join(fields, ", ") + meant(field, fields)
}

// named are the conditions that are reported of a manifest, by the agent or by rules.
func (r reports) named(id Identity) []string {
	names := slices.Clone(agentConditions)
	for _, rule := range r.conditions {
		name := rule.Condition
		if rule.Type == workv1.WellKnownConditionsType {
			if !completable[id.kindIn()] || name != "" && name != workv1.ManifestComplete {
				continue
			}
			name = workv1.ManifestComplete
		}
		names = append(names, name)
	}
	return names
}

// finishes: Complete of the manifest is the rule WellKnownConditions', and not an expression of the work's own.
func (r reports) finishes(id Identity) bool {
	own := slices.ContainsFunc(r.conditions, func(rule workv1.ConditionRule) bool {
		return rule.Type != workv1.WellKnownConditionsType && rule.Condition == workv1.ManifestComplete
	})
	return completable[id.kindIn()] && !own && slices.Contains(r.named(id), workv1.ManifestComplete)
}

// tellsSuccess: feedback of a Job or a Pod says when it has succeeded.
func (r reports) tellsSuccess(id Identity) bool {
	return r.has(id, statusFields(id.kindIn(), workv1.ManifestComplete)) || id.kindIn() == podKind && r.has(id, phaseFields)
}

// tellsFailure: feedback of a Job says when it has failed.
func (r reports) tellsFailure(id Identity) bool {
	return r.has(id, statusFields(id.kindIn(), "Failed"))
}

// has: the object's conditions, or one of the fields, are reported.
func (r reports) has(id Identity, names []string) bool {
	fields := r.fields(id)
	return r.listed() || slices.ContainsFunc(names, func(name string) bool {
		name, _, _ = strings.Cut(name, ".")
		return slices.Contains(fields, name)
	})
}

// fields are the names of the feedback values that are reported of a manifest.
func (r reports) fields(id Identity) []string {
	var names []string
	for _, rule := range r.feedback {
		paths := rule.JsonPaths
		if rule.Type == workv1.WellKnownStatusType {
			paths = wellKnownFields[id.kindIn()]
		}
		for _, path := range paths {
			names = append(names, path.Name)
		}
	}
	return names
}

// listed: the feedback has the object's conditions.
func (r reports) listed() bool {
	for _, rule := range r.feedback {
		for _, path := range rule.JsonPaths {
			if rule.Type == workv1.JSONPathsType && (path.Name == conditionsField || path.Path == ".status."+conditionsField) {
				return true
			}
		}
	}
	return false
}
