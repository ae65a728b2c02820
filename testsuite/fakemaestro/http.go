package fakemaestro

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/openshift-online/maestro/pkg/api/openapi"
)

// operationIDHeader names the request in the server's errors; the server makes one up when it is missing.
const operationIDHeader = "X-Operation-ID"

// ServeHTTP answers the HTTP API. Every request is counted and recorded before a fault can hold it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	visit := s.inFlight.enter()
	defer s.inFlight.leave()
	s.recorder.addRequest(Request{At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery})
	if r.Header.Get(operationIDHeader) == "" {
		r.Header.Set(operationIDHeader, uuid.NewString())
	}
	if s.faults.beforeHTTP(w, r, s.concern(r)) {
		return
	}
	if err := s.inFlight.pass(r.Context(), visit, s.stopped); err != nil {
		panic(http.ErrAbortHandler) // the client is gone: nothing to answer
	}
	s.route(w, r)
}

var consumerInSearch = regexp.MustCompile(`consumer_name\s*=\s*'([^']*)'`)

// concern tells faults which consumer and bundle a request is about.
func (s *Server) concern(r *http.Request) call {
	if id, ok := strings.CutPrefix(r.URL.Path, basePath+"/resource-bundles/"); ok {
		c := call{id: id}
		if found, failure := s.store.get(id); failure == nil {
			c.consumer = found.consumer
		}
		return c
	}
	if match := consumerInSearch.FindStringSubmatch(r.URL.Query().Get("search")); match != nil {
		return call{consumer: match[1]}
	}
	return call{}
}

func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	collection, id, single := strings.Cut(strings.TrimPrefix(path, basePath+"/"), "/")
	if !strings.HasPrefix(path, basePath+"/") || strings.Contains(id, "/") {
		writeNotFound(w, r)
		return
	}
	switch {
	case collection == "resource-bundles" && !single:
		s.serveBundles(w, r)
	case collection == "resource-bundles":
		s.serveBundle(w, r, id)
	case collection == "consumers" && !single:
		s.serveConsumers(w, r)
	case collection == "consumers":
		s.serveConsumer(w, r, id)
	default:
		writeNotFound(w, r)
	}
}

func (s *Server) serveBundles(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		writeNotFound(w, r)
		return
	}
	page, failure := s.listBundles(r.URL.Query())
	if failure != nil {
		writeError(w, r, failure)
		return
	}
	writeBytes(w, http.StatusOK, page)
}

func (s *Server) serveBundle(w http.ResponseWriter, r *http.Request, id string) {
	switch r.Method {
	case http.MethodGet:
		s.getBundle(w, r, id)
	case http.MethodDelete:
		s.store.markDeleting(id)
		writeBytes(w, http.StatusNoContent, nil)
	default:
		writeNotFound(w, r)
	}
}

func (s *Server) getBundle(w http.ResponseWriter, r *http.Request, id string) {
	if code, body, scripted := s.store.readScript(id); scripted {
		s.writeScripted(w, r, id, code, body)
		return
	}
	found, failure := s.store.get(id)
	if failure != nil {
		writeError(w, r, failure)
		return
	}
	body, err := found.present()
	if err != nil {
		writeError(w, r, failf(codeGeneral, "%s", err))
		return
	}
	writeBytes(w, http.StatusOK, body)
}

func (s *Server) writeScripted(w http.ResponseWriter, r *http.Request, id string, code int, body []byte) {
	if code == http.StatusNotFound && body == nil {
		writeError(w, r, notFound("Resource", id))
		return
	}
	writeBytes(w, code, body)
}

func (s *Server) serveConsumers(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		page, failure := s.listConsumers(r.URL.Query())
		if failure != nil {
			writeError(w, r, failure)
			return
		}
		writeBytes(w, http.StatusOK, page)
	case http.MethodPost:
		s.postConsumer(w, r)
	default:
		writeNotFound(w, r)
	}
}

func (s *Server) postConsumer(w http.ResponseWriter, r *http.Request) {
	var body openapi.Consumer
	if failure := readBody(r, &body); failure != nil {
		writeError(w, r, failure)
		return
	}
	if body.GetId() != "" {
		writeError(w, r, failf(codeValidation, "id must be empty"))
		return
	}
	created, failure := s.store.createConsumer(body.GetName(), body.GetLabels())
	writeConsumer(w, r, http.StatusCreated, created, failure)
}

func (s *Server) serveConsumer(w http.ResponseWriter, r *http.Request, id string) {
	switch r.Method {
	case http.MethodGet:
		found, failure := s.store.consumer(id)
		writeConsumer(w, r, http.StatusOK, found, failure)
	case http.MethodPatch:
		var body openapi.ConsumerPatchRequest
		if failure := readBody(r, &body); failure != nil {
			writeError(w, r, failure)
			return
		}
		changed, failure := s.store.relabelConsumer(id, body.GetLabels())
		writeConsumer(w, r, http.StatusOK, changed, failure)
	case http.MethodDelete:
		if failure := s.store.deleteConsumer(id); failure != nil {
			writeError(w, r, failure)
			return
		}
		writeBytes(w, http.StatusNoContent, nil)
	default:
		writeNotFound(w, r)
	}
}

func writeConsumer(w http.ResponseWriter, r *http.Request, code int, c *consumer, failure *serviceError) {
	if failure != nil {
		writeError(w, r, failure)
		return
	}
	body, err := c.present()
	if err != nil {
		writeError(w, r, failf(codeGeneral, "%s", err))
		return
	}
	writeBytes(w, code, body)
}

func readBody(r *http.Request, into any) *serviceError {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return failf(codeMalformed, "Unable to read request body: %s", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return failf(codeMalformed, "Invalid request format: %s", err)
	}
	return nil
}

func writeBytes(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Vary", "Authorization")
	w.WriteHeader(code)
	if body != nil {
		_, _ = w.Write(body) // the client is gone: nobody to tell
	}
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeBytes(w, code, data)
}

func writeError(w http.ResponseWriter, r *http.Request, failure *serviceError) {
	writeJSON(w, failure.code.httpStatus(), failure.body(r.Header.Get(operationIDHeader)))
}

// writeNotFound answers for a path or a method that is not part of the API, in a form of its own.
func writeNotFound(w http.ResponseWriter, r *http.Request) {
	data, err := json.Marshal(struct {
		Type   string `json:"type"`
		ID     string `json:"id"`
		Href   string `json:"href"`
		Code   string `json:"code"`
		Reason string `json:"reason"`
	}{"Error", "404", basePath + "/errors/404", "maestro-404", "The requested resource '" + r.URL.Path + "' doesn't exist"})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(data) // the client is gone: nobody to tell
}
