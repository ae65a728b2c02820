package devstack

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	_, err := Start(t.Context(), Options{WithoutMaestro: true, WithoutTemporal: true})
	require.ErrorContains(t, err, "nothing to start")
	_, err = Start(t.Context(), Options{WithoutMaestro: true, Consumers: []string{"cluster-a1"}})
	require.ErrorContains(t, err, "consumers need Maestro")
}

func TestRepositoryIsFoundFromBelow(t *testing.T) {
	opts, err := Options{}.complete()
	require.NoError(t, err)
	assert.FileExists(t, opts.ToolsDir+"/temporal/go.mod")
}
