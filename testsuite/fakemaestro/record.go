package fakemaestro

import (
	"context"
	"fmt"
	"sync"
	"time"

	ce "github.com/cloudevents/sdk-go/v2"
	cetypes "github.com/cloudevents/sdk-go/v2/types"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// Publish is one call of the source service's Publish, accepted or refused.
type Publish struct {
	At       time.Time
	Type     string // the whole event type
	Action   string // its last part: create_request, update_request, delete_request, resync_request
	Source   string
	Consumer string
	ID       string
	Version  int32  // as sent; 0 asks for the latest
	Data     []byte // the event's data as sent: manifests, configs, executor

	Accepted   bool
	Stored     int32  // the version after an accepted publish
	AnswerLost bool   // accepted, but the client was not told
	Err        string // why it was refused, as the client saw it
}

// Request is one HTTP request that arrived, whatever became of it.
type Request struct {
	At           time.Time
	Method, Path string
	Query        string
}

func newPublish(evt *ce.Event) *Publish {
	record := &Publish{At: time.Now(), Type: evt.Type(), Source: evt.Source(), Data: evt.Data()}
	if eventType, err := types.ParseCloudEventsType(evt.Type()); err == nil {
		record.Action = string(eventType.Action)
	}
	extensions := evt.Extensions()
	// what is missing stays empty: the service itself answers for that
	record.Consumer, _ = cetypes.ToString(extensions[types.ExtensionClusterName])
	record.ID, _ = cetypes.ToString(extensions[types.ExtensionResourceID])
	record.Version, _ = cetypes.ToInteger(extensions[types.ExtensionResourceVersion])
	return record
}

// recorder keeps what clients did and wakes those who wait for more.
type recorder struct {
	mu        sync.Mutex
	publishes []Publish
	requests  []Request
	changed   chan struct{} // closed and replaced with every entry
}

func newRecorder() *recorder { return &recorder{changed: make(chan struct{})} }

func (r *recorder) add(record *Publish) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.publishes = append(r.publishes, *record)
	r.wake()
}

func (r *recorder) addRequest(request Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, request)
	r.wake()
}

func (r *recorder) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) all() ([]Publish, []Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Publish(nil), r.publishes...), append([]Request(nil), r.requests...)
}

// wait returns when reached says so about the numbers of publishes and requests.
func (r *recorder) wait(ctx context.Context, reached func(publishes, requests int) bool) error {
	for {
		r.mu.Lock()
		publishes, requests, changed := len(r.publishes), len(r.requests), r.changed
		r.mu.Unlock()
		if reached(publishes, requests) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("have %d publishes and %d requests: %w", publishes, requests, ctx.Err())
		}
	}
}

// Publishes returns all calls of Publish in the order in which they were answered.
func (s *Server) Publishes() []Publish {
	publishes, _ := s.recorder.all()
	return publishes
}

// WaitPublishes returns as soon as n publishes were answered, or with an error when the context ends.
func (s *Server) WaitPublishes(ctx context.Context, n int) ([]Publish, error) {
	if err := s.recorder.wait(ctx, func(publishes, _ int) bool { return publishes >= n }); err != nil {
		return s.Publishes(), fmt.Errorf("wait for %d publishes: %w", n, err)
	}
	return s.Publishes(), nil
}

// Requests returns all HTTP requests in the order of their arrival.
func (s *Server) Requests() []Request {
	_, requests := s.recorder.all()
	return requests
}

// WaitRequests returns as soon as n HTTP requests arrived, or with an error when the context ends.
func (s *Server) WaitRequests(ctx context.Context, n int) ([]Request, error) {
	if err := s.recorder.wait(ctx, func(_, requests int) bool { return requests >= n }); err != nil {
		return s.Requests(), fmt.Errorf("wait for %d requests: %w", n, err)
	}
	return s.Requests(), nil
}
