package simcluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

const (
	publishTimeout = 10 * time.Second
	publishRetry   = 250 * time.Millisecond
)

// agent is one managed cluster. Its works live on while it is disconnected; what it has to say about them
// waits for the connection.
type agent struct {
	name   string
	broker string
	logf   func(format string, args ...any)
	life   context.Context // ends with the cluster; bounds the goroutines of works
	tasks  *sync.WaitGroup

	mu         sync.Mutex
	stopped    bool
	works      map[types.UID]*work
	left       map[types.UID]Work // by deletions with deleteOption Orphan
	client     eventClient        // nil while disconnected
	reachable  chan struct{}      // closed while connected
	disconnect func()             // ends the sessions and waits for that; nil when disconnected on purpose
}

// work is a work as the agent knows it.
type work struct {
	spec     *workv1.ManifestWork // as received, the newest version
	pending  []manifest           // of the newest version
	state    state
	deleting bool
	cancel   context.CancelFunc // ends the script of the newest version
}

func newAgent(life context.Context, tasks *sync.WaitGroup, name string, opts Options) *agent {
	return &agent{
		name: name, broker: opts.BrokerAddress, logf: opts.Logf, life: life, tasks: tasks,
		works: map[types.UID]*work{}, left: map[types.UID]Work{}, reachable: make(chan struct{}),
	}
}

// receive takes a version of a work, or the request to delete it. Events of one cluster arrive one by one.
func (a *agent) receive(_ context.Context, spec *workv1.ManifestWork) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return nil
	}
	w := a.works[spec.UID]
	switch {
	case w == nil:
		w = &work{cancel: func() {}}
		a.works[spec.UID] = w
	case w.deleting:
		return nil // asked again after a reconnect; the confirmation is on its way
	case spec.DeletionTimestamp.IsZero() && spec.Generation <= w.spec.Generation:
		return nil // known, or older than what is known
	}
	w.cancel()
	ctx, cancel := context.WithCancel(a.life)
	w.cancel = cancel
	if !spec.DeletionTimestamp.IsZero() {
		w.deleting = true
		if w.spec != nil {
			// The request carries no spec, and the source that asks may be unknown to it.
			deleted := w.spec.DeepCopy()
			deleted.Generation, deleted.DeletionTimestamp = spec.Generation, spec.DeletionTimestamp
			spec = deleted
		}
		w.spec = spec
		a.tasks.Go(func() { a.runDeletion(ctx, w) })
		return nil
	}
	w.spec = spec
	var ignored []error
	w.pending, ignored = parseManifests(spec.Spec.Workload.Manifests)
	for _, err := range ignored {
		a.logf("%s: work %s version %d: %v: ignored", a.name, spec.UID, spec.Generation, err)
	}
	version, manifests := spec.Generation, w.pending
	a.tasks.Go(func() { a.runScript(ctx, w, version, manifests) })
	return nil
}

// runScript plays one version of a work.
func (a *agent) runScript(ctx context.Context, w *work, version int64, manifests []manifest) {
	began := time.Now()
	for _, step := range plan(version, manifests) {
		if pause(ctx, step.at-time.Since(began)) != nil {
			return
		}
		report, current := a.change(ctx, w, step.change)
		if !current || silent(manifests) {
			continue
		}
		if a.publish(ctx, report) != nil {
			return
		}
	}
}

// runDeletion removes a work and confirms that.
func (a *agent) runDeletion(ctx context.Context, w *work) {
	a.mu.Lock()
	delay := deleteDelay(w.pending)
	a.mu.Unlock()
	if pause(ctx, delay) != nil {
		return
	}
	report, current := a.change(ctx, w, func(s *state) {
		// The agent deletes by the spec that it has received, whatever is stored.
		if option := w.spec.Spec.DeleteOption; option != nil && option.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan {
			a.left[w.spec.UID] = Work{Version: s.applied, Manifests: s.existing()}
		}
		s.remove()
	})
	if !current || a.publish(ctx, report) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.works, report.UID)
}

// change changes a work's state and returns what to report. Not current: a newer version has taken over.
func (a *agent) change(ctx context.Context, w *work, change func(*state)) (*workv1.ManifestWork, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil {
		return nil, false
	}
	change(&w.state)
	return w.report(), true
}

// report is the work as the agent reports it: the newest version's metadata, and the status.
func (w *work) report() *workv1.ManifestWork {
	return &workv1.ManifestWork{ObjectMeta: *w.spec.ObjectMeta.DeepCopy(), Status: *w.state.status.DeepCopy()}
}

// publish reports until Maestro has taken it, or until the context says that it is no longer of interest.
func (a *agent) publish(ctx context.Context, report *workv1.ManifestWork) error {
	kind := cetypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType,
		SubResource:         cetypes.SubResourceStatus,
		Action:              cetypes.UpdateRequestAction,
	}
	for attempt := 1; ; attempt++ {
		client, err := a.reach(ctx)
		if err != nil {
			return err
		}
		once, cancel := context.WithTimeout(ctx, publishTimeout)
		err = client.Publish(once, kind, report)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil && attempt%20 == 1 {
			a.logf("%s: report of work %s version %d, attempt %d: %v", a.name, report.UID, report.Generation, attempt, err)
		}
		if err := pause(ctx, publishRetry); err != nil {
			return err
		}
	}
}

// reach waits for the connection.
func (a *agent) reach(ctx context.Context) (eventClient, error) {
	for {
		a.mu.Lock()
		client, reachable := a.client, a.reachable
		a.mu.Unlock()
		if client != nil {
			return client, nil
		}
		select {
		case <-reachable:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-a.life.Done():
			return nil, errors.New("the simulation is stopped")
		}
	}
}

// setClient announces a connection, or with nil the loss of one.
func (a *agent) setClient(client eventClient) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.client = client
	if client != nil {
		close(a.reachable)
		return
	}
	a.reachable = make(chan struct{})
}

// all lists the works as last reported.
func (a *agent) all() []*workv1.ManifestWork {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []*workv1.ManifestWork
	for _, w := range a.works {
		all = append(all, w.report())
	}
	return all
}
