package manifest

import (
	"fmt"
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// agentConditions are those that every agent reports for every manifest; all others need a rule in manifestConfigs.
var agentConditions = []string{"Applied", "Available", "StatusFeedbackSynced"}

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

// CheckAgainst refuses an expression that can never hold for the work: one of its terms selects no manifest, or asks a
// manifest for a condition that no rule of the work makes the agent report. The error is typed InvalidInput.
func (e Expression) CheckAgainst(work *workv1.ManifestWork) error {
	for _, term := range e.Terms {
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
			if !slices.Contains(agentConditions, term.Type) && !ruled(work, id, term.Type) {
				return contract.Errorf(contract.ErrInvalidInput,
					"wait condition %q: nothing reports %s for %s: agents report %s, and what the conditionRules of its manifestConfigs ask for",
					term, term.Type, id, fmt.Sprint(agentConditions))
			}
		}
		if selected == 0 {
			return contract.Errorf(contract.ErrInvalidInput, "wait condition %q: the work has no such manifest", term)
		}
	}
	return nil
}

// ruled: a rule makes the agent report this condition of the manifest.
func ruled(work *workv1.ManifestWork, id Identity, condition string) bool {
	for _, config := range work.Spec.ManifestConfigs {
		for _, rule := range config.ConditionRules {
			name := rule.Condition
			if name == "" && rule.Type == workv1.WellKnownConditionsType {
				name = workv1.ManifestComplete
			}
			if name == condition && configures(config.ResourceIdentifier, id) {
				return true
			}
		}
	}
	return false
}
