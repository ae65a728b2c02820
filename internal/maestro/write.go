package maestro

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protocol"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Create publishes a work that Maestro does not have. Its first version is 1. VersionConflict means that somebody else
// created it meanwhile, UnderDeletion that it still waits for its removal from the cluster.
func (c *Client) Create(ctx context.Context, source string, work *workv1.ManifestWork) error {
	err := c.publish(ctx, source, cetypes.CreateRequestAction, work, 0)
	if err == nil {
		return nil
	}
	return fmt.Errorf("create work %s on %s: %w", work.Name, work.Namespace, c.explainCreate(ctx, source, work, err))
}

// explainCreate finds the cause of a refused create by looking, because the server answers everything with one code.
func (c *Client) explainCreate(ctx context.Context, source string, work *workv1.ManifestWork, refusal error) error {
	if contract.TypeOf(refusal) != contract.ErrManifestRefused {
		return refusal
	}
	switch now, err := c.Read(ctx, source, work.Namespace, work.Name); {
	case err == nil && now.DeletedAt != nil:
		return underDeletion(now)
	case err == nil:
		return contract.Errorf(contract.ErrVersionConflict, "somebody else created it meanwhile: %w", refusal)
	case !errors.Is(err, ErrNotFound):
		return err
	}
	if err := c.Registered(ctx, work.Namespace); err != nil {
		return err
	}
	return refusal
}

// Update publishes a work in place of the stored one, which must still have the version just read. VersionConflict
// means that the version moved.
func (c *Client) Update(ctx context.Context, source string, stored *manifest.Stored, work *workv1.ManifestWork) error {
	if stored.Version < 1 {
		return contract.Errorf(contract.ErrInternal, "update work %s on %s: base version %d would overwrite whatever is stored",
			work.Name, work.Namespace, stored.Version)
	}
	err := c.publish(ctx, source, cetypes.UpdateRequestAction, work, stored.Version)
	if err == nil {
		return nil
	}
	return fmt.Errorf("update work %s on %s: %w", work.Name, work.Namespace, c.explainUpdate(ctx, source, stored, work, err))
}

// explainUpdate tells a conflict from a refusal by reading again: only a conflict has moved the version. The server's
// wording is not trusted.
func (c *Client) explainUpdate(ctx context.Context, source string, stored *manifest.Stored, work *workv1.ManifestWork, refusal error) error {
	if contract.TypeOf(refusal) != contract.ErrManifestRefused {
		return refusal
	}
	now, err := c.Read(ctx, source, work.Namespace, work.Name)
	switch {
	case errors.Is(err, ErrNotFound):
		return contract.Errorf(contract.ErrVersionConflict, "somebody deleted it meanwhile: %w", refusal)
	case err != nil:
		return err
	case now.DeletedAt != nil:
		return underDeletion(now)
	case now.Version != stored.Version:
		return contract.Errorf(contract.ErrVersionConflict, "version moved from %d to %d", stored.Version, now.Version)
	case !manifest.SameSet(stored.Work, work):
		return contract.Errorf(contract.ErrManifestSetImmutable,
			"the set of manifests would change (%d stored, %d wanted) and this Maestro only takes updates with the same manifests in the same order: %w",
			len(stored.Work.Spec.Workload.Manifests), len(work.Spec.Workload.Manifests), refusal)
	default:
		return refusal
	}
}

func underDeletion(stored *manifest.Stored) error {
	return contract.Errorf(contract.ErrUnderDeletion, "it is being deleted since %s", stored.DeletedAt.UTC().Format(time.RFC3339))
}

// Delete asks for the removal of a stored work. It is accepted, not done, when this returns: the bundle answers 404
// once the cluster has confirmed. Asking again while it is being deleted is the caller's decision.
func (c *Client) Delete(ctx context.Context, source string, stored *manifest.Stored) error {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: stored.Work.Name, Namespace: stored.Consumer}}
	deleted := metav1.Now()
	work.DeletionTimestamp = &deleted
	if err := c.publish(ctx, source, cetypes.DeleteRequestAction, work, stored.Version); err != nil {
		return fmt.Errorf("delete work %s on %s: %w", work.Name, work.Namespace, err)
	}
	return nil
}

// publish sends one event. The UID is computed here, from this call's own source, consumer and name.
func (c *Client) publish(ctx context.Context, source string, action cetypes.EventAction, work *workv1.ManifestWork, base int64) error {
	request, err := c.encode(source, action, work, base)
	if err != nil {
		return contract.Errorf(contract.ErrInternal, "encode: %w", err)
	}
	return c.call(ctx, func(ctx context.Context) error {
		if _, err := c.events.Publish(ctx, request); err != nil {
			return classifyGRPC(c.config.GRPCEndpoint, err)
		}
		return nil
	})
}

func (c *Client) encode(source string, action cetypes.EventAction, work *workv1.ManifestWork, base int64) (*pbv1.PublishRequest, error) {
	sent := &workv1.ManifestWork{
		ObjectMeta: metav1.ObjectMeta{
			Name: work.Name, Namespace: work.Namespace, UID: types.UID(UID(source, work.Namespace, work.Name)),
			Generation: base, Labels: work.Labels, OwnerReferences: work.OwnerReferences,
			DeletionTimestamp: work.DeletionTimestamp,
		},
		Spec: work.Spec,
	}
	if len(work.Annotations) > 0 {
		sent.Annotations = make(map[string]string, len(work.Annotations))
		for key, value := range work.Annotations {
			sent.Annotations[key] = value
		}
	}
	if err := keepExecutor(sent); err != nil {
		return nil, err
	}
	event, err := c.codec.Encode(source, cetypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType,
		SubResource:         cetypes.SubResourceSpec,
		Action:              action,
	}, sent)
	if err != nil {
		return nil, err
	}
	message := &pbv1.CloudEvent{}
	if err := protocol.WritePBMessage(context.Background(), (*binding.EventMessage)(event), message); err != nil {
		return nil, err
	}
	return &pbv1.PublishRequest{Event: message}, nil
}
