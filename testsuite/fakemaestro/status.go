package fakemaestro

import (
	"fmt"
	"reflect"

	ce "github.com/cloudevents/sdk-go/v2"
	cetypes "github.com/cloudevents/sdk-go/v2/types"
	"k8s.io/apimachinery/pkg/api/meta"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
	workpayload "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// originalSource is how the server calls itself towards its agents.
const originalSource = "maestro"

// handleStatus takes a status event as an agent sends it. The result says whether the row changed: a status for
// another version than the stored one, or with an older sequence id, is dropped without an error.
func (s *store) handleStatus(evt *ce.Event) (bool, error) {
	id, version, consumer, err := decodeStatusEvent(evt)
	if err != nil {
		return false, fmt.Errorf("failed to decode cloudevent: %v", err)
	}
	changed, err := s.applyStatus(evt, id, version, consumer)
	if err != nil {
		return false, fmt.Errorf("failed to handle resource status update %s: %s", id, err)
	}
	return changed, nil
}

func decodeStatusEvent(evt *ce.Event) (id string, version int32, consumer string, err error) {
	eventType, err := types.ParseCloudEventsType(evt.Type())
	if err != nil {
		return "", 0, "", fmt.Errorf("failed to parse cloud event type %s, %v", evt.Type(), err)
	}
	if eventType.CloudEventsDataType != workpayload.ManifestBundleEventDataType {
		return "", 0, "", fmt.Errorf("unsupported cloudevents data type %s", eventType.CloudEventsDataType)
	}
	extensions := evt.Extensions()
	if id, err = cetypes.ToString(extensions[types.ExtensionResourceID]); err != nil {
		return "", 0, "", fmt.Errorf("failed to get resourceid extension: %v", err)
	}
	if version, err = cetypes.ToInteger(extensions[types.ExtensionResourceVersion]); err != nil {
		return "", 0, "", fmt.Errorf("failed to get resourceversion extension: %v", err)
	}
	if consumer, err = cetypes.ToString(extensions[types.ExtensionClusterName]); err != nil {
		return "", 0, "", fmt.Errorf("failed to get clustername extension: %v", err)
	}
	source, err := cetypes.ToString(extensions[types.ExtensionOriginalSource])
	if err != nil {
		return "", 0, "", fmt.Errorf("failed to get originalsource extension: %v", err)
	}
	if source != originalSource {
		return "", 0, "", fmt.Errorf("unmatched original source id %s for resource %s", source, id)
	}
	return id, version, consumer, nil
}

func (s *store) applyStatus(evt *ce.Event, id string, version int32, consumer string) (bool, error) {
	found, failure := s.get(id)
	if failure != nil {
		return false, nil // deleted meanwhile
	}
	if found.consumer != consumer {
		return false, fmt.Errorf("unmatched consumer name %s for resource %s", consumer, id)
	}
	status, err := found.statusWithOwnMetadata(evt)
	if err != nil {
		return false, err
	}
	content := &workpayload.ManifestBundleStatus{}
	if err := evt.DataAs(content); err != nil {
		return false, fmt.Errorf("failed to decode cloudevent data as resource status: %v", err)
	}
	if meta.IsStatusConditionTrue(content.Conditions, common.ResourceDeleted) {
		return s.remove(id, status), nil
	}
	changed, failure := s.updateStatus(id, version, status)
	if failure != nil {
		return false, fmt.Errorf("failed to update resource status %s: %w", id, failure)
	}
	return changed, nil
}

// statusWithOwnMetadata is the event as it is stored: with the metadata of the stored work instead of the agent's.
func (r *row) statusWithOwnMetadata(evt *ce.Event) (jsonMap, error) {
	spec, err := r.withTimestamps().event()
	if err != nil {
		return nil, fmt.Errorf("failed to convert resource spec to cloudevent: %v", err)
	}
	own := evt.Clone()
	if workMeta, ok := spec.Extensions()[types.ExtensionWorkMeta]; ok {
		own.SetExtension(types.ExtensionWorkMeta, workMeta)
	}
	status, err := eventToMap(&own)
	if err != nil {
		return nil, fmt.Errorf("failed to convert resource status cloudevent to json: %v", err)
	}
	return status, nil
}

func (s *store) updateStatus(id string, version int32, status jsonMap) (bool, *serviceError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	if found == nil {
		return false, notFound("Resource", id)
	}
	if found.version != version || reflect.DeepEqual(status, found.status) {
		return false, nil
	}
	newer, failure := isNewer(status, found.status)
	if failure != nil || !newer {
		return false, failure
	}
	return true, s.storeStatus(found, status)
}

// storeStatus expects the lock to be held.
func (s *store) storeStatus(found *row, status jsonMap) *serviceError {
	stored, failure := status.stored()
	if failure != nil {
		return failf(codeGeneral, "Unable to update Resource: %s", failure.reason)
	}
	next := *found
	next.status, next.updatedAt, next.raw = stored, s.now(), nil
	s.put(&next)
	s.notify.statusChanged(next.id)
	return nil
}

func isNewer(status, current jsonMap) (bool, *serviceError) {
	sequence, err := status.sequenceID()
	if err != nil {
		return false, failf(codeGeneral, "Unable to get sequence ID from resource status: %s", err)
	}
	last, err := current.sequenceID()
	if err != nil {
		return false, failf(codeGeneral, "Unable to get sequence ID from found resource status: %s", err)
	}
	newer, err := utils.CompareSnowflakeSequenceIDs(last, sequence)
	if err != nil {
		return false, failf(codeGeneral, "Unable to compare sequence IDs: %s", err)
	}
	return newer, nil
}

// sequenceID is empty for an empty status.
func (m jsonMap) sequenceID() (string, error) {
	if len(m) == 0 {
		return "", nil
	}
	return cetypes.ToString(m[types.ExtensionStatusUpdateSequenceID])
}
