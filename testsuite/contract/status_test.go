package contract_test

import (
	"encoding/json"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var statusChecks = []check{
	{"there is no status before the first report", noStatusBeforeReport},
	{"an old status stays until the cluster answers for the new version", oldStatusStays},
	{"a refused update is not applied although Available is True", refusedUpdate},
	{"a refusal that ends heals", refusalHeals},
	{"a silent cluster reports nothing", silentCluster},
	{"conditions without observedGeneration belong to ObservedVersion", conditionsWithoutGeneration},
	{"feedback keeps its types", feedbackKeepsTypes},
	{"an object that does not exist is not available", missingObject},
	{"a degraded work is available and Degraded", degradedWork},
}

func (s *scene) evaluate(stored *manifest.Stored, version int64, expression string) manifest.Evaluation {
	s.Helper()
	parsed, err := manifest.ParseExpression(expression)
	require.NoError(s, err)
	return manifest.Evaluate(stored.Status, version, parsed)
}

func (s *scene) assertMet(stored *manifest.Stored, version int64, expression string) {
	s.Helper()
	evaluation := s.evaluate(stored, version, expression)
	assert.True(s, evaluation.Met, "%s at %d: %s; %s", expression, version, evaluation.Missing, text(stored.Status))
}

func (s *scene) assertMissing(stored *manifest.Stored, version int64, expression, missing string) {
	s.Helper()
	evaluation := s.evaluate(stored, version, expression)
	assert.False(s, evaluation.Met, "%s at %d; %s", expression, version, text(stored.Status))
	assert.Contains(s, evaluation.Missing, missing)
}

func condition(status manifest.Status, name string) contract.Condition {
	for _, condition := range status.Conditions {
		if condition.Type == name {
			return condition
		}
	}
	return contract.Condition{}
}

// awaitCondition waits for a condition of the work that was computed for a version.
func (s *scene) awaitCondition(name, status string, version int64) *manifest.Stored {
	s.Helper()
	return s.await(name+" is "+status, func(stored *manifest.Stored) bool {
		have := condition(stored.Status, name)
		return have.Status == status && have.ObservedGeneration == version && stored.Status.ObservedVersion >= version
	})
}

func (s *scene) awaitAvailable(version int64) *manifest.Stored {
	s.Helper()
	stored := s.awaitCondition("Available", "True", version)
	s.assertMet(stored, version, "Available")
	return stored
}

func noStatusBeforeReport(s *scene) {
	stored := s.create(s.work(configMap("a", "1")))
	assert.Equal(s, manifest.Status{}, stored.Status)
	s.assertMissing(stored, 1, "Available", "the cluster has not reported yet")
	assert.Equal(s, contract.StatusInProgress, s.evaluate(stored, 1, "Available").Overall)

	s.connect()
	stored = s.awaitAvailable(1)
	assert.True(s, stored.Status.Reported)
	assert.EqualValues(s, 1, stored.Status.ObservedVersion)
	assert.EqualValues(s, 1, stored.Version, "a report does not raise the version")
	for _, name := range []string{"Applied", "Available"} {
		have := condition(stored.Status, name)
		assert.Equal(s, "True", have.Status)
		assert.EqualValues(s, 1, have.ObservedGeneration)
		require.NotNil(s, have.LastTransitionTime)
		assert.False(s, have.LastTransitionTime.IsZero())
	}
	require.Len(s, stored.Status.Resources, 1)
	resource := stored.Status.Resources[0]
	assert.Equal(s, []string{"", "v1", "ConfigMap", "default", "a"},
		[]string{resource.Group, resource.Version, resource.Kind, resource.Namespace, resource.Name})
	s.assertMet(stored, 1, "Applied AND ConfigMap/default/a:Available")
	evaluation := s.evaluate(stored, 1, "Available")
	assert.Equal(s, contract.StatusAvailable, evaluation.Overall)
	assert.True(s, evaluation.Resources[0].Applied && evaluation.Resources[0].Available)
	s.assertSettled(stored, s.work(configMap("a", "1")))
}

func oldStatusStays(s *scene) {
	s.connect()
	s.create(s.work(configMap("a", "1")))
	before := s.awaitAvailable(1)
	s.disconnect()
	after := s.change(s.work(configMap("a", "2")))
	assert.EqualValues(s, 2, after.Version)
	assert.Equal(s, before.Status, after.Status)
	s.assertMet(after, 1, "Available")
	s.assertMissing(after, 2, "Available", "Available is True, but for version 1, wanted 2")
	s.assertMissing(after, 2, "ConfigMap:Available", "for version 1, wanted 2")
	evaluation := s.evaluate(after, 2, "Available")
	assert.Equal(s, contract.StatusInProgress, evaluation.Overall)
	assert.False(s, evaluation.Resources[0].Applied || evaluation.Resources[0].Available)
	assert.Empty(s, evaluation.Refused)

	s.connect()
	stored := s.awaitAvailable(2)
	assert.EqualValues(s, 2, stored.Status.ObservedVersion)
}

const immutable = `Deployment.apps "web" is invalid: spec.selector: field is immutable`

func refusedUpdate(s *scene) {
	s.connect()
	s.create(s.work(configMap("a", "1")))
	s.awaitAvailable(1)
	s.change(s.work(configMap("a", "2", "applied-error", immutable)))
	stored := s.awaitCondition("Available", "True", 2)
	assert.EqualValues(s, 2, stored.Status.ObservedVersion)
	applied := condition(stored.Status, "Applied")
	assert.Equal(s, "False", applied.Status)
	assert.EqualValues(s, 2, applied.ObservedGeneration)
	s.assertMissing(stored, 2, "Available", "field is immutable")
	s.assertMissing(stored, 2, "Applied", "field is immutable")
	s.assertMet(stored, 2, "Applied=False")
	evaluation := s.evaluate(stored, 2, "Available")
	assert.Contains(s, evaluation.Refused, "ConfigMap/default/a is not applied")
	assert.False(s, evaluation.Heals)
	assert.Equal(s, contract.StatusDegraded, evaluation.Overall)
	assert.False(s, evaluation.Resources[0].Applied)
	assert.EqualValues(s, 1, s.suite.clusters.Objects(s.consumer)[stored.ID].Version, "the old object is what is available")
}

func refusalHeals(s *scene) {
	s.connect()
	s.create(s.work(configMap("a", "1", "applied-error", "no matches for kind", "applied-error-until", "1s")))
	stored := s.awaitCondition("Applied", "False", 1)
	s.assertMissing(stored, 1, "Available", "no matches for kind")
	assert.True(s, s.evaluate(stored, 1, "Available").Heals)
	stored = s.awaitAvailable(1)
	assert.Empty(s, s.evaluate(stored, 1, "Available").Refused)
}

func silentCluster(s *scene) {
	s.connect()
	stored := s.create(s.work(configMap("a", "1", "silent", "true")))
	s.awaitObjects(s.consumer, 1)
	read := s.read()
	assert.Equal(s, stored, read, "applied without a word")
	s.assertMissing(read, 1, "Applied", "the cluster has not reported yet")
}

func conditionsWithoutGeneration(s *scene) {
	s.connect()
	s.create(s.work(configMap("a", "1", "no-observed-generation", "true")))
	stored := s.awaitCondition("Available", "True", 0)
	assert.EqualValues(s, 1, stored.Status.ObservedVersion)
	s.assertMet(stored, 1, "Applied AND Available")
	s.disconnect()
	stored = s.change(s.work(configMap("a", "2", "no-observed-generation", "true")))
	s.assertMissing(stored, 2, "Available", "for version 1, wanted 2")
	s.connect()
	stored = s.await("version 2 is observed", func(stored *manifest.Stored) bool {
		return s.evaluate(stored, 2, "Available").Met
	})
	assert.EqualValues(s, 2, stored.Status.ObservedVersion)
}

func feedbackKeepsTypes(s *scene) {
	s.connect()
	s.create(s.work(configMap("a", "1", "feedback",
		`{"ready":3,"zero":0,"big":9007199254740993,"phase":"Active","number":"7","on":true,"off":false,"ratio":0.5,"list":[1,"a"],"object":{"a":null}}`)))
	stored := s.await("feedback", func(stored *manifest.Stored) bool {
		return len(stored.Status.Resources) == 1 && len(stored.Status.Resources[0].Feedback) == 10
	})
	got := stored.Status.Resources[0].Feedback
	big := string(got["big"])
	delete(got, "big")
	assert.Equal(s, map[string]json.RawMessage{
		"ready": []byte("3"), "zero": []byte("0"), "phase": []byte(`"Active"`), "number": []byte(`"7"`),
		"on": []byte("true"), "off": []byte("false"), "ratio": []byte("0.5"), "list": []byte(`[1,"a"]`), "object": []byte(`{"a":null}`),
	}, got)
	s.record("feedback of integer 9007199254740993", big)
}

func missingObject(s *scene) {
	s.connect()
	s.create(s.work(configMap("a", "1"), configMap("b", "1", "available", "False")))
	stored := s.awaitCondition("Available", "False", 1)
	s.assertMet(stored, 1, "Applied AND ConfigMap/a:Available AND ConfigMap/b:Available=False")
	s.assertMissing(stored, 1, "ConfigMap:Available", "ConfigMap/default/b: Available is False")
	assert.Equal(s, contract.StatusApplied, s.evaluate(stored, 1, "Available").Overall)
}

func degradedWork(s *scene) {
	s.connect()
	s.create(s.work(configMap("a", "1", "degraded", "half of it")))
	stored := s.awaitCondition("Degraded", "True", 1)
	s.assertMet(stored, 1, "Available AND Degraded AND ConfigMap/a:Degraded")
	assert.Equal(s, contract.StatusDegraded, s.evaluate(stored, 1, "Available").Overall)
}
