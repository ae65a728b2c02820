package manifest

import (
	"slices"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// AddFeedback adds the feedbackRules to a work that the terms of an expression need and that it does not have: for
// Kind@field the value .status.field, for a condition of the object its status, for a Job's success its failure and for a
// Pod's its phase. It gives one line for each. What the work reports already stays as it is. The error is typed
// InvalidInput.
func AddFeedback(work *workv1.ManifestWork, expression Expression) (added []string, err error) {
	for _, term := range expression.Terms() {
		if term.Kind == "" {
			continue
		}
		for _, manifest := range work.Spec.Workload.Manifests {
			id, err := Identify(manifest)
			if err != nil || !term.selects(id) {
				continue
			}
			for _, needed := range term.needs(id.kindIn()) {
				if rulesFor(work, id).lack(needed, id) == "" {
					continue
				}
				path, err := needed.jsonPath()
				if err != nil {
					return added, err
				}
				addPath(work, id, path)
				added = append(added, id.String()+": feedback "+path.Name+" from "+path.Path)
			}
		}
	}
	return added, expression.CheckAgainst(work)
}

// needs of a term: itself, and of a success the failure, which ends the wait for it.
func (t Term) needs(kind kindIn) []Term {
	if kind == (kindIn{"batch", "Job"}) && asksForSuccess(t) {
		return []Term{t, {Type: "Failed", Status: "True"}}
	}
	if kind == podKind && t.Type == workv1.ManifestComplete && t.Status == "True" {
		return []Term{t, {Field: "phase"}}
	}
	return []Term{t}
}

// jsonPath is the feedback value that a term needs.
func (t Term) jsonPath() (workv1.JsonPath, error) {
	if t.Type != "" {
		return workv1.JsonPath{Name: t.Type, Path: statusPath(t.Type)}, nil
	}
	if t.Exact && !fieldName.MatchString(t.Field) {
		return workv1.JsonPath{}, contract.Errorf(contract.ErrInvalidInput,
			"wait condition %q: the path of field %q is not known, write its feedbackRule", t, t.Field)
	}
	field := strings.TrimPrefix(t.Field, ".")
	first := field[:strings.IndexAny(field+".", ".[")]
	switch {
	case t.Old && first != "status" && slices.Contains([]string{"spec", "metadata", "data"}, first):
		return workv1.JsonPath{Name: field[strings.LastIndexByte(field, '.')+1:], Path: "." + field}, nil
	case t.Old:
		field = strings.TrimPrefix(field, "status.")
		first = field[:strings.IndexAny(field+".", ".[")]
	case t.Exact:
		first = t.Field
	}
	if first == "status" {
		return workv1.JsonPath{Name: first, Path: ".status"}, nil
	}
	return workv1.JsonPath{Name: first, Path: ".status." + first}, nil
}

// addPath adds a value to the rules that agents take for the manifest.
func addPath(work *workv1.ManifestWork, id Identity, path workv1.JsonPath) {
	configs := &work.Spec.ManifestConfigs
	index := slices.IndexFunc(*configs, func(config workv1.ManifestConfigOption) bool {
		return configures(config.ResourceIdentifier, id) && len(config.FeedbackRules) > 0
	})
	if index < 0 {
		*configs = append(*configs, workv1.ManifestConfigOption{ResourceIdentifier: workv1.ResourceIdentifier{
			Group: id.Group, Resource: pluralOf(id.Kind), Namespace: id.Namespace, Name: id.Name,
		}})
		index = len(*configs) - 1
	}
	rules := &(*configs)[index].FeedbackRules
	rule := slices.IndexFunc(*rules, func(rule workv1.FeedbackRule) bool { return rule.Type == workv1.JSONPathsType })
	if rule < 0 {
		*rules = append(*rules, workv1.FeedbackRule{Type: workv1.JSONPathsType})
		rule = len(*rules) - 1
	}
	(*rules)[rule].JsonPaths = append((*rules)[rule].JsonPaths, path)
}
