package fakemaestro

import (
	"encoding/json"
	"fmt"
	"time"

	cetypes "github.com/cloudevents/sdk-go/v2/types"
	"github.com/openshift-online/maestro/pkg/api/openapi"
	workpayload "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

const basePath = "/api/maestro/v1"

// row is one resource in the table. Rows are replaced, never changed in place: a row that was read stays as it was.
type row struct {
	id, name, source, consumer string
	version                    int32
	createdAt, updatedAt       time.Time
	deletedAt                  time.Time // zero unless marked as deleted
	payload, status            jsonMap
	position                   int64  // where the row lies in the table; moves with every update
	raw                        []byte // served instead of the presentation, see PutRaw
	anySource                  bool   // a raw row whose source is not known matches every source
}

func (r *row) deleting() bool { return !r.deletedAt.IsZero() }

// withTimestamps is the payload with the timestamps of the row in the work's metadata, as the server's Get and list
// return it.
func (r *row) withTimestamps() jsonMap {
	entries := map[string]any{"creationTimestamp": r.createdAt.Format(time.RFC3339)}
	if r.deleting() {
		entries["deletionTimestamp"] = r.deletedAt.Format(time.RFC3339)
	}
	return r.payload.withMetadata(entries)
}

// present builds the JSON that the HTTP API answers with.
func (r *row) present() ([]byte, error) {
	if r.raw != nil {
		return r.raw, nil
	}
	bundle, err := r.openapi()
	if err != nil {
		return nil, fmt.Errorf("failed to present resource bundle: %w", err)
	}
	return json.Marshal(bundle)
}

func (r *row) openapi() (*openapi.ResourceBundle, error) {
	content, err := decodeContent(r.withTimestamps())
	if err != nil {
		return nil, err
	}
	status, err := decodeStatus(r.status)
	if err != nil {
		return nil, err
	}
	bundle := &openapi.ResourceBundle{
		Id:           openapi.PtrString(r.id),
		Kind:         openapi.PtrString("ResourceBundle"),
		Href:         openapi.PtrString(basePath + "/resource-bundles/" + r.id),
		Name:         openapi.PtrString(r.name),
		ConsumerName: openapi.PtrString(r.consumer),
		Version:      openapi.PtrInt32(r.version),
		CreatedAt:    openapi.PtrTime(r.createdAt),
		UpdatedAt:    openapi.PtrTime(r.updatedAt),
		Status:       status,
	}
	if content != nil {
		bundle.Metadata = content.metadata
		bundle.Manifests = content.manifests
		bundle.ManifestConfigs = content.configs
		bundle.DeleteOption = content.deleteOption
	}
	if r.deleting() {
		bundle.DeletedAt = openapi.PtrTime(r.deletedAt)
	}
	return bundle, nil
}

// content is the part of a payload that the HTTP API shows. The executor is not among it.
type content struct {
	metadata     map[string]any
	manifests    []map[string]any
	configs      []map[string]any
	deleteOption map[string]any
}

// decodeContent returns nil for an empty payload.
func decodeContent(payload jsonMap) (*content, error) {
	if len(payload) == 0 {
		return nil, nil
	}
	evt, err := payload.event()
	if err != nil {
		return nil, fmt.Errorf("failed to convert resource manifest bundle to cloudevent: %v", err)
	}
	out := &content{metadata: map[string]any{}, deleteOption: map[string]any{}}
	if meta, ok := evt.Extensions()[types.ExtensionWorkMeta]; ok {
		text, err := cetypes.ToString(meta)
		if err != nil {
			return nil, fmt.Errorf("failed to get work meta extension: %v", err)
		}
		if err := json.Unmarshal([]byte(text), &out.metadata); err != nil {
			return nil, fmt.Errorf("failed to unmarshal work meta extension: %v", err)
		}
	}
	bundle := &workpayload.ManifestBundle{}
	if err := evt.DataAs(bundle); err != nil {
		return nil, fmt.Errorf("failed to decode cloudevent payload: %v", err)
	}
	out.manifests = make([]map[string]any, 0, len(bundle.Manifests))
	for _, manifest := range bundle.Manifests {
		object := map[string]any{}
		if err := json.Unmarshal(manifest.Raw, &object); err != nil {
			return nil, fmt.Errorf("failed to unmarshal manifest raw: %v", err)
		}
		out.manifests = append(out.manifests, object)
	}
	out.configs = make([]map[string]any, 0, len(bundle.ManifestConfigs))
	for _, config := range bundle.ManifestConfigs {
		object := map[string]any{}
		if err := decodeInto(config, &object); err != nil {
			return nil, fmt.Errorf("failed to unmarshal manifest config: %v", err)
		}
		out.configs = append(out.configs, object)
	}
	if bundle.DeleteOption != nil {
		if err := decodeInto(bundle.DeleteOption, &out.deleteOption); err != nil {
			return nil, fmt.Errorf("failed to unmarshal delete option: %v", err)
		}
	}
	return out, nil
}

// bundleStatus is the status object of the HTTP API. ObservedVersion and SequenceID are spelled as the server does.
type bundleStatus struct {
	ObservedVersion int32
	SequenceID      string
	*workpayload.ManifestBundleStatus
}

// decodeStatus returns nil before the first report.
func decodeStatus(status jsonMap) (map[string]any, error) {
	if len(status) == 0 {
		return nil, nil
	}
	evt, err := status.event()
	if err != nil {
		return nil, fmt.Errorf("failed to convert resource bundle status to cloudevent: %v", err)
	}
	extensions := evt.Extensions()
	version, err := cetypes.ToInteger(extensions[types.ExtensionResourceVersion])
	if err != nil {
		return nil, fmt.Errorf("failed to get resourceversion extension: %v", err)
	}
	sequence, err := cetypes.ToString(extensions[types.ExtensionStatusUpdateSequenceID])
	if err != nil {
		return nil, fmt.Errorf("failed to get sequenceid extension: %v", err)
	}
	out := bundleStatus{version, sequence, &workpayload.ManifestBundleStatus{}}
	if err := evt.DataAs(out.ManifestBundleStatus); err != nil {
		return nil, fmt.Errorf("failed to decode cloudevent payload: %v", err)
	}
	object := map[string]any{}
	if err := decodeInto(out, &object); err != nil {
		return nil, fmt.Errorf("failed to unmarshal resource status: %v", err)
	}
	return object, nil
}

// searchedSource is the source as searches see it.
func (r *row) searchedSource() any {
	if r.anySource {
		return anySource{}
	}
	return r.source
}

// anySource is equal to every source.
type anySource struct{}

func decodeInto(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}
