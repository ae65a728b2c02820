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
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, err := Parse("bomb", []byte(sample.data))
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			assert.Less(t, took, mostTime)
			memory := uint64(mostMemory)
			if sample.says != aliased {
				memory /= uint64(part())
			}
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, memory)
			t.Logf("%v, %d MiB", took, (after.TotalAlloc-before.TotalAlloc)>>20)
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
