package fakemaestro

import (
	"context"
	"fmt"
	"sync"
	"time"

	ce "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	workpayload "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/constants"
	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	grpcprotocol "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protocol"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// subscriberBuffer is the number of events that wait for one subscriber. When it is full the broadcaster waits, for
// this subscriber and with it for all others, as in the real server.
const subscriberBuffer = 100

// subscribers are the open status streams of sources.
type subscribers struct {
	mu      sync.Mutex
	open    map[string]*subscription
	changed chan struct{} // closed and replaced with every change
}

type subscription struct {
	source string
	events chan *pbv1.CloudEvent
	gone   <-chan struct{} // the stream's context
	drop   chan struct{}   // closed to end the stream from this side
}

func newSubscribers() *subscribers {
	return &subscribers{open: map[string]*subscription{}, changed: make(chan struct{})}
}

func (s *subscribers) add(source string, gone <-chan struct{}) (string, *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := uuid.NewString()
	sub := &subscription{
		source: source,
		events: make(chan *pbv1.CloudEvent, subscriberBuffer),
		gone:   gone,
		drop:   make(chan struct{}),
	}
	s.open[id] = sub
	s.wake()
	return id, sub
}

func (s *subscribers) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *subscribers) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
	s.wake()
}

// of returns the streams of a source; a scripted row whose source is not known concerns all of them.
func (s *subscribers) of(source string) []*subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*subscription
	for _, sub := range s.open {
		if source == "" || sub.source == source {
			found = append(found, sub)
		}
	}
	return found
}

// dropAll ends the streams; their clients see Unavailable.
func (s *subscribers) dropAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, sub := range s.open {
		close(sub.drop)
		delete(s.open, id)
	}
	s.wake()
}

// WaitSubscribers returns when exactly n status streams of a source are open, or with an error when the context ends.
func (s *Server) WaitSubscribers(ctx context.Context, source string, n int) error {
	for {
		s.subscribers.mu.Lock()
		changed := s.subscribers.changed
		s.subscribers.mu.Unlock()
		have := len(s.subscribers.of(source))
		if have == n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d subscribers of %s, have %d: %w", n, source, have, ctx.Err())
		}
	}
}

// broadcast sends a row's status to every subscriber of its source. A row without a status cannot be encoded and is
// skipped.
func (s *subscribers) broadcast(r *row, stop <-chan struct{}) {
	evt, err := statusEvent(r)
	if err != nil {
		return
	}
	message := &pbv1.CloudEvent{}
	if err := grpcprotocol.WritePBMessage(context.Background(), binding.ToMessage(evt), message); err != nil {
		return
	}
	for _, sub := range s.of(r.source) {
		select {
		case sub.events <- message:
		case <-sub.gone:
		case <-sub.drop:
		case <-stop:
			return
		}
	}
}

// statusEvent is the stored status with the stored spec in it, so that a source without a cache gets the whole work.
func statusEvent(r *row) (*ce.Event, error) {
	evt, err := r.status.event()
	if err != nil {
		return nil, err
	}
	content := &workpayload.ManifestBundleStatus{}
	if err := evt.DataAs(content); err != nil {
		return nil, err
	}
	if len(r.payload) > 0 {
		spec, err := r.payload.event()
		if err != nil {
			return nil, err
		}
		content.ManifestBundle = &workpayload.ManifestBundle{}
		if err := spec.DataAs(content.ManifestBundle); err != nil {
			return nil, err
		}
	}
	if err := evt.SetData(ce.ApplicationJSON, content); err != nil {
		return nil, err
	}
	return evt, nil
}

// Subscribe streams the status events of one source until the client leaves or the stream is dropped.
func (s *sourceService) Subscribe(req *pbv1.SubscriptionRequest, stream pbv1.CloudEventService_SubscribeServer) error {
	ctx := stream.Context()
	if err := s.faults.beforeSubscribe(req.Source); err != nil {
		return err
	}
	id, sub := s.subscribers.add(req.Source, ctx.Done())
	defer s.subscribers.remove(id)
	if s.generation == Loose {
		if err := stream.SendHeader(metadata.Pairs(constants.GRPCSubscriptionIDKey, id)); err != nil {
			return fmt.Errorf("failed to send subscription header for subID %s: %w", id, err)
		}
	}
	heartbeat := time.NewTicker(s.heartbeat)
	defer heartbeat.Stop()
	for {
		var message *pbv1.CloudEvent
		select {
		case <-ctx.Done():
			return nil
		case <-sub.drop:
			return status.Error(codes.Unavailable, "error reading from server: EOF")
		case <-heartbeat.C:
			message = &pbv1.CloudEvent{SpecVersion: "1.0", Id: uuid.NewString(), Type: types.HeartbeatCloudEventsType}
		case message = <-sub.events:
		}
		if err := stream.Send(message); err != nil {
			return err
		}
	}
}
