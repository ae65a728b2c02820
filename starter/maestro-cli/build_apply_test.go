package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// requested runs a command whose operations succeed, and gives the requests by their work's name.
func requested(t *testing.T, arguments ...string) []contract.Request {
	t.Helper()
	b := &bench{temporal: &fakeTemporal{start: ending(0, available())}}
	require.Equal(t, 0, b.run(arguments...), b.stderr.String())
	slices.SortFunc(b.temporal.requests, func(a, c contract.Request) int { return strings.Compare(a.WorkName(), c.WorkName()) })
	return b.temporal.requests
}

func TestBuildApplyStartsAMergeWithItsParts(t *testing.T) {
	const extra = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"extra","namespace":"demo"},"data":{"b":"2"}}`
	object, work := manifestFile(t, objectYAML), manifestFile(t, workYAML)
	requests := requested(t, buildOf("--apply", "--name", "web", "--resource-file", object, "--adapter", "mine", "--generation", "7", "--force",
		"--wait", "--timeout", "9m", "--patience", "2m", "--grace", "1m", "--allow-plaintext-secrets")...)
	assert.Equal(t, []contract.Request{{
		Source: "maestro-cli", Consumer: "cluster-a1", Action: contract.ActionMerge, Name: "web", Manifests: []json.RawMessage{json.RawMessage(extra)},
		Adapter: "mine", Generation: 7, Force: true, Wait: "Available", Timeout: "9m", Patience: "2m", Grace: "1m", AllowPlaintextSecrets: true,
	}}, requests)

	requests = requested(t, buildOf("--apply", "--source-file", work, "--resource-file", object, "--strategy", "replace", "--source-id", "hyperfleet")...)
	require.Len(t, requests, 1)
	assert.Equal(t, contract.StrategyReplace, requests[0].Strategy)
	assert.Equal(t, "web", requests[0].WorkName())
	assert.Equal(t, "hyperfleet", requests[0].Source)
	assert.Contains(t, string(requests[0].Work), `"name":"web"`)
	assert.Equal(t, []json.RawMessage{json.RawMessage(extra)}, requests[0].Manifests)
	assert.Empty(t, requests[0].Wait)

	b := &bench{stdin: objectYAML, temporal: &fakeTemporal{start: ending(0, available())}}
	require.Equal(t, 0, b.run(buildOf("--apply", "--name", "web", "--resource-file", "-", "--strategy", "merge")...), b.stderr.String())
	assert.Empty(t, b.temporal.requests[0].Strategy, "the default is not spelt out, so that both spellings attach to each other")
}

func TestBuildApplyNamesTheWorksOfNodepoolsByGranularity(t *testing.T) {
	pools, object := manifestFile(t, twoPools), manifestFile(t, objectYAML)
	for name, sample := range map[string]struct {
		more  []string
		names []string
		parts []string
	}{
		"by default": {nil, []string{"west-1-nodepool-gpu", "west-1-nodepool-workers"}, nil},
		"resource":   {[]string{"--granularity", "resource", "--adapter", "np"}, []string{"west-1-np-gpu", "west-1-np-workers"}, nil},
		"adapter":    {[]string{"--granularity", "adapter"}, []string{"hyperfleet-west-1-nodepool"}, []string{"2-objects."}},
		"cluster":    {[]string{"--granularity", "cluster", "--source-file", object}, []string{"hyperfleet-west-1"}, []string{"3-objects."}},
		"a name":     {[]string{"--name", "shared", "--resource-file", object}, []string{"shared"}, []string{"3-objects."}},
		"a work":     {[]string{"--source-file", manifestFile(t, workYAML)}, []string{"web"}, []string{"3-objects."}},
		"one of it":  {[]string{"--granularity", "adapter", "--manifest-name", "gpu"}, []string{"hyperfleet-west-1-nodepool"}, []string{"west-1.gpu"}},
	} {
		t.Run(name, func(t *testing.T) {
			requests := requested(t, append(buildOf("--apply", "--nodepool-file", pools), sample.more...)...)
			var names []string
			for index, request := range requests {
				names = append(names, request.WorkName())
				if sample.parts == nil {
					assert.Empty(t, request.Part(), "the work is the nodepool's own")
				} else {
					assert.True(t, strings.HasPrefix(request.Part(), sample.parts[index]), request.Part())
				}
				assert.NoError(t, request.Check())
				assert.Empty(t, request.Generation)
			}
			assert.Equal(t, sample.names, names)
		})
	}
	template := manifestFile(t, "apiVersion: hypershift.openshift.io/v1beta1\nkind: NodePool\nmetadata: {name: {{ .Name }}, namespace: pools}\nspec: {replicas: {{ .Replicas }}}\n")
	assert.Contains(t, requested(t, buildOf("--apply", "--nodepool-file", manifestFile(t, onePool), "--nodepool-template", template)...)[0].NodepoolTemplate, "namespace: pools")
}

// Works that share nothing run side by side: none waits for the other's end.
func TestBuildApplyRunsSeveralWorksAtOnce(t *testing.T) {
	path, pools, b := stale(t), manifestFile(t, twoPools), &bench{}
	synctest.Test(t, func(t *testing.T) { // which ends if one of them waits for ever
		var both sync.WaitGroup
		both.Add(2)
		b.temporal = &fakeTemporal{start: func(ctx context.Context, request contract.Request) (operation, error) {
			both.Done()
			both.Wait()
			return ending(time.Minute, available())(ctx, request)
		}}
		began := time.Now()
		require.Equal(t, 0, b.run(buildOf("--apply", "--wait", "--nodepool-file", pools, "--output=json", "--results-path", path)...), b.stderr.String())
		assert.Equal(t, time.Minute, time.Since(began))
	})
	got := readResults(t, path)
	assert.Equal(t, "success", got.Status)
	document := b.document(t)
	for _, text := range []string{document["manifestWorkName"].(string), document["message"].(string), got.Message} {
		assert.Contains(t, text, "west-1-nodepool-workers")
		assert.Contains(t, text, "west-1-nodepool-gpu")
	}
	said := strings.Join(b.said(), "\n")
	assert.Contains(t, said, "west-1-nodepool-workers: operation op/maestro-cli/cluster-a1/west-1-nodepool-workers: started")
	assert.Contains(t, said, "west-1-nodepool-gpu: operation op/")
}

func TestBuildApplyFailsAsTheWorkThatFails(t *testing.T) {
	for reason, code := range map[contract.ErrorType]int{contract.ErrWaitTimeout: 3, contract.ErrSuperseded: 4, contract.ErrUnavailable: 5, contract.ErrManifestSetImmutable: 1} {
		for _, pool := range []string{"workers", "gpu"} {
			for _, how := range []string{"in the end", "at the start"} {
				path := stale(t)
				start := func(ctx context.Context, request contract.Request) (operation, error) {
					result := contract.StatusResult{Status: contract.StatusFailed, Reason: string(reason), Message: "what went wrong"}
					switch {
					case !strings.HasSuffix(request.WorkName(), pool):
						result = available()
					case how == "at the start":
						return operation{}, contract.Errorf(reason, "what went wrong")
					}
					return ending(0, result)(ctx, request)
				}
				b := &bench{temporal: &fakeTemporal{start: start}}
				assert.Equal(t, code, b.run(buildOf("--apply", "--nodepool-file", manifestFile(t, twoPools), "--results-path", path)...), b.stderr.String())
				got := readResults(t, path)
				assert.Equal(t, []string{"failure", string(reason)}, []string{got.Status, got.Reason})
				last := b.said()[len(b.said())-1]
				for _, text := range []string{got.Message, last} {
					assert.Contains(t, text, "1 of 2 works failed")
					assert.Contains(t, text, "west-1-nodepool-"+pool+": "+string(reason)+": what went wrong")
					assert.Contains(t, text, "Available is True for version 1", "the other one is named, too")
				}
				assert.Contains(t, last, contract.Rules[reason].Act)
			}
		}
	}
}

func TestBuildApplyStartsNothingUnlessEveryWorkIsRight(t *testing.T) {
	path := stale(t)
	pools := strings.Replace(twoPools, `"gpu"`, `"`+strings.Repeat("g", 70)+`"`, 1)
	b := &bench{}
	assert.Equal(t, 2, b.run(buildOf("--apply", "--nodepool-file", manifestFile(t, pools), "--results-path", path)...))
	assert.Equal(t, "failure", readResults(t, path).Status)
}

func TestBuildApplyDetached(t *testing.T) {
	path := stale(t)
	b := &bench{temporal: &fakeTemporal{start: never}}
	require.Equal(t, 0, b.run(buildOf("--apply", "--detach", "--nodepool-file", manifestFile(t, twoPools), "--output=json", "--results-path", path)...), b.stderr.String())
	assert.Equal(t, "Running", b.document(t)["reason"])
	assert.NoFileExists(t, path)
	assert.Equal(t, 2, strings.Count(b.stderr.String(), "attach again"))
}

func TestFlagsOfRecreationAndDeletionReachTheRequest(t *testing.T) {
	pool := manifestFile(t, onePool)
	assert.Equal(t, contract.OnImmutableRecreate, requested(t, buildOf("--apply", "--nodepool-file", pool, "--on-immutable", "recreate")...)[0].OnImmutable)
	work := manifestFile(t, workYAML)
	assert.Equal(t, contract.OnImmutableRecreate, requested(t, "apply", "--manifest-file", work, "--consumer", "cluster-a1", "--on-immutable=recreate")[0].OnImmutable)
	deletion := requested(t, "delete", "--name", "web", "--consumer", "cluster-a1", "--orphan", "--adapter", "np", "--force")[0]
	assert.True(t, deletion.Orphan)
	assert.True(t, deletion.Force)
	assert.Equal(t, "np", deletion.Adapter)

	b := &bench{}
	assert.Equal(t, 2, b.run(buildOf("--apply", "--nodepool-file", pool, "--on-immutable", "maybe")...))
	assert.Contains(t, b.stderr.String(), `onImmutable "maybe": give fail or recreate`)
	b = &bench{maestro: storing(t, storedYAML)}
	b.run(buildOf("--dry-run", "--name", "web", "--resource-file", manifestFile(t, objectYAML), "--on-immutable", "recreate")...)
	assert.Contains(t, b.stderr.String(), "the work is deleted without its objects and created again")
}
