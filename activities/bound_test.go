package activities

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Temporal refuses results of 2 MiB; a cluster may report more.
const temporalLimit = 2 * 1024 * 1024

func TestLargeFeedbackDoesNotLoseTheOutcome(t *testing.T) {
	large, err := json.Marshal(strings.Repeat("x", 900*1024))
	require.NoError(t, err)
	feedback := map[string]json.RawMessage{"replicas": json.RawMessage("3")}
	for index := range 3 {
		feedback[fmt.Sprintf("dump-%d", index)] = large
	}
	result := bounded(contract.ObserveResult{
		Outcome: contract.ObserveMet, Message: "Available holds for version 1",
		Resources: []contract.ResourceStatus{{Kind: "Deployment", Name: "web", Applied: true, Available: true, Feedback: feedback}},
	})
	require.Len(t, result.Resources, 1)
	assert.Equal(t, contract.ObserveMet, result.Outcome)
	assert.JSONEq(t, "3", string(result.Resources[0].Feedback["replicas"]))
	assert.Contains(t, string(result.Resources[0].Feedback["dump-0"]), "left out: 921602 bytes")
	assert.Len(t, feedback["dump-0"], len(large), "what was read is not changed")
}

func TestManyResourcesKeepThoseThatSomebodyHasToLookAt(t *testing.T) {
	result := contract.ObserveResult{Message: "Available is not reported"}
	for index := range 4000 {
		healthy := index != 17
		result.Resources = append(result.Resources, contract.ResourceStatus{
			Kind: "ConfigMap", Namespace: "default", Name: fmt.Sprintf("part-%d", index), Applied: healthy, Available: healthy,
			Conditions: []contract.Condition{{Type: "Applied", Status: "True", Reason: "AppliedManifestComplete", Message: strings.Repeat("m", 5000)}},
		})
	}
	out := bounded(result)
	encoded, err := json.Marshal(out)
	require.NoError(t, err)
	assert.Less(t, len(encoded), temporalLimit/2)
	names := map[string]bool{}
	for _, resource := range out.Resources {
		names[resource.Name] = true
	}
	assert.True(t, names["part-17"], "the unhealthy one")
	assert.Contains(t, out.Message, fmt.Sprintf("(%d of 4000 resources are left out here", 4000-len(out.Resources)))
}

func TestSmallResultsPassUnchanged(t *testing.T) {
	result := contract.ObserveResult{
		Message: "m", Conditions: []contract.Condition{{Type: "Applied", Status: "True"}},
		Resources: []contract.ResourceStatus{{Kind: "ConfigMap", Name: "a", Conditions: []contract.Condition{}, Feedback: map[string]json.RawMessage{"a": json.RawMessage("1")}}},
	}
	assert.Equal(t, result, bounded(result))
}
