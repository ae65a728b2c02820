package simcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Options say which clusters to simulate.
type Options struct {
	// BrokerAddress is host:port of Maestro's gRPC broker.
	BrokerAddress string
	// Consumers are the names of the clusters. Maestro must know a consumer before a work can be published for
	// it; the agent does not need that.
	Consumers []string
	// Logf receives one line per decision. Nil: silence.
	Logf func(format string, args ...any)
}

// Cluster is a set of simulated managed clusters. Its methods may be called from several goroutines.
type Cluster struct {
	opts Options
	log  *gate
	life context.Context
	end  context.CancelFunc

	tasks sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	agents  map[string]*agent
}

// Work is what exists on a cluster because of one ManifestWork.
type Work struct {
	// Version is the newest one of which an object was applied; a version that was refused as a whole does not
	// count.
	Version int64
	// Manifests are the objects that exist, in the order of the work.
	Manifests []json.RawMessage
}

// Start connects the clusters and returns when all of them receive works. The context bounds the start only:
// they run until Stop.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	if opts.Logf == nil {
		opts.Logf = func(string, ...any) {}
	}
	log := &gate{to: opts.Logf}
	opts.Logf = log.logf
	life, end := context.WithCancel(klog.NewContext(context.Background(), logr.New(librarySink{logf: opts.Logf})))
	c := &Cluster{opts: opts, log: log, life: life, end: end, agents: map[string]*agent{}}
	errs := make([]error, len(opts.Consumers))
	var waiting sync.WaitGroup
	for i, name := range opts.Consumers {
		waiting.Go(func() { errs[i] = c.AddConsumer(ctx, name) })
	}
	waiting.Wait()
	if err := errors.Join(errs...); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// AddConsumer adds a cluster and returns when it receives works. One that exists already is fine.
func (c *Cluster) AddConsumer(ctx context.Context, name string) error {
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return errors.New("add cluster " + name + ": the simulation is stopped")
	}
	a := c.agents[name]
	if a == nil {
		a = newAgent(c.life, &c.tasks, name, c.opts)
		c.agents[name] = a
	}
	c.mu.Unlock()
	return a.connect(ctx)
}

// Disconnect cuts a cluster off. Works go on there, but nothing is received or reported.
func (c *Cluster) Disconnect(consumer string) {
	if a := c.agent(consumer); a != nil {
		a.cut()
	}
}

// Connect brings a cluster back and returns when it receives works.
func (c *Cluster) Connect(ctx context.Context, consumer string) error {
	a := c.agent(consumer)
	if a == nil {
		return errors.New("connect " + consumer + ": no such cluster")
	}
	return a.connect(ctx)
}

// Objects is what is on a cluster right now, by the UID of the work. Works of which nothing exists are not
// listed.
func (c *Cluster) Objects(consumer string) map[string]Work {
	all := map[string]Work{}
	a := c.agent(consumer)
	if a == nil {
		return all
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for uid, w := range a.works {
		if len(w.state.objects) > 0 {
			all[string(uid)] = Work{Version: w.state.applied, Manifests: w.state.existing()}
		}
	}
	return all
}

// Left is what deletions have left on a cluster, because the work's deleteOption was Orphan when they came, by the UID of
// the work.
func (c *Cluster) Left(consumer string) map[string]Work {
	all := map[string]Work{}
	a := c.agent(consumer)
	if a == nil {
		return all
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for uid, left := range a.left {
		all[string(uid)] = left
	}
	return all
}

// Stop ends all clusters. It may be called again.
func (c *Cluster) Stop() {
	c.mu.Lock()
	c.stopped = true
	agents := c.agents
	c.mu.Unlock()
	for _, a := range agents {
		a.mu.Lock()
		a.stopped = true
		a.mu.Unlock()
	}
	c.end()
	c.tasks.Wait()
	c.log.close()
}

func (c *Cluster) agent(name string) *agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agents[name]
}

// connect starts the sessions, if need be, and waits for the first.
func (a *agent) connect(ctx context.Context) error {
	a.mu.Lock()
	if a.disconnect == nil && !a.stopped {
		life, cancel := context.WithCancel(a.life)
		over := make(chan struct{})
		a.disconnect = func() { cancel(); <-over }
		a.tasks.Go(func() {
			defer close(over)
			a.keepConnected(life)
		})
	}
	a.mu.Unlock()
	if _, err := a.reach(ctx); err != nil {
		return fmt.Errorf("connect %s to the broker %s: %w", a.name, a.broker, err)
	}
	return nil
}

// cut ends the sessions.
func (a *agent) cut() {
	a.mu.Lock()
	disconnect := a.disconnect
	a.disconnect = nil
	a.mu.Unlock()
	if disconnect != nil {
		disconnect()
	}
}
