package fakehyperfleet

import (
	"net/http"
	"strings"
)

// route is a path below the base, taken apart.
type route struct {
	// kind of the collection; "" for /resources.
	kind string
	// owner is the cluster ID of a nested path, id the resource's; "" for the collection.
	owner, id string
	// tail is "", "statuses" or "force-delete".
	tail string
}

func parse(path string) (route, bool) {
	rest, found := strings.CutPrefix(path, base+"/")
	if !found {
		return route{}, false
	}
	parts := strings.Split(rest, "/")
	kinds := map[string]string{"clusters": kindCluster, "nodepools": kindNodepool, "resources": ""}
	var out route
	if len(parts) >= 3 && parts[0] == "clusters" && parts[2] == "nodepools" {
		out.owner, parts = parts[1], parts[2:]
	}
	kind, known := kinds[parts[0]]
	out.kind = kind
	switch {
	case !known || len(parts) > 3:
		return route{}, false
	case len(parts) >= 2:
		out.id = parts[1]
	}
	if len(parts) == 3 {
		out.tail = parts[2]
	}
	valid := out.tail == "" || out.tail == "statuses" || out.tail == "force-delete"
	return out, valid && (len(parts) == 1 || out.id != "")
}

// methods of a route.
func (r route) methods() []string {
	switch {
	case r.tail == "statuses":
		return []string{http.MethodGet, http.MethodPut}
	case r.tail == "force-delete":
		return []string{http.MethodPost}
	case r.id == "":
		return []string{http.MethodGet, http.MethodPost}
	default:
		return []string{http.MethodGet, http.MethodPatch, http.MethodDelete}
	}
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request, body []byte) {
	to, found := parse(r.URL.Path)
	if !found {
		s.problem(w, r, http.StatusNotFound, "NTF-000", "the requested endpoint does not exist")
		return
	}
	if !strings.Contains(strings.Join(to.methods(), " "), r.Method) {
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	if fail := s.authenticate(r); fail != nil {
		s.problem(w, r, fail.status, fail.code, fail.detail)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if to.id == "" {
		s.serveCollection(w, r, to, body)
		return
	}
	// The report's own values are judged before its resource is looked for.
	if r.Method == http.MethodPut {
		if target := s.find(to); target == nil {
			to.id = ""
		}
		s.servePut(w, r, to.id, body)
		return
	}
	target := s.find(to)
	if target == nil {
		fail := absent("resource")
		s.problem(w, r, fail.status, fail.code, fail.detail)
		return
	}
	s.serveResource(w, r, target, to.tail, body)
}

// find is nil for a resource that is not there, of another kind or below another owner.
func (s *Server) find(to route) *resource {
	found := s.resources[to.id]
	if found == nil || to.kind != "" && found.kind != to.kind ||
		to.owner != "" && (found.parent == nil || found.parent.id != to.owner) {
		return nil
	}
	return found
}

func (s *Server) serveResource(w http.ResponseWriter, r *http.Request, target *resource, tail string, body []byte) {
	switch {
	case tail == "force-delete":
		s.serveForceDelete(w, r, target, body)
	case tail == "statuses":
		s.serveStatuses(w, r, target)
	case r.Method == http.MethodPatch:
		if fail := s.patch(target, body); fail != nil {
			s.problem(w, r, fail.status, fail.code, fail.detail)
			return
		}
		writeJSON(w, http.StatusOK, target.show())
	case r.Method == http.MethodDelete:
		s.startDeletion(target)
		writeJSON(w, http.StatusAccepted, target.show())
	default:
		writeJSON(w, http.StatusOK, target.show())
	}
}
