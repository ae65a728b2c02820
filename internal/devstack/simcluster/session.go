package simcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/statushash"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/agent/codec"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/clients"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc"
	grpcv2 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/v2/grpc"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/utils"
)

const (
	reconnectDelay = 500 * time.Millisecond
	// subscribeTimeout and resyncTimeout find a server that accepts connections but does not serve.
	subscribeTimeout = 10 * time.Second
	resyncTimeout    = 60 * time.Second
	// silenceTimeout is how long a server may send no heartbeat; it sends one every 10 seconds.
	silenceTimeout = 25 * time.Second
)

type eventClient = generic.CloudEventsClient[*workv1.ManifestWork]

// keepConnected runs one session after the other until the context ends.
func (a *agent) keepConnected(ctx context.Context) {
	down := false
	for {
		err := a.session(ctx, func() {
			if down {
				a.logf("%s: connected to the broker again", a.name)
			}
			down = false
		})
		if ctx.Err() != nil {
			return
		}
		if !down {
			a.logf("%s: no connection to the broker: %v", a.name, err)
		}
		down = true
		if pause(ctx, reconnectDelay) != nil {
			return
		}
	}
}

// session connects, asks for everything that is newer than what the cluster has, and serves until the
// connection breaks. The event client could reconnect by itself, but its patience is a variable of the whole
// process and grows to a minute; so each client lives for one connection only.
func (a *agent) session(ctx context.Context, connected func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dialer := &grpc.GRPCDialer{URL: a.broker}
	defer func() { _ = dialer.Close() }()
	silence := silenceTimeout
	opts := grpcv2.NewAgentOptions(
		&grpc.GRPCOptions{Dialer: dialer, ServerHealthinessTimeout: &silence},
		a.name, a.name+"-work-agent", payload.ManifestBundleEventDataType)
	opts.EventRateLimit = utils.EventRateLimit{QPS: 500, Burst: 1000}
	inner := opts.CloudEventsTransport
	failed := make(chan error, 1)
	opts.CloudEventsTransport = &onceTransport{CloudEventTransport: inner, failed: failed}
	go func() {
		select {
		case err := <-inner.ErrorChan():
			report(failed, err)
		case <-ctx.Done():
		}
	}()

	client, err := clients.NewCloudEventAgentClient(ctx, opts, lister{a}, statushash.StatusHash, codec.NewManifestBundleCodec())
	if err != nil {
		return err
	}
	client.Subscribe(ctx, a.receive)
	timeout := time.NewTimer(subscribeTimeout)
	defer timeout.Stop()
	select {
	case <-client.SubscribedChan():
	case err := <-failed:
		return err
	case <-timeout.C:
		return fmt.Errorf("no subscription within %s", subscribeTimeout)
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := resync(ctx, client); err != nil {
		return err
	}
	a.setClient(client)
	defer a.setClient(nil)
	connected()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func resync(ctx context.Context, client eventClient) error {
	ctx, cancel := context.WithTimeout(ctx, resyncTimeout)
	defer cancel()
	if err := client.Resync(ctx, types.SourceAll); err != nil {
		return fmt.Errorf("ask for a resync: %w", err)
	}
	return nil
}

// onceTransport hides failures from the event client, which would start to reconnect, and shows them to the
// session.
type onceTransport struct {
	options.CloudEventTransport
	failed chan error
}

// ErrorChan never delivers.
func (*onceTransport) ErrorChan() <-chan error { return nil }

// Subscribe blocks after a failure: the session is about to end.
func (t *onceTransport) Subscribe(ctx context.Context) error {
	err := t.CloudEventTransport.Subscribe(ctx)
	if err == nil {
		return nil
	}
	report(t.failed, err)
	<-ctx.Done()
	return errors.Join(err, ctx.Err())
}

// report keeps the first failure.
func report(to chan error, err error) {
	select {
	case to <- err:
	default:
	}
}

// lister shows the event client the works of a cluster, for resyncs.
type lister struct{ *agent }

func (l lister) List(_ context.Context, opts types.ListOptions) ([]*workv1.ManifestWork, error) {
	if opts.ClusterName != l.name {
		return nil, nil
	}
	return l.all(), nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
