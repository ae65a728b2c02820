package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestCheckAgainstRefusesWhatCanNeverHold(t *testing.T) {
	work := partWork(
		manifestOf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}}`),
		manifestOf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"team"}}`),
		manifestOf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"prep","namespace":"team"}}`),
		manifestOf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"bare","namespace":"team"}}`),
		manifestOf(`{"kind":"odd"}`),
	)
	config := func(resource, name string) workv1.ManifestConfigOption {
		return workv1.ManifestConfigOption{
			ResourceIdentifier: workv1.ResourceIdentifier{Group: "batch", Resource: resource, Namespace: "team", Name: name},
			ConditionRules:     []workv1.ConditionRule{{Type: workv1.WellKnownConditionsType}},
		}
	}
	work.Spec.ManifestConfigs = []workv1.ManifestConfigOption{config("jobs", "prep"), config("job", "bare")}
	const absent, silent = "the work has no such manifest", "nothing reports"
	for text, says := range map[string]string{
		"Applied": "", "Deployment:Available": "", "Deployment.apps:Available": "", "Deployment/web:Available": "",
		"Deployment/team/web:Available": "", "Namespace/team:Applied AND Deployment:Available": "",
		"Deployment/web:StatusFeedbackSynced": "", "Job/prep:Complete": "", "Job.batch/team/prep:Complete=False": "",
		"Deployment.extensions:Available": absent, "Deployment/db:Available": absent, "Deployment/other/web:Available": absent,
		"StatefulSet:Available": absent, "Namespace/web:Applied": absent, "Applied AND CronJob:Complete": absent, "Deploy:Available": absent,
		// The agent finds a manifest by the plural only.
		"Job/bare:Complete": silent, "Job:Complete": silent, "Deployment/web:Complete": silent, "Namespace:Ready=False": silent,
	} {
		expression, err := ParseExpression(text)
		require.NoError(t, err)
		err = expression.CheckAgainst(work)
		assert.Equal(t, err, CheckWait(text, work))
		if says == "" {
			assert.NoError(t, err, text)
			continue
		}
		assert.ErrorContains(t, err, says, text)
		assert.Equal(t, contract.ErrInvalidInput, contract.TypeOf(err))
	}
	assert.NoError(t, CheckWait("", work))
	assert.ErrorContains(t, CheckWait("OR", work), "position 1")
}

// Agents take stars in names, and plurals that are not guessed by a rule.
func TestRulesAreFoundAsAgentsFindThem(t *testing.T) {
	work := workOf(`{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"name":"edge","namespace":"d"}}`)
	config := configFor("gateway.networking.k8s.io", "gateways", "d", "e*")
	config.ConditionRules = []workv1.ConditionRule{{Type: workv1.CelConditionExpressionsType, Condition: "Programmed"}}
	work.Spec.ManifestConfigs = []workv1.ManifestConfigOption{config}
	assert.NoError(t, CheckWait("Gateway/edge:Programmed", work))
	part, _, err := Only(work, func(Identity) bool { return true })
	require.NoError(t, err)
	assert.Len(t, part.Spec.ManifestConfigs, 1)
}
