package manifest

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"pgregory.net/rapid"
)

func TestSameComparesManifestsAsAClusterSeesThem(t *testing.T) {
	for name, sample := range map[string]struct {
		stored, desired string
		same            bool
	}{
		"equal bytes":               {`{"a":1}`, `{"a":1}`, true},
		"key order":                 {`{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"d":3,"c":2},"a":1}`, true},
		"white space":               {`{"a":[1,2]}`, "{ \"a\" :\n[1, 2]}", true},
		"escapes":                   {`{"a":"<é>"}`, `{"a":"\u003c\u00e9\u003e"}`, true},
		"list order":                {`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		"null and absent":           {`{"a":null}`, `{}`, false},
		"absent and null":           {`{}`, `{"a":null}`, false},
		"null and empty":            {`{"a":null}`, `{"a":{}}`, false},
		"empty and absent":          {`{"a":{}}`, `{}`, false},
		"empty list and map":        {`{"a":[]}`, `{"a":{}}`, false},
		"false and absent":          {`{"a":false}`, `{}`, false},
		"number and text":           {`{"a":1}`, `{"a":"1"}`, false},
		"true and text":             {`{"a":true}`, `{"a":"true"}`, false},
		"one more item":             {`{"a":[1]}`, `{"a":[1,1]}`, false},
		"one item less":             {`{"a":[1,1]}`, `{"a":[1]}`, false},
		"other key":                 {`{"a":1}`, `{"b":1}`, false},
		"key in another case":       {`{"a":1}`, `{"A":1}`, false},
		"one more key":              {`{"a":1,"b":1}`, `{"a":1}`, false},
		"spellings of a number":     {`{"a":1000}`, `{"a":1e3}`, true},
		"whole as decimal":          {`{"a":1}`, `{"a":1.0}`, true},
		"minus zero":                {`{"a":0}`, `{"a":-0}`, true},
		"rounded by the server":     {`{"a":9007199254740992}`, `{"a":9007199254740993}`, true},
		"not rounded that way":      {`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		"both exact and different":  {`{"a":9007199254740995}`, `{"a":9007199254740993}`, false},
		"next double":               {`{"a":9007199254740994}`, `{"a":9007199254740992}`, false},
		"unsigned rounded":          {`{"a":18446744073709552000}`, `{"a":18446744073709551615}`, true},
		"unsigned rounded exactly":  {`{"a":18446744073709551616}`, `{"a":18446744073709551615}`, true},
		"long decimal rounded":      {`{"a":0.12345678901234568}`, `{"a":0.12345678901234567890123}`, true},
		"short decimal":             {`{"a":0.1}`, `{"a":0.1000}`, true},
		"neighbouring decimal":      {`{"a":0.1}`, `{"a":0.10000000000000002}`, false},
		"large rounded":             {`{"a":1.2345678901234568e+29}`, `{"a":123456789012345678901234567890}`, true},
		"large and another":         {`{"a":1.2345678901234568e+29}`, `{"a":123456789012345678901234567891000}`, false},
		"sign":                      {`{"a":-1}`, `{"a":1}`, false},
		"beyond doubles, same text": {`{"a":1e400}`, `{"a":1e400}`, true},
		"beyond doubles":            {`{"a":1e401}`, `{"a":1e400}`, false},
		"lost below doubles":        {`{"a":0}`, `{"a":1e-400}`, true},
		"below doubles":             {`{"a":1e-400}`, `{"a":1e-401}`, false},
		"not lost below doubles":    {`{"a":1e-400}`, `{"a":0}`, false},
		"largest doubles":           {`{"a":1.7976931348623157e+308}`, `{"a":17976931348623157e292}`, true},
		"very long":                 {`{"a":0.3333333333333333}`, `{"a":0.` + strings.Repeat("3", 500) + `}`, true},
		"very long and another":     {`{"a":0.3333333333333333}`, `{"a":0.` + strings.Repeat("4", 500) + `}`, false},
		"huge zero":                 {`{"a":0}`, `{"a":0e999999999}`, true},
		"not JSON":                  {`{"a":`, `{"a":}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, sample.same, Same(workOf(sample.stored), workOf(sample.desired)))
		})
	}
	assert.False(t, Same(workOf(`{}`), workOf(`{}`, `{}`)))
	assert.False(t, Same(workOf(`{}`, `{}`), workOf(`{}`)))
	assert.False(t, Same(workOf(`{"a":1}`, `{"a":2}`), workOf(`{"a":2}`, `{"a":1}`)), "the order of manifests counts")
}

// Everything of a work that a write carries makes a difference, and nothing else.
func TestSameComparesTheFieldsOfAWork(t *testing.T) {
	full := func(*workv1.ManifestWork) {}
	for name, sample := range map[string]struct {
		change func(*workv1.ManifestWork)
		same   bool
	}{
		"nothing":    {full, true},
		"label":      {func(w *workv1.ManifestWork) { w.Labels["a"] = "c" }, false},
		"label gone": {func(w *workv1.ManifestWork) { w.Labels = nil }, false},
		"annotation": {func(w *workv1.ManifestWork) { w.Annotations["b"] = "c" }, false},
		"owner":      {func(w *workv1.ManifestWork) { w.OwnerReferences[0].UID = "v" }, false},
		"delete option": {func(w *workv1.ManifestWork) {
			w.Spec.DeleteOption.PropagationPolicy = workv1.DeletePropagationPolicyTypeOrphan
		}, false},
		"no delete":       {func(w *workv1.ManifestWork) { w.Spec.DeleteOption = nil }, false},
		"config":          {func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs[0].ResourceIdentifier.Name = "c" }, false},
		"config gone":     {func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs = nil }, false},
		"executor":        {func(w *workv1.ManifestWork) { w.Spec.Executor.Subject.ServiceAccount.Name = "root" }, false},
		"executor gone":   {func(w *workv1.ManifestWork) { w.Spec.Executor = nil }, false},
		"server's fields": {func(w *workv1.ManifestWork) { w.Generation, w.ResourceVersion, w.UID, w.Namespace = 7, "7", "u", "c1" }, true},
		"status":          {func(w *workv1.ManifestWork) { w.Status.Conditions = []metav1.Condition{{Type: "Applied"}} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			changed := fullWork()
			sample.change(changed)
			assert.Equal(t, sample.same, Same(fullWork(), changed))
			assert.Equal(t, sample.same, Same(changed, fullWork()))
		})
	}
}

func fullWork() *workv1.ManifestWork {
	work := workOf(goodManifest)
	work.Labels = map[string]string{"a": "b"}
	work.Annotations = map[string]string{"b": "b"}
	work.OwnerReferences = []metav1.OwnerReference{{Kind: "Cluster", Name: "c", UID: "u"}}
	work.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}
	config("configmaps", "team", "a")(work)
	work.Spec.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
		Type: workv1.ExecutorSubjectTypeServiceAccount, ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{Namespace: "team", Name: "applier"},
	}}
	return work
}

// What Maestro does not tell apart when it is read again would be written on every apply.
func TestSameTakesEmptyForAbsentWhereMaestroDoes(t *testing.T) {
	stored := workOf(goodManifest)
	desired := workOf(goodManifest)
	desired.Labels, desired.Annotations = map[string]string{}, map[string]string{}
	desired.OwnerReferences, desired.Spec.ManifestConfigs = []metav1.OwnerReference{}, []workv1.ManifestConfigOption{}
	assert.True(t, Same(stored, desired))
	desired.Spec.DeleteOption = &workv1.DeleteOption{}
	assert.True(t, Same(stored, desired), "deleteOption: {}")
	assert.True(t, Same(desired, stored), "deleteOption: {}")
}

func TestSameTakesNoTimeOverTinyNumbers(t *testing.T) {
	stored := "[" + strings.Repeat("0,", 20_000) + "0]"
	desired := "[" + strings.Repeat("1e-999999,", 20_000) + "0]"
	began := time.Now()
	assert.True(t, sameJSON([]byte(stored), []byte(desired)))
	assert.Less(t, time.Since(began), mostTime)
}

// anyJSON draws a JSON value of some depth, with leaves of every type.
func anyJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](false),
		rapid.Map(rapid.StringN(0, 5, -1), func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(i int64) any { return json.Number(strconv.FormatInt(i, 10)) }),
		rapid.Map(rapid.Float64(), func(f float64) any {
			if math.IsInf(f, 0) || math.IsNaN(f) {
				f = 0
			}
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
		}))
	if depth == 0 {
		return leaf
	}
	inner := anyJSON(depth - 1)
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(s []any) any { return s }),
		rapid.Map(rapid.MapOfN(rapid.StringN(0, 4, -1), inner, 0, 4), func(m map[string]any) any { return m }))
}

func encoded(t *rapid.T, value any) []byte {
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	return raw
}

// shuffled writes the keys of all maps in an order drawn by rapid.
func shuffled(t *rapid.T, value any) string {
	switch value := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(value))
		for key := range value {
			keys = append(keys, key)
		}
		var parts []string
		for _, key := range rapid.Permutation(sorted(keys)).Draw(t, "order") {
			parts = append(parts, string(encoded(t, key))+": "+shuffled(t, value[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, item := range value {
			parts = append(parts, shuffled(t, item))
		}
		return "[" + strings.Join(parts, ",\n") + "]"
	default:
		return string(encoded(t, value))
	}
}

func TestSameIsBlindForKeyOrderOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anyJSON(3).Draw(t, "value")
		raw := encoded(t, value)
		assert.True(t, sameJSON(raw, raw))
		assert.True(t, sameJSON(raw, []byte(shuffled(t, value))))
		assert.True(t, sameJSON([]byte(shuffled(t, value)), raw))
	})
}

// What the server makes of a value, by way of doubles, is the same value.
func TestSameKnowsWhatTheServerStores(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := encoded(t, anyJSON(3).Draw(t, "value"))
		var rounded any
		require.NoError(t, json.Unmarshal(raw, &rounded))
		assert.True(t, sameJSON(encoded(t, rounded), raw), "%s stored as %s", raw, encoded(t, rounded))
	})
}

func TestSameSeesEachChangedLeaf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anyJSON(3).Draw(t, "value")
		raw := encoded(t, value)
		changed := encoded(t, changeLeaf(t, value))
		assert.False(t, sameJSON(raw, changed), "%s and %s", raw, changed)
		assert.False(t, sameJSON(changed, raw), "%s and %s", changed, raw)
	})
}

// changeLeaf changes one leaf (or one member of an empty collection) somewhere inside.
func changeLeaf(t *rapid.T, value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		keys := make([]string, 0, len(value))
		for key, item := range value {
			out[key] = item
			keys = append(keys, key)
		}
		if len(keys) == 0 || rapid.Bool().Draw(t, "add") {
			out["added"] = nil
			return out
		}
		key := rapid.SampledFrom(sorted(keys)).Draw(t, "key")
		out[key] = changeLeaf(t, value[key])
		return out
	case []any:
		if len(value) == 0 {
			return []any{nil}
		}
		out := append([]any{}, value...)
		index := rapid.IntRange(0, len(value)-1).Draw(t, "index")
		out[index] = changeLeaf(t, out[index])
		return out
	case string:
		return value + "x"
	case json.Number:
		// Far enough to stay another double.
		number, _ := strconv.ParseFloat(string(value), 64)
		next := number/2 + 1
		if next == number {
			next = number + 1
		}
		return json.Number(strconv.FormatFloat(next, 'g', -1, 64))
	case bool:
		return !value
	default:
		return false
	}
}

func sorted(keys []string) []string {
	slices.Sort(keys)
	return keys
}
