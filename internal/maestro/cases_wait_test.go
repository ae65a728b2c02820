package maestro

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
)

// condition as Maestro's HTTP API has it; generation 0 leaves it out.
func conditionJSON(kind, status, reason, message string, generation int) string {
	observed := ""
	if generation > 0 {
		observed = fmt.Sprintf(`,"observedGeneration":%d`, generation)
	}
	return fmt.Sprintf(`{"type":%q,"status":%q,"reason":%q,"message":%q,"lastTransitionTime":"2026-03-02T10:00:00Z"%s}`, kind, status, reason, message, observed)
}

// bundleJSON of one object with the feedback of its conditions, as the cluster reported it for a version.
func bundleJSON(version, observed int, group, kind, resource, name, work, objectConditions string) string {
	feedback, api := "", "v1"
	if group != "" {
		api = group + "/v1"
	}
	if objectConditions != "" {
		feedback = fmt.Sprintf(`{"name":"conditions","fieldValue":{"type":"JsonRaw","jsonRaw":%q}}`, objectConditions)
	}
	return fmt.Sprintf(`{"id":"6f1c2a52-0b7c-5d55-9a3e-000000000001","consumer_name":"cluster-a1","version":%d,"metadata":{"name":"web"},
		"manifests":[{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"pools-a1"}}],
		"manifest_configs":[{"resourceIdentifier":{"group":%q,"resource":%q,"namespace":"pools-a1","name":%q},
			"feedbackRules":[{"type":"JSONPaths","jsonPaths":[{"name":"conditions","path":".status.conditions"}]}]}],
		"status":{"ObservedVersion":%d,"conditions":[%s],"resourceStatus":[{"resourceMeta":{"group":%q,"version":"v1","kind":%q,"name":%q,"namespace":"pools-a1"},
			"conditions":[%s],"statusFeedback":{"values":[%s]}}]}}`,
		version, api, kind, name, group, resource, name, observed, work, group, kind, name,
		conditionJSON("Applied", "True", "AppliedManifestComplete", "", 0)+","+conditionJSON("Available", "True", "ResourceAvailable", "", 0), feedback)
}

// What the field reported of waits, on bundles as the HTTP API gives them.
func TestCasesOfWaits(t *testing.T) {
	applied := func(status string, generation int) string {
		return conditionJSON("Applied", status, "AppliedManifestWorkComplete", "", generation)
	}
	availableAt := func(status string, generation int) string {
		return conditionJSON("Available", status, "ResourcesAvailable", "", generation)
	}
	pool := func(version, observed int, work, object string) string {
		return bundleJSON(version, observed, "hypershift.openshift.io", "NodePool", "nodepools", "workers", work, object)
	}
	healthy := applied("True", 2) + "," + availableAt("Unknown", 2)
	notReady := `[{"type":"Ready","status":"False","reason":"ScalingUp"},{"type":"AllMachinesReady","status":"True"}]`
	updating := `[{"type":"Ready","status":"True"},{"type":"UpdatingVersion","status":"True"}]`
	updated := `[{"type":"Ready","status":"True"},{"type":"UpdatingVersion","status":"False"}]`
	job := func(object string) string {
		return bundleJSON(1, 1, "batch", "Job", "jobs", "prep", applied("True", 1)+","+availableAt("True", 1), object)
	}
	for name, sample := range map[string]struct {
		bundle, wait string
		met          bool
		says, never  string
	}{
		"D12 the status of the version before":     {pool(7, 6, applied("True", 6)+","+availableAt("True", 6), ""), "Available", false, "True, but for version 6, wanted 7", ""},
		"D12 refused, and available of before":     {pool(7, 7, conditionJSON("Applied", "False", "AppliedManifestWorkFailed", "quota exceeded", 7)+","+availableAt("True", 6), ""), "Available", false, "quota exceeded", ""},
		"D12 the version itself":                   {pool(7, 7, applied("True", 7)+","+availableAt("True", 7), ""), "Available", true, "", ""},
		"D13 available while not applied":          {pool(7, 7, conditionJSON("Applied", "False", "AppliedManifestWorkFailed", "field is immutable", 7)+","+availableAt("True", 7), ""), "Available", false, "field is immutable", ""},
		"D14 the Job failed for good":              {job(`[{"type":"Failed","status":"True","reason":"BackoffLimitExceeded","message":"Job has reached the specified backoff limit"}]`), "Job/prep:Complete", false, "Failed is True (BackoffLimitExceeded", "BackoffLimitExceeded"},
		"D14 the Job still runs":                   {job(`[]`), "Job/prep:Complete", false, "Complete is not reported", ""},
		"D14 it failed, and that is what is asked": {job(`[{"type":"Failed","status":"True"}]`), "Job/prep:Failed", true, "", ""},
		"D15 part of a word":                       {pool(2, 2, healthy, notReady), "NodePool/pools-a1/workers:Ready", false, "Ready is False (ScalingUp)", ""},
		"D15 false is asked for":                   {pool(2, 2, healthy, notReady), "NodePool/pools-a1/workers:Ready=False", true, "", ""},
		"D15 absent is not false":                  {pool(2, 2, healthy, notReady), "NodePool/pools-a1/workers:UpdatingVersion=False", false, "UpdatingVersion is not reported", ""},
		"D15 true is not false":                    {pool(2, 2, healthy, updating), "NodePool/pools-a1/workers:UpdatingVersion=False", false, "UpdatingVersion is True", ""},
		"D15 false at last":                        {pool(2, 2, healthy, updated), "NodePool/pools-a1/workers:UpdatingVersion=False", true, "", ""},
		"D15 Unknown is not True":                  {pool(2, 2, healthy, ""), "Available", false, "Available is Unknown", ""},
		"D15 Unknown is asked for":                 {pool(2, 2, healthy, ""), "Available=Unknown", true, "", ""},
		"D16 nothing is reported yet":              {pool(1, 1, "", ""), "Available", false, "Available is not reported", ""},
		"D28 a kind that is not known yet":         {pool(1, 1, conditionJSON("Applied", "False", "AppliedManifestWorkFailed", "no resource type for TenantQuota yet", 1), ""), "Available", false, "no resource type", ""},
	} {
		t.Run(name, func(t *testing.T) {
			stored, err := decodeBundle([]byte(sample.bundle))
			require.NoError(t, err)
			expression, err := manifest.ParseExpression(sample.wait)
			require.NoError(t, err)
			require.NoError(t, expression.CheckAgainst(stored.Work))
			got := manifest.EvaluateStored(stored, stored.Version, expression)
			assert.Equal(t, sample.met, got.Met, got.Missing)
			assert.Contains(t, got.Missing, sample.says)
			if sample.never == "" {
				assert.Empty(t, got.Never)
			} else {
				assert.Contains(t, got.Never, sample.never)
			}
		})
	}
	stored, err := decodeBundle([]byte(pool(2, 2, healthy, notReady)))
	require.NoError(t, err)
	assert.ErrorContains(t, manifest.CheckWait("NodePool/pools-a1/workers:ready", stored.Work), "did you mean Ready?")
	assert.ErrorContains(t, manifest.CheckWait("Apllied", stored.Work), "did you mean Applied?")
}
