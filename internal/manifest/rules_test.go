package manifest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// worksWith is a work with a few manifests and this in its spec, which begins on line 12.
func worksWith(spec string) string {
	return `apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: a}
spec:
  workload:
    manifests:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: notes, namespace: b7}}
    - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: b7}}
    - {apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: web, namespace: b7}}
    - {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web, namespace: b7}}
    - {apiVersion: security.openshift.io/v1, kind: SecurityContextConstraints, metadata: {name: own}}
` + spec + "\n"
}

func configOf(identifier, more string) string {
	return worksWith("  manifestConfigs:\n  - resourceIdentifier: {" + identifier + "}\n    " + strings.ReplaceAll(more, "\n", "\n    "))
}

func TestConfigsNameAManifestOfTheWork(t *testing.T) {
	const at = "f:13: spec.manifestConfigs[0].resourceIdentifier"
	for identifier, warning := range map[string]string{
		"resource: configmaps, namespace: b7, name: notes":                                             "",
		"resource: configmaps, namespace: '*', name: n*s":                                              "",
		"group: apps, resource: deployments, namespace: b7, name: '*'":                                 "",
		"group: gateway.networking.k8s.io, resource: gateways, namespace: b7, name: web":               "",
		"group: networking.k8s.io, resource: networkpolicies, namespace: b7, name: web":                "",
		"group: security.openshift.io, resource: securitycontextconstraints, name: own":                "",
		"resource: ConfigMap, namespace: b7, name: notes":                                              `.resource: "ConfigMap" matches no manifest of the work: the resource of ConfigMap/b7/notes is written "configmaps"`,
		"group: networking.k8s.io, resource: networkpolicy, namespace: b7, name: web":                  `.resource: "networkpolicy" matches no manifest of the work: the resource of NetworkPolicy.networking.k8s.io/b7/web is written "networkpolicies"`,
		"resource: configmaps, namespace: b8, name: notes":                                             `.namespace: configmaps b8/notes matches no manifest of the work: namespace "b8" matches nothing, the work has configmaps b7/notes`,
		"resource: configmaps, namespace: b7, name: note":                                              `.name: configmaps b7/note matches no manifest of the work: name "note" matches nothing, the work has configmaps b7/notes`,
		"resource: deployments, namespace: b7, name: web":                                              `.group: deployments b7/web matches no manifest of the work: group "" matches nothing, the work has deployments b7/web`,
		"group: security.openshift.io, resource: securitycontextconstraints, namespace: b7, name: own": `.namespace: securitycontextconstraints.security.openshift.io b7/own matches no manifest of the work: namespace "b7" matches nothing, the work has securitycontextconstraints own`,
		"group: batch, resource: jobs, namespace: x, name: z":                                          `: jobs.batch x/z matches no manifest of the work`,
		"group: batch, resource: jobs, name: y*z*":                                                     `: jobs.batch y*z* matches no manifest of the work`,
	} {
		_, warnings, problems, _ := checked("f", configOf(identifier, ""), Options{})
		assert.Empty(t, problems)
		if warning == "" {
			assert.Empty(t, warnings, identifier)
			continue
		}
		assert.Equal(t, []string{at + warning}, warnings)
	}
	_, _, problems, _ := checked("f", configOf("group: batch", ""), Options{})
	assert.Equal(t, []string{at + ".resource: required: give the plural, like configmaps", at + ".name: required"}, problems)
}

func TestRulesOfAConfigAreThoseOfTheAPI(t *testing.T) {
	const deployment = "group: apps, resource: deployments, namespace: b7, name: web"
	const at = "f:14: spec.manifestConfigs[0]."
	for name, sample := range map[string]struct {
		more               string
		warnings, problems []string
	}{
		"well-known status":      {"feedbackRules: [{type: WellKnownStatus}]", nil, nil},
		"paths":                  {"feedbackRules: [{type: JSONPaths, jsonPaths: [{name: a, path: .status.a}, {name: b, path: '.status.b[0]'}]}]", nil, nil},
		"an unknown type":        {"feedbackRules: [{type: WellKnown}]", nil, []string{at + `feedbackRules[0].type: unknown "WellKnown": give WellKnownStatus or JSONPaths`}},
		"no type":                {"feedbackRules: [{}]", nil, []string{at + "feedbackRules[0].type: required: give WellKnownStatus or JSONPaths"}},
		"no paths":               {"feedbackRules: [{type: JSONPaths}]", nil, []string{at + "feedbackRules[0].jsonPaths: required with type JSONPaths"}},
		"a path without names":   {"feedbackRules: [{type: JSONPaths, jsonPaths: [{}]}]", nil, []string{at + "feedbackRules[0].jsonPaths[0].name: required", at + "feedbackRules[0].jsonPaths[0].path: required: give a path like .status.phase"}},
		"a path in braces":       {"feedbackRules: [{type: JSONPaths, jsonPaths: [{name: a, path: '{.status.a}'}]}]", nil, []string{at + `feedbackRules[0].jsonPaths[0].path: "{.status.a}" does not begin with a dot: write .status.a`}},
		"a path from the root":   {"feedbackRules: [{type: JSONPaths, jsonPaths: [{name: a, path: $.status.a}]}]", nil, []string{at + `feedbackRules[0].jsonPaths[0].path: "$.status.a" does not begin with a dot: write .status.a`}},
		"a doubled name":         {"feedbackRules: [{type: JSONPaths, jsonPaths: [{name: a, path: .a}]}, {type: JSONPaths, jsonPaths: [{name: a, path: .b}]}]", nil, []string{at + `feedbackRules[1].jsonPaths[0].name: "a" names a value twice: give another name; the first is spec.manifestConfigs[0].feedbackRules[0].jsonPaths[0].name on line 14`}},
		"strategies":             {"updateStrategy: {type: ServerSideApply, serverSideApply: {force: true, fieldManager: work-agent-x, ignoreFields: [{condition: OnSpokeChange}]}}", nil, nil},
		"an unknown strategy":    {"updateStrategy: {type: Replace}", nil, []string{at + `updateStrategy.type: unknown "Replace": give Update or CreateOnly or ServerSideApply or ReadOnly`}},
		"apply without the type": {"updateStrategy: {type: Update, serverSideApply: {fieldManager: me, ignoreFields: [{condition: Never}]}}", []string{at + "updateStrategy.serverSideApply: agents only look at it with type ServerSideApply"}, []string{at + `updateStrategy.serverSideApply.fieldManager: "me": begin it with work-agent`, at + `updateStrategy.serverSideApply.ignoreFields[0].condition: unknown "Never": give OnSpokePresent or OnSpokeChange`}},
		"condition rules":        {"conditionRules: [{type: WellKnownConditions, condition: Complete}, {type: CEL, condition: X, celExpressions: ['true']}]", nil, nil},
		"bad condition rules":    {"conditionRules: [{type: Cel, condition: X}, {type: CEL}, {type: WellKnownConditions, condition: X}]", nil, []string{at + `conditionRules[0].type: unknown "Cel": give WellKnownConditions or CEL`, at + "conditionRules[1].condition: required with type CEL", at + "conditionRules[1].celExpressions: required with type CEL", at + `conditionRules[2].condition: "X" has a rule already: give one rule per condition; the first is spec.manifestConfigs[0].conditionRules[0].condition on line 14`}},
		"an unknown scraping":    {"feedbackScrapeType: Push", nil, []string{at + `feedbackScrapeType: unknown "Push": give Poll or Watch`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, warnings, problems, _ := checked("f", configOf(deployment, sample.more), Options{})
			assert.Equal(t, sample.warnings, warnings)
			assert.Equal(t, sample.problems, problems)
		})
	}
	_, warnings, problems, _ := checked("f", configOf("resource: configmaps, namespace: b7, name: notes", "feedbackRules: [{type: WellKnownStatus}]"), Options{})
	assert.Empty(t, problems)
	assert.Equal(t, []string{at + "feedbackRules[0].type: ConfigMap/b7/notes has no well-known status, nothing would be reported: give JSONPaths"}, warnings)
}

func TestDeleteOptionAndExecutorAreThoseOfTheAPI(t *testing.T) {
	const option, subject = "f:12: spec.deleteOption.", "f:12: spec.executor.subject."
	for name, sample := range map[string]struct {
		spec               string
		warnings, problems []string
	}{
		"foreground":               {"deleteOption: {propagationPolicy: Foreground}", nil, nil},
		"an empty option":          {"deleteOption: {}", nil, nil},
		"selectively":              {"deleteOption: {propagationPolicy: SelectivelyOrphan, selectivelyOrphans: {orphaningRules: [{group: '', resource: configmaps, namespace: b7, name: notes}]}}", nil, nil},
		"an unknown policy":        {"deleteOption: {propagationPolicy: Background}", nil, []string{option + `propagationPolicy: unknown "Background": give Foreground or Orphan or SelectivelyOrphan`}},
		"nothing selected":         {"deleteOption: {propagationPolicy: SelectivelyOrphan}", []string{option + "selectivelyOrphans: no orphaningRules: a delete would remove everything"}, nil},
		"rules without the policy": {"deleteOption: {propagationPolicy: Orphan, selectivelyOrphans: {orphaningRules: [{resource: configmaps, namespace: b7, name: notes}]}}", []string{option + "selectivelyOrphans: agents only look at it with propagationPolicy SelectivelyOrphan"}, nil},
		"a rule with a wildcard":   {"deleteOption: {propagationPolicy: SelectivelyOrphan, selectivelyOrphans: {orphaningRules: [{resource: configmaps, namespace: b8, name: '*'}]}}", []string{option + `selectivelyOrphans.orphaningRules[0]: configmaps b8/* matches no manifest of the work`}, nil},
		"a rule without a name":    {"deleteOption: {propagationPolicy: SelectivelyOrphan, selectivelyOrphans: {orphaningRules: [{resource: configmaps}]}}", nil, []string{option + "selectivelyOrphans.orphaningRules[0].name: required"}},
		"an account":               {"executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: a, name: b}}}", nil, nil},
		"a user":                   {"executor: {subject: {type: User}}", nil, []string{subject + `type: unknown "User": give ServiceAccount`, subject + "serviceAccount.namespace: required", subject + "serviceAccount.name: required"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, warnings, problems, _ := checked("f", worksWith("  "+sample.spec), Options{})
			assert.Equal(t, sample.warnings, warnings)
			assert.Equal(t, sample.problems, problems)
		})
	}
}
