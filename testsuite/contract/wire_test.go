package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/source/codec"
	pbv1 "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protobuf/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc/protocol"
	cetypes "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
)

func isNotFound(err error) bool { return errors.Is(err, maestro.ErrNotFound) }

// publisher sends what the client would not, and hands out the server's own words, which the client replaces by a
// type.
type publisher struct {
	events pbv1.CloudEventServiceClient
}

func newPublisher(t *testing.T, endpoint string) *publisher {
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return &publisher{events: pbv1.NewCloudEventServiceClient(conn)}
}

func (p *publisher) publish(ctx context.Context, action cetypes.EventAction, work *workv1.ManifestWork, base int64) error {
	sent := work.DeepCopy()
	sent.UID, sent.Generation = types.UID(maestro.UID(source, work.Namespace, work.Name)), base
	kind := cetypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: cetypes.SubResourceSpec, Action: action,
	}
	event, err := codec.NewManifestBundleCodec().Encode(source, kind, sent)
	if err != nil {
		return err
	}
	message := &pbv1.CloudEvent{}
	if err := protocol.WritePBMessage(ctx, (*binding.EventMessage)(event), message); err != nil {
		return err
	}
	_, err = p.events.Publish(ctx, &pbv1.PublishRequest{Event: message})
	return err
}

// said publishes and gives what the server answers. A refusal always has the code Unknown: nothing but its words tells
// one from another.
func (s *scene) said(action cetypes.EventAction, work *workv1.ManifestWork, base int64) string {
	s.Helper()
	err := s.suite.publisher.publish(s.ctx(), action, work, base)
	if err == nil {
		return "accepted"
	}
	answer, _ := status.FromError(err)
	assert.Equal(s, codes.Unknown, answer.Code(), "%v", err)
	return s.plain(answer.Message())
}

// report says something about a work as the agent of the scene's cluster.
func (s *scene) report(id string, version int64, condition metav1.Condition) {
	s.Helper()
	kind := cetypes.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: cetypes.SubResourceStatus, Action: cetypes.UpdateRequestAction,
	}
	condition.LastTransitionTime = metav1.Now()
	event := cetypes.NewEventBuilder(s.consumer+"-work-agent", kind).
		WithResourceID(id).WithResourceVersion(version).WithClusterName(s.consumer).
		WithOriginalSource("maestro").WithStatusUpdateSequenceID("1").NewEvent()
	require.NoError(s, event.SetData(cloudevents.ApplicationJSON, &payload.ManifestBundleStatus{Conditions: []metav1.Condition{condition}}))
	message := &pbv1.CloudEvent{}
	require.NoError(s, protocol.WritePBMessage(s.ctx(), (*binding.EventMessage)(&event), message))
	_, err := s.suite.reporter.events.Publish(s.ctx(), &pbv1.PublishRequest{Event: message})
	require.NoError(s, err)
}

// plain takes out of an answer what differs between two runs.
func (s *scene) plain(answer string) string {
	return uuids.ReplaceAllString(strings.ReplaceAll(answer, s.consumer, "<consumer>"), "<id>")
}

// get asks the HTTP API and gives status and body.
func (s *scene) get(path string) (int, []byte) {
	s.Helper()
	return s.request(http.MethodGet, path, "")
}

func (s *scene) request(method, path, body string) (int, []byte) {
	s.Helper()
	request, err := http.NewRequestWithContext(s.ctx(), method, s.suite.backend.Maestro.HTTPEndpoint+path, strings.NewReader(body))
	require.NoError(s, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(s, err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	require.NoError(s, err)
	return response.StatusCode, answer
}

func text(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
