//go:build integration

package replay

import (
	"context"
	"sync"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// gate holds the activities of one type at their start, from shut to open.
type gate struct {
	interceptor.InterceptorBase

	mu       sync.Mutex
	activity string
	opened   chan struct{}
}

func (g *gate) shut(activity string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.activity, g.opened = activity, make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.activity != "" {
		g.activity = ""
		close(g.opened)
	}
}

func (g *gate) pass(ctx context.Context) {
	g.mu.Lock()
	held, opened := g.activity == activity.GetInfo(ctx).ActivityType.Name, g.opened
	g.mu.Unlock()
	if !held {
		return
	}
	select {
	case <-opened:
	case <-ctx.Done():
	}
}

// InterceptActivity makes the gate a part of every worker of the client that has it.
func (g *gate) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &gated{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, gate: g}
}

type gated struct {
	interceptor.ActivityInboundInterceptorBase
	gate *gate
}

func (a *gated) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	a.gate.pass(ctx)
	return a.Next.ExecuteActivity(ctx, in)
}
