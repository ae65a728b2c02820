package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// choosable is a work of two manifests, each with its config, whose other fields are not a part's.
const choosable = `apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata:
  name: web
  labels: {hyperfleet.io/adapter: np, team: blue}
  annotations: {hyperfleet.io/generation: "7", note: whole}
spec:
  deleteOption: {propagationPolicy: Orphan}
  executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: demo, name: applier}}}
  workload:
    manifests:
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: demo}, data: {a: "1"}}
    - {apiVersion: v1, kind: Service, metadata: {name: web, namespace: demo}}
    - {apiVersion: apps/v1, kind: Deployment, metadata: {name: api, namespace: demo}}
  manifestConfigs:
  - resourceIdentifier: {group: apps, resource: deployments, namespace: demo, name: api}
    feedbackRules: [{type: WellKnownStatus}]
  - resourceIdentifier: {group: "", resource: services, namespace: demo, name: web}
    updateStrategy: {type: CreateOnly}
`

func TestBuildMergesOneManifestOfItsFiles(t *testing.T) {
	work, object, pools := manifestFile(t, choosable), manifestFile(t, objectYAML), manifestFile(t, twoPools)
	files := buildOf("--apply", "--source-file", work, "--resource-file", object, "--nodepool-file", pools)
	for chosen, sample := range map[string]struct {
		part string
		name string
	}{
		"api":                      {"deployment.api.", "web"},
		"Deployment/api":           {"deployment.api.", "web"},
		"Deployment/demo/api":      {"deployment.api.", "web"},
		"Deployment.apps/demo/api": {"deployment.api.", "web"},
		"Service/web":              {"service.web.", "web"},
		"extra":                    {"configmap.extra.", "web"},
		"gpu":                      {"west-1.gpu", "web"},
	} {
		t.Run(chosen, func(t *testing.T) {
			requests := requested(t, append(files, "--manifest-name", chosen)...)
			require.Len(t, requests, 1)
			request := requests[0]
			assert.True(t, strings.HasPrefix(request.Part(), sample.part), request.Part())
			assert.Equal(t, "web", request.WorkName())
			all := string(request.Work) + string(request.Nodepools)
			for _, manifest := range request.Manifests {
				all += string(manifest)
			}
			for _, other := range []string{"applier", "Orphan", "whole", "blue", `"a":"1"`} {
				assert.NotContains(t, all, other, "the rest of the work is not meant")
			}
		})
	}
	for chosen, says := range map[string]string{
		"web":         `"web": 2 manifests are called that, the files hold ConfigMap/demo/extra, nodepool workers, nodepool gpu, ConfigMap/demo/web, Service/demo/web, Deployment.apps/demo/api`,
		"none":        `"none": 0 manifests are called that`,
		"Service/api": `"Service/api": 0 manifests`,
	} {
		b := &bench{}
		assert.Equal(t, 2, b.run(append(files, "--manifest-name", chosen)...))
		assert.Contains(t, b.stderr.String(), says)
	}
}

func TestApplyOfOneManifestIsAMergeOfIt(t *testing.T) {
	path := stale(t)
	b := &bench{temporal: &fakeTemporal{start: ending(0, available())}}
	require.Equal(t, 0, b.run("apply", "--manifest-file", manifestFile(t, choosable), "--consumer", "cluster-a1", "--manifest-name", "api",
		"--wait=Deployment/api:Available", "--results-path", path), b.stderr.String())
	request := b.temporal.requests[0]
	assert.Equal(t, contract.ActionMerge, request.Action)
	assert.EqualValues(t, 7, request.Generation, "the whole work's")
	assert.Equal(t, "op/maestro-cli/cluster-a1/web/"+request.Part(), request.WorkflowID())
	assert.Equal(t, "success", readResults(t, path).Status)
	assert.JSONEq(t, `{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"web","labels":{"hyperfleet.io/adapter":"np"}},
		"spec":{"workload":{"manifests":[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"api","namespace":"demo"}}]},
		"manifestConfigs":[{"resourceIdentifier":{"group":"apps","resource":"deployments","namespace":"demo","name":"api"},"feedbackRules":[{"type":"WellKnownStatus"}]}]}}`,
		string(request.Work))

	for chosen, says := range map[string]string{"web": "2 manifests are called that", "none": "the files hold ConfigMap/demo/web, Service/demo/web, Deployment.apps/demo/api"} {
		b = &bench{}
		assert.Equal(t, 2, b.run("apply", "--manifest-file", manifestFile(t, choosable), "--consumer", "cluster-a1", "--manifest-name", chosen, "--results-path", stale(t)))
		assert.Contains(t, b.stderr.String(), says)
	}
}

// A work that is applied for one of its manifests must be right as a whole.
func TestApplyOfOneManifestChecksTheWholeFile(t *testing.T) {
	for text, says := range map[string]string{
		strings.Replace(choosable, "namespace: demo, name: web}\n    updateStrategy", "namespace: demo, name: web}\n    updateStrategies", 1): "updateStrategies",
		strings.Replace(choosable, `"7"`, `"seven"`, 1): "seven",
	} {
		b := &bench{}
		assert.Equal(t, 2, b.run("apply", "--manifest-file", manifestFile(t, text), "--consumer", "cluster-a1", "--manifest-name", "api"))
		assert.Contains(t, b.stderr.String(), says)
	}
	b := &bench{}
	assert.Equal(t, 2, b.run("apply", "--manifest-file", manifestFile(t, choosable), "--consumer", "cluster-a1", "--manifest-name", "api", "--generation", "8"))
	assert.Contains(t, b.stderr.String(), "generation 8: the work's annotation hyperfleet.io/generation says 7")
}
