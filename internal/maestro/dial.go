package maestro

import (
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// dial is the one place that opens gRPC connections to Maestro. gRPC reconnects by itself; the short backoff lets
// writes go on within seconds of a restart of the server.
func dial(config Config) (*grpc.ClientConn, error) {
	if !config.Insecure {
		return nil, contract.Errorf(contract.ErrInvalidInput,
			"connect to Maestro %s: TLS is not supported yet, allow plaintext explicitly (--grpc-insecure or MAESTRO_GRPC_INSECURE=true)", config.GRPCEndpoint)
	}
	conn, err := grpc.NewClient(config.GRPCEndpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		// Notices a peer that is gone without a word while a publish waits for it. Maestro allows a ping every 5 s.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
	)
	if err != nil {
		return nil, contract.Errorf(contract.ErrInvalidInput, "connect to Maestro %s: %w", config.GRPCEndpoint, err)
	}
	return conn, nil
}

// transport is the one place that opens HTTP connections to Maestro. It keeps as many idle connections as there are
// request slots, so that a busy worker does not reconnect for every request.
func transport(config Config) http.RoundTripper {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConns:          config.MaxInFlight,
		MaxIdleConnsPerHost:   config.MaxInFlight,
		MaxConnsPerHost:       config.MaxInFlight,
		IdleConnTimeout:       60 * time.Second,
		ResponseHeaderTimeout: config.CallTimeout,
	}
}
