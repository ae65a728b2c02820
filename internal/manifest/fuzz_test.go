package manifest

import (
	"encoding/json"
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
	f.Fuzz(func(t *testing.T, data []byte) {
		work, err := Parse("input", data)
		if err != nil {
			require.Contains(t, []contract.ErrorType{contract.ErrInvalidManifest, contract.ErrTooLarge}, contract.TypeOf(err))
			return
		}
		for _, manifest := range work.Spec.Workload.Manifests {
			require.True(t, json.Valid(manifest.Raw), "%s", manifest.Raw)
		}
		// What was read goes through a request unchanged.
		raw, err := Encode(work)
		require.NoError(t, err)
		if len(raw) > contract.MaxWorkBytes {
			return
		}
		again, err := ParseJSON(raw)
		require.NoError(t, err)
		assert.True(t, Same(work, again), "%s", raw)
		_, _ = Validate(work, "c1")
		_, _ = Identities(work)
	})
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
