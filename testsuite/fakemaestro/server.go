package fakemaestro

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"k8s.io/client-go/util/workqueue"
	workpayload "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
	servergrpc "open-cluster-management.io/sdk-go/pkg/cloudevents/server/grpc"
)

// Generation is the server release whose rules apply where two of them differ.
type Generation int

const (
	// Strict is 48b47506a254 (February 2026): an update must keep number, order and identity of the manifests; every
	// delete of a deleting bundle is sent to the agent again; a subscription of a source has no id header; a resync
	// sends an agent everything again.
	Strict Generation = iota
	// Loose is main in summer 2026: an update may change the set of manifests, duplicates are refused; a repeated
	// delete does nothing; a subscription is answered with its id in the header.
	Loose
)

func (g Generation) String() string {
	switch g {
	case Strict:
		return "strict"
	case Loose:
		return "loose"
	default:
		return fmt.Sprintf("generation(%d)", int(g))
	}
}

// MaxReceiveSize is the largest gRPC message the server takes, in bytes.
const MaxReceiveSize = 4 << 20

// Options configure a server; the zero value is a strict server on free ports.
type Options struct {
	Generation Generation
	Consumers  []string         // created at start
	Heartbeat  time.Duration    // between heartbeats of a stream; 0: 10 s
	Clock      func() time.Time // for timestamps and scripts; nil: time.Now

	HTTPAddress, GRPCAddress, BrokerAddress string // host:port; "": a free port on 127.0.0.1
}

// Server is a running fake.
type Server struct {
	store       *store
	faults      *Faults
	recorder    *recorder
	inFlight    *inFlight
	subscribers *subscribers
	broker      *servergrpc.GRPCBroker

	specs    workqueue.TypedRateLimitingInterface[specNotice]
	statuses *queue[statusNotice]

	httpPort, grpcPort, brokerPort *port
	httpServer                     *http.Server
	grpcServer, brokerServer       *grpc.Server

	stopped   chan struct{}
	running   sync.WaitGroup
	closing   sync.Once
	closeErrs error
	sequences sequences
	notices   atomic.Int64
}

// statusNotice is a committed status that subscribers have to hear of. last is set when the row is gone.
type statusNotice struct {
	id   string
	last *row
}

// New starts a server for a test and stops it when the test ends.
func New(t testing.TB, opts Options) *Server {
	t.Helper()
	s, err := Start(opts)
	if err != nil {
		t.Fatalf("start fake maestro: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close fake maestro: %v", err)
		}
	})
	return s
}

// Start starts a server; the caller closes it.
func Start(opts Options) (*Server, error) {
	if opts.Heartbeat == 0 {
		opts.Heartbeat = 10 * time.Second
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	s := &Server{
		recorder:    newRecorder(),
		inFlight:    newInFlight(),
		subscribers: newSubscribers(),
		specs:       newSpecQueue(),
		statuses:    newQueue[statusNotice](),
		stopped:     make(chan struct{}),
	}
	s.faults = &Faults{server: s}
	s.store = newStore(opts.Generation, opts.Clock, (*commits)(s))
	if err := s.open(opts); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	for _, name := range opts.Consumers {
		if _, err := s.AddConsumer(name); err != nil {
			return nil, errors.Join(err, s.abandon())
		}
	}
	s.serve(opts)
	return s, nil
}

// abandon undoes what Start did before anything was served.
func (s *Server) abandon() error {
	s.specs.ShutDown()
	return s.closePorts()
}

func (s *Server) open(opts Options) (err error) {
	if s.httpPort, err = listen(opts.HTTPAddress); err != nil {
		return err
	}
	if s.grpcPort, err = listen(opts.GRPCAddress); err != nil {
		return err
	}
	s.brokerPort, err = listen(opts.BrokerAddress)
	return err
}

func (s *Server) serve(opts Options) {
	s.httpServer = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute, ErrorLog: silent}
	s.grpcServer = grpc.NewServer(grpcOptions()...)
	pbv1.RegisterCloudEventServiceServer(s.grpcServer, &sourceService{
		generation:  opts.Generation,
		store:       s.store,
		subscribers: s.subscribers,
		faults:      s.faults,
		recorder:    s.recorder,
		heartbeat:   opts.Heartbeat,
		port:        s.grpcPort,
		broadcast:   func(r *row) { s.subscribers.broadcast(r, s.stopped) },
	})
	s.brokerServer = grpc.NewServer(grpcOptions()...)
	s.broker = servergrpc.NewGRPCBroker(&servergrpc.BrokerOptions{HeartbeatCheckInterval: opts.Heartbeat})
	s.broker.RegisterService(context.Background(), workpayload.ManifestBundleEventDataType, &agentService{store: s.store})
	if opts.Generation == Strict {
		pbv1.RegisterCloudEventServiceServer(s.brokerServer, &strictBroker{GRPCBroker: s.broker, store: s.store})
	} else {
		pbv1.RegisterCloudEventServiceServer(s.brokerServer, s.broker)
	}

	s.run(func() { _ = s.httpServer.Serve(s.httpPort) }) // ends with Close, which reports
	s.run(func() { _ = s.grpcServer.Serve(s.grpcPort) })
	s.run(func() { _ = s.brokerServer.Serve(s.brokerPort) })
	s.run(s.dispatchSpecs)
	s.run(func() { s.statuses.run(s.stopped, s.broadcast) })
}

// grpcOptions are the defaults of the real server's flags. Without the policy clients that ping every few seconds
// would be thrown out.
func grpcOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(MaxReceiveSize),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WaitForHandlers(true),
	}
}

func (s *Server) run(f func()) {
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		f()
	}()
}

// Close stops the server and waits for its goroutines. Calls that hang are cut.
func (s *Server) Close() error {
	s.closing.Do(func() {
		close(s.stopped)
		s.specs.ShutDown()
		s.subscribers.dropAll()
		s.closeErrs = s.closePorts()
		s.grpcServer.Stop()
		s.brokerServer.Stop()
		s.closeErrs = errors.Join(s.closeErrs, s.httpServer.Close())
		s.running.Wait()
	})
	return s.closeErrs
}

func (s *Server) ports() []*port { return []*port{s.httpPort, s.grpcPort, s.brokerPort} }

func (s *Server) closePorts() error {
	var errs []error
	for _, p := range s.ports() {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(errs...)
}

// HTTPURL is the base URL of the HTTP API's host, without path.
func (s *Server) HTTPURL() string { return "http://" + s.httpPort.Addr().String() }

// GRPCAddress is where sources publish and subscribe.
func (s *Server) GRPCAddress() string { return s.grpcPort.Addr().String() }

// BrokerAddress is where agents subscribe and report.
func (s *Server) BrokerAddress() string { return s.brokerPort.Addr().String() }

// Faults is the switchboard for misbehaviour.
func (s *Server) Faults() *Faults { return s.faults }

// commits receives the store's notices and queues them.
type commits Server

func (c *commits) specChanged(id string, action types.EventAction) {
	c.specs.Add(specNotice{c.notices.Add(1), id, action})
}

func (c *commits) statusChanged(id string) { c.statuses.push(statusNotice{id: id}) }
func (c *commits) removed(last *row)       { c.statuses.push(statusNotice{id: last.id, last: last}) }

// broadcast sends the status as it is now, which may be newer than the notice.
func (s *Server) broadcast(notice statusNotice) {
	r := notice.last
	if r == nil {
		found, failure := s.store.get(notice.id)
		if failure != nil {
			return
		}
		r = found
	}
	if !s.faults.losesEvent(r) {
		s.subscribers.broadcast(r, s.stopped)
	}
}
