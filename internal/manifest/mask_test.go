package manifest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMaskHidesTheValuesOfSecretsWhereverTheyStand(t *testing.T) {
	for name, sample := range map[string]struct{ raw, want string }{
		"data":             {`{"kind":"Secret","data":{"a":"HUSH"},"stringData":{"b":"HUSH"}}`, `{"data":{"a":"(masked)"},"kind":"Secret","stringData":{"b":"(masked)"}}`},
		"head":             {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","labels":{"a":"b"}},"type":"Opaque","immutable":true}`, `{"apiVersion":"v1","immutable":true,"kind":"Secret","metadata":{"labels":{"a":"b"},"name":"s"},"type":"Opaque"}`},
		"null":             {`{"kind":"Secret","data":null,"stringData":{"a":null}}`, `{"data":null,"kind":"Secret","stringData":{"a":null}}`},
		"list":             {`{"kind":"Secret","data":["HUSH"]}`, `{"data":"(masked)","kind":"Secret"}`},
		"text":             {`{"kind":"Secret","data":"HUSH"}`, `{"data":"(masked)","kind":"Secret"}`},
		"number":           {`{"kind":"Secret","data":{"pin":4711}}`, `{"data":{"pin":"(masked)"},"kind":"Secret"}`},
		"deep":             {`{"kind":"Secret","data":{"a":{"b":["HUSH"]}}}`, `{"data":{"a":"(masked)"},"kind":"Secret"}`},
		"misspelt field":   {`{"kind":"Secret","stringdata":{"a":"HUSH"}}`, `{"kind":"Secret","stringdata":{"a":"(masked)"}}`},
		"misspelt kind":    {`{"kind":"secret","data":{"a":"HUSH"}}`, `{"data":{"a":"(masked)"},"kind":"secret"}`},
		"other group":      {`{"apiVersion":"a/v1","kind":"Secret","data":{"a":"HUSH"}}`, `{"apiVersion":"a/v1","data":{"a":"(masked)"},"kind":"Secret"}`},
		"template":         {`{"kind":"Policy","spec":{"template":{"kind":"Secret","data":{"a":"HUSH"}}}}`, `{"kind":"Policy","spec":{"template":{"data":{"a":"(masked)"},"kind":"Secret"}}}`},
		"in a list":        {`{"kind":"List","items":[{"kind":"Secret","data":{"a":"HUSH"}},{"data":{"a":"b"}}]}`, `{"items":[{"data":{"a":"(masked)"},"kind":"Secret"},{"data":{"a":"b"}}],"kind":"List"}`},
		"list of secrets":  {`{"kind":"SecretList","items":[{"metadata":{"name":"s"},"data":{"a":"HUSH"}},"HUSH"]}`, `{"items":[{"data":{"a":"(masked)"},"metadata":{"name":"s"}},"(masked)"],"kind":"SecretList"}`},
		"kubectl's copy":   {`{"kind":"ConfigMap","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"HUSH"}}}`, `{"kind":"ConfigMap","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"(masked)"}}}`},
		"copy in a secret": {`{"kind":"Secret","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"HUSH","b":"c"}}}`, `{"kind":"Secret","metadata":{"annotations":{"b":"c","kubectl.kubernetes.io/last-applied-configuration":"(masked)"}}}`},
		"reference":        {`{"ref":{"kind":"Secret","name":"s","key":"k"}}`, `{"ref":{"key":"k","kind":"Secret","name":"s"}}`},
		"no secret":        {`{"kind":"ConfigMap","data":{"a":"<b>","n":9007199254740993,"f":1e3}}`, `{"kind":"ConfigMap","data":{"a":"<b>","n":9007199254740993,"f":1e3}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Mask([]byte(sample.raw))
			require.NoError(t, err)
			want := sample.want
			if !strings.Contains(want, Masked) {
				want = sample.raw // with nothing to hide it keeps its bytes
			}
			assert.Equal(t, want, string(got))
		})
	}
	_, err := Mask([]byte(`{"kind":"Secret","data":{"a":"HUSH"`))
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "HUSH")
}

func TestMaskAnnotationsCopies(t *testing.T) {
	given := map[string]string{kubectlCopy: "HUSH", "a": "b"}
	assert.Equal(t, map[string]string{kubectlCopy: Masked, "a": "b"}, MaskAnnotations(given))
	assert.Equal(t, "HUSH", given[kubectlCopy])
}
