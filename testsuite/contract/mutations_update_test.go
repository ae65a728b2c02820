package contract_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// change makes the manifests of an update of the stored ones.
type change struct {
	name string
	make func(manifests []string) []string
}

// one sets a field of the last manifest, or drops it for the value "".
func one(path, value string) func([]string) []string {
	return func(manifests []string) []string {
		at := len(manifests) - 1
		return with(manifests, at, withField([]byte(manifests[at]), value, strings.Split(path, ".")...))
	}
}

func with(manifests []string, at int, manifest string) []string {
	changed := slices.Clone(manifests)
	changed[at] = manifest
	return changed
}

// rewritten has the keys of an object in the opposite order and white space between them.
func rewritten(raw string) string {
	var object map[string]json.RawMessage
	mustDecode(raw, &object)
	var parts []string
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(object))) {
		parts = append(parts, fmt.Sprintf(" %q :\t%s\n", key, object[key]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

const added = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"added","namespace":"demo"}}`

var changes = []change{
	{"nothing", slices.Clone[[]string]},
	{"order of keys", func(m []string) []string { return with(m, 0, rewritten(m[0])) }},
	{"order of keys and content", func(m []string) []string { return one("data", `{"k":"2"}`)(with(m, 0, rewritten(m[0]))) }},
	{"content", one("data", `{"k":"2"}`)},
	{"content: a number", one("spec", `{"n":12345678901234567890}`)},
	{"labels", one("metadata.labels", `{"a":"b"}`)},
	{"labels: bad", one("metadata.labels", `{"a":"!"}`)},
	{"finalizers", one("metadata.finalizers", `["a.b/c"]`)},
	{"generateName", one("metadata.generateName", `"g-"`)},
	{"resourceVersion", one("metadata.resourceVersion", `"1"`)},
	{"NUL", one("data", `{"k":"\u0000"}`)},
	{"number beyond a double", one("data", `{"k":1e400}`)},
	{"apiVersion: another version", func(m []string) []string {
		var head struct{ APIVersion string }
		mustDecode(m[0], &head)
		return with(m, 0, withField([]byte(m[0]), fmt.Sprintf("%q", head.APIVersion+"beta1"), "apiVersion"))
	}},
	{"apiVersion: another group", one("apiVersion", `"other.io/v1"`)},
	{"apiVersion: bad", one("apiVersion", `"a/b/c"`)},
	{"apiVersion: none", one("apiVersion", ``)},
	{"kind", one("kind", `"Other"`)},
	{"kind: none", one("kind", ``)},
	{"kind: another beside it in another case", one("Kind", `"Other"`)},
	{"name", one("metadata.name", `"other"`)},
	{"name: of another type", one("metadata.name", `5`)},
	{"namespace", one("metadata.namespace", `"other"`)},
	{"namespace: empty", one("metadata.namespace", `""`)},
	{"namespace: null", one("metadata.namespace", `null`)},
	{"namespace: bad", one("metadata.namespace", `"A"`)},
	{"one more at the end", func(m []string) []string { return append(slices.Clone(m), added) }},
	{"one more at the front", func(m []string) []string { return append([]string{added}, m...) }},
	{"the last twice", func(m []string) []string { return append(slices.Clone(m), m[len(m)-1]) }},
	{"one less at the end", func(m []string) []string { return m[:len(m)-1] }},
	{"one less at the front", func(m []string) []string { return m[1:] }},
	{"none", func([]string) []string { return nil }},
	{"one for another", func(m []string) []string { return with(m, 0, added) }},
	{"opposite order", func(m []string) []string {
		turned := slices.Clone(m)
		slices.Reverse(turned)
		return turned
	}},
	{"null", func(m []string) []string { return with(m, 0, `null`) }},
	{"a list", func(m []string) []string { return with(m, 0, `[]`) }},
}

var updatedSets = [][]string{
	{goodConfigMap},
	{goodDeployment, goodConfigMap},
	{goodConfigMap, goodDeployment, goodCustom},
}

// mutatedUpdates are judged by the server and by what the product knows beforehand: validate for the work, SameSet for
// a server that keeps the set.
func mutatedUpdates(s *scene) {
	type pair struct {
		name          string
		before, after []string
	}
	var pairs []pair
	for index, before := range updatedSets {
		for _, change := range changes {
			pairs = append(pairs, pair{fmt.Sprintf("%s, %d manifests", change.name, index+1), before, change.make(before)})
		}
	}
	require.GreaterOrEqual(s, len(pairs), 60)
	s.Logf("%d updates", len(pairs))
	inParallel(len(pairs), func(index int) {
		pair, name := pairs[index], fmt.Sprintf("u-%d", index)
		before, after := newWork(s.consumer, name, pair.before...), newWork(s.consumer, name, pair.after...)
		if !assert.NoError(s, s.client.Create(s.ctx(), source, before), pair.name) {
			return
		}
		stored, err := s.client.Read(s.ctx(), source, s.consumer, name)
		if assert.NoError(s, err, pair.name) {
			s.judgeUpdate(pair.name, stored, &sample{work: after})
		}
	})
}

func (s *scene) judgeUpdate(name string, stored *manifest.Stored, desired *sample) {
	sameSet := manifest.SameSet(stored.Work, desired.work)
	_, invalid := manifest.Validate(desired.work, s.consumer)
	refused := s.client.Update(s.ctx(), source, stored, desired.work)
	if invalid == nil {
		allowed := sameSet || !s.strict()
		assert.Equal(s, allowed, refused == nil, "%s: the same set: %t, the server: %v", name, sameSet, refused)
		if !allowed {
			s.assertType(contract.ErrManifestSetImmutable, refused)
		}
	}
	now, err := s.client.Read(s.ctx(), source, s.consumer, desired.work.Name)
	if !assert.NoError(s, err, name) {
		return
	}
	switch {
	case refused != nil:
		assert.Equal(s, stored, now, "%s: refused, but it changed", name)
	case invalid == nil:
		assert.True(s, manifest.Same(now.Work, desired.work), "%s: kept as something else: %s", name, text(now.Work))
	}
}
