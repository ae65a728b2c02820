package main

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
)

func parsed(t *testing.T, args ...string) config {
	t.Helper()
	var c config
	flags := newFlags("up", &c)
	stackFlags(flags, &c)
	portsFlags(flags, &c)
	require.NoError(t, parse(flags, &c, args))
	return c
}

func TestPortsAreTheUsualOnesUnlessFreeOnesAreWanted(t *testing.T) {
	assert.Equal(t, devstack.Ports{
		Temporal: 7233, TemporalHTTP: 7243, UI: 8233, MaestroHTTP: 8000, MaestroGRPC: 8090, MaestroBroker: 8091,
	}, parsed(t).ports)
	assert.Equal(t, devstack.Ports{}, parsed(t, "--free-ports").ports)
	assert.Equal(t, devstack.Ports{MaestroHTTP: 9000}, parsed(t, "--free-ports", "--maestro-http-port", "9000").ports)
}

func TestTakenPortIsNamedWithItsFlag(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c := parsed(t, "--free-ports")
	require.NoError(t, c.checkPorts())
	c.ports.UI = l.Addr().(*net.TCPAddr).Port
	require.ErrorContains(t, c.checkPorts(), "choose another with --ui-port")
}

func TestConsumersAreSplit(t *testing.T) {
	assert.Equal(t, []string{"a", "b", "c"}, (&config{consumers: "a, b,,c"}).names())
	assert.Empty(t, (&config{}).names())
}
