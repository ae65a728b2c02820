package manifest

import (
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"
)

// wellKnown are the objects that agents know status fields of, as apiVersion/kind.
// Source: open-cluster-management.io/ocm pkg/work/spoke/statusfeedback/rules.
var wellKnown = map[string]bool{"apps/v1/Deployment": true, "apps/v1/DaemonSet": true, "batch/v1/Job": true, "v1/Pod": true}

// maxExact is the largest integer below which a double has them all.
const maxExact = 1 << 53

// feedback checks the rules of one manifestConfig, whose values share one list of names.
func (c *checker) feedback(at place, rules []workv1.FeedbackRule, found match) {
	names := map[string]place{}
	for index, rule := range rules {
		here := at.at(index)
		oneOf(c, here.under("type"), rule.Type, workv1.WellKnownStatusType, workv1.JSONPathsType)
		if rule.Type == workv1.JSONPathsType && len(rule.JsonPaths) == 0 {
			c.problems.add(here.under("jsonPaths"), "required with type %s", workv1.JSONPathsType)
		}
		if rule.Type == workv1.WellKnownStatusType && found.statusless != nil {
			c.warnings.add(here.under("type"), "%s has no well-known status, nothing would be reported: give %s",
				found.statusless.identity(), workv1.JSONPathsType)
		}
		for index, path := range rule.JsonPaths {
			c.jsonPath(here.under("jsonPaths").at(index), path, names)
		}
	}
}

func (c *checker) jsonPath(at place, path workv1.JsonPath, names map[string]place) {
	if first, found := names[path.Name]; path.Name == "" {
		c.problems.add(at.under("name"), "required")
	} else if found {
		c.problems.clash(at.under("name"), first, "%q names a value twice: give another name; the first is", path.Name)
	} else {
		names[path.Name] = at.under("name")
	}
	switch {
	case path.Path == "":
		c.problems.add(at.under("path"), "required: give a path like .status.phase")
	case !strings.HasPrefix(path.Path, "."):
		want := "." + strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(path.Path, "{"), "}"), "$")
		c.problems.add(at.under("path"), "%q does not begin with a dot: write %s", path.Path, strings.Replace(want, "..", ".", 1))
	}
}

func (c *checker) conditionRules(at place, rules []workv1.ConditionRule) {
	conditions := map[string]place{}
	for index, rule := range rules {
		here := at.at(index)
		oneOf(c, here.under("type"), rule.Type, workv1.WellKnownConditionsType, workv1.CelConditionExpressionsType)
		if rule.Type == workv1.CelConditionExpressionsType {
			if rule.Condition == "" {
				c.problems.add(here.under("condition"), "required with type %s", rule.Type)
			}
			if len(rule.CelExpressions) == 0 {
				c.problems.add(here.under("celExpressions"), "required with type %s", rule.Type)
			}
		}
		if first, found := conditions[rule.Condition]; found {
			c.problems.clash(here.under("condition"), first, "%q has a rule already: give one rule per condition; the first is", rule.Condition)
			continue
		}
		conditions[rule.Condition] = here.under("condition")
	}
}

func (c *checker) updateStrategy(at place, strategy *workv1.UpdateStrategy) {
	oneOf(c, at.under("type"), strategy.Type, "", workv1.UpdateStrategyTypeUpdate, workv1.UpdateStrategyTypeCreateOnly,
		workv1.UpdateStrategyTypeServerSideApply, workv1.UpdateStrategyTypeReadOnly)
	apply := strategy.ServerSideApply
	if apply == nil {
		return
	}
	at = at.under("serverSideApply")
	if strategy.Type != workv1.UpdateStrategyTypeServerSideApply {
		c.warnings.add(at, "agents only look at it with type %s", workv1.UpdateStrategyTypeServerSideApply)
	}
	if apply.FieldManager != "" && !strings.HasPrefix(apply.FieldManager, workv1.DefaultFieldManager) {
		c.problems.add(at.under("fieldManager"), "%q: begin it with %s", apply.FieldManager, workv1.DefaultFieldManager)
	}
	for index, ignored := range apply.IgnoreFields {
		oneOf(c, at.under("ignoreFields").at(index).under("condition"), ignored.Condition, "",
			workv1.IgnoreFieldsConditionOnSpokePresent, workv1.IgnoreFieldsConditionOnSpokeChange)
	}
}

func (c *checker) deleteOption(at place, option *workv1.DeleteOption, m *matcher) {
	const selectively = workv1.DeletePropagationPolicyTypeSelectivelyOrphan
	oneOf(c, at.under("propagationPolicy"), option.PropagationPolicy, "", workv1.DeletePropagationPolicyTypeForeground,
		workv1.DeletePropagationPolicyTypeOrphan, selectively)
	if ttl := option.TTLSecondsAfterFinished; ttl != nil && (*ttl > maxExact || *ttl < -maxExact) {
		c.problems.add(at.under("ttlSecondsAfterFinished"), "%d is beyond the integers that Maestro keeps: the largest is %d", *ttl, int64(maxExact))
	}
	var rules []workv1.OrphaningRule
	if option.SelectivelyOrphan != nil {
		rules = option.SelectivelyOrphan.OrphaningRules
	}
	at = at.under("selectivelyOrphans")
	switch {
	case option.PropagationPolicy == selectively && len(rules) == 0:
		c.warnings.add(at, "no orphaningRules: a delete would remove everything")
	case option.PropagationPolicy != selectively && len(rules) > 0:
		c.warnings.add(at, "agents only look at it with propagationPolicy %s", selectively)
	}
	for index, rule := range rules {
		c.identifier(at.under("orphaningRules").at(index), workv1.ResourceIdentifier(rule), m, false)
	}
}

func (c *checker) executor(at place, subject workv1.ManifestWorkExecutorSubject) {
	oneOf(c, at.under("type"), subject.Type, workv1.ExecutorSubjectTypeServiceAccount)
	account := subject.ServiceAccount
	if account == nil {
		account = &workv1.ManifestWorkSubjectServiceAccount{}
	}
	at = at.under("serviceAccount")
	if account.Namespace == "" {
		c.problems.add(at.under("namespace"), "required")
	}
	if account.Name == "" {
		c.problems.add(at.under("name"), "required")
	}
}
