package manifest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// The rule WellKnownConditions says Complete of what failed, too: as a manifest's condition and as the work's.
func TestCompleteByRuleIsNotSuccess(t *testing.T) {
	const job, pod = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","namespace":"n"}}`, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"n"}}`
	wellKnown := workv1.FeedbackRule{Type: workv1.WellKnownStatusType}
	path := func(name, path string) workv1.FeedbackRule {
		return workv1.FeedbackRule{Type: workv1.JSONPathsType, JsonPaths: []workv1.JsonPath{{Name: name, Path: path}}}
	}
	list := path("conditions", ".status.conditions")
	for name, sample := range map[string]struct {
		object   string
		rules    []workv1.FeedbackRule
		feedback string
		met      bool
		// never, stuck and holds are a part of what is said.
		never, stuck, holds string
	}{
		"job succeeded":              {object: job, rules: []workv1.FeedbackRule{wellKnown}, feedback: `{"JobComplete":"True","JobSucceeded":1}`, met: true},
		"job failed":                 {object: job, rules: []workv1.FeedbackRule{wellKnown}, feedback: `{"JobSucceeded":2}`, stuck: "does not say that it succeeded"},
		"job failed, nothing left":   {object: job, rules: []workv1.FeedbackRule{wellKnown}, stuck: "does not say that it succeeded"},
		"job's conditions, complete": {object: job, rules: []workv1.FeedbackRule{list}, feedback: `{"conditions":[{"type":"Complete","status":"True"}]}`, met: true},
		"job's conditions, failed":   {object: job, rules: []workv1.FeedbackRule{list}, feedback: `{"conditions":[{"type":"Failed","status":"True","reason":"BackoffLimitExceeded"}]}`, never: "BackoffLimitExceeded"},
		"job's failure, absent":      {object: job, rules: []workv1.FeedbackRule{path("Failed", statusPath("Failed"))}, met: true},
		"job's failure, true":        {object: job, rules: []workv1.FeedbackRule{path("Failed", statusPath("Failed"))}, feedback: `{"Failed":"True"}`, never: "Failed is True"},
		"job, only the rule":         {object: job, met: true, holds: "says so of one that failed, too"},
		"pod succeeded":              {object: pod, rules: []workv1.FeedbackRule{wellKnown}, feedback: `{"PodPhase":"Succeeded"}`, met: true},
		"pod failed":                 {object: pod, rules: []workv1.FeedbackRule{wellKnown}, feedback: `{"PodPhase":"Failed"}`, never: "phase is Failed"},
		"pod's phase, failed":        {object: pod, rules: []workv1.FeedbackRule{path("phase", ".status.phase")}, feedback: `{"phase":"Failed"}`, never: "phase is Failed"},
		"pod's status, succeeded":    {object: pod, rules: []workv1.FeedbackRule{path("status", ".status")}, feedback: `{"status":{"phase":"Succeeded"}}`, met: true},
		"pod, no phase yet":          {object: pod, rules: []workv1.FeedbackRule{wellKnown}, stuck: "does not say that it succeeded"},
		"pod, only the rule":         {object: pod, met: true, holds: "says so of one that failed, too"},
	} {
		t.Run(name, func(t *testing.T) {
			stored := storedWork(manifestOf("%s", sample.object))
			id, err := Identify(stored.Work.Spec.Workload.Manifests[0])
			require.NoError(t, err)
			config := configFor(id.Group, map[string]string{"Job": "jobs", "Pod": "pods"}[id.Kind], "n", "a")
			config.FeedbackRules, config.ConditionRules = sample.rules, []workv1.ConditionRule{{Type: workv1.WellKnownConditionsType}}
			stored.Work.Spec.ManifestConfigs = []workv1.ManifestConfigOption{config}
			resource := contract.ResourceStatus{Group: id.Group, Kind: id.Kind, Namespace: "n", Name: "a", Conditions: conditions{is("Applied", "True", 7), is("Complete", "True", 7)}}
			if sample.feedback != "" {
				require.NoError(t, json.Unmarshal([]byte(sample.feedback), &resource.Feedback))
			}
			stored.Status = report(7, conditions{is("Applied", "True", 7), is("Complete", "True", 7)}, resource)
			for _, wait := range []string{"Complete", id.Kind + "/a:Complete", "Applied AND all(" + id.Kind + ":Complete)"} {
				require.NoError(t, CheckWait(wait, stored.Work))
				expression, err := ParseExpression(wait)
				require.NoError(t, err)
				evaluation := EvaluateStored(stored, 7, expression)
				assert.Equal(t, sample.met, evaluation.Met, "%s: %+v", wait, evaluation)
				for _, said := range []struct{ want, is string }{{sample.never, evaluation.Never}, {sample.stuck, evaluation.Stuck}, {sample.holds, evaluation.Holds}} {
					if said.want == "" && said.is != evaluation.Holds {
						assert.Empty(t, said.is, wait)
					}
					assert.Contains(t, said.is, said.want, wait)
				}
			}
		})
	}

	// A rule of the work's own is believed.
	stored := storedWork(manifestOf("%s", job))
	config := configFor("batch", "jobs", "n", "a")
	config.FeedbackRules = []workv1.FeedbackRule{wellKnown}
	config.ConditionRules = []workv1.ConditionRule{{Type: workv1.CelConditionExpressionsType, Condition: "Complete"}}
	stored.Work.Spec.ManifestConfigs = []workv1.ManifestConfigOption{config}
	stored.Status = report(7, conditions{is("Applied", "True", 7)}, contract.ResourceStatus{Group: "batch", Kind: "Job", Namespace: "n", Name: "a", Conditions: conditions{is("Complete", "True", 7)}})
	expression, err := ParseExpression("Job/a:Complete")
	require.NoError(t, err)
	assert.True(t, EvaluateStored(stored, 7, expression).Met)
}

func TestAddFeedbackTellsAPodsFailure(t *testing.T) {
	work := workOf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"n"}}`)
	config := configFor("", "pods", "n", "a")
	config.ConditionRules = []workv1.ConditionRule{{Type: workv1.WellKnownConditionsType}}
	work.Spec.ManifestConfigs = []workv1.ManifestConfigOption{config}
	expression, err := ParseExpression("Pod/a:Complete")
	require.NoError(t, err)
	added, err := AddFeedback(work, expression)
	require.NoError(t, err)
	assert.Equal(t, []string{"Pod/n/a: feedback phase from .status.phase"}, added)
}
