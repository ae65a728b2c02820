package fakemaestro

import (
	"context"
	"fmt"
	"time"

	ce "github.com/cloudevents/sdk-go/v2"
	"github.com/google/uuid"
	kubeerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	workpayload "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/server"
)

// agentService is what the agent-side broker asks for specs and gives statuses to.
type agentService struct {
	store *store
}

var _ server.Service = (*agentService)(nil)

// List returns the specs of one consumer for a resync.
func (s *agentService) List(_ context.Context, opts types.ListOptions) ([]*ce.Event, error) {
	events := []*ce.Event{}
	for _, r := range s.store.ofConsumer(opts.ClusterName) {
		evt, err := specEvent(r, r.payload, types.ResyncResponseAction)
		if err != nil {
			return nil, kubeerrors.NewInternalError(err)
		}
		events = append(events, evt)
	}
	return events, nil
}

// HandleStatusUpdate stores a status, drops it when it is stale, or removes the row when it says Deleted.
func (s *agentService) HandleStatusUpdate(_ context.Context, evt *ce.Event) error {
	_, err := s.store.handleStatus(evt)
	return err
}

// RegisterHandler is not needed: the specs are pushed by the server's own dispatcher.
func (s *agentService) RegisterHandler(context.Context, server.EventHandler) {}

// specNotice is a committed change that an agent has to hear of.
type specNotice struct {
	number int64 // keeps equal changes apart
	id     string
	action types.EventAction
}

// The delay before a notice is tried again when its consumer has no agent: it doubles with every attempt. The real
// server's grows to more than a quarter of an hour.
const (
	firstRetry   = 5 * time.Millisecond
	longestRetry = time.Second
)

func newSpecQueue() workqueue.TypedRateLimitingInterface[specNotice] {
	return workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[specNotice](firstRetry, longestRetry))
}

// dispatchSpecs sends committed changes to the agents until the queue is shut down.
func (s *Server) dispatchSpecs() {
	for {
		notice, shutdown := s.specs.Get()
		if shutdown {
			return
		}
		if s.dispatch(notice) {
			s.specs.Forget(notice)
		} else {
			s.specs.AddRateLimited(notice)
		}
		s.specs.Done(notice)
	}
}

// dispatch sends the present state of a row to the agents of its consumer. It returns false when there is none. A row
// that is gone needs no event.
func (s *Server) dispatch(notice specNotice) bool {
	found, failure := s.store.get(notice.id)
	if failure != nil {
		return true
	}
	if !s.broker.IsConsumerSubscribed(found.consumer) {
		return false
	}
	evt, err := specEvent(found, found.withTimestamps(), notice.action)
	if err != nil {
		return true // a scripted body that no agent could read
	}
	_ = s.broker.HandleEvent(context.Background(), evt) // fails only for events that name no consumer
	return true
}

// specEvent is the spec as an agent gets it: named after its id, from source "maestro".
func specEvent(r *row, payload jsonMap, action types.EventAction) (*ce.Event, error) {
	evt, err := payload.withMetadata(map[string]any{"name": r.id}).event()
	if err != nil {
		return nil, fmt.Errorf("failed to convert resource payload to cloudevent: %v", err)
	}
	eventType := types.CloudEventsType{
		CloudEventsDataType: workpayload.ManifestBundleEventDataType,
		SubResource:         types.SubResourceSpec,
		Action:              action,
	}
	evt.SetSource(originalSource)
	evt.SetType(eventType.String())
	evt.SetExtension(types.ExtensionResourceID, r.id)
	evt.SetExtension(types.ExtensionResourceVersion, int64(r.version))
	evt.SetExtension(types.ExtensionClusterName, r.consumer)
	if r.deleting() {
		evt.SetID(uuid.NewString())
		evt.SetTime(time.Now())
		evt.SetExtension(types.ExtensionDeletionTimestamp, r.deletedAt)
	}
	return evt, nil
}
