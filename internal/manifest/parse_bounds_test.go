package manifest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	mostTime   = 5 * time.Second
	mostMemory = 256 << 20
)

// part of the largest input that is tried where costs grow with the input. The race detector slows parsing down by a
// factor of ten and more.
func part() int {
	if raceDetector {
		return 20
	}
	return 4
}

func size(full int) int { return full / part() }

// laughs nest nine aliases in nine levels.
func laughs(leaf, wrap string) string {
	var text strings.Builder
	text.WriteString("{a: &a " + leaf)
	for level := 'b'; level <= 'j'; level++ {
		fmt.Fprintf(&text, ", %c: &%c %s", level, level, strings.ReplaceAll(wrap, "@", strings.Repeat(fmt.Sprintf("*%c, ", level-1), 9)))
	}
	return text.String() + "}"
}

func distinctKeys(n int) string {
	var keys strings.Builder
	for key := range n {
		fmt.Fprintf(&keys, "k%d: b,", key)
	}
	return keys.String()
}

// What an input of at most 1 MiB may cost, whatever it holds. Memory is all that was ever allocated, which is more
// than was held at any time.
func TestParseIsBounded(t *testing.T) {
	const aliased = "with its aliases expanded"
	for name, sample := range map[string]struct{ data, says string }{
		"nested aliases":         {configMapWork(laughs("[x]", "[@]")), aliased},
		"nested aliases of maps": {configMapWork(laughs("{x: y}", "{l: [@]}")), aliased},
		"nested merges":          {configMapWork(laughs("{x: y}", "{<<: [@]}")), aliased},
		"a big text aliased":     {configMapWork("{a: &a \"" + strings.Repeat("x", 100_000) + "\", b: [" + strings.Repeat("*a,", 2_000) + "]}"), aliased},
		"a big key aliased":      {configMapWork("{a: &a \"" + strings.Repeat("x", 100_000) + "\", b: [" + strings.Repeat("{*a : 1},", 50_000) + "]}"), aliased},
		"a big map merged":       {configMapWork("{a: &a {" + distinctKeys(30_000) + "x: y}, b: [" + strings.Repeat("{<<: *a},", 10_000) + "]}"), aliased},
		"an anchor in itself":    {configMapWork("{a: &a [*a]}"), `anchor "a" contains itself`},
		"a merge of itself":      {configMapWork("{a: &a {<<: *a}}"), `anchor "a" contains itself`},
		"deep lists":             {configMapWork(strings.Repeat("[", size(900_000))), "exceeded max depth"},
		"deep JSON":              {configMapJSON(strings.Repeat("[", size(450_000)) + strings.Repeat("]", size(450_000))), "exceeded max depth"},
		"deep items":             {"a:\n" + strings.Repeat("- ", size(450_000)), "exceeded max depth"},
		"many documents":         {strings.Repeat("---\n", size(250_000)), "empty"},
		"one doubled key":        {configMapWork("{" + strings.Repeat("a: b,", size(170_000)) + "}"), "already set"},
		"anchors":                {configMapWork("[" + strings.Repeat("&a ,", size(200_000)) + "]"), ""},
		"empty maps":             {configMapWork("[" + strings.Repeat("{},", size(300_000)) + "]"), ""},
		"many keys":              {configMapWork("{" + distinctKeys(size(60_000)) + "}"), ""},
		"many JSON keys":         {configMapJSON("{" + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSuffix(distinctKeys(size(60_000)), ","), "k", `"k`), ": b", `":1`) + "}"), ""},
		"comments":               {configMapWork("1") + strings.Repeat("#\n", size(500_000)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if raceDetector && sample.says == aliased {
				t.Skip("the work is bounded by the product's limit, not by the input")
			}
			require.LessOrEqual(t, len(sample.data), contract.MaxWorkBytes)
			share := part()
			if sample.says == aliased {
				share = 1
			}
			var err error
			measured(t, share, func() { _, err = Parse("bomb", []byte(sample.data)) })
			if sample.says == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Equal(t, contract.ErrInvalidManifest, contract.TypeOf(err))
			assert.Contains(t, err.Error(), sample.says)
			assert.Less(t, len(err.Error()), 128<<10)
		})
	}
}

func TestParseTakesHonestAnchors(t *testing.T) {
	work := parsed(t, configMapWork("{labels: &l {team: blue, tier: one}, list: ["+strings.TrimSuffix(strings.Repeat("{<<: *l, own: x}, ", 60), ", ")+"]}"))
	assert.Equal(t, 61, strings.Count(dataOf(t, work), `"team":"blue"`))
	assert.NotContains(t, dataOf(t, work), "<<")
}

// measured runs a step and checks what it takes against a part of the bounds.
func measured(t *testing.T, part int, step func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	step()
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	assert.Less(t, took, mostTime)
	if !raceDetector { // which makes pools forget what they hold
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(mostMemory)/uint64(part))
	}
	t.Logf("%v, %d MiB", took, (after.TotalAlloc-before.TotalAlloc)>>20)
}

func repeated(n int, format string) string {
	var text strings.Builder
	for index := range n {
		text.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(index)))
	}
	return text.String()
}

// The whole check, with the lines looked up, of inputs in which nearly everything is wrong.
func TestCheckingAnInputIsBounded(t *testing.T) {
	head := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	work := "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: a}\nspec:\n"
	lists := func(n int) string {
		return strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, n) + strings.Repeat("]}", n)
	}
	for name, sample := range map[string]struct{ data, says string }{
		"labels that are no texts":      {head + "  labels: {" + repeated(size(90_000), "l#: 1, ") + "}\n", `write it in quotes: "1"`},
		"labels of a work":              {"apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata:\n  labels: {" + repeated(size(90_000), "l#: 1, ") + "}\n", `write it in quotes: "1"`},
		"bad label keys":                {head + "  labels: {" + repeated(size(70_000), "'l #': a, ") + "}\n", "name part must consist"},
		"doubled keys":                  {head + "data: {" + repeated(size(40_000), "k#: 1, k#: 2, ") + "}\n", "already set"},
		"doubled JSON keys":             {`{"data":{` + repeated(size(40_000), `"k#":1,"k#":2,`) + `"k":1}}`, "already set"},
		"documents":                     {repeated(size(100_000), "---\na: b\n"), "kind: required"},
		"JSON documents":                {repeated(size(100_000), `{"a":1}`+"\n"), "kind: required"},
		"JSON items":                    {"[" + repeated(size(300_000), "0,\n") + "0]", "not a Kubernetes object"},
		"equal objects":                 {repeated(size(17_000), `{"kind":"A","apiVersion":"v1","metadata":{"name":"a"}}`), "is there twice"},
		"Lists in Lists":                {lists(size(4_900)), "lists in lists"},
		"Lists beside each other":       {"[" + repeated(size(20_000), `{"apiVersion":"v1","kind":"List","items":[]},`) + "{}]", "kind: required"},
		"unknown fields":                {work + repeated(size(80_000), "  f#: 1\n"), "unknown field"},
		"configs that match nothing":    {work + "  manifestConfigs:\n" + repeated(size(17_000), "  - resourceIdentifier: {resource: a, name: '*b*#'}\n"), "empty, give at least one manifest"},
		"configs of many manifests":     {work + "  workload: {manifests: [" + repeated(size(7_000), "{kind: A, apiVersion: v1, metadata: {name: a#}},") + "]}\n  manifestConfigs:\n" + repeated(size(10_000), "  - resourceIdentifier: {resource: as, name: '*z'}\n"), ""},
		"masks":                         {head + "data: {" + repeated(size(50_000), "k#: (masked), ") + "}\nkind2: Secret\n", ""},
		"Secrets":                       {"[" + repeated(size(25_000), `{"kind":"Secret","data":{"a":"b"}},`) + "{}]", "readable"},
		"inexact numbers":               {head + "data: [" + repeated(size(50_000), "9007199254740993, ") + "]\n", ""},
		"a long number":                 {head + "data: 1." + strings.Repeat("1", size(1_000_000)) + "\n", ""},
		"a long key":                    {`{"kind":"A","` + strings.Repeat("k", size(900_000)) + `":[1,{"a":1,"a":2}]}`, "already set"},
		"a long name":                   {head + "data: {}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: " + strings.Repeat("n", size(900_000)) + "}\n", "metadata.namespace"},
		"problems at the end of a path": {`{"a":` + strings.Repeat(`{"data":`, 5000) + `{"kind":"Secret","data":{"a":"(masked)"}}` + strings.Repeat("}", 5000) + "}", "is the mask"},
	} {
		t.Run(name, func(t *testing.T) {
			require.LessOrEqual(t, len(sample.data), contract.MaxWorkBytes)
			var problems []string
			var err error
			measured(t, part(), func() { _, _, problems, err = checked("f", sample.data, Options{}) })
			assert.LessOrEqual(t, len(problems), maxProblems+1)
			if sample.says == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Contains(t, err.Error(), sample.says)
			assert.Less(t, len(err.Error()), 128<<10)
		})
	}
}
