package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Answers of Kubernetes API servers as agents quote them.
func TestCanHeal(t *testing.T) {
	for message, heals := range map[string]bool{
		"": true,
		`Failed to apply manifest: Deployment.apps "web" is invalid: spec.selector: Invalid value: v1.LabelSelector{…}: field is immutable`: false,
		`Failed to apply manifest: Service "web" is invalid: spec.ports: Required value`:                                                    false,
		`spec.clusterName: field is immutable`: false,
		`Failed to apply manifest: configmaps "a" is forbidden: User "system:serviceaccount:team:applier" cannot create resource "configmaps" in API group "" in namespace "x"`: false,
		`Failed to apply manifest: pods "a" is forbidden: exceeded quota: small, requested: pods=1, used: pods=5, limited: pods=5`:                                              true,
		`Failed to apply manifest: configmaps "a" is forbidden: unable to create new content in namespace team because it is being terminated`:                                  true,
		`Failed to apply manifest: no matches for kind "TenantQuota" in version "quota.example.test/v1"`:                                                                        true,
		`the server could not find the requested resource`:      true,
		`Failed to apply manifest: namespaces "team" not found`: true,
		`Failed to apply manifest: Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again`: true,
		`Failed to apply manifest: Internal error occurred: failed calling webhook "v.example.test": connection refused`:                                                                 true,
		`Failed to apply manifest: context deadline exceeded`: true,
	} {
		assert.Equal(t, heals, canHeal(message), message)
	}
}

func TestEvaluateNamesEachRefusedManifest(t *testing.T) {
	const immutable, missing = "field is immutable", `no matches for kind "Quota"`
	quota := contract.ResourceStatus{Kind: "Quota", Name: "q", Conditions: conditions{is("Applied", "False", 0, missing)}}
	const webText, quotaText = "Deployment.apps/team/web is not applied (AppliedReason: field is immutable)", `Quota/q is not applied (AppliedReason: no matches for kind "Quota")`
	for name, sample := range map[string]struct {
		status  Status
		refused string
		heals   bool
	}{
		"no report":        {Status{}, "", true},
		"applied":          {report(7, conditions{is("Applied", "True", 7)}, web(is("Applied", "False", 0, immutable))), "", true},
		"refused before":   {report(6, conditions{is("Applied", "False", 6, immutable)}), "", true},
		"without a reason": {report(7, conditions{is("Applied", "False", 7)}), "the work is not applied", true},
		"by the work only": {report(7, conditions{is("Applied", "False", 7, immutable)}), "the work is not applied (AppliedReason: field is immutable)", false},
		"heals":            {report(7, conditions{is("Applied", "False", 7, "1 of 2 failed")}, quota), quotaText, true},
		"does not":         {report(7, conditions{is("Applied", "False", 7, "1 of 2 failed")}, web(is("Applied", "False", 0, immutable))), webText, false},
		"one of two":       {report(7, conditions{is("Applied", "False", 7)}, web(is("Applied", "False", 0, immutable)), quota), webText + "; " + quotaText, false},
		"the other order":  {report(7, conditions{is("Applied", "False", 7)}, quota, web(is("Applied", "False", 0, immutable))), quotaText + "; " + webText, false},
		"manifest before":  {report(7, conditions{is("Applied", "False", 7, "x")}, web(is("Applied", "False", 6, immutable))), "the work is not applied (AppliedReason: x)", true},
	} {
		t.Run(name, func(t *testing.T) {
			evaluation := evaluate(t, sample.status, 7, "Complete")
			assert.Equal(t, sample.refused, evaluation.Refused)
			assert.Equal(t, sample.heals, evaluation.Heals)
			assert.Contains(t, evaluation.Missing, sample.refused, "a time-out says why")
		})
	}
}
