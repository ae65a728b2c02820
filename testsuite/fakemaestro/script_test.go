package fakemaestro_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

const rawBundle = `{ "id": "6f1c2a52-0b7c-5d55-9a3e-000000000001", "consumer_name": "c9",
  "version": 3, "metadata": {"name": "w", "namespace": "c9", "uid": "6f1c2a52-0b7c-5d55-9a3e-000000000001"}, "unknown": [1, 2],
  "manifests": [{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},"n":9007199254740993}],
  "status": {"ObservedVersion": 3, "SequenceID": "20971524096", "conditions": []} }`

func TestRawBundleIsServedByteForByteUntilItChanges(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{})
	require.NoError(t, s.PutRaw([]byte(rawBundle), fakemaestro.ForAnyID()))
	for _, id := range []string{"6f1c2a52-0b7c-5d55-9a3e-000000000001", "whatever"} {
		_, body := call(t, s, "GET", api+"/resource-bundles/"+id, "")
		assert.Equal(t, rawBundle, body)
	}
	_, body := call(t, s, "GET", api+"/resource-bundles?search=source%3D%27tests%27", "")
	assert.Contains(t, body, rawBundle, "in lists as well, for any source")

	c := sourceClient(t, s, source)
	base := get(t, c, "c9", "w")
	require.EqualValues(t, 3, base.Generation)
	require.NoError(t, update(t, c, "c9", base, newWork("w", configMap("a", "2"))))
	stored, ok := s.Bundle("6f1c2a52-0b7c-5d55-9a3e-000000000001")
	require.True(t, ok)
	assert.EqualValues(t, 4, stored.Version)
	assert.NotEqual(t, rawBundle, string(stored.JSON))
	assert.EqualValues(t, 3, stored.ObservedVersion)
}

func TestRawBodyThatIsNoBundleNeedsAnID(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{})
	require.Error(t, s.PutRaw([]byte(`<html>`)))
	require.NoError(t, s.PutRaw([]byte(`<html>`), fakemaestro.ForID("x")))
	_, body := call(t, s, "GET", api+"/resource-bundles/x", "")
	assert.Equal(t, `<html>`, body)
}

func TestSequenceMovesOnWithReadsTimeAndPublishes(t *testing.T) {
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	var elapsed atomic.Int64
	s := fakemaestro.New(t, fakemaestro.Options{Clock: func() time.Time { return start.Add(time.Duration(elapsed.Load())) }})
	id := fakemaestro.UID(source, "c9", "w")
	step := func(version string) []byte {
		return []byte(`{"id":"` + id + `","consumer_name":"c9","version":` + version +
			`,"metadata":{"name":"w","namespace":"c9","uid":"` + id + `"},"manifests":[` + configMap("a", "1") + `]}`)
	}
	require.NoError(t, s.ServeSequence(id,
		fakemaestro.Step{Status: 404, Reads: 2},
		fakemaestro.Step{Body: step("3"), For: time.Minute},
		fakemaestro.Step{Body: step("5"), UntilPublish: true},
		fakemaestro.Step{Body: step("9")},
	))
	read := func() (int, string) { return call(t, s, "GET", api+"/resource-bundles/"+id, "") }
	for range 2 {
		code, body := read()
		require.Equal(t, 404, code)
		require.Contains(t, body, "maestro-7")
	}
	_, body := read()
	require.Equal(t, string(step("3")), body)
	elapsed.Store(int64(time.Minute))
	_, body = read()
	require.Equal(t, string(step("5")), body)

	c := sourceClient(t, s, source)
	require.NoError(t, update(t, c, "c9", get(t, c, "c9", "w"), newWork("w", configMap("a", "2"))), "the row follows the script")
	_, body = read()
	assert.Equal(t, string(step("9")), body)
	assert.EqualValues(t, 9, s.Publishes()[0].Stored, "the row follows the script again")
}
