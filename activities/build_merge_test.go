package activities_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func mergeRequest(change func(*contract.Request)) contract.Request {
	request := contract.Request{
		Source: source, Consumer: consumer, Name: name, Action: contract.ActionMerge,
		Manifests: []json.RawMessage{json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"}}`)},
	}
	change(&request)
	return request
}

func TestBuildChecksWhatIsMerged(t *testing.T) {
	request := mergeRequest(func(r *contract.Request) { r.Generation, r.Wait = 4, "Deployment/stored:Available" })
	result, err := build(t, request.WorkflowID(), request)
	require.NoError(t, err, "the condition may mean a manifest that is stored already")
	assert.Equal(t, contract.BuildResult{Name: name, Generation: 4, Manifests: []string{"ConfigMap/n/a"}}, result)

	pools := func(config string) contract.Request {
		return mergeRequest(func(r *contract.Request) { r.Name, r.Manifests, r.Nodepools = "", nil, json.RawMessage(config) })
	}
	request = pools(`{"nodepools":[{"name":"workers","instanceType":"m5.large","replicas":0}],"metadata":{"cluster":"west-1","version":"4.17"}}`)
	result, err = build(t, request.WorkflowID(), request)
	require.NoError(t, err)
	assert.Equal(t, "west-1-nodepool-workers", result.Name)

	for says, request := range map[string]contract.Request{
		"replica": pools(`{"nodepools":[{"name":"workers","instanceType":"m5.large","replica":3}],"metadata":{"cluster":"west-1","version":"4.17"}}`),
		"nodepoolTemplate": mergeRequest(func(r *contract.Request) {
			r.Nodepools = json.RawMessage(`{"nodepools":[{"name":"workers","instanceType":"m5.large","replicas":3}],"metadata":{"cluster":"west-1","version":"4.17"}}`)
			r.NodepoolTemplate = "kind: {{ .Nothing }}"
		}),
		"metadata.name": mergeRequest(func(r *contract.Request) {
			r.Manifests = []json.RawMessage{json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap"}`)}
		}),
		"generation 4: manifests are of generation 3": mergeRequest(func(r *contract.Request) {
			r.Generation = 4
			r.Manifests = []json.RawMessage{json.RawMessage(`{"apiVersion":"v1","kind":"A","metadata":{"name":"a","annotations":{"hyperfleet.io/generation":"3"}}}`)}
		}),
		"give Kind/name": mergeRequest(func(r *contract.Request) {
			r.Action, r.Manifests, r.Remove = contract.ActionRemove, nil, []string{"workers"}
		}),
		"position 1": mergeRequest(func(r *contract.Request) { r.Wait = "OR" }),
	} {
		_, err := build(t, request.WorkflowID(), request)
		require.Error(t, err, says)
		assert.ErrorContains(t, err, says)
		assert.Contains(t, []contract.ErrorType{contract.ErrInvalidInput, contract.ErrInvalidManifest}, contract.TypeOf(err))
		assert.False(t, retried(t, err))
	}
}
