package activities_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// merge of one nodepool with a number of replicas.
func mergePool(pool string, replicas int) contract.CommitParams {
	return contract.Request{
		Source: source, Consumer: consumer, Name: name, Action: contract.ActionMerge,
		Nodepools: json.RawMessage(fmt.Sprintf(`{"nodepools":[{"name":%q,"instanceType":"m5.large","replicas":%d}],"metadata":{"cluster":"west-1","version":"4.17"}}`, pool, replicas)),
	}.Commit(name, 0)
}

func mergeObject(object string) contract.CommitParams {
	return contract.Request{
		Source: source, Consumer: consumer, Name: name, Action: contract.ActionMerge, Manifests: []json.RawMessage{json.RawMessage(object)},
	}.Commit(name, 0)
}

func removeManifest(id string, generation int64) contract.CommitParams {
	return contract.Request{Source: source, Consumer: consumer, Name: name, Action: contract.ActionRemove, Remove: []string{id}}.Commit(name, generation)
}

// replicas of each stored NodePool.
func (s *store) replicas() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, manifest := range s.bundle().Work.Spec.Workload.Manifests {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct{ Replicas json.Number }
		}
		require.NoError(s.t, json.Unmarshal(manifest.Raw, &object))
		if object.Kind == "NodePool" {
			out[object.Metadata.Name] = object.Spec.Replicas.String()
		}
	}
	return out
}

// put stores a bundle of this work, as another tool left it.
func (s *store) put(version int, manifests, more string) {
	s.t.Helper()
	require.NoError(s.t, s.maestro.PutRaw([]byte(fmt.Sprintf(
		`{"id":%q,"kind":"ResourceBundle","name":%q,"consumer_name":%q,"version":%d,"metadata":{"name":%q,"namespace":%q},"manifests":[%s],"manifest_configs":[]%s}`,
		uid, uid, consumer, version, name, consumer, manifests, more)), fakemaestro.OwnedBy(source)))
}

const workersPool = `{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{"name":"workers","namespace":"pools","labels":{"hyperfleet.io/cluster-name":"west-1"}},` +
	`"spec":{"clusterName":"w1","replicas":2,"release":{"image":"registry.example.test/release:4.17.3"}}}`

func TestMergeCreatesAndThenChangesNothing(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation.String(), func(t *testing.T) {
			s := newStore(t, generation)
			s.stores(mergePool("workers", 2), contract.CommitCreated, 1)
			s.stores(mergePool("workers", 2), contract.CommitUnchanged, 1)
			s.stores(mergePool("workers", 3), contract.CommitUpdated, 2)
			assert.Equal(t, map[string]string{"west-1-workers": "3"}, s.replicas())
			assert.Equal(t, 2, s.published())
		})
	}
}

// A set that this server does not take ends at once, with the ways out, and deletes nothing.
func TestMergeOfANewManifestOnAStrictServer(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.put(3, workersPool, "")
	s.refuses(mergePool("gpu", 1), contract.ErrManifestSetImmutable, "1 stored")
	assert.LessOrEqual(t, s.published(), 2)
	for _, publish := range s.maestro.Publishes() {
		assert.Equal(t, "update_request", publish.Action)
		assert.Equal(t, int32(3), publish.Version)
	}
	assert.Equal(t, map[string]string{"workers": "2"}, s.replicas())
	s.stores(mergePool("workers", 5), contract.CommitUpdated, 4)
	assert.Equal(t, map[string]string{"workers": "5"}, s.replicas(), "in place is taken")
}

// Many at once: each attempt reads, merges and swaps; the ones that lose read again.
func TestConcurrentMergesLoseNothing(t *testing.T) {
	const writers = 12
	s := newStore(t, fakemaestro.Loose)
	s.put(1, workersPool, "")
	var group sync.WaitGroup
	for n := range writers {
		group.Go(func() {
			for try := 0; ; try++ {
				_, err := s.commit(mergePool(fmt.Sprintf("pool-%d", n), n))
				if err == nil {
					return
				}
				if contract.TypeOf(err) != contract.ErrVersionConflict || try > 100 {
					assert.NoError(t, err)
					return
				}
			}
		})
	}
	group.Wait()
	want := map[string]string{"workers": "2"}
	for n := range writers {
		want[fmt.Sprintf("pool-%d", n)] = fmt.Sprint(n)
	}
	assert.Equal(t, want, s.replicas())
	accepted := 0
	for _, publish := range s.maestro.Publishes() {
		if publish.Accepted {
			accepted++
		}
	}
	assert.Equal(t, writers, accepted, "one version for each")
}

func TestMergeThatLosesTheRaceIsMergedAgain(t *testing.T) {
	s := newStore(t, fakemaestro.Loose)
	s.put(1, strings.Replace(workersPool, `"w1"`, `"west-1"`, 1), "")
	s.interferes(2, func(n int) contract.CommitParams { return mergePool(fmt.Sprintf("rival-%d", n), n) })
	s.stores(mergePool("mine", 9), contract.CommitUpdated, 4)
	assert.Equal(t, map[string]string{"workers": "2", "rival-1": "1", "rival-2": "2", "mine": "9"}, s.replicas())
}

// The published bytes of what nobody touched are those that were read.
func TestMergePublishesUntouchedManifestsByteForByte(t *testing.T) {
	const quota = `{"zeta":1,"apiVersion":"quota.example.test/v1","kind":"TenantQuota","metadata":{"name":"tenant","namespace":"pools"},` +
		`"spec":{"accountId":9007199254740993,"maxBytes":1234567890123456789,"ratio":0.1,"burst":1e3,"step":1000001,"gone":null,"empty":[],"zero":0,"no":""}}`
	s := newStore(t, fakemaestro.Strict)
	s.put(8, quota+","+workersPool, "")
	s.stores(mergePool("workers", 5), contract.CommitUpdated, 9)
	var sent struct{ Manifests []json.RawMessage }
	require.NoError(t, json.Unmarshal(s.maestro.Publishes()[0].Data, &sent))
	require.Len(t, sent.Manifests, 2)
	assert.Equal(t, quota, string(sent.Manifests[0]))
	assert.Contains(t, string(sent.Manifests[1]), `"clusterName":"w1"`, "what is immutable stays")
	assert.Contains(t, string(sent.Manifests[1]), `"namespace":"pools"`)
	assert.Contains(t, string(sent.Manifests[1]), `registry.example.test/release:4.17.3`)
}

// Maestro's HTTP API does not give the executor back.
func TestMergeKeepsExecutorDeleteOptionAndConfigs(t *testing.T) {
	const spec = `"executor":{"subject":{"type":"ServiceAccount","serviceAccount":{"namespace":"pools","name":"applier"}}},"deleteOption":{"propagationPolicy":"Orphan"},` +
		`"manifestConfigs":[{"resourceIdentifier":{"group":"hypershift.openshift.io","resource":"nodepools","namespace":"pools","name":"workers"},"updateStrategy":{"type":"CreateOnly"}}]`
	for _, generation := range generations {
		t.Run(generation.String(), func(t *testing.T) {
			s := newStore(t, generation)
			params := contract.CommitParams{Action: contract.ActionApply, Consumer: consumer, Name: name, Source: source, Work: json.RawMessage(
				`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"web","labels":{"team":"blue"}},"spec":{"workload":{"manifests":[` +
					workersPool + `]},` + spec + `}}`)}
			s.stores(params, contract.CommitCreated, 1)
			for version := int64(2); version <= 3; version++ {
				s.stores(mergePool("workers", int(version)+3), contract.CommitUpdated, version)
				work := s.bundle().Work
				raw, err := json.Marshal(work.Spec)
				require.NoError(t, err)
				for _, part := range []string{`"propagationPolicy":"Orphan"`, `"CreateOnly"`} {
					assert.Contains(t, string(raw), part)
				}
				publishes := s.maestro.Publishes()
				assert.Contains(t, string(publishes[len(publishes)-1].Data), `"applier"`, "each publish carries the executor")
				assert.Equal(t, "blue", work.Labels["team"])
			}
		})
	}
}

func TestRemovedManifestDoesNotComeBack(t *testing.T) {
	s := newStore(t, fakemaestro.Loose)
	s.put(1, strings.Replace(workersPool, `"w1"`, `"west-1"`, 1), "")
	add := func(generation int64) contract.CommitParams {
		params := mergePool("gpu", 1)
		params.Generation = generation
		return params
	}
	s.stores(add(4), contract.CommitUpdated, 2)
	s.refuses(removeManifest("NodePool.hypershift.openshift.io/pools/gpu", 3), contract.ErrSuperseded, "holds generation 4")
	s.stores(removeManifest("NodePool.hypershift.openshift.io/pools/gpu", 5), contract.CommitUpdated, 3)
	s.stores(removeManifest("NodePool.hypershift.openshift.io/pools/gpu", 5), contract.CommitUnchanged, 3)
	s.refuses(add(4), contract.ErrSuperseded, "was removed at generation 5")
	assert.Equal(t, map[string]string{"workers": "2"}, s.replicas())
	s.stores(add(6), contract.CommitUpdated, 4)
	s.refuses(removeManifest("NodePool", 5), contract.ErrInvalidInput, "give Kind/name")
}

// A merge writes the manifests' generation and leaves the work's alone.
func TestDeletionIsOfAGenerationThatNoManifestExceeds(t *testing.T) {
	s := newStore(t, fakemaestro.Loose)
	params := mergePool("gpu", 1)
	params.Generation = 7
	s.stores(params, contract.CommitCreated, 1)
	deletion := contract.Request{Source: source, Consumer: consumer, Name: name, Action: contract.ActionDelete}
	s.refuses(deletion.Commit(name, 5), contract.ErrSuperseded, "NodePool.hypershift.openshift.io/clusters/west-1-gpu holds generation 7, this deletion is of generation 5")
	assert.Equal(t, map[string]string{"west-1-gpu": "1"}, s.replicas())
	s.stores(deletion.Commit(name, 7), contract.CommitDeleting, 1)
}

func TestRemovalFromAWorkThatIsNotThere(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(removeManifest("ConfigMap/default/a", 0), contract.CommitAbsent, 0)
	params := removeManifest("ConfigMap/default/a", 0)
	params.Consumer = "cluster-zz"
	s.refuses(params, contract.ErrConsumerNotFound, "cluster-zz")
}

func TestMergeRefusesBeforeItWrites(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.put(1, workersPool, "")
	waiting := mergePool("workers", 4)
	waiting.Wait = "Deployment/web:Available"
	s.refuses(waiting, contract.ErrInvalidInput, "the work has no such manifest")
	waiting.Wait = "Applied AND NodePool/workers:Available"
	s.stores(waiting, contract.CommitUpdated, 2)
	s.refuses(mergeObject(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big","namespace":"pools"},"data":{"x":"`+strings.Repeat("x", 500*1024)+`"}}`),
		contract.ErrTooLarge, "the limit is 512000")
	s.refuses(mergeObject(`{"a":1,"a":2}`), contract.ErrInvalidManifest, `"a"`)
	elsewhere := mergeObject(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`)
	elsewhere.Work = json.RawMessage(`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"web","namespace":"cluster-zz"}}`)
	s.refuses(elsewhere, contract.ErrInvalidManifest, `metadata.namespace: "cluster-zz" is not the consumer "cluster-a1"`)
	assert.Equal(t, 1, s.published())
}
