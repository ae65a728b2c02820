package manifest

import (
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// within runs what a fuzz target does with one input inside of what an input may cost: 256 MiB, counted as all that is
// ever allocated, and 5 s.
func within(t *testing.T, do func()) {
	t.Helper()
	began, before := time.Now(), allocated()
	do()
	require.LessOrEqual(t, allocated()-before, uint64(mostMemory), "bytes for one input")
	require.Less(t, time.Since(began), mostTime)
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func FuzzIdentity(f *testing.F) {
	for _, seed := range []string{
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"}}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"system:a"}}`,
		`{"APIVERSION":"v1","kind":1,"metadata":[]}`, `[]`, `null`, `{"metadata":{"name":"a/b"}}`, "NodePool.hypershift.openshift.io/clusters/workers", "a//b", "K/",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		within(t, func() {
			if id, err := IdentifyRaw(data); err == nil {
				assert.NotEmpty(t, id.Kind)
				assert.NotEmpty(t, id.Name)
				assert.True(t, id.Is(id.Name))
				assert.True(t, id.Is(id.String()))
				if again, err := ParseIdentity(id.String()); err == nil {
					assert.Equal(t, id.String(), again.String())
				}
			}
			if id, err := ParseIdentity(string(data)); err == nil {
				again, err := ParseIdentity(id.String())
				require.NoError(t, err)
				assert.Equal(t, id, again)
			}
		})
	})
}
