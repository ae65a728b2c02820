package fakehyperfleet

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
)

// names of resources: length by kind, from the server's shipped configuration.
var (
	name    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	longest = map[string]int{kindCluster: 53, kindNodepool: 15}
	ownerID = regexp.MustCompile(`^owner_id\s*=\s*'([^']*)'$`)
)

func (s *Server) serveCollection(w http.ResponseWriter, r *http.Request, to route, body []byte) {
	if r.Method == http.MethodPost {
		created, fail := s.create(to, body)
		if fail != nil {
			s.problem(w, r, fail.status, fail.code, fail.detail)
			return
		}
		writeJSON(w, http.StatusCreated, created.show())
		return
	}
	owner := to.owner
	if search := r.URL.Query().Get("search"); search != "" {
		match := ownerID.FindStringSubmatch(search)
		if match == nil {
			s.problem(w, r, http.StatusBadRequest, "VAL-005", "search: this fake knows only owner_id = '…'")
			return
		}
		owner = match[1]
	}
	var found []*resource
	for _, candidate := range s.resources {
		if (to.kind == "" || candidate.kind == to.kind) && (owner == "" || candidate.parent != nil && candidate.parent.id == owner) {
			found = append(found, candidate)
		}
	}
	// The default order is the newest first.
	slices.SortFunc(found, func(a, b *resource) int { return b.order - a.order })
	shown := make([]any, len(found))
	for i := range found {
		shown[i] = found[i].show()
	}
	s.servePage(w, r, shown)
}

func (s *Server) serveStatuses(w http.ResponseWriter, r *http.Request, target *resource) {
	var shown []any
	for _, adapter := range slices.Sorted(maps.Keys(target.statuses)) {
		shown = append(shown, target.statuses[adapter].Stored)
	}
	s.servePage(w, r, shown)
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request, all []any) {
	page, pageOK := number(r.URL.Query(), "page", 1)
	size, sizeOK := number(r.URL.Query(), "size", 20)
	if !pageOK || !sizeOK || page < 1 || size < 1 || size > 100 {
		s.problem(w, r, http.StatusBadRequest, "VAL-005", "page is from 1, size from 1 to 100")
		return
	}
	first := min((page-1)*size, len(all))
	items := append([]any{}, all[first:min(first+size, len(all))]...)
	writeJSON(w, http.StatusOK, map[string]any{"items": items, "page": page, "size": len(items), "total": len(all)})
}

func number(query url.Values, key string, fallback int) (int, bool) {
	if !query.Has(key) {
		return fallback, true
	}
	value, err := strconv.Atoi(query.Get(key))
	return value, err == nil
}

func (s *Server) create(to route, body []byte) (*resource, *failure) {
	var in struct {
		Kind   string            `json:"kind"`
		Name   string            `json:"name"`
		Spec   json.RawMessage   `json:"spec"`
		Labels map[string]string `json:"labels"`
	}
	if fail := decode(body, &in); fail != nil {
		return nil, fail
	}
	if to.kind == kindNodepool && to.owner == "" {
		return nil, &failure{http.StatusUnprocessableEntity, "VAL-000", "a NodePool is created below its Cluster"}
	}
	parent := s.resources[to.owner]
	switch {
	case to.owner != "" && parent == nil:
		return nil, absent("Cluster")
	case parent != nil && parent.deleted != nil:
		return nil, conflict("CNF-003", "Cluster is being deleted")
	case in.Kind != to.kind:
		return nil, invalid("kind: must be " + to.kind)
	case !name.MatchString(in.Name) || len(in.Name) < 3 || len(in.Name) > longest[to.kind]:
		return nil, invalid("name: lower-case letters, digits and hyphens")
	case len(in.Spec) == 0 || string(in.Spec) == "null":
		return nil, invalid("spec: required")
	}
	for _, other := range s.resources {
		if other.kind == to.kind && other.parent == parent && other.name == in.Name {
			return nil, conflict("CNF-001", to.kind+" with this name already exists")
		}
	}
	created := s.insert(to.kind, in.Name, parent)
	created.spec, created.labels = in.Spec, in.Labels
	return created, nil
}

// patch replaces spec and labels as a whole. The generation grows only when something changes.
func (s *Server) patch(target *resource, body []byte) *failure {
	var in struct {
		Spec       json.RawMessage   `json:"spec"`
		Labels     map[string]string `json:"labels"`
		References json.RawMessage   `json:"references"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return malformed(err.Error())
	}
	if target.deleted != nil {
		return conflict("CNF-003", target.kind+" is being deleted")
	}
	changed := false
	if in.Spec != nil && !bytes.Equal(in.Spec, target.spec) {
		target.spec, changed = in.Spec, true
	}
	if in.Labels != nil && !maps.Equal(in.Labels, target.labels) {
		target.labels, changed = in.Labels, true
	}
	if changed {
		s.raise(target)
	}
	return nil
}
