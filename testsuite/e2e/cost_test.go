//go:build integration

package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// plainEvents of an operation without its wait, from the start to the close.
	plainEvents = 25
	// waitEvents of a wait, however long: one phase, one activity, one workflow task.
	waitEvents = 7
)

// A wait that looks many times costs the same history as one that looks once.
func TestHistoryDoesNotGrowWithTheWait(t *testing.T) {
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	plain := start(t, queue, contract.Request{Consumer: consumer, Work: configMap("plain", "a", nil)})
	_, err := outcome(t, plain)
	require.NoError(t, err)
	length := len(history(t, plain))
	assert.LessOrEqual(t, length, plainEvents)

	for name, delay := range map[string]string{"short": "0s", "long": "6s"} {
		op := start(t, queue, contract.Request{
			Consumer: consumer, Work: configMap(name, "a", script{"available-delay": delay}), Wait: "Available", Timeout: "1m",
		})
		_, err := outcome(t, op)
		require.NoError(t, err)
		assert.Len(t, history(t, op), length+waitEvents, name)
	}
}
