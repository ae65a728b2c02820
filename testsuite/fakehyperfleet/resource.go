package fakehyperfleet

import (
	"encoding/json"
	"fmt"
	"time"
)

const (
	base         = "/api/hyperfleet/v1"
	kindCluster  = "Cluster"
	kindNodepool = "NodePool"
)

// resource is one row with the statuses of its adapters.
type resource struct {
	id, kind, name string
	order          int
	parent         *resource
	spec           json.RawMessage
	labels         map[string]string
	generation     int64
	created        time.Time
	updated        time.Time
	deleted        *time.Time
	statuses       map[string]*stored
	conditions     []Condition
	// tracked is the generation at which all required adapters reported last, see lastKnown.
	tracked int64
}

// Condition is one of a resource's conditions.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	ObservedGeneration int64     `json:"observed_generation"`
	CreatedTime        time.Time `json:"created_time"`
	LastUpdatedTime    time.Time `json:"last_updated_time"`
	LastTransitionTime time.Time `json:"last_transition_time"`
}

// Resource is a resource as the API shows it.
type Resource struct {
	ID          string            `json:"id"`
	Kind        string            `json:"kind"`
	Name        string            `json:"name"`
	Href        string            `json:"href"`
	Spec        json.RawMessage   `json:"spec"`
	Labels      map[string]string `json:"labels,omitempty"`
	Generation  int64             `json:"generation"`
	Owner       *Owner            `json:"owner_references,omitempty"`
	CreatedTime time.Time         `json:"created_time"`
	UpdatedTime time.Time         `json:"updated_time"`
	DeletedTime *time.Time        `json:"deleted_time,omitempty"`
	Status      struct {
		Conditions []Condition `json:"conditions"`
	} `json:"status"`
}

// Owner of a node pool.
type Owner struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Href string `json:"href"`
}

func (r *resource) href() string {
	if r.parent != nil {
		return r.parent.href() + "/nodepools/" + r.id
	}
	return base + "/clusters/" + r.id
}

func (r *resource) show() Resource {
	shown := Resource{
		ID: r.id, Kind: r.kind, Name: r.name, Href: r.href(), Spec: r.spec, Labels: r.labels, Generation: r.generation,
		CreatedTime: r.created, UpdatedTime: r.updated, DeletedTime: r.deleted,
	}
	if r.parent != nil {
		shown.Owner = &Owner{ID: r.parent.id, Kind: r.parent.kind, Href: r.parent.href()}
	}
	shown.Status.Conditions = append([]Condition{}, r.conditions...)
	return shown
}

// AddCluster creates a cluster of generation 1 and gives its ID.
func (s *Server) AddCluster(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.insert(kindCluster, name, nil).id
}

// AddNodepool creates a node pool of generation 1 in a cluster and gives its ID.
func (s *Server) AddNodepool(cluster, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.insert(kindNodepool, name, s.resources[cluster]).id
}

// Bump raises the generation, as a change of the spec does.
func (s *Server) Bump(id string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.resources[id]
	s.raise(r)
	return r.generation
}

// Delete starts a deletion, as DELETE does.
func (s *Server) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startDeletion(s.resources[id])
}

// Get gives a resource as GET does; false when it is gone.
func (s *Server) Get(id string) (Resource, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, found := s.resources[id]
	if !found {
		return Resource{}, false
	}
	return r.show(), true
}

// insert needs s.mu.
func (s *Server) insert(kind, name string, parent *resource) *resource {
	s.created++
	now := s.now()
	r := &resource{
		id: fmt.Sprintf("01a22dc3-0000-7000-8000-%012d", s.created), kind: kind, name: name, order: s.created, parent: parent,
		spec: json.RawMessage(`{}`), generation: 1, created: now, updated: now, statuses: map[string]*stored{},
	}
	s.resources[r.id] = r
	s.aggregate(r)
	return r
}

func (s *Server) raise(r *resource) {
	r.generation++
	r.updated = s.now()
	s.aggregate(r)
}

// now is the server's clock as its database keeps it.
func (s *Server) now() time.Time { return s.clock().UTC().Round(time.Microsecond) }

func (s *Server) children(of *resource) []*resource {
	var children []*resource
	for _, r := range s.resources {
		if r.parent == of {
			children = append(children, r)
		}
	}
	return children
}
