package manifest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"
	"pgregory.net/rapid"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// drawManifests draws manifests with different identities, out of few, so that sets overlap.
func drawManifests(t *rapid.T, label string, least int) []workv1.Manifest {
	names := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), least, 8, rapid.ID).Draw(t, label)
	var manifests []workv1.Manifest
	for _, name := range names {
		kind := []string{"NodePool", "ConfigMap"}[name%2]
		value := rapid.SampledFrom([]string{`1`, `1e3`, `9007199254740993`, `null`, `[]`, `{"z":0,"a":[null]}`, `"text"`}).Draw(t, "value")
		manifest := manifestOf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":"n%d","namespace":"pools"},"spec":%s}`, kind, name, value)
		if generation := rapid.Int64Range(0, 3).Draw(t, "generation"); generation > 0 {
			manifest.Raw, _ = withGeneration(manifest.Raw, generation)
		}
		manifests = append(manifests, manifest)
	}
	return manifests
}

// drawNodepools draws a config of pools whose objects may have the same names, and a template with names of its own.
func drawNodepools(t *rapid.T) (string, func([]workv1.Manifest) ([]workv1.Manifest, error)) {
	cluster := rapid.SampledFrom([]string{"a1", "a1-w", strings.Repeat("c", 60)}).Draw(t, "cluster")
	name := rapid.SampledFrom([]string{"{{.Name}}", "np-{{.Name}}", "{{.Pool.Name}}-{{.Zone}}"}).Draw(t, "template")
	template := DefaultNodepoolTemplate()
	if name != "{{.Name}}" || rapid.Bool().Draw(t, "bare") {
		template, _ = ParseNodepoolTemplate("own.tmpl", []byte(fmt.Sprintf(bareTemplate, name)))
	}
	config := &NodepoolConfig{Metadata: NodepoolMetadata{Cluster: cluster, Version: "4.17"}}
	for _, pool := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"w", "w-a", "v"}), 1, 2, rapid.ID).Draw(t, "pools") {
		replicas := rapid.Int64Range(0, 4).Draw(t, "replicas")
		zones := rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b"}}).Draw(t, "zones")
		config.Nodepools = append(config.Nodepools, Nodepool{Name: pool, InstanceType: "m", Replicas: &replicas, Zones: zones})
	}
	return cluster, func(stored []workv1.Manifest) ([]workv1.Manifest, error) { return config.Render(template, stored) }
}

func drawPart(t *rapid.T, label string, least int) Part {
	part := Part{
		Work:       partWork(drawManifests(t, label, least)...),
		Owner:      rapid.SampledFrom([]string{"", "np", "dns"}).Draw(t, "owner"),
		Generation: rapid.Int64Range(0, 3).Draw(t, "of"),
		Strategy:   rapid.SampledFrom([]contract.Strategy{"", contract.StrategyMerge, contract.StrategyReplace}).Draw(t, "strategy"),
		Force:      rapid.Bool().Draw(t, "force"),
	}
	if rapid.Bool().Draw(t, "renders") {
		part.Cluster, part.Render = drawNodepools(t)
	}
	if rapid.Bool().Draw(t, "removes") {
		for _, manifest := range drawManifests(t, "remove", 0) {
			id, _ := Identify(manifest)
			if !slices.ContainsFunc(part.Work.Spec.Workload.Manifests, func(m workv1.Manifest) bool { other, _ := Identify(m); return other == id }) {
				part.Remove = append(part.Remove, id)
			}
		}
	}
	return part
}

func generations(work *workv1.ManifestWork) map[Identity]int64 {
	list, _ := readTombstones(work)
	out := map[Identity]int64{}
	for _, manifest := range work.Spec.Workload.Manifests {
		id, _ := Identify(manifest)
		out[id] = max(generationOf(manifest), list.of(id))
	}
	return out
}

func TestMergeIsIdempotentAndMonotone(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		stored := storedWork(drawManifests(t, "stored", 1)...)
		for range rapid.IntRange(0, 3).Draw(t, "merged before") {
			if merged, err := Merge(stored, drawPart(t, "before", 0)); err == nil {
				stored = &Stored{ID: "id", Consumer: "c1", Version: 3, Work: merged.Work}
			}
		}
		part := drawPart(t, "part", 0)
		write, work, err := merge(stored, part)
		if err != nil {
			return
		}
		accepted++
		if write == WriteNothing {
			require.True(t, Same(stored.Work, work))
		}
		after := &Stored{ID: "id", Consumer: "c1", Version: 4, Work: work}
		again, same, err := merge(after, part)
		require.NoError(t, err, "merging twice is not refused")
		assert.Equal(t, WriteNothing, again)
		assert.Equal(t, raws(work), raws(same), "merge(merge(x,y),y) = merge(x,y)")
		list, err := readTombstones(work)
		require.NoError(t, err)
		now := generations(work)
		for id, generation := range generations(stored.Work) {
			require.GreaterOrEqual(t, max(now[id], list.of(id)), generation, "%s: its generation never decreases, and is kept when it goes", id)
		}
	})
	assert.NotZero(t, accepted)
}

func TestMergeOfDisjointPartsGivesTheSameSetInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawManifests(t, "parts", 1)
		stored := storedWork(manifestOf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"pools"}}`))
		var parts []Part
		for _, manifest := range all {
			parts = append(parts, Part{Work: partWork(manifest), Generation: 2, Force: true})
		}
		sorted := func(parts []Part) []string {
			out := raws(mergeAll(t, stored, parts...).Work)
			slices.Sort(out)
			return out
		}
		want := sorted(parts)
		shuffled := rapid.Permutation(parts).Draw(t, "order")
		assert.Equal(t, want, sorted(shuffled))
	})
}

func TestMergeGivesTheSameBytesForTheSameInput(t *testing.T) {
	const shuffles = 10_000
	labels := func() map[string]string {
		out := map[string]string{}
		for _, index := range rand.Perm(12) {
			out[fmt.Sprintf("k%d", index)] = "v"
		}
		return out
	}
	want := ""
	for range shuffles {
		stored := storedWork(pool("a", 1, 2, ""), pool("b", 1, 0, ""), pool("c", 1, 3, "np"))
		stored.Work.Labels, stored.Work.Annotations = labels(), labels()
		part := Part{Work: partWork(pool("a", 2, 0, ""), pool("d", 1, 0, "")), Generation: 4, Owner: "np", Strategy: contract.StrategyReplace}
		part.Work.Labels, part.Work.Annotations = labels(), labels()
		_, work, err := merge(stored, part)
		require.NoError(t, err)
		raw, err := json.Marshal(work)
		require.NoError(t, err)
		if want == "" {
			want = string(raw)
		}
		require.Equal(t, want, string(raw))
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"v1","kind":"A","metadata":{"name":"x","annotations":{"hyperfleet.io/generation":"2"}}}`), []byte(`{"apiVersion":"v2","kind":"A","metadata":{"name":"x"}}`), int64(3), true)
	f.Add([]byte(`{"apiVersion":"g/v1","kind":"A","metadata":{"name":"x","labels":{"hyperfleet.io/adapter":"o"}}}`), []byte(`{"apiVersion":"g/v1","kind":"A","metadata":{"name":"y","labels":null}}`), int64(0), false)
	f.Add([]byte(`{"metadata":[]}`), []byte(`{"kind":1}`), int64(-1), false)
	f.Fuzz(func(t *testing.T, have, want []byte, generation int64, replace bool) {
		within(t, func() {
			// Both have been read before they come here: doubled keys do not.
			for _, raw := range [][]byte{have, want} {
				if _, err := ParseInput("input", raw, Options{}); err != nil || !json.Valid(raw) {
					return
				}
			}
			part := Part{Work: partWork(manifestOf("%s", want)), Generation: generation, Owner: "o"}
			if replace {
				part.Strategy = contract.StrategyReplace
			}
			_, work, err := merge(storedWork(manifestOf("%s", have)), part)
			if err != nil {
				return
			}
			again, _, err := merge(&Stored{Consumer: "c1", Version: 4, Work: work}, part)
			require.NoError(t, err)
			require.Equal(t, WriteNothing, again)
		})
	})
}

// largeWork has 500 objects and 499 KiB of manifests.
func largeWork(value string) *workv1.ManifestWork {
	const objects, size = 500, 499 * 1024
	var manifests []workv1.Manifest
	for index := range objects {
		head := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d","namespace":"pools"},"data":{"n":%q,"x":"`, index, value)
		padding := size/objects - len(head) - 30
		manifests = append(manifests, manifestOf("%s%s\"}}", head, strings.Repeat("x", padding)))
	}
	return partWork(manifests...)
}

func BenchmarkMergeLarge(b *testing.B) {
	stored := &Stored{ID: "id", Consumer: "c1", Version: 3, Work: largeWork("1")}
	part := Part{Work: largeWork("2")}
	for b.Loop() {
		if _, err := Merge(stored, part); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidateLarge(b *testing.B) {
	work := largeWork("1")
	for b.Loop() {
		if _, err := Validate(work, "c1"); err != nil {
			b.Fatal(err)
		}
	}
}
