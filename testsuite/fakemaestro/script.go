package fakemaestro

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	ce "github.com/cloudevents/sdk-go/v2"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// Step is one answer of a scripted history. The history goes on to the next step when one of the step's ends is
// reached; a step without an end, and the last one, stays.
type Step struct {
	Body   []byte // the HTTP body, byte for byte
	Status int    // 0 is 200; 404 without a body is the server's own 404

	Reads        int           // ends after so many reads, single or in a list
	For          time.Duration // ends so long after it began
	UntilPublish bool          // ends with an accepted publish for this bundle
}

type script struct {
	steps     []Step
	at        int
	reads     int
	began     time.Time
	published bool
}

// RawOption says more about a raw bundle than its body does.
type RawOption func(*rawOptions)

type rawOptions struct {
	id, source string
	anyID      bool
}

// ForID serves the body under another id than the one in it.
func ForID(id string) RawOption { return func(o *rawOptions) { o.id = id } }

// ForAnyID serves the body under its own id and under every id that is not known otherwise.
func ForAnyID() RawOption { return func(o *rawOptions) { o.anyID = true } }

// OwnedBy gives the bundle a source. Without one it is found by searches for any source.
func OwnedBy(source string) RawOption { return func(o *rawOptions) { o.source = source } }

// PutRaw stores a bundle given as the JSON of the HTTP API. It is served byte for byte until something changes it: an
// accepted publish, a status, a deletion. Publishes see the version, the consumer and the manifests that are in it;
// the consumer is created if it is missing. A body that cannot be read as a bundle needs ForID or ForAnyID and is
// served as it is.
func (s *Server) PutRaw(body []byte, opts ...RawOption) error {
	options := rawOptions{}
	for _, opt := range opts {
		opt(&options)
	}
	raw, err := rawRow(body)
	if options.id != "" {
		raw.id, raw.name = options.id, options.id
	}
	if raw.id == "" && options.anyID {
		raw.id, raw.name = "any", "any"
	}
	if raw.id == "" {
		return errors.Join(errors.New("put raw bundle: no id in the body and none given"), err)
	}
	raw.source, raw.anySource = options.source, options.source == ""
	return s.store.putRaw(raw, options.anyID)
}

func (s *store) putRaw(raw *row, anyID bool) error {
	if raw.consumer != "" {
		if _, failure := s.createConsumer(raw.consumer, nil); failure != nil && failure.code != codeConflict {
			return fmt.Errorf("put raw bundle: %w", failure)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(raw)
	if anyID {
		s.anyRow = raw.id
	}
	return nil
}

// ServeSequence answers reads of one bundle with the steps in order. The bundle itself, as publishes see it, follows
// the bodies: each step that can be read as a bundle sets version, manifests and status.
func (s *Server) ServeSequence(id string, steps ...Step) error {
	if len(steps) == 0 {
		return errors.New("serve sequence: no steps")
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.scripts[id] = &script{steps: steps, began: s.store.clock()}
	s.store.enterStep(id)
	return nil
}

// advanceScript moves a script on when its step has ended. The caller holds the lock.
func (s *store) advanceScript(id string) {
	sc, ok := s.scripts[id]
	for ok && sc.at < len(sc.steps)-1 && sc.ended(s.clock()) {
		sc.began, sc.reads, sc.published = s.clock(), 0, false
		sc.at++
		s.enterStep(id)
	}
}

func (sc *script) ended(now time.Time) bool {
	step := sc.steps[sc.at]
	return (step.Reads > 0 && sc.reads >= step.Reads) ||
		(step.For > 0 && now.Sub(sc.began) >= step.For) ||
		(step.UntilPublish && sc.published)
}

// enterStep lets the stored row follow the body. The caller holds the lock.
func (s *store) enterStep(id string) {
	sc := s.scripts[id]
	raw, err := rawRow(sc.steps[sc.at].Body)
	if err != nil {
		return // not a bundle: the row stays as it is
	}
	raw.id, raw.name, raw.anySource = id, id, true
	if before, ok := s.rows[id]; ok {
		raw.source, raw.anySource = before.source, before.anySource
	}
	if raw.consumer != "" && s.consumerNamed(raw.consumer) == nil {
		now := s.now()
		s.consumers[raw.consumer] = &consumer{id: raw.consumer, name: raw.consumer, createdAt: now, updatedAt: now}
	}
	s.put(raw)
	if len(raw.status) > 0 {
		s.notify.statusChanged(id)
	}
}

// publishedTo tells the script of a bundle about an accepted publish. The caller holds the lock.
func (s *store) publishedTo(id string) {
	if sc, ok := s.scripts[id]; ok {
		sc.published = true
		s.advanceScript(id)
	}
}

// readScript returns what a read of a scripted bundle gets, and counts the read.
func (s *store) readScript(id string) (code int, body []byte, scripted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advanceScript(id)
	sc, ok := s.scripts[id]
	if !ok {
		return 0, nil, false
	}
	sc.reads++
	step := sc.steps[sc.at]
	if step.Status == 0 {
		step.Status = http.StatusOK
	}
	return step.Status, step.Body, true
}

// rawRow reads a body of the HTTP API into a row. The row is usable also when there is an error: it has the body.
func rawRow(body []byte) (*row, error) {
	r := &row{raw: body, version: 1}
	var doc struct {
		ID           string           `json:"id"`
		Consumer     string           `json:"consumer_name"`
		Version      int32            `json:"version"`
		CreatedAt    time.Time        `json:"created_at"`
		UpdatedAt    time.Time        `json:"updated_at"`
		DeletedAt    time.Time        `json:"deleted_at"`
		Metadata     json.RawMessage  `json:"metadata"`
		Manifests    json.RawMessage  `json:"manifests"`
		Configs      json.RawMessage  `json:"manifest_configs"`
		DeleteOption json.RawMessage  `json:"delete_option"`
		Status       *json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return r, fmt.Errorf("read raw bundle: %w", err)
	}
	r.id, r.name, r.consumer, r.version = doc.ID, doc.ID, doc.Consumer, doc.Version
	r.createdAt, r.updatedAt, r.deletedAt = doc.CreatedAt, doc.UpdatedAt, doc.DeletedAt
	spec := rawEvent(r, types.SubResourceSpec, types.CreateRequestAction, r.version)
	spec["data"] = map[string]json.RawMessage{"manifests": orEmpty(doc.Manifests, "[]")}
	if len(doc.Configs) > 0 {
		spec["data"].(map[string]json.RawMessage)["manifestConfigs"] = doc.Configs
	}
	if len(doc.DeleteOption) > 2 { // {} is none
		spec["data"].(map[string]json.RawMessage)["deleteOption"] = doc.DeleteOption
	}
	spec[types.ExtensionWorkMeta] = orEmpty(doc.Metadata, "{}")
	var err error
	if r.payload, err = renumber(spec); err != nil || doc.Status == nil {
		return r, err
	}
	var seen struct {
		ObservedVersion int32
		SequenceID      string
	}
	if err := json.Unmarshal(*doc.Status, &seen); err != nil {
		return r, fmt.Errorf("read raw status: %w", err)
	}
	status := rawEvent(r, types.SubResourceStatus, types.UpdateRequestAction, seen.ObservedVersion)
	status["data"] = *doc.Status
	status[types.ExtensionStatusUpdateSequenceID] = seen.SequenceID
	status[types.ExtensionWorkMeta] = spec[types.ExtensionWorkMeta]
	r.status, err = renumber(status)
	return r, err
}

func rawEvent(r *row, sub types.EventSubResource, action types.EventAction, version int32) map[string]any {
	eventType := types.CloudEventsType{
		CloudEventsDataType: payload.ManifestBundleEventDataType, SubResource: sub, Action: action,
	}
	return map[string]any{
		"specversion":                  "1.0",
		"id":                           r.id,
		"type":                         eventType.String(),
		"source":                       "raw",
		"time":                         r.updatedAt,
		"datacontenttype":              ce.ApplicationJSON,
		types.ExtensionResourceID:      r.id,
		types.ExtensionClusterName:     r.consumer,
		types.ExtensionResourceVersion: version,
	}
}

func renumber(doc map[string]any) (jsonMap, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("read raw bundle: %w", err)
	}
	m, failure := decodeNumbers(data)
	if failure != nil {
		return nil, fmt.Errorf("read raw bundle: %w", failure)
	}
	return m, nil
}

func orEmpty(raw json.RawMessage, empty string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(empty)
	}
	return raw
}
