package contract_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func merge(change func(*contract.Request)) contract.Request {
	request := contract.Request{Source: "s", Consumer: "c1", Action: contract.ActionMerge, Name: "shared"}
	change(&request)
	return request
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

const (
	configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"},"data":{"x":"y"}}`
	onePool   = `{"nodepools":[{"name":"workers","instanceType":"m5.large","replicas":3}],"metadata":{"cluster":"west-1","version":"4.17"}}`
	twoPools  = `{"nodepools":[{"name":"workers"},{"name":"gpu"}],"metadata":{"cluster":"west-1"}}`
)

// of is a manifest of another name, with a generation.
func of(manifest, name string, generation int) json.RawMessage {
	return raw(strings.Replace(manifest, `"name":"a"`, fmt.Sprintf(`"name":%q,"annotations":{%q:"%d"}`, name, contract.AnnotationGeneration, generation), 1))
}

// A merge whose manifests carry their generation is as old as they are: an older one must not stop a newer one that runs.
func TestGenerationOfAMergeIsThatOfItsManifests(t *testing.T) {
	request := func(generation int) contract.Request {
		return merge(func(r *contract.Request) { r.Manifests = []json.RawMessage{of(configMap, "a", generation)} })
	}
	generation, err := request(7).EffectiveGeneration()
	require.NoError(t, err)
	assert.Equal(t, int64(7), generation)
	assert.Equal(t, contract.StandingOlder, contract.Compare(request(7), request(6)))
	assert.Equal(t, contract.StandingNewer, contract.Compare(request(7), request(8)))
	in := merge(func(r *contract.Request) {
		r.Work = raw(`{"metadata":{"name":"x"},"spec":{"workload":{"manifests":[` + string(of(configMap, "a", 7)) + `]}}}`)
	})
	require.NoError(t, in.Check())
	generation, err = in.EffectiveGeneration()
	require.NoError(t, err)
	assert.Equal(t, int64(7), generation)

	given := merge(func(r *contract.Request) {
		r.Generation, r.Manifests = 7, []json.RawMessage{of(configMap, "a", 7), raw(strings.Replace(configMap, `"a"`, `"b"`, 1))}
	})
	assert.NoError(t, given.Check(), "given, those without one get it")
	given.Generation = 8
	_, err = given.EffectiveGeneration()
	assert.ErrorContains(t, err, "generation 8: manifests are of generation 7")

	mixed := func(own int64, second json.RawMessage) (int64, error) {
		r := request(7)
		r.Generation, r.Manifests = own, append(r.Manifests, second)
		return r.EffectiveGeneration()
	}
	none := raw(strings.Replace(configMap, `"a"`, `"b"`, 1))
	_, err = mixed(0, none)
	assert.ErrorContains(t, err, "give generation 7 for all")
	generation, err = mixed(7, none)
	require.NoError(t, err)
	assert.Equal(t, int64(7), generation)
	_, err = mixed(0, of(configMap, "b", 4))
	assert.ErrorContains(t, err, "of different generations (4, 7): merge them one by one")
	for _, own := range []int64{4, 7, 8} {
		_, err = mixed(own, of(configMap, "b", 4))
		assert.ErrorContains(t, err, "manifests are of generation", own)
	}
}

// A nodepool's own work is written as a whole by its merge, so that its delete is an operation of the same work.
func TestMergeAndDeleteOfANodepoolsOwnWorkExcludeEachOther(t *testing.T) {
	pool := merge(func(r *contract.Request) { r.Name, r.Nodepools = "", raw(onePool) })
	require.NoError(t, pool.Check())
	deletion := contract.Request{Source: "s", Consumer: "c1", Action: contract.ActionDelete, Name: pool.WorkName()}
	assert.Equal(t, "op/s/c1/west-1-nodepool-workers", pool.WorkflowID())
	assert.Equal(t, pool.WorkflowID(), deletion.WorkflowID())
	assert.Empty(t, pool.Part())

	shared := merge(func(r *contract.Request) {
		r.Name, r.Nodepools, r.Granularity = "", raw(onePool), contract.GranularityAdapter
	})
	assert.Equal(t, "op/s/c1/hyperfleet-west-1-nodepool/west-1.workers", shared.WorkflowID())
	named := merge(func(r *contract.Request) { r.Name, r.Nodepools = shared.WorkName(), raw(onePool) })
	assert.Equal(t, shared.WorkflowID(), named.WorkflowID(), "whoever gives the name")
	named.Name = pool.WorkName()
	assert.Equal(t, pool.WorkflowID(), named.WorkflowID())
	both := merge(func(r *contract.Request) {
		r.Name, r.Nodepools, r.Manifests = "", raw(onePool), []json.RawMessage{raw(configMap)}
	})
	assert.Equal(t, pool.WorkflowID(), both.WorkflowID(), "whatever else goes into it")
}

// Requests for the same part share an operation, so that the newer takes over; others do not, so that none is lost.
func TestMergesOfDifferentPartsAreDifferentOperations(t *testing.T) {
	ids := map[string]string{}
	for name, change := range map[string]func(*contract.Request){
		"one pool":          func(r *contract.Request) { r.Nodepools = raw(onePool) },
		"another cluster's": func(r *contract.Request) { r.Nodepools = raw(strings.Replace(onePool, "west-1", "east-2", 1)) },
		"two pools":         func(r *contract.Request) { r.Nodepools = raw(twoPools) },
		"a manifest":        func(r *contract.Request) { r.Manifests = []json.RawMessage{raw(configMap)} },
		"another group": func(r *contract.Request) {
			r.Manifests = []json.RawMessage{raw(strings.Replace(configMap, "v1", "g/v1", 1))}
		},
		"another namespace": func(r *contract.Request) {
			r.Manifests = []json.RawMessage{raw(strings.Replace(configMap, `"n"`, `"m"`, 1))}
		},
		"a pool like it": func(r *contract.Request) { r.Nodepools = raw(strings.Replace(onePool, "workers", "configmap", 1)) },
		"with a pool":    func(r *contract.Request) { r.Manifests, r.Nodepools = []json.RawMessage{raw(configMap)}, raw(onePool) },
		"replace":        func(r *contract.Request) { r.Nodepools, r.Strategy = raw(onePool), contract.StrategyReplace },
		"replace of a kind": func(r *contract.Request) {
			r.Manifests, r.Strategy = []json.RawMessage{raw(configMap)}, contract.StrategyReplace
		},
		"of another kind": func(r *contract.Request) {
			r.Manifests, r.Strategy = []json.RawMessage{raw(strings.Replace(configMap, "ConfigMap", "Service", 1))}, contract.StrategyReplace
		},
		"replace of another": func(r *contract.Request) {
			r.Nodepools, r.Strategy, r.Adapter = raw(onePool), contract.StrategyReplace, "dns"
		},
		"removal":        func(r *contract.Request) { r.Action, r.Remove = contract.ActionRemove, []string{"ConfigMap/n/other"} },
		"the whole work": func(r *contract.Request) { r.Action = contract.ActionDelete },
	} {
		request := merge(change)
		require.NoError(t, request.Check(), name)
		id := request.WorkflowID()
		assert.Empty(t, ids[id], "%s has the ID of %s", name, ids[id])
		ids[id] = name
		parsed, err := contract.ParseOperationID(id)
		require.NoError(t, err)
		assert.Equal(t, contract.ParsedID{Source: "s", Consumer: "c1", Work: "shared", Part: request.Part()}, parsed)
	}
	assert.Equal(t, "op/s/c1/shared/west-1.workers", merge(func(r *contract.Request) { r.Nodepools = raw(onePool) }).WorkflowID())
	assert.Regexp(t, `^op/s/c1/shared/configmap\.a\.[0-9a-f]{12}$`, merge(func(r *contract.Request) { r.Manifests = []json.RawMessage{raw(configMap)} }).WorkflowID())
}

func TestPartDoesNotDependOnContentOrderOrAPIVersion(t *testing.T) {
	other := strings.Replace(configMap, `"a"`, `"b"`, 1)
	first := merge(func(r *contract.Request) { r.Manifests = []json.RawMessage{raw(configMap), raw(other)} })
	second := merge(func(r *contract.Request) {
		r.Manifests = []json.RawMessage{raw(other), raw(strings.NewReplacer("v1", "v2", `"y"`, `"z"`).Replace(configMap))}
	})
	assert.Equal(t, first.WorkflowID(), second.WorkflowID())
	assert.NotEqual(t, first.ContentDigest(), second.ContentDigest())
	inWork := merge(func(r *contract.Request) {
		r.Work = raw(`{"metadata":{"name":"x"},"spec":{"workload":{"manifests":[` + other + `]}}}`)
		r.Manifests = []json.RawMessage{raw(configMap)}
	})
	assert.Equal(t, first.WorkflowID(), inWork.WorkflowID(), "a merge's name takes the place of the work's own")
}

func TestNodepoolsNameTheirWorkByGranularity(t *testing.T) {
	for granularity, name := range map[contract.Granularity]string{
		"":                           "west-1-nodepool-workers",
		contract.GranularityResource: "west-1-nodepool-workers",
		contract.GranularityAdapter:  "hyperfleet-west-1-nodepool",
		contract.GranularityCluster:  "hyperfleet-west-1",
	} {
		request := merge(func(r *contract.Request) { r.Name, r.Nodepools, r.Granularity = "", raw(onePool), granularity })
		require.NoError(t, request.Check())
		assert.Equal(t, name, request.WorkName(), "%s", granularity)
		assert.Equal(t, contract.DefaultAdapter, request.Owner())
	}
}

func TestCheckRefusesWhatDoesNotBelongToAMerge(t *testing.T) {
	for says, change := range map[string]func(*contract.Request){
		"manifests: give manifests, nodepools or a work to merge": func(*contract.Request) {},
		`strategy "swap": give merge or replace`:                  func(r *contract.Request) { r.Nodepools, r.Strategy = raw(onePool), "swap" },
		"strategy: only for action merge":                         func(r *contract.Request) { r.Action, r.Strategy = contract.ActionDelete, "replace" },
		"2 nodepools and granularity resource":                    func(r *contract.Request) { r.Name, r.Nodepools = "", raw(twoPools) },
		"name: required for merge":                                func(r *contract.Request) { r.Name, r.Manifests = "", []json.RawMessage{raw(configMap)} },
		"nodepools: not a nodepool config":                        func(r *contract.Request) { r.Name, r.Nodepools = "", raw(`[]`) },
		`granularity "room": want`:                                nil,
		"granularity \"cluster\": the name \"shared\" says":       func(r *contract.Request) { r.Nodepools, r.Granularity = raw(onePool), contract.GranularityCluster },
		"nodepoolTemplate: only with nodepools":                   func(r *contract.Request) { r.Manifests, r.NodepoolTemplate = []json.RawMessage{raw(configMap)}, "x" },
		"nodepoolTemplate: 70000 bytes, the limit is 65536":       func(r *contract.Request) { r.Nodepools, r.NodepoolTemplate = raw(onePool), strings.Repeat("x", 70000) },
		"remove: give the manifests":                              func(r *contract.Request) { r.Action = contract.ActionRemove },
		"remove: only for action remove":                          func(r *contract.Request) { r.Nodepools, r.Remove = raw(onePool), []string{"A/b"} },
		"name: required for remove":                               func(r *contract.Request) { r.Action, r.Name, r.Remove = contract.ActionRemove, "", []string{"A/b"} },
		"adapter \"a b\": give a label value":                     func(r *contract.Request) { r.Nodepools, r.Adapter = raw(onePool), "a b" },
		"adapter: only for actions":                               func(r *contract.Request) { r.Action, r.Adapter = contract.ActionWait, "a" },
		"manifests[1]: a list: give its items":                    func(r *contract.Request) { r.Manifests = []json.RawMessage{raw(configMap), raw(`[` + configMap + `]`)} },
		"manifests[0]: a list: give its items": func(r *contract.Request) {
			r.Manifests = []json.RawMessage{raw(`{"apiVersion":"v1","kind":"List","items":[` + configMap + `]}`)}
		},
		"manifests[0]: a list: give": func(r *contract.Request) {
			r.Manifests = []json.RawMessage{raw(`{"kind":"ConfigMapList","metadata":{},"items":[` + configMap + `]}`)}
		},
		"manifests[0]: not a Kubernetes object": func(r *contract.Request) { r.Manifests = []json.RawMessage{raw(`"text"`)} },
		"work: its manifest 0 is a list": func(r *contract.Request) {
			r.Work = raw(`{"metadata":{"name":"x"},"spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"List","items":[]}]}}}`)
		},
		"the limit is 1048576": func(r *contract.Request) {
			r.Manifests = []json.RawMessage{raw(`"` + strings.Repeat("x", contract.MaxWorkBytes) + `"`)}
		},
	} {
		request := merge(func(r *contract.Request) {
			if change == nil {
				r.Name, r.Nodepools, r.Granularity = "", raw(onePool), "room"
				return
			}
			change(r)
		})
		assert.ErrorContains(t, request.Check(), says)
	}
}

func TestSecretsAreRefusedBeforeTheyReachAHistory(t *testing.T) {
	const sentinel = "c2VudGluZWw="
	secret := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"n"},"data":{"x":"` + sentinel + `"}}`
	for name, sample := range map[string]struct {
		content string
		refused bool
	}{
		"a Secret":              {secret, true},
		"in a list":             {`{"apiVersion":"v1","kind":"Bundle","items":[` + secret + `]}`, true},
		"in another object":     {`{"kind":"Template","objects":[{"spec":` + secret + `}]}`, true},
		"in a list of one kind": {`{"kind":"Bundle","inner":{"kind":"SecretList","items":[{"metadata":{"name":"s","namespace":"n"},"data":{"x":"` + sentinel + `"}}]}}`, true},
		"in lists of lists":     {`{"kind":"Bundle","inner":{"kind":"SecretList","items":[{"kind":"SecretList","items":[{"metadata":{"name":"s","namespace":"n"},"data":{"x":"` + sentinel + `"}}]}]}}`, true},
		"escaped":               {strings.Replace(secret, `"Secret"`, `"\u0053ecret"`, 1), true},
		"without content":       {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{}}`, false},
		"a reference to one":    {`{"kind":"ServiceAccount","imagePullSecrets":[{"kind":"Secret","name":"x"}]}`, false},
		"a text":                {`{"kind":"ConfigMap","data":{"x":"kind: Secret\ndata: {a: b}"}}`, false},
	} {
		request := merge(func(r *contract.Request) { r.Manifests = []json.RawMessage{raw(sample.content)} })
		whole := contract.Request{Source: "s", Consumer: "c1", Work: raw(`{"metadata":{"name":"w"},"spec":{"workload":{"manifests":[` + sample.content + `]}}}`)}
		for _, request := range []contract.Request{request, whole} {
			err := request.Check()
			if !sample.refused {
				assert.NoError(t, err, name)
				continue
			}
			assert.ErrorContains(t, err, "Secret/n/s: payloads are not encrypted", name)
			assert.NotContains(t, err.Error(), sentinel)
			request.AllowPlaintextSecrets = true
			assert.NoError(t, request.Check(), name)
		}
	}
}

func TestPartsOfFieldsAndOwners(t *testing.T) {
	fields := func(spec string) contract.Request {
		return merge(func(r *contract.Request) { r.Work = raw(`{"metadata":{"name":"x"},"spec":` + spec + `}`) })
	}
	orphan, executor := fields(`{"deleteOption":{"propagationPolicy":"Orphan"}}`), fields(`{"executor":{"subject":{"type":"ServiceAccount"}}}`)
	assert.NotEqual(t, orphan.WorkflowID(), executor.WorkflowID(), "none takes the other's place")
	assert.Regexp(t, `^op/s/c1/shared/fields\.[0-9a-f]{12}$`, orphan.WorkflowID())

	replace := func(manifest string) contract.Request {
		return merge(func(r *contract.Request) {
			r.Strategy = contract.StrategyReplace
			r.Work = raw(`{"metadata":{"name":"x","labels":{"hyperfleet.io/adapter":"np"}},"spec":{"workload":{"manifests":[` + manifest + `]}}}`)
		})
	}
	assert.Equal(t, replace(configMap).WorkflowID(), replace(strings.Replace(configMap, "ConfigMap", "Service", 1)).WorkflowID(), "all that the owner has")
	other := merge(func(r *contract.Request) {
		r.Manifests = []json.RawMessage{raw(strings.Replace(configMap, `"name":"a"`, `"name":"a","Name":"b"`, 1))}
	})
	assert.Equal(t, merge(func(r *contract.Request) { r.Manifests = []json.RawMessage{raw(configMap)} }).WorkflowID(), other.WorkflowID())
}

// What a template makes of its text stands in the history with it.
func TestTemplatesOfSecretsAreRefused(t *testing.T) {
	for template, refused := range map[string]bool{
		"kind: Secret\nstringData: {a: b}":      true,
		"  \"kind\" : 'Secret'\ndata: {a: b}":   true,
		"{kind: Secret, data: {}}":              true,
		`{"apiVersion":"v1","kind":"Secret"}`:   true,
		"kind: NodePool\nspec: {pullSecret: x}": false,
		"kind: SecretStore\n":                   false,
		"kind: !!str Secret\n":                  true,
		"kind: >-\n  Secret\n":                  true,
		"kind: \"Sec\\\n  ret\"\n":              true,
		`kind: {{ printf "%s%s" "Sec" "ret" }}`: true,
		"x: &k !!str S\nkind: *k\n":             true,
		`kind: "\u0053ecret"`:                   true,
		`kind: {{ "Secret" }}`:                  true,
	} {
		request := merge(func(r *contract.Request) { r.Nodepools, r.NodepoolTemplate = raw(onePool), template })
		if refused {
			assert.ErrorContains(t, request.Check(), "nodepoolTemplate: it may make a Secret: payloads are not encrypted", template)
		} else {
			assert.NoError(t, request.Check(), template)
		}
		request.AllowPlaintextSecrets = true
		assert.NoError(t, request.Check(), template)
	}
}

func TestRemovalIsAnOperationOnTheSamePartAsTheMerge(t *testing.T) {
	for object, text := range map[string]string{
		configMap: "ConfigMap/n/a",
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"n"}}`:              "Deployment.apps/n/a",
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a"}}`:        "ClusterRole.rbac.authorization.k8s.io/a",
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"system:a"}}`: "ClusterRole.rbac.authorization.k8s.io/system:a",
	} {
		merged := merge(func(r *contract.Request) { r.Manifests = []json.RawMessage{raw(object)} })
		removed := merge(func(r *contract.Request) { r.Action, r.Remove = contract.ActionRemove, []string{text} })
		assert.Equal(t, merged.WorkflowID(), removed.WorkflowID())
		assert.NotEqual(t, merged.ContentDigest(), removed.ContentDigest())
	}
	for _, odd := range []string{"", "/", "a", "a/b/c/d/e"} {
		assert.NotPanics(t, func() {
			merge(func(r *contract.Request) { r.Action, r.Remove = contract.ActionRemove, []string{odd} }).WorkflowID()
		})
	}
}

// Nodepools have one owner, whoever merges or removes them.
func TestOwnerOfARemoval(t *testing.T) {
	for owner, request := range map[string]contract.Request{
		contract.DefaultAdapter: {Remove: []string{"NodePool.hypershift.openshift.io/clusters/w"}},
		"":                      {Remove: []string{"NodePool.hypershift.openshift.io/clusters/w", "ConfigMap/n/a"}},
		"np":                    {Adapter: "np", Remove: []string{"NodePool.hypershift.openshift.io/clusters/w"}},
	} {
		request.Action = contract.ActionRemove
		assert.Equal(t, owner, request.Owner())
	}
}
