package fakemaestro

import (
	"context"
	"fmt"
	"time"

	ce "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	cetypes "github.com/cloudevents/sdk-go/v2/types"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	workpayload "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	grpcprotocol "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protocol"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
	servergrpc "open-cluster-management.io/sdk-go/pkg/cloudevents/server/grpc"
)

// strictBroker is the agent-side broker of the strict generation. It differs from the newer one in how it answers a
// resync: with ordinary update and delete requests, with every bundle whether the agent has it or not, and with
// nothing at all, not even deletions, when the consumer has no bundles.
type strictBroker struct {
	*servergrpc.GRPCBroker
	store *store
}

// Publish answers a resync itself and leaves statuses to the broker.
func (b *strictBroker) Publish(ctx context.Context, req *pbv1.PublishRequest) (*emptypb.Empty, error) {
	evt, err := binding.ToEvent(ctx, grpcprotocol.NewMessage(req.Event))
	if err != nil {
		return b.GRPCBroker.Publish(ctx, req)
	}
	eventType, err := types.ParseCloudEventsType(evt.Type())
	if err != nil || eventType.Action != types.ResyncRequestAction {
		return b.GRPCBroker.Publish(ctx, req)
	}
	if err := b.resync(ctx, eventType.CloudEventsDataType, evt); err != nil {
		return nil, status.Error(codes.FailedPrecondition, fmt.Sprintf("failed to respond resync spec request: %v", err))
	}
	return &emptypb.Empty{}, nil
}

func (b *strictBroker) resync(ctx context.Context, dataType types.CloudEventsDataType, evt *ce.Event) error {
	known, err := payload.DecodeSpecResyncRequest(*evt)
	if err != nil {
		return err
	}
	consumer, err := cetypes.ToString(evt.Extensions()[types.ExtensionClusterName])
	if err != nil {
		return err
	}
	if dataType != workpayload.ManifestBundleEventDataType {
		return fmt.Errorf("failed to find service for event type %s", dataType)
	}
	rows := b.store.ofConsumer(consumer)
	if len(rows) == 0 {
		return nil
	}
	stored := map[string]bool{}
	for _, r := range rows {
		stored[r.id] = true
		action := types.UpdateRequestAction
		if r.deleting() {
			action = types.DeleteRequestAction
		}
		spec, err := specEvent(r, r.payload, action)
		if err != nil {
			return err
		}
		_ = b.HandleEvent(ctx, spec) // fails only for events that name no consumer
	}
	for _, version := range known.Versions {
		if stored[version.ResourceID] {
			continue
		}
		gone := types.NewEventBuilder("source", types.CloudEventsType{
			CloudEventsDataType: dataType, SubResource: types.SubResourceSpec, Action: types.DeleteRequestAction,
		}).
			WithResourceID(version.ResourceID).
			WithResourceVersion(version.ResourceVersion).
			WithClusterName(consumer).
			WithDeletionTimestamp(time.Now()).
			NewEvent()
		_ = b.HandleEvent(ctx, &gone)
	}
	return nil
}
