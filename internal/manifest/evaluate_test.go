package manifest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// is makes a condition; observed 0 leaves the observedGeneration out.
func is(kind, status string, observed int64, message ...string) contract.Condition {
	condition := contract.Condition{Type: kind, Status: status, ObservedGeneration: observed}
	if len(message) > 0 {
		condition.Reason, condition.Message = kind+"Reason", message[0]
	}
	return condition
}

// web is a manifest's status.
func web(conditions ...contract.Condition) contract.ResourceStatus {
	return contract.ResourceStatus{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "team", Name: "web", Conditions: conditions}
}

func report(observed int64, conditions []contract.Condition, resources ...contract.ResourceStatus) Status {
	return Status{Reported: true, ObservedVersion: observed, Conditions: conditions, Resources: resources}
}

func evaluate(t testing.TB, status Status, version int64, text string) Evaluation {
	t.Helper()
	expression, err := ParseExpression(text)
	require.NoError(t, err)
	return Evaluate(status, version, expression)
}

type conditions = []contract.Condition

// Version 7 was written.
func TestEvaluateCountsOnlyWhatBelongsToTheVersion(t *testing.T) {
	for name, sample := range map[string]struct {
		status  Status
		wait    string
		missing string // "" means met
	}{
		"no report":           {Status{}, "Applied", "Applied: the cluster has not reported yet"},
		"no report, manifest": {Status{}, "Deployment/web:Available", "Deployment/web:Available: the cluster has not reported yet"},
		"feedback only":       {report(7, nil, contract.ResourceStatus{Kind: "Deployment", Name: "web", Feedback: map[string]json.RawMessage{"replicas": json.RawMessage("3")}}), "Applied", "Applied is not reported"},

		"observed now":                      {report(7, conditions{is("Applied", "True", 7)}), "Applied", ""},
		"observed later":                    {report(8, conditions{is("Applied", "True", 8)}), "Applied", ""},
		"observed before":                   {report(7, conditions{is("Applied", "True", 6)}), "Applied", "Applied is True, but for version 6, wanted 7"},
		"observed before, whole status too": {report(6, conditions{is("Applied", "True", 6)}), "Applied", "Applied is True, but for version 6, wanted 7"},
		"observed now, whole status before": {report(6, conditions{is("Applied", "True", 7)}), "Applied", ""},
		"no generation, status now":         {report(7, conditions{is("Applied", "True", 0)}), "Applied", ""},
		"no generation, status before":      {report(6, conditions{is("Applied", "True", 0)}), "Applied", "Applied is True, but for version 6, wanted 7"},
		"no generation, no status version":  {report(0, conditions{is("Applied", "True", 0)}), "Applied", "Applied is True, but for version 0, wanted 7"},

		"false now":           {report(7, conditions{is("Applied", "False", 7, "quota exceeded")}), "Applied", "Applied is False (AppliedReason: quota exceeded)"},
		"false before":        {report(6, conditions{is("Applied", "False", 6, "quota exceeded")}), "Applied", "Applied is False (AppliedReason: quota exceeded) (for version 6, wanted 7)"},
		"unknown":             {report(7, conditions{is("Available", "Unknown", 7, "not checked yet")}), "Available", "Available is Unknown (AvailableReason: not checked yet)"},
		"unknown wanted":      {report(7, conditions{is("Available", "Unknown", 7)}), "Available=Unknown", ""},
		"false wanted":        {report(7, conditions{is("Progressing", "False", 7)}), "Progressing=False", ""},
		"false wanted before": {report(6, conditions{is("Progressing", "False", 6)}), "Progressing=False", "Progressing is False, but for version 6, wanted 7"},
		"absent is not false": {report(7, conditions{is("Applied", "True", 7)}), "Progressing=False", "Progressing is not reported"},
		"part of a word":      {report(7, conditions{is("NotApplied", "True", 7), is("AppliedTwice", "True", 7)}), "Applied", "Applied is not reported"},

		"available and applied":           {report(7, conditions{is("Available", "True", 7), is("Applied", "True", 7)}), "Available", ""},
		"available, not applied":          {report(7, conditions{is("Available", "True", 7), is("Applied", "False", 7, "field is immutable")}), "Available", "Available is True, but Applied is False (AppliedReason: field is immutable)"},
		"available, applied before":       {report(7, conditions{is("Available", "True", 7), is("Applied", "True", 6)}), "Available", "Available is True, but Applied is True, but for version 6, wanted 7"},
		"available, applied unknown":      {report(7, conditions{is("Available", "True", 7), is("Applied", "Unknown", 7)}), "Available", "Available is True, but Applied is Unknown"},
		"available, applied not reported": {report(7, conditions{is("Available", "True", 7)}), "Available", "Available is True, but Applied is not reported"},
		"available=false needs no apply":  {report(7, conditions{is("Available", "False", 7)}), "Available=False", ""},
		"both terms, one missing":         {report(7, conditions{is("Applied", "True", 7), is("Available", "False", 7)}), "Applied AND Available", "Available is False"},
		"both terms missing":              {report(7, nil), "Applied AND Complete", "Applied is not reported; Complete is not reported"},

		"manifest": {report(7, conditions{is("Applied", "True", 7)}, web(is("Applied", "True", 0), is("Available", "True", 0))), "Deployment/web:Available", ""},
		"manifest, status before": {report(6, conditions{is("Applied", "True", 6)}, web(is("Applied", "True", 0), is("Available", "True", 0))), "Deployment/web:Available",
			"Deployment.apps/team/web: Available is True, but for version 6, wanted 7"},
		"manifest, own generation": {report(6, nil, web(is("Ready", "True", 7))), "Deployment/web:Ready", ""},
		"manifest, not reported":   {report(7, nil, web()), "Deployment/web:Available", "Deployment.apps/team/web: Available is not reported"},
		"no such manifest":         {report(7, nil, web()), "Job:Complete", "Job:Complete: the cluster reports no such manifest"},
		"all manifests of a kind": {report(7, nil, web(is("Ready", "True", 0)), contract.ResourceStatus{Kind: "Deployment", Name: "db", Conditions: conditions{is("Ready", "False", 0, "no disk")}}),
			"Deployment:Ready", "Deployment/db: Ready is False (ReadyReason: no disk)"},
		"manifest available, not applied": {report(7, conditions{is("Applied", "False", 7)}, web(is("Applied", "False", 0, "spec.clusterName: field is immutable"), is("Available", "True", 0))),
			"Deployment/web:Available", "Deployment.apps/team/web: Available is True, but Applied is False (AppliedReason: spec.clusterName: field is immutable)"},
		"manifest available, another one not applied": {report(7, conditions{is("Applied", "False", 7)},
			web(is("Applied", "True", 0), is("Available", "True", 0)), contract.ResourceStatus{Kind: "Namespace", Name: "team", Conditions: conditions{is("Applied", "False", 0, "no")}}),
			"Deployment/web:Available", ""},
		// The agent reports what exists before it has applied the new version.
		"manifest, the work is applied for an older version": {report(7, conditions{is("Available", "True", 7), is("Applied", "True", 6)}, web(is("Applied", "True", 0), is("Available", "True", 0))),
			"Deployment/web:Applied", "Deployment.apps/team/web: Applied is True, but for version 6, wanted 7"},
		"manifest available, the work is applied for an older version": {report(7, conditions{is("Available", "True", 7), is("Applied", "True", 6)}, web(is("Applied", "True", 0), is("Available", "True", 0))),
			"Deployment/web:Available", "Deployment.apps/team/web: Available is True, but Applied is True, but for version 6, wanted 7"},
	} {
		t.Run(name, func(t *testing.T) {
			evaluation := evaluate(t, sample.status, 7, sample.wait)
			assert.Equal(t, sample.missing == "", evaluation.Met)
			if sample.missing == "" {
				assert.Empty(t, evaluation.Missing)
			} else {
				assert.Contains(t, evaluation.Missing, sample.missing)
			}
		})
	}
}

func TestEvaluateNeverCountsAnOlderVersion(t *testing.T) {
	for _, observed := range []int64{0, 5, 6, 7, 8} {
		for _, applied := range []int64{0, 5, 6, 7, 8} {
			for _, available := range []int64{0, 5, 6, 7, 8} {
				status := report(observed, conditions{is("Applied", "True", applied), is("Available", "True", available)})
				of := func(generation int64) int64 {
					if generation == 0 {
						return observed
					}
					return generation
				}
				assert.Equal(t, of(applied) >= 7, evaluate(t, status, 7, "Applied").Met, "%d %d %d", observed, applied, available)
				assert.Equal(t, of(applied) >= 7 && of(available) >= 7, evaluate(t, status, 7, "Available").Met, "%d %d %d", observed, applied, available)
			}
		}
	}
}

func TestEvaluateSaysInOneWordWhereTheVersionStands(t *testing.T) {
	for name, sample := range map[string]struct {
		status Status
		want   contract.Status
	}{
		"no report":                 {Status{}, contract.StatusInProgress},
		"nothing known":             {report(7, nil), contract.StatusInProgress},
		"all of it before":          {report(6, conditions{is("Applied", "True", 6), is("Available", "True", 6)}), contract.StatusInProgress},
		"applied":                   {report(7, conditions{is("Applied", "True", 7)}), contract.StatusApplied},
		"applied, available before": {report(7, conditions{is("Applied", "True", 7), is("Available", "True", 6)}), contract.StatusApplied},
		"available":                 {report(7, conditions{is("Applied", "True", 7), is("Available", "True", 7)}), contract.StatusAvailable},
		"available, applied before": {report(7, conditions{is("Applied", "True", 6), is("Available", "True", 7)}), contract.StatusInProgress},
		"not applied":               {report(7, conditions{is("Applied", "False", 7), is("Available", "True", 7)}), contract.StatusDegraded},
		"not applied before":        {report(7, conditions{is("Applied", "False", 6)}), contract.StatusInProgress},
		"degraded":                  {report(7, conditions{is("Applied", "True", 7), is("Available", "True", 7), is("Degraded", "True", 7)}), contract.StatusDegraded},
		"progressing":               {report(7, conditions{is("Applied", "True", 7), is("Progressing", "True", 7)}), contract.StatusProgressing},
	} {
		assert.Equal(t, sample.want, evaluate(t, sample.status, 7, "Applied").Overall, name)
	}
}

func TestEvaluateDecidesEachManifestForTheVersion(t *testing.T) {
	for name, sample := range map[string]struct {
		status             Status
		applied, available bool
	}{
		"now":                      {report(7, conditions{is("Applied", "True", 7)}, web(is("Applied", "True", 0), is("Available", "True", 0))), true, true},
		"before":                   {report(6, conditions{is("Applied", "True", 6)}, web(is("Applied", "True", 0), is("Available", "True", 0))), false, false},
		"not applied":              {report(7, conditions{is("Applied", "False", 7)}, web(is("Applied", "False", 0), is("Available", "True", 0))), false, true},
		"unknown":                  {report(7, conditions{is("Applied", "True", 7)}, web(is("Applied", "True", 0), is("Available", "Unknown", 0))), true, false},
		"work applied before":      {report(7, conditions{is("Applied", "True", 6)}, web(is("Applied", "True", 0), is("Available", "True", 0))), false, true},
		"no condition of the work": {report(7, nil, web(is("Applied", "True", 0), is("Available", "True", 0))), true, true},
		"nothing":                  {report(7, nil, web()), false, false},
	} {
		evaluation := evaluate(t, sample.status, 7, "Applied")
		require.Len(t, evaluation.Resources, 1, name)
		assert.Equal(t, sample.applied, evaluation.Resources[0].Applied, "%s: applied", name)
		assert.Equal(t, sample.available, evaluation.Resources[0].Available, "%s: available", name)
		assert.False(t, sample.status.Resources[0].Applied, "the argument is not changed")
	}
}
