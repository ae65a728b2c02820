package devstack

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPortsAreDistinctAndFree(t *testing.T) {
	seen := map[int]bool{}
	for range 20 {
		ports := Ports{Temporal: 7233}
		require.NoError(t, ports.fill())
		assert.Equal(t, 7233, ports.Temporal, "a given port is kept")
		for _, port := range ports.all()[1:] {
			assert.False(t, seen[*port], "port %d was handed out before", *port)
			seen[*port] = true
			assert.True(t, PortFree(*port))
		}
	}
}

func TestPortsStayOutOfTheRangeOfOutgoingConnections(t *testing.T) {
	low := ephemeralLow()
	if low <= lowestPort+1000 {
		t.Skipf("the kernel takes source ports from %d on, which leaves no room below", low)
	}
	for range 20 {
		port, err := freePort()
		require.NoError(t, err)
		assert.Less(t, port, low)
	}
}

func TestTakenPortIsNotFree(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	assert.False(t, PortFree(port))
	require.NoError(t, l.Close())
	assert.True(t, PortFree(port))
}
