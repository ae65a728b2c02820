//go:build integration

package e2e

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy stands between a worker and a real server. It can hold back the server's answers while requests go through:
// the server has done what was asked, and the caller never hears of it.
type proxy struct {
	listener net.Listener
	target   string

	mu      sync.Mutex
	changed *sync.Cond
	holding bool
	// generation of the connections: those of an earlier one pass nothing any more.
	generation int
	closed     bool
	held       int
	conns      map[net.Conn]struct{}
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, target: target, conns: map[net.Conn]struct{}{}}
	p.changed = sync.NewCond(&p.mu)
	go p.serve()
	t.Cleanup(p.close)
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// hold keeps back everything that the server sends from now on, until cut.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holding = true
}

// cut ends holding and drops what was kept back, with its connections. New connections pass.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.holding = false
	p.generation++
	p.changed.Broadcast()
}

// heldBack: at least one answer has been kept back since the start.
func (p *proxy) heldBack() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held > 0
}

func (p *proxy) close() {
	p.mu.Lock()
	p.closed, p.holding = true, false
	p.changed.Broadcast()
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	_ = p.listener.Close()
}

func (p *proxy) serve() {
	for {
		caller, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = caller.Close()
			continue
		}
		if !p.track(caller, server) {
			return
		}
		go func() {
			defer p.drop(caller, server)
			_, _ = io.Copy(server, caller)
		}()
		go func() {
			defer p.drop(caller, server)
			_, _ = io.Copy(caller, gate{reader: server, proxy: p, generation: p.now()})
		}()
	}
}

func (p *proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		if p.closed {
			_ = conn.Close()
			continue
		}
		p.conns[conn] = struct{}{}
	}
	return !p.closed
}

func (p *proxy) drop(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(p.conns, conn)
	}
}

func (p *proxy) now() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.generation
}

// gate lets the server's bytes pass when the proxy does not hold them.
type gate struct {
	reader     io.Reader
	proxy      *proxy
	generation int
}

func (g gate) Read(buffer []byte) (int, error) {
	n, err := g.reader.Read(buffer)
	g.proxy.mu.Lock()
	defer g.proxy.mu.Unlock()
	if n > 0 && g.proxy.holding {
		g.proxy.held++
	}
	for g.proxy.holding {
		g.proxy.changed.Wait()
	}
	if g.generation != g.proxy.generation {
		return 0, net.ErrClosed
	}
	return n, err
}
