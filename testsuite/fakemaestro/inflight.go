package fakemaestro

import (
	"context"
	"sync"
	"time"
)

// DefaultInFlightLimit is the size of the real server's database pool.
const DefaultInFlightLimit = 50

// inFlight plays the deadlock of the server's database pool: each request holds one connection and needs a second
// one, so when more requests than connections are in flight none of them is answered. It ends when enough clients
// have given up.
type inFlight struct {
	mu      sync.Mutex
	limit   int // 0: none
	dwell   time.Duration
	now     int
	most    int
	jams    int
	cleared chan struct{} // not nil while jammed; closed when the jam ends
}

// LimitInFlight makes every HTTP request hang while more than limit of them are in flight; 0 lifts the limit. Each
// request stays for at least dwell (0: 5 ms, about what the real server needs), without which requests to a server
// that answers in microseconds would hardly ever meet.
func (f *Faults) LimitInFlight(limit int, dwell time.Duration) {
	if dwell == 0 {
		dwell = 5 * time.Millisecond
	}
	g := f.server.inFlight
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit, g.dwell = limit, dwell
	g.settle()
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

func (g *inFlight) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
	g.most = max(g.most, g.now)
	if g.limit > 0 && g.now > g.limit && g.cleared == nil {
		g.cleared = make(chan struct{})
		g.jams++
	}
}

func (g *inFlight) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now--
	g.settle()
}

// settle ends a jam once a connection is free again. The caller holds the lock.
func (g *inFlight) settle() {
	if g.cleared != nil && (g.limit == 0 || g.now < g.limit) {
		close(g.cleared)
		g.cleared = nil
	}
}

// pass waits until the request may be handled; it fails when the client gives up first.
func (g *inFlight) pass(ctx context.Context, stopped <-chan struct{}) error {
	g.mu.Lock()
	limited, dwell := g.limit > 0, g.dwell
	g.mu.Unlock()
	if !limited {
		return nil
	}
	timer := time.NewTimer(dwell)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		g.mu.Lock()
		cleared := g.cleared
		g.mu.Unlock()
		if cleared == nil {
			return nil
		}
		select {
		case <-cleared:
		case <-ctx.Done():
			return ctx.Err()
		case <-stopped:
			return errStopping
		}
	}
}
