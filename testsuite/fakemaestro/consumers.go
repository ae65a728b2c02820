package fakemaestro

import (
	"sort"

	"github.com/google/uuid"
)

// consumerNamed expects the lock to be held.
func (s *store) consumerNamed(name string) *consumer {
	for _, c := range s.consumers {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (s *store) consumer(id string) (*consumer, *serviceError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.consumers[id]; ok {
		return c, nil
	}
	return nil, notFound("Consumer", id)
}

// createConsumer names the consumer after its id when no name is given.
func (s *store) createConsumer(name string, labels map[string]string) (*consumer, *serviceError) {
	if name != "" {
		if err := validateConsumerName(name); err != nil {
			return nil, failf(codeGeneral, "Unable to create Consumer: %s", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := uuid.NewString()
	if name == "" {
		name = id
	}
	if s.consumerNamed(name) != nil {
		return nil, failf(codeConflict, "This Consumer already exists")
	}
	if len(labels) == 0 {
		labels = nil
	}
	now := s.now()
	c := &consumer{id: id, name: name, labels: labels, createdAt: now, updatedAt: now}
	s.consumers[id] = c
	return c, nil
}

// relabelConsumer replaces all labels; nil keeps them.
func (s *store) relabelConsumer(id string, labels map[string]string) (*consumer, *serviceError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.consumers[id]
	if !ok {
		return nil, notFound("Consumer", id)
	}
	next := *found
	if labels != nil {
		next.labels = labels
		if len(labels) == 0 {
			next.labels = nil
		}
	}
	next.updatedAt = s.now()
	s.consumers[id] = &next
	return &next, nil
}

// deleteConsumer refuses while a bundle exists, also one that only waits for its agent. An unknown id is no error.
func (s *store) deleteConsumer(id string) *serviceError {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.consumers[id]
	if !ok {
		return nil
	}
	for _, r := range s.rows {
		if r.consumer == found.name {
			return failf(codeForbidden, "Unable to delete Consumer: %s", consumerInUse)
		}
	}
	delete(s.consumers, id)
	return nil
}

func (s *store) allConsumers() []*consumer {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*consumer, 0, len(s.consumers))
	for _, c := range s.consumers {
		all = append(all, c)
	}
	sort.Slice(all, func(i, j int) bool {
		if !all[i].createdAt.Equal(all[j].createdAt) {
			return all[i].createdAt.Before(all[j].createdAt)
		}
		return all[i].name < all[j].name
	})
	return all
}
