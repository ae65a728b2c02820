package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func FuzzParse(f *testing.F) {
	for _, name := range []string{"two-works.yaml", "templated.yaml", "doubled-keys.yaml", "exported.yaml", "numbers.yaml"} {
		f.Add(sample(f, name))
	}
	f.Add([]byte(configMapJSON(`{"a":[1e3,"\ud83d\ude00",null]}`)))
	f.Add([]byte(configMapWork("{a: &a {b: !!str 1}, <<: *a, c: [*a, yes, 0x1F, 1_0, .5, ~]}")))
	f.Add([]byte("%YAML 1.1\n--- !!map\n? a\n: |+\n b\n...\n"))
	for _, name := range []string{
		"separators/objects.yaml", "doubled-keys/work.json", "aliases/honest.yaml", "unquoted-labels/bad.yaml", "exports/export.yaml", "feedback/work.yaml",
	} {
		f.Add(sample(f, "cases/"+name))
	}
	f.Add([]byte(`[{"kind":"List","apiVersion":"v1","items":[{"kind":"Secret","data":{"a":"(masked)"}}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		within(t, func() {
			for _, options := range []Options{{}, {Consumer: "c1", StripServerFields: true, AllowPlaintextSecrets: true}} {
				input, err := ParseInput("input", data, options)
				if err != nil {
					requireProblems(t, err)
					continue
				}
				if input.problems.none() {
					requireSurvives(t, input)
				}
				if _, err := input.Validate(options); err != nil {
					requireProblems(t, err)
					continue
				}
				_, err = Identities(workOf(rawsOf(input)...))
				require.NoError(t, err, "what is valid has an identity")
			}
			work, err := Parse("input", data)
			if err != nil {
				requireProblems(t, err)
				return
			}
			_, _ = Validate(work, "c1")
		})
	})
}

func requireProblems(t *testing.T, err error) {
	t.Helper()
	require.Contains(t, []contract.ErrorType{contract.ErrInvalidManifest, contract.ErrTooLarge}, contract.TypeOf(err))
	var problems Problems
	require.ErrorAs(t, err, &problems)
	require.NotEmpty(t, problems)
	require.LessOrEqual(t, len(problems), maxProblems+1)
}

func rawsOf(input *Input) []string {
	var raws []string
	for _, manifest := range input.Manifests {
		raws = append(raws, string(manifest.Raw))
	}
	return raws
}

// requireSurvives: what was read goes through a request, and through printing, unchanged.
func requireSurvives(t *testing.T, input *Input) {
	t.Helper()
	for _, raw := range rawsOf(input) {
		if raw == "" {
			return // null among the manifests of a work
		}
		require.True(t, json.Valid([]byte(raw)), "%s", raw)
		printed, err := YAML([]byte(raw))
		require.NoError(t, err)
		if len(printed) > contract.MaxWorkBytes || kindOf([]byte(raw)) != "an object" {
			continue
		}
		again, err := ParseInput("printed", printed, Options{})
		require.NoError(t, err, "%s", printed)
		require.True(t, len(again.Manifests) == 1 && sameJSON([]byte(raw), again.Manifests[0].Raw) || again.Work != nil || isListed(raw), "%s", printed)
	}
	work := input.Work
	if work == nil {
		work = workOf(rawsOf(input)...)
	}
	raw, err := Encode(work)
	require.NoError(t, err)
	if len(raw) > contract.MaxWorkBytes {
		return
	}
	again, err := ParseJSON(raw)
	require.NoError(t, err)
	assert.True(t, Same(work, again), "%s", raw)
}

// isListed: an object that a file may not hold as one.
func isListed(raw string) bool {
	kind := memberText([]byte(raw), "kind")
	return strings.HasSuffix(kind, "List")
}

func FuzzSameJSON(f *testing.F) {
	for _, pair := range [][2]string{
		{`{"a":1}`, `{"a":1.0}`}, {`[1e400,0]`, `[1e-400,-0]`}, {`9007199254740993`, `9007199254740992`}, {`{"a":null}`, `{}`}, {`"\ud800"`, `"x"`}, {`1 2`, `1`},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, stored, desired []byte) {
		require.True(t, sameJSON(stored, stored))
		if !sameJSON(stored, desired) || string(stored) == string(desired) {
			return
		}
		// What is called the same is the same to a reader that knows doubles only, as the server's.
		var have, want any
		require.NoError(t, json.Unmarshal(stored, &have))
		if json.Unmarshal(desired, &want) == nil {
			assert.Equal(t, want, have)
		}
	})
}
