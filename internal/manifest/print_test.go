package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// compact is the form in which manifests are kept.
func compact(t require.TestingT, value any) string {
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	return string(raw)
}

func TestYAMLPrintsWhatEveryReaderReadsAlike(t *testing.T) {
	for raw, want := range map[string]string{
		`{"z":1,"a":{"b":[1,"x",{"c":null,"d":true}],"e":{},"f":[]}}`:                "z: 1\na:\n  b:\n    - 1\n    - x\n    - c: null\n      d: true\n  e: {}\n  f: []\n",
		`{"list":[9007199254740993,123456789012345678901234567890,1e3,1.0,0.10,-0]}`: "list:\n  - 9007199254740993\n  - 123456789012345678901234567890\n  - 1e3\n  - 1.0\n  - 0.10\n  - -0\n",
		`{"s":["yes","No","on","y","01","1e3","1:30","0x1f","~","null",".inf","2026-01-01","1_0","","- a","a: b","a #b","=","<<","a b","a/b.c"]}`: `s:
  - "yes"
  - "No"
  - "on"
  - "y"
  - "01"
  - "1e3"
  - "1:30"
  - "0x1f"
  - "~"
  - "null"
  - ".inf"
  - "2026-01-01"
  - "1_0"
  - ""
  - "- a"
  - "a: b"
  - "a #b"
  - "="
  - "<<"
  - a b
  - a/b.c
`,
		`{"script":"echo one\n--- not a separator\n","yes":"a\tb\n"}`: "script: |\n  echo one\n  --- not a separator\n\"yes\": \"a\\tb\\n\"\n",
		`[1e999]`: "- !!float 1e999\n",
	} {
		printed, err := YAML([]byte(raw))
		require.NoError(t, err)
		assert.Equal(t, want, string(printed))
	}
	_, err := YAML([]byte("{"))
	assert.Error(t, err)
}

func TestYAMLOfDeepJSONDoesNotGrowWithTheSquare(t *testing.T) {
	const depth = 5000
	printed, err := YAML([]byte(strings.Repeat(`{"a":[`, depth) + strings.Repeat("]}", depth)))
	require.NoError(t, err)
	assert.Less(t, len(printed), 100*depth)
}

// anyValue is any JSON value, with the texts and numbers that printers and readers get wrong.
func anyValue(depth int) *rapid.Generator[any] {
	texts := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "yes", "n", "01", "1e3", "~", "null", "true", "0o17", "0b1", "1:30", "2026-01-01", ".5", "+1", " a", "a ", "a\n", "a\n\n", "\na\n", " a\nb\n", "a \nb\n", "- a", "? a", "&a", "*a", "!a", "%a", "@a", "`a", "a: b", "a #b", "<<", "=", "---", "...", "\u2028", "\ufeff", "\u0085", "\u0000", "\u007f", "😀", "<&>", "\\", "\"", "'", "\t", "\r\n"}),
	)
	numbers := rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,3})?`),
		rapid.SampledFrom([]string{"0", "-0", "1e3", "1E400", "1e-400", "9007199254740993", "1.0"}),
	)
	leaves := []*rapid.Generator[any]{
		rapid.Map(texts, func(text string) any { return text }),
		rapid.Map(numbers, func(number string) any { return json.Number(number) }),
		rapid.SampledFrom([]any{nil, true, false}),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth - 1) })
	return rapid.OneOf(append(leaves,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(list []any) any { return list }),
		rapid.Map(rapid.MapOfN(texts, inner, 0, 4), func(object map[string]any) any { return object }),
	)...)
}

func TestWhatIsPrintedIsReadAgainUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "any": anyValue(3).Draw(t, "value")}
		raw := compact(t, object)
		assertSurvivesPrinting(t, raw)
	})
}

// assertSurvivesPrinting prints an object as YAML and as JSON and reads it again.
func assertSurvivesPrinting(t require.TestingT, raw string) {
	printed, err := YAML([]byte(raw))
	require.NoError(t, err)
	for _, data := range []string{string(printed), raw, "# yaml\n---\n" + string(printed) + "--- # end\n", fmt.Sprintf(`{"kind":"List","apiVersion":"v1","items":[%s]}`, raw)} {
		input, err := ParseInput("printed", []byte(data), Options{})
		require.NoError(t, err, "%s", data)
		require.Len(t, input.Manifests, 1)
		require.Equal(t, raw, string(input.Manifests[0].Raw), "%s", data)
	}
}
