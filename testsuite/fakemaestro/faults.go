package fakemaestro

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Faults is the switchboard. Faults may be injected and removed while calls are in flight; of several that concern
// the same call all delays apply, then the first injected refusal.
type Faults struct {
	server *Server

	mu     sync.Mutex
	active []*Injected
}

// Injected is a fault in force.
type Injected struct {
	faults  *Faults
	fault   Fault
	removed chan struct{}

	// guarded by faults.mu
	hits    int
	spent   bool
	changed chan struct{}
}

// Inject puts a fault in force.
func (f *Faults) Inject(fault Fault) *Injected {
	f.mu.Lock()
	defer f.mu.Unlock()
	in := &Injected{faults: f, fault: fault, removed: make(chan struct{}), changed: make(chan struct{})}
	f.active = append(f.active, in)
	return in
}

// Clear removes every fault, resumes the paused listeners and lifts the limit of requests in flight.
func (f *Faults) Clear() error {
	f.mu.Lock()
	active := append([]*Injected(nil), f.active...)
	f.mu.Unlock()
	for _, in := range active {
		in.Remove()
	}
	f.LimitInFlight(0, 0)
	for _, p := range f.server.ports() {
		if err := p.resume(); err != nil {
			return err
		}
	}
	return nil
}

// Remove ends the fault. Calls that it holds go on as if it had never been.
func (in *Injected) Remove() {
	f := in.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, other := range f.active {
		if other == in {
			f.active = append(f.active[:i:i], f.active[i+1:]...)
			close(in.removed)
			return
		}
	}
}

// Hits is the number of calls that the fault has struck.
func (in *Injected) Hits() int {
	in.faults.mu.Lock()
	defer in.faults.mu.Unlock()
	return in.hits
}

// WaitHits returns when the fault has struck n times, or with an error when the context ends.
func (in *Injected) WaitHits(ctx context.Context, n int) error {
	for {
		in.faults.mu.Lock()
		hits, changed := in.hits, in.changed
		in.faults.mu.Unlock()
		if hits >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d hits, have %d: %w", n, hits, ctx.Err())
		}
	}
}

// strike returns the faults that concern the call and counts them: all delays and the first refusal.
func (f *Faults) strike(c call) []*Injected {
	f.mu.Lock()
	defer f.mu.Unlock()
	var struck []*Injected
	refused := false
	for _, in := range f.active {
		waits := in.fault.waits()
		if in.spent || !in.fault.concerns(c) || (refused && !waits) {
			continue
		}
		refused = refused || !waits
		in.hits++
		in.spent = in.fault.times > 0 && in.hits >= in.fault.times
		close(in.changed)
		in.changed = make(chan struct{})
		struck = append(struck, in)
	}
	return struck
}

func (f Fault) waits() bool {
	switch f.kind {
	case publishSlow, publishHang, httpSlow, httpHang:
		return true
	case answerLost, connectionCut, publishConflict, publishError, notAuthorized, noCredentials, badToken, httpStatus,
		eventLost:
	}
	return false
}

// hold waits as the fault demands. A slow call is not shortened when the fault is removed.
func (in *Injected) hold(ctx context.Context) error {
	var delay <-chan time.Time
	removed := in.removed
	if in.fault.delay > 0 {
		timer := time.NewTimer(in.fault.delay)
		defer timer.Stop()
		delay, removed = timer.C, nil
	}
	select {
	case <-delay:
	case <-removed:
	case <-ctx.Done():
		return ctx.Err()
	case <-in.faults.server.stopped:
		return errStopping
	}
	return nil
}

var errStopping = status.Error(codes.Unavailable, "the server is shutting down")

var (
	publishKinds = kinds(publishSlow, publishHang, publishConflict, publishError, noCredentials, badToken, notAuthorized)
	answerKinds  = kinds(answerLost, connectionCut)
	streamKinds  = kinds(noCredentials, badToken, notAuthorized)
	httpKinds    = kinds(httpStatus, httpSlow, httpHang)
	eventKinds   = kinds(eventLost)
)

func kinds(all ...faultKind) map[faultKind]bool {
	set := map[faultKind]bool{}
	for _, kind := range all {
		set[kind] = true
	}
	return set
}

func (f *Faults) beforePublish(ctx context.Context, p *Publish) error {
	c := call{kinds: publishKinds, consumer: p.Consumer, id: p.ID, action: p.Action}
	var refused error
	for _, in := range f.strike(c) {
		if in.fault.waits() {
			if err := in.hold(ctx); err != nil {
				return err
			}
			continue
		}
		if in.fault.kind == publishConflict {
			f.server.store.raise(p.ID)
			continue
		}
		refused = in.fault.grpcError("publish", p.Source)
	}
	return refused
}

func (f *Faults) beforeSubscribe(source string) error {
	struck := f.strike(call{kinds: streamKinds})
	if len(struck) == 0 {
		return nil
	}
	return struck[0].fault.grpcError("subscribe", source)
}

// loss is how the answer to a publish that is already stored gets lost.
type loss struct {
	err error
	cut string // the client's address when its connection is to be cut
}

// afterPublish returns nil when the client is to be answered.
func (f *Faults) afterPublish(ctx context.Context, p *Publish) *loss {
	struck := f.strike(call{kinds: answerKinds, consumer: p.Consumer, id: p.ID, action: p.Action})
	if len(struck) == 0 {
		return nil
	}
	lost := &loss{err: status.Error(codes.Unavailable, "error reading from server: EOF")}
	if client, ok := peer.FromContext(ctx); ok && struck[0].fault.kind == connectionCut {
		lost.cut = client.Addr.String()
	}
	return lost
}

// losesEvent reports whether a status event about the row is lost.
func (f *Faults) losesEvent(r *row) bool {
	return len(f.strike(call{kinds: eventKinds, consumer: r.consumer, id: r.id})) > 0
}

// beforeHTTP reports whether the request was answered by a fault.
func (f *Faults) beforeHTTP(w http.ResponseWriter, r *http.Request, c call) bool {
	c.kinds, c.method = httpKinds, r.Method
	answered := false
	for _, in := range f.strike(c) {
		if in.fault.waits() {
			if err := in.hold(r.Context()); err != nil {
				panic(http.ErrAbortHandler) // the client is gone: nothing to answer
			}
			continue
		}
		in.fault.writeHTTP(w, r)
		answered = true
	}
	return answered
}

func (f Fault) writeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retryAfter.Seconds()))))
	}
	if f.status == http.StatusInternalServerError {
		writeError(w, r, failf(codeGeneral, "Unspecified error"))
		return
	}
	http.Error(w, http.StatusText(f.status), f.status)
}
