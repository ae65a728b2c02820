package fakemaestro

import (
	"reflect"
	"sort"
	"sync"
	"time"

	"github.com/google/uuid"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// store is the server's database with the rules that the server applies in front of it. Every change is made, and its
// notices are queued, under one lock, so that notices leave in the order of the commits.
type store struct {
	generation Generation
	clock      func() time.Time
	notify     notices

	mu        sync.Mutex
	rows      map[string]*row
	anyRow    string // id of the row that answers for every unknown id, see ForAnyID
	consumers map[string]*consumer
	scripts   map[string]*script
	moves     int64
}

// notices are what the server's controllers do after a commit. They must not block.
type notices interface {
	specChanged(id string, action types.EventAction)
	statusChanged(id string)
	removed(last *row)
}

type consumer struct {
	id, name             string
	labels               map[string]string
	createdAt, updatedAt time.Time
}

func newStore(generation Generation, clock func() time.Time, notify notices) *store {
	return &store{
		generation: generation,
		clock:      clock,
		notify:     notify,
		rows:       map[string]*row{},
		consumers:  map[string]*consumer{},
		scripts:    map[string]*script{},
	}
}

// now has the precision of the database.
func (s *store) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// put stores a row as the newest of the table. The caller holds the lock.
func (s *store) put(r *row) {
	s.moves++
	r.position = s.moves
	s.rows[r.id] = r
}

// find returns the row for an id. The caller holds the lock.
func (s *store) find(id string) *row {
	s.advanceScript(id)
	if r, ok := s.rows[id]; ok {
		return r
	}
	return s.rows[s.anyRow]
}

func (s *store) get(id string) (*row, *serviceError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.find(id); r != nil {
		return r, nil
	}
	return nil, notFound("Resource", id)
}

func notFound(kind, id string) *serviceError {
	return failf(codeNotFound, "%s with id='%s' not found", kind, id)
}

// request is a decoded publish.
type request struct {
	id, source, consumer string
	version              int32
	payload              jsonMap
}

func (s *store) create(req request) *serviceError {
	if err := s.generation.validateCreate(req.payload); err != nil {
		return failf(codeValidation, "the manifest bundle in the resource is invalid, %v", err)
	}
	payload, failure := req.payload.stored()
	if failure != nil {
		return failf(codeGeneral, "Unable to create Resource: %s", failure.reason)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.id == "" {
		req.id = uuid.NewString()
	}
	if _, exists := s.rows[req.id]; exists {
		return failf(codeConflict, "This Resource already exists")
	}
	if s.consumerNamed(req.consumer) == nil {
		return failf(codeGeneral, "Unable to create Resource: %s", consumerMissing)
	}
	if req.version == 0 {
		req.version = 1 // any other number is taken as it comes
	}
	now := s.now()
	s.put(&row{
		id: req.id, name: req.id, source: req.source, consumer: req.consumer, version: req.version,
		createdAt: now, updatedAt: now, payload: payload,
	})
	s.notify.specChanged(req.id, types.CreateRequestAction)
	return nil
}

// update replaces the payload if the version is the stored one. Neither source nor consumer are compared with those
// of the stored row: whoever knows an id may change it.
func (s *store) update(req request) *serviceError {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(req.id)
	if found == nil {
		return notFound("Resource", req.id)
	}
	if found.deleting() {
		return failf(codeConflict, "the resource is under deletion, id: %s", req.id)
	}
	if found.version != req.version {
		return failf(codeConflict, "the resource version is not the latest, the latest version: %d", found.version)
	}
	if reflect.DeepEqual(req.payload, found.payload) {
		return nil
	}
	if err := s.generation.validateUpdate(req.payload, found.payload); err != nil {
		return failf(codeValidation, "the new manifest bundle in the resource is invalid, %v", err)
	}
	payload, failure := req.payload.stored()
	if failure != nil {
		return failf(codeGeneral, "Unable to update Resource: %s", failure.reason)
	}
	next := *found
	next.version++
	next.payload, next.updatedAt, next.raw = payload, s.now(), nil
	s.put(&next)
	s.publishedTo(next.id)
	s.notify.specChanged(next.id, types.UpdateRequestAction)
	return nil
}

// raise is an update by somebody else that leaves the content as it is.
func (s *store) raise(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	if found == nil || found.deleting() {
		return
	}
	next := *found
	next.version++
	next.updatedAt, next.raw = s.now(), nil
	s.put(&next)
	s.notify.specChanged(next.id, types.UpdateRequestAction)
}

// markDeleting is the soft delete. It succeeds for unknown and for already deleted ids as well.
func (s *store) markDeleting(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	if found == nil {
		return
	}
	if found.deleting() {
		if s.generation == Strict {
			s.notify.specChanged(found.id, types.DeleteRequestAction)
		}
		return
	}
	next := *found
	next.deletedAt, next.raw = s.now(), nil
	s.put(&next)
	s.publishedTo(next.id)
	s.notify.specChanged(next.id, types.DeleteRequestAction)
}

// remove deletes the row for good and tells the subscribers the last status.
func (s *store) remove(id string, lastStatus jsonMap) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.find(id)
	if found == nil {
		return false
	}
	last := *found
	last.status = lastStatus
	delete(s.rows, found.id)
	delete(s.scripts, found.id)
	s.notify.removed(&last)
	return true
}

// all returns the rows in table order.
func (s *store) all() []*row {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := make([]*row, 0, len(s.rows))
	for id := range s.scripts {
		s.advanceScript(id)
	}
	for _, r := range s.rows {
		rows = append(rows, r)
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].position < rows[j].position })
	return rows
}

func (s *store) ofConsumer(name string) []*row {
	return filter(s.all(), func(r *row) bool { return r.consumer == name })
}

func (s *store) ofSource(source string) []*row {
	return filter(s.all(), func(r *row) bool { return r.source == source })
}

func filter(rows []*row, keep func(*row) bool) []*row {
	kept := []*row{}
	for _, r := range rows {
		if keep(r) {
			kept = append(kept, r)
		}
	}
	return kept
}
