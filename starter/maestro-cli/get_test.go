package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// storedWork has a Secret in every place where one can hide, and everything that the old tool left out.
func storedWork(t *testing.T) *manifest.Stored {
	t.Helper()
	work, err := manifest.Parse("test", []byte(`
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata:
  name: web
  labels: {hyperfleet.io/adapter: demo}
  annotations:
    hyperfleet.io/generation: "4"
    kubectl.kubernetes.io/last-applied-configuration: '{"data":{"password":"c2VjcmV0"}}'
spec:
  deleteOption: {propagationPolicy: Orphan}
  executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: demo, name: deployer}}}
  manifestConfigs:
  - resourceIdentifier: {group: "", resource: configmaps, namespace: demo, name: numbers}
    feedbackRules: [{type: JSONPaths, jsonPaths: [{name: big, path: .data.big}]}]
  workload:
    manifests:
    - apiVersion: v1
      kind: Secret
      metadata:
        name: s
        namespace: demo
        annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"password":"c2VjcmV0"}}'}
      data: {password: c2VjcmV0}
      stringData: {token: c2VjcmV0}
    - apiVersion: v1
      kind: List
      metadata: {name: l, namespace: demo}
      items: [{apiVersion: v1, kind: Secret, metadata: {name: inner}, data: {password: c2VjcmV0}}]
    - apiVersion: v1
      kind: ConfigMap
      metadata: {name: numbers, namespace: demo}
      data: {password: visible}
      big: 9007199254740993
`))
	require.NoError(t, err)
	condition := func(name string) contract.Condition {
		return contract.Condition{Type: name, Status: "True", ObservedGeneration: 6}
	}
	return &manifest.Stored{
		ID: "id-1", Consumer: "cluster-a", Version: 7, CreatedAt: time.Unix(0, 0), UpdatedAt: time.Unix(1, 0), Work: work,
		Status: manifest.Status{
			Reported: true, ObservedVersion: 6, Conditions: []contract.Condition{condition("Applied"), condition("Available")},
			Resources: []contract.ResourceStatus{{
				Version: "v1", Kind: "ConfigMap", Namespace: "demo", Name: "numbers", Conditions: []contract.Condition{condition("Applied")},
				Feedback: map[string]json.RawMessage{"big": json.RawMessage("9007199254740993")},
			}},
		},
	}
}

func TestGetPrintsWhatTheOldToolHidAndNoSecret(t *testing.T) {
	for _, format := range []string{"json", "yaml"} {
		b := &bench{maestro: &fakeMaestro{stored: storedWork(t)}}
		require.Equal(t, 0, b.run("get", "--name", "web", "--consumer", "cluster-a", "--output", format), b.stderr.String())
		assert.NotContains(t, b.stdout.String(), "c2VjcmV0")
		assert.Contains(t, b.stdout.String(), "9007199254740993", "numbers are exact")
		assert.Contains(t, b.stdout.String(), "visible")
		assert.Empty(t, b.stderr.String())
		if format == "yaml" {
			continue
		}
		document := b.document(t)
		for _, key := range []string{"id", "name", "consumer", "source", "version", "observedVersion", "generation", "createdAt", "updatedAt", "deleting",
			"status", "labels", "annotations", "manifests", "deleteOption", "manifestConfigs", "executor", "conditions", "resources"} {
			assert.Contains(t, document, key)
		}
		assert.EqualValues(t, 7, document["version"])
		assert.EqualValues(t, 6, document["observedVersion"])
		assert.NotEqual(t, "Available", document["status"], "what was reported for version 6 says nothing about 7")
		secret := document["manifests"].([]any)[0].(map[string]any)
		assert.Equal(t, map[string]any{"password": manifest.Masked}, secret["data"], "keys are shown")
		assert.Equal(t, map[string]any{"token": manifest.Masked}, secret["stringData"])
		resource := document["resources"].([]any)[0].(map[string]any)
		assert.Contains(t, resource, "feedback")
		assert.Equal(t, false, resource["applied"])
	}
}

func TestGetShowsADeletionAndAWorkWithoutReport(t *testing.T) {
	stored := storedWork(t)
	at := time.Unix(2, 0)
	stored.DeletedAt, stored.Status = &at, manifest.Status{}
	b := &bench{maestro: &fakeMaestro{stored: stored}}
	require.Equal(t, 0, b.run("get", "--name", "web", "--consumer", "cluster-a", "--output=json"))
	document := b.document(t)
	assert.Equal(t, true, document["deleting"])
	assert.Contains(t, document, "deletedAt")
	assert.Equal(t, []any{}, document["conditions"])
	assert.Equal(t, []any{}, document["resources"])
	assert.Equal(t, "InProgress", document["status"])
}

func TestGetRefusesABadTimeout(t *testing.T) {
	b := &bench{maestro: &fakeMaestro{}}
	assert.Equal(t, 2, b.run("get", "--name", "web", "--consumer", "cluster-a", "--timeout", "soon"))
}
