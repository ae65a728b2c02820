package fakemaestro

import (
	"context"
	"fmt"
	"time"

	ce "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	cetypes "github.com/cloudevents/sdk-go/v2/types"
	"google.golang.org/protobuf/types/known/emptypb"
	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	grpcprotocol "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protocol"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// sourceService is the gRPC service that sources talk to.
type sourceService struct {
	pbv1.UnimplementedCloudEventServiceServer
	generation  Generation
	store       *store
	subscribers *subscribers
	faults      *Faults
	recorder    *recorder
	heartbeat   time.Duration
	port        *port
	broadcast   func(*row)
}

// Publish takes one spec request of a source. Like the real server it answers every failure as plain text, so with
// gRPC code Unknown.
func (s *sourceService) Publish(ctx context.Context, req *pbv1.PublishRequest) (*emptypb.Empty, error) {
	evt, err := binding.ToEvent(ctx, grpcprotocol.NewMessage(req.Event))
	if err != nil {
		return nil, fmt.Errorf("failed to convert protobuf to cloudevent: %v", err)
	}
	record := newPublish(evt)
	err = s.faults.beforePublish(ctx, record)
	if err == nil {
		err = s.handle(evt)
	}
	if err != nil {
		record.Err = err.Error()
		s.recorder.add(record)
		return nil, err
	}
	record.Accepted = true
	record.Stored = s.latestVersion(record.ID)
	lost := s.faults.afterPublish(ctx, record)
	record.AnswerLost = lost != nil
	s.recorder.add(record) // before the client can learn anything
	if lost == nil {
		return &emptypb.Empty{}, nil
	}
	if lost.cut != "" {
		s.port.cut(lost.cut)
	}
	return nil, lost.err
}

func (s *sourceService) latestVersion(id string) int32 {
	if found, failure := s.store.get(id); failure == nil {
		return found.version
	}
	return 0
}

func (s *sourceService) handle(evt *ce.Event) error {
	eventType, err := types.ParseCloudEventsType(evt.Type())
	if err != nil {
		return fmt.Errorf("failed to parse cloud event type %s, %v", evt.Type(), err)
	}
	if eventType.Action == types.ResyncRequestAction {
		if err := s.resync(evt); err != nil {
			return fmt.Errorf("failed to respond resync status request: %v", err)
		}
		return nil
	}
	req, err := decodeRequest(evt)
	if err != nil {
		return fmt.Errorf("failed to decode cloudevent: %v", err)
	}
	return s.apply(eventType.Action, req)
}

func (s *sourceService) apply(action types.EventAction, req request) error {
	switch action {
	case types.CreateRequestAction:
		if failure := s.store.create(req); failure != nil {
			return fmt.Errorf("failed to create resource: %v", failure)
		}
	case types.UpdateRequestAction:
		found, failure := s.store.get(req.id)
		if failure != nil {
			return fmt.Errorf("failed to get resource: %v", failure)
		}
		if req.version == 0 {
			req.version = found.version // no protection: whatever is the latest
		}
		if failure := s.store.update(req); failure != nil {
			return fmt.Errorf("failed to update resource: %v", failure)
		}
	case types.DeleteRequestAction:
		s.store.markDeleting(req.id)
	default:
		return fmt.Errorf("unsupported action %s", action)
	}
	return nil
}

func decodeRequest(evt *ce.Event) (request, error) {
	extensions := evt.Extensions()
	consumer, err := cetypes.ToString(extensions[types.ExtensionClusterName])
	if err != nil {
		return request{}, fmt.Errorf("failed to get clustername extension: %v", err)
	}
	id, err := cetypes.ToString(extensions[types.ExtensionResourceID])
	if err != nil {
		return request{}, fmt.Errorf("failed to get resourceid extension: %v", err)
	}
	version, err := cetypes.ToInteger(extensions[types.ExtensionResourceVersion])
	if err != nil {
		return request{}, fmt.Errorf("failed to get resourceversion extension: %v", err)
	}
	if value, exists := extensions[types.ExtensionDeletionTimestamp]; exists {
		if _, err := cetypes.ToTime(value); err != nil {
			return request{}, fmt.Errorf("failed to convert deletion timestamp %v to time.Time: %v", value, err)
		}
	}
	content, err := eventToMap(evt)
	if err != nil {
		return request{}, fmt.Errorf("failed to convert cloudevent to resource payload: %v", err)
	}
	return request{id: id, source: evt.Source(), consumer: consumer, version: version, payload: content}, nil
}

// resync sends the statuses that differ from the hashes in the request, or all when it has none.
func (s *sourceService) resync(evt *ce.Event) error {
	hashes, err := payload.DecodeStatusResyncRequest(*evt)
	if err != nil {
		return fmt.Errorf("failed to decode status resync request: %v", err)
	}
	known := map[string]string{}
	for _, hash := range hashes.Hashes {
		known[hash.ResourceID] = hash.StatusHash
	}
	for _, r := range s.store.ofSource(evt.Source()) {
		hash, listed := known[r.id]
		if len(known) > 0 && (!listed || hash == r.status.hash()) {
			continue
		}
		s.broadcast(r)
	}
	return nil
}

// hash is the one that the agent computed; a row without a status has none.
func (m jsonMap) hash() string {
	hash, _ := m[types.ExtensionStatusHash].(string)
	return hash
}
