package hyperfleet

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// DefaultTimeout of a request.
const DefaultTimeout = 10 * time.Second

// maxAnswer bytes of an answer are read.
const maxAnswer = 4 << 20

// Config says how to reach the API.
type Config struct {
	// URL of the API, without /api.
	URL string
	// TokenFile holds the bearer token; "" sends none.
	TokenFile string
	// Timeout of each request, default [DefaultTimeout].
	Timeout time.Duration
}

// Client talks to one HyperFleet API for any number of goroutines.
type Client struct {
	config Config
	base   *url.URL
	http   *http.Client
}

// New makes a client. It does not connect: an API that is down shows in the calls.
func New(config Config) (*Client, error) {
	base, err := parseBase(config.URL)
	if err != nil {
		return nil, err
	}
	if config.Timeout == 0 {
		config.Timeout = DefaultTimeout
	}
	return &Client{config: config, base: base, http: &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			MaxIdleConnsPerHost:   8,
			IdleConnTimeout:       60 * time.Second,
			TLSHandshakeTimeout:   5 * time.Second,
			ResponseHeaderTimeout: config.Timeout,
		},
		// A redirect would take the token to wherever it points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close ends the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// answer of the API.
type answer struct {
	status     int
	body       []byte
	retryAfter time.Duration
	// token that the request carried, to keep it out of errors.
	token string
}

// request of the client.
type request struct {
	method, path string
	query        url.Values
	body         []byte
}

// send makes one request, and the same again once after a 401: the token may have been replaced since it was read.
func (c *Client) send(ctx context.Context, out request) (answer, error) {
	in, err := c.once(ctx, out)
	if err == nil && in.status == http.StatusUnauthorized && c.config.TokenFile != "" {
		return c.once(ctx, out)
	}
	return in, err
}

func (c *Client) once(ctx context.Context, out request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	token, err := c.token()
	if err != nil {
		return answer{}, err
	}
	address := *c.base
	address.Path = strings.TrimSuffix(c.base.Path, "/") + out.path
	address.RawQuery = out.query.Encode()
	message, err := http.NewRequestWithContext(ctx, out.method, address.String(), bytes.NewReader(out.body))
	if err != nil {
		return answer{}, contract.Errorf(contract.ErrHyperFleetRefused, "make request: %w", err)
	}
	message.Header.Set("Accept", "application/json")
	if out.body != nil {
		message.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		message.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.http.Do(message)
	if err != nil {
		return answer{}, contract.Errorf(contract.ErrHyperFleetUnavailable, "HyperFleet cannot be reached: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{}, contract.Errorf(contract.ErrHyperFleetUnavailable, "read answer to %s %s: %w", out.method, out.path, err)
	}
	return answer{status: response.StatusCode, body: body, retryAfter: retryAfter(response.Header, time.Now()), token: token}, nil
}

// ResourceHead is what the client needs to know about a resource.
type ResourceHead struct {
	ID          string     `json:"id"`
	Kind        string     `json:"kind"`
	Generation  int64      `json:"generation"`
	DeletedTime *time.Time `json:"deleted_time"`
}

// Resource reads a target's resource. [ErrGone] says that it does not exist.
func (c *Client) Resource(ctx context.Context, target contract.HyperFleetReport) (ResourceHead, error) {
	path, err := c.path(target)
	if err != nil {
		return ResourceHead{}, err
	}
	var head ResourceHead
	if err := c.get(ctx, path, nil, &head); err != nil {
		return head, err
	}
	if head.Generation < 1 {
		return head, contract.Errorf(contract.ErrHyperFleetUnavailable, "GET %s answers with no resource: check hyperfleet-url", path)
	}
	return head, nil
}

func (c *Client) get(ctx context.Context, path string, query url.Values, into any) error {
	out := request{method: http.MethodGet, path: path, query: query}
	in, err := c.send(ctx, out)
	if err != nil {
		return err
	}
	if in.status != http.StatusOK {
		return classify(out, in)
	}
	if err := json.Unmarshal(in.body, into); err != nil {
		return contract.Errorf(contract.ErrHyperFleetUnavailable, "GET %s answers 200, but not as HyperFleet does: check hyperfleet-url", path)
	}
	return nil
}
