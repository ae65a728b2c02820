package fakemaestro

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// DefaultInFlightLimit is the size of the real server's database pool.
const DefaultInFlightLimit = 50

// inFlight plays the deadlock of the server's database pool: each request holds one connection and needs a second
// one, so when more requests than connections are in flight none of them is ever answered.
type inFlight struct {
	mu      sync.Mutex
	limit   int // 0: none
	dwell   time.Duration
	now     int
	most    int
	jams    int           // jams so far
	jammed  bool          // one is going on
	lifted  chan struct{} // closed and replaced with every call of LimitInFlight
	changed chan struct{} // closed and replaced when a request leaves
}

func newInFlight() *inFlight {
	return &inFlight{lifted: make(chan struct{}), changed: make(chan struct{})}
}

// LimitInFlight jams the HTTP API whenever more than limit requests are in flight; 0 lifts the limit. All requests
// that were in flight when a jam began, and those that come while it lasts, hang until their clients give up; it is
// over, for requests that come then, as soon as fewer than limit are left. Each request stays for at least dwell
// (0: 5 ms, about what the real server needs), without which requests to a server that answers in microseconds would
// hardly ever meet.
func (f *Faults) LimitInFlight(limit int, dwell time.Duration) {
	if dwell == 0 {
		dwell = 5 * time.Millisecond
	}
	g := f.server.inFlight
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit, g.dwell, g.jammed = limit, dwell, false
	close(g.lifted)
	g.lifted = make(chan struct{})
}

// MaxInFlight is the highest number of HTTP requests that were in flight at the same time since the start or the last
// ResetMaxInFlight; it is counted with and without a limit.
func (f *Faults) MaxInFlight() int {
	g := f.server.inFlight
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most
}

// ResetMaxInFlight starts the count of MaxInFlight again.
func (f *Faults) ResetMaxInFlight() {
	g := f.server.inFlight
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most = g.now
}

// Jams is how often the limit of LimitInFlight was exceeded.
func (f *Faults) Jams() int {
	g := f.server.inFlight
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.jams
}

// WaitInFlight returns when at most n HTTP requests are in flight, or with an error when the context ends.
func (f *Faults) WaitInFlight(ctx context.Context, n int) error {
	g := f.server.inFlight
	for {
		g.mu.Lock()
		now, changed := g.now, g.changed
		g.mu.Unlock()
		if now <= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for at most %d requests in flight, have %d: %w", n, now, ctx.Err())
		}
	}
}

// visit is one request's stay.
type visit struct {
	jams   int // jams before it, not counting one that it came into
	lifted <-chan struct{}
	limit  int
	dwell  time.Duration
}

func (g *inFlight) enter() visit {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
	g.most = max(g.most, g.now)
	v := visit{jams: g.jams, lifted: g.lifted, limit: g.limit, dwell: g.dwell}
	if g.jammed {
		v.jams--
	}
	if g.limit > 0 && g.now > g.limit && !g.jammed {
		g.jammed = true
		g.jams++
	}
	return v
}

func (g *inFlight) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now--
	if g.now < g.limit {
		g.jammed = false
	}
	close(g.changed)
	g.changed = make(chan struct{})
}

// pass waits until the request may be handled; it fails when the client gives up first.
func (g *inFlight) pass(ctx context.Context, v visit, stopped <-chan struct{}) error {
	if v.limit == 0 {
		return nil
	}
	timer := time.NewTimer(v.dwell)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	g.mu.Lock()
	caught := g.jams > v.jams
	g.mu.Unlock()
	if !caught {
		return nil
	}
	select {
	case <-v.lifted:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-stopped:
		return errStopping
	}
}
