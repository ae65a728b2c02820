package starter_test

import (
	"context"
	"encoding/json"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// nowhere is an address that refuses connections.
func nowhere(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

func TestTemporalThatCannotBeReachedHasItsOwnError(t *testing.T) {
	temporal, err := client.NewLazyClient(client.Options{HostPort: nowhere(t), Logger: silent{}})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	unreached := starter.New(temporal, "")
	request := contract.Request{Source: "hyperfleet", Consumer: "cluster-a1", Work: json.RawMessage(`{"metadata":{"name":"web"}}`)}
	for call, try := range map[string]func(context.Context) error{
		"start":  func(ctx context.Context) error { _, err := unreached.Start(ctx, request); return err },
		"status": func(ctx context.Context) error { _, err := unreached.Status(ctx, request.WorkflowID()); return err },
		"cancel": func(ctx context.Context) error { return unreached.Cancel(ctx, request.WorkflowID()) },
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			assert.ErrorIs(t, try(ctx), starter.ErrTemporalUnavailable)
		})
	}
}

func TestCallerThatCancelsIsNotToldThatTemporalIsDown(t *testing.T) {
	temporal, err := client.NewLazyClient(client.Options{HostPort: nowhere(t), Logger: silent{}})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = starter.New(temporal, "").Start(ctx, contract.Request{
		Source: "hyperfleet", Consumer: "cluster-a1", Work: json.RawMessage(`{"metadata":{"name":"web"}}`),
	})
	require.Error(t, err)
	assert.NotErrorIs(t, err, starter.ErrTemporalUnavailable)
}

// silent drops the SDK's log.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
