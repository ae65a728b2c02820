package fakehyperfleet

import (
	"net/http"
	"slices"
)

// startDeletion marks a resource and its children, each with a generation of its own; repeated it changes nothing. What
// no adapter has to clean up is gone at once. It needs s.mu.
func (s *Server) startDeletion(r *resource) {
	if r.deleted != nil {
		return
	}
	now := s.now()
	for _, marked := range append(s.children(r), r) {
		if marked.deleted == nil {
			marked.deleted = &now
			s.raise(marked)
		}
	}
	for _, marked := range append(s.children(r), r) {
		if len(s.required[marked.kind]) == 0 {
			s.removeWhenFinalized(marked)
		}
	}
}

// removeWhenFinalized drops the row when every required adapter has finalized the current generation and no child row
// exists, active or being deleted. The removal of the last child does not look at its parent again.
func (s *Server) removeWhenFinalized(r *resource) bool {
	if r.deleted == nil || len(s.children(r)) > 0 {
		return false
	}
	unfinished := func(adapter string) bool {
		status, reported := r.statuses[adapter]
		return !reported || status.ObservedGeneration != r.generation || !status.is("Finalized", "True")
	}
	if slices.ContainsFunc(s.required[r.kind], unfinished) {
		return false
	}
	delete(s.resources, r.id)
	return true
}

// forceDelete removes a resource with its children from the database only.
func (s *Server) forceDelete(r *resource, body []byte) *failure {
	var document struct {
		Reason string `json:"reason"`
	}
	if fail := decode(body, &document); fail != nil {
		return fail
	}
	switch {
	case len(document.Reason) < 1 || len(document.Reason) > 1024:
		return invalid("reason: 1 to 1024 characters are required")
	case r.deleted == nil:
		return conflict("CNF-003", r.kind+" is not being deleted")
	}
	for _, child := range s.children(r) {
		delete(s.resources, child.id)
	}
	delete(s.resources, r.id)
	return nil
}

func (s *Server) serveForceDelete(w http.ResponseWriter, r *http.Request, target *resource, body []byte) {
	if fail := s.forceDelete(target, body); fail != nil {
		s.problem(w, r, fail.status, fail.code, fail.detail)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
