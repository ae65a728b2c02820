//go:build integration

package contract_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

func TestReal(t *testing.T) {
	began := time.Now()
	stack, err := devstack.Start(t.Context(), devstack.Options{WithoutTemporal: true, Logf: t.Logf})
	require.NoError(t, err)
	t.Cleanup(stack.Stop)
	t.Logf("the stack is up after %s; maestro reaches postgres %s", time.Since(began).Round(time.Millisecond), stack.Database())
	Run(t, Backend{
		Maestro:     maestro.Config{GRPCEndpoint: stack.MaestroGRPCAddress(), HTTPEndpoint: stack.MaestroURL(), Source: source},
		Broker:      stack.BrokerAddress(),
		Generation:  fakemaestro.Strict,
		Authority:   true,
		AddConsumer: stack.CreateConsumer,
	})
}
