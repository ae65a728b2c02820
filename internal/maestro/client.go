package maestro

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/openshift-online/maestro/pkg/api/openapi"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/source/codec"
	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// ErrNotFound is the answer for a work that Maestro does not have under its identity.
var ErrNotFound = errors.New("no such work")

// Config says how to reach one Maestro server.
type Config struct {
	// GRPCEndpoint is host:port of the source-side gRPC server.
	GRPCEndpoint string
	// HTTPEndpoint is the base URL of the HTTP API, without /api.
	HTTPEndpoint string
	// Insecure allows plaintext. It must be set: TLS is not supported yet.
	Insecure bool
	// Source is the default source ID of [Client.Get].
	Source string
	// MaxInFlight requests at once, default [contract.MaxInFlight]. Above about 50 the server deadlocks.
	MaxInFlight int
	// CallTimeout of each request, default [contract.CallTimeout].
	CallTimeout time.Duration
}

// Client talks to one Maestro server for any number of consumers and goroutines at once.
type Client struct {
	config Config
	http   *openapi.APIClient
	conn   *grpc.ClientConn
	events pbv1.CloudEventServiceClient
	codec  *codec.ManifestBundleCodec
	slots  *semaphore.Weighted
}

// New makes a client. It does not connect: a server that is down shows in the calls, as MaestroUnavailable.
func New(config Config) (*Client, error) {
	if config.MaxInFlight == 0 {
		config.MaxInFlight = contract.MaxInFlight
	}
	if config.CallTimeout == 0 {
		config.CallTimeout = contract.CallTimeout
	}
	conn, err := dial(config)
	if err != nil {
		return nil, err
	}
	return &Client{
		config: config,
		http: openapi.NewAPIClient(&openapi.Configuration{
			Servers:    openapi.ServerConfigurations{{URL: strings.TrimSuffix(config.HTTPEndpoint, "/")}},
			HTTPClient: &http.Client{Transport: transport(config)},
		}),
		conn:   conn,
		events: pbv1.NewCloudEventServiceClient(conn),
		codec:  codec.NewManifestBundleCodec(),
		slots:  semaphore.NewWeighted(int64(config.MaxInFlight)),
	}, nil
}

// Close ends the connections.
func (c *Client) Close() error {
	c.http.GetConfig().HTTPClient.CloseIdleConnections()
	return c.conn.Close()
}

// UID of a work's resource bundle. It depends on the source, so another source's work of the same name is another
// bundle.
func UID(source, consumer, name string) string {
	return utils.UID(source, common.ManifestWorkGR.String(), consumer, name)
}

// call runs one request in its slot and under its timeout. Waiting for the slot does not count.
func (c *Client) call(ctx context.Context, request func(context.Context) error) error {
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return contract.Errorf(contract.ErrUnavailable, "wait for one of %d request slots to Maestro: %w", c.config.MaxInFlight, err)
	}
	defer c.slots.Release(1)
	ctx, cancel := context.WithTimeout(ctx, c.config.CallTimeout)
	defer cancel()
	return request(ctx)
}

func (c *Client) where() string { return c.config.HTTPEndpoint }

// Ready asks the HTTP API for the shortest list there is.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.consumers(ctx, "")
	if err != nil {
		return fmt.Errorf("reach Maestro: %w", err)
	}
	return nil
}
