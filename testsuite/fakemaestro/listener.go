package fakemaestro

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// port is a listener that can stop to accept, cut what it accepted, and start again under the same address. While it
// is paused a socket that does not listen keeps the number, so that clients are refused and the system gives the
// number to nobody else.
type port struct {
	mu      sync.Mutex
	addr    *net.TCPAddr
	ln      net.Listener  // nil while paused
	serving chan struct{} // closed while not paused
	held    int           // the reserving socket while paused, else -1
	conns   map[string]net.Conn
	closed  bool
}

var _ net.Listener = (*port)(nil)

func listen(address string) (*port, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp4", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	addr, ok := ln.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.Join(fmt.Errorf("listen on %s: not a TCP address", address), ln.Close())
	}
	serving := make(chan struct{})
	close(serving)
	return &port{addr: addr, ln: ln, serving: serving, held: -1, conns: map[string]net.Conn{}}, nil
}

// Addr is constant, also while the port is paused.
func (p *port) Addr() net.Addr { return p.addr }

// Accept waits through pauses, so that the servers above never see one.
func (p *port) Accept() (net.Conn, error) {
	for {
		p.mu.Lock()
		ln, serving, closed := p.ln, p.serving, p.closed
		p.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		if ln == nil {
			<-serving
			continue
		}
		conn, err := ln.Accept()
		if err != nil {
			if p.swapped(ln) {
				continue
			}
			return nil, err
		}
		if tracked := p.track(ln, conn); tracked != nil {
			return tracked, nil
		}
	}
}

func (p *port) swapped(ln net.Listener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ln != ln || p.closed
}

// track remembers an accepted connection; one that was accepted just before a pause is dropped.
func (p *port) track(ln net.Listener, conn net.Conn) net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ln != ln || p.closed {
		_ = conn.Close()
		return nil
	}
	remote := conn.RemoteAddr().String()
	p.conns[remote] = conn
	return &trackedConn{Conn: conn, port: p, remote: remote}
}

// cut closes the connection from one remote address.
func (p *port) cut(remote string) {
	p.mu.Lock()
	conn := p.conns[remote]
	p.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
}

// cutAll closes every connection and keeps accepting.
func (p *port) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutLocked()
}

func (p *port) cutLocked() {
	for _, conn := range p.conns {
		_ = conn.Close()
	}
}

// pause refuses new connections and cuts the present ones. Pausing twice is harmless.
func (p *port) pause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ln == nil || p.closed {
		return nil
	}
	ln := p.ln
	p.ln, p.serving = nil, make(chan struct{})
	if err := ln.Close(); err != nil {
		return fmt.Errorf("pause %s: %w", p.addr, err)
	}
	held, err := reserve(p.addr)
	if err != nil {
		return fmt.Errorf("pause %s: %w", p.addr, err)
	}
	p.held = held
	p.cutLocked()
	return nil
}

// resume accepts again under the same address. Resuming a port that is not paused is harmless.
func (p *port) resume() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ln != nil || p.closed {
		return nil
	}
	ln, err := net.Listen("tcp4", p.addr.String())
	if err != nil {
		return fmt.Errorf("resume %s: %w", p.addr, err)
	}
	p.release()
	p.ln = ln
	close(p.serving)
	return nil
}

// Close is final; it also cuts the connections.
func (p *port) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	p.release()
	p.cutLocked()
	if p.ln == nil {
		close(p.serving)
		return nil
	}
	return p.ln.Close()
}

func (p *port) release() {
	if p.held >= 0 {
		_ = syscall.Close(p.held)
		p.held = -1
	}
}

// reserve binds the address without listening on it. Both this socket and the later listener have SO_REUSEADDR, which
// lets the listener bind while this one still holds the number.
func reserve(addr *net.TCPAddr) (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return -1, fmt.Errorf("reserve: %w", err)
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return -1, errors.Join(fmt.Errorf("reserve: %w", err), syscall.Close(fd))
	}
	sa := &syscall.SockaddrInet4{Port: addr.Port}
	copy(sa.Addr[:], addr.IP.To4())
	if err := syscall.Bind(fd, sa); err != nil {
		return -1, errors.Join(fmt.Errorf("reserve: %w", err), syscall.Close(fd))
	}
	return fd, nil
}

type trackedConn struct {
	net.Conn
	port   *port
	remote string
}

func (c *trackedConn) Close() error {
	c.port.mu.Lock()
	if c.port.conns[c.remote] == c.Conn {
		delete(c.port.conns, c.remote)
	}
	c.port.mu.Unlock()
	return c.Conn.Close()
}
