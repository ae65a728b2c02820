package devstack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
)

// loopback is the only address anything here listens on.
const loopback = "127.0.0.1"

// lowestPort is where the search for a free port starts; well-known services live below.
const lowestPort = 12000

// handedOut remembers the ports this process has chosen. Between choosing a port and listening on it the port
// is free for everybody, so two stacks of one process must not choose the same.
var handedOut = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// fill gives every zero port a free one.
func (p *Ports) fill() error {
	for _, port := range p.all() {
		if *port != 0 {
			continue
		}
		free, err := freePort()
		if err != nil {
			return err
		}
		*port = free
	}
	return nil
}

// freePort returns a port nobody listens on. It prefers ports below the range from which the kernel takes the
// source ports of outgoing connections: clients that retry against a killed server on loopback would otherwise
// sooner or later be given the server's own port as their source, connect to themselves, and keep the server
// from coming back.
func freePort() (int, error) {
	handedOut.Lock()
	defer handedOut.Unlock()
	highest := ephemeralLow()
	for range 200 {
		want := 0
		if highest > lowestPort+1000 {
			want = lowestPort + rand.IntN(highest-lowestPort)
		}
		if handedOut.ports[want] {
			continue
		}
		port, err := listenOnce(want)
		if err != nil || handedOut.ports[port] {
			continue
		}
		handedOut.ports[port] = true
		return port, nil
	}
	return 0, errors.New("find a free port on " + loopback + ": none in 200 attempts")
}

// listenOnce listens on the port, or on any free one for zero, and closes again.
func listenOnce(port int) (int, error) {
	l, err := net.Listen("tcp4", address(port))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ephemeralLow is the lowest port of the kernel's range for outgoing connections, 0 where that is unknown.
func ephemeralLow() int {
	data, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0
	}
	var low, high int
	if _, err := fmt.Sscan(string(data), &low, &high); err != nil {
		return 0
	}
	return low
}

// PortFree reports whether the port can be listened on right now.
func PortFree(port int) bool {
	_, err := listenOnce(port)
	return err == nil
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
