package contract_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
)

// clientOf makes a client for other endpoints than the backend's; what is empty in the config is the backend's.
func (s *scene) clientOf(config maestro.Config) *maestro.Client {
	s.Helper()
	config.Insecure, config.Source = true, source
	if config.GRPCEndpoint == "" {
		config.GRPCEndpoint = s.suite.backend.Maestro.GRPCEndpoint
	}
	if config.HTTPEndpoint == "" {
		config.HTTPEndpoint = s.suite.backend.Maestro.HTTPEndpoint
	}
	client, err := maestro.New(config)
	require.NoError(s, err)
	s.Cleanup(func() { assert.NoError(s, client.Close()) })
	return client
}

// silent is a server that accepts connections and never says a word.
type silent struct {
	listener net.Listener

	mu    sync.Mutex
	conns []net.Conn
}

func newSilent(s *scene) *silent {
	s.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(s, err)
	server := &silent{listener: listener}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			server.mu.Lock()
			server.conns = append(server.conns, conn)
			server.mu.Unlock()
		}
	}()
	s.Cleanup(func() {
		assert.NoError(s, listener.Close())
		<-over
		for _, conn := range server.conns {
			_ = conn.Close()
		}
	})
	return server
}

func (s *silent) address() string { return s.listener.Addr().String() }
func (s *silent) url() string     { return "http://" + s.address() }

func (s *silent) accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// counter stands in front of the backend's HTTP API and notes what passes.
type counter struct {
	server *httptest.Server

	mu       sync.Mutex
	requests []string
}

func newCounter(s *scene) *counter {
	s.Helper()
	target, err := url.Parse(s.suite.backend.Maestro.HTTPEndpoint)
	require.NoError(s, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	c := &counter{}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.requests = append(c.requests, r.Method+" "+r.URL.Path)
		c.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	s.Cleanup(c.server.Close)
	return c
}

// taken gives the requests since the last call.
func (c *counter) taken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.requests
	c.requests = nil
	return taken
}
