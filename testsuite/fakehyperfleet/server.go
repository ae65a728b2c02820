package fakehyperfleet

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Options configure a server; the zero value requires no adapter and no token.
type Options struct {
	// Clusters and Nodepools name the required adapters of the two kinds.
	Clusters, Nodepools []string
	// Clock of the server; nil: time.Now. [Server.SetClock] changes it.
	Clock func() time.Time
}

// Server is a running fake.
type Server struct {
	mu        sync.Mutex
	clock     func() time.Time
	required  map[string][]string
	resources map[string]*resource
	created   int
	tokens    map[string]Token
	faults    []*Fault
	requests  []Request

	http *httptest.Server
}

// New starts a server for a test and stops it when the test ends.
func New(t testing.TB, options Options) *Server {
	t.Helper()
	s := &Server{
		clock:     options.Clock,
		required:  map[string][]string{kindCluster: options.Clusters, kindNodepool: options.Nodepools},
		resources: map[string]*resource{},
		tokens:    map[string]Token{},
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.http = httptest.NewUnstartedServer(s)
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.http.Start()
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// URL of the server, without /api.
func (s *Server) URL() string { return s.http.URL }

// SetClock changes the server's clock.
func (s *Server) SetClock(clock func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = clock
}

// Request is one request that arrived, with the status that it was answered with; 0 when the answer was lost.
type Request struct {
	Method, Path, Query string
	Authorization       string
	Body                []byte
	Status              int
}

// Requests gives all requests in the order of their answers.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Reports gives the requests that put a status, whatever the answer.
func (s *Server) Reports() []Request {
	var reports []Request
	for _, request := range s.Requests() {
		if request.Method == http.MethodPut {
			reports = append(reports, request)
		}
	}
	return reports
}

// ServeHTTP handles one request: faults first, then the token, then the route.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer := httptest.NewRecorder()
	fault := s.strike(r)
	if fault == nil || !fault.answer(s, answer, r) {
		s.handle(answer, r, body)
	}
	lost := fault != nil && fault.kind == reset
	request := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Authorization: r.Header.Get("Authorization"), Body: body, Status: answer.Code}
	if lost {
		request.Status = 0
	}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	s.mu.Unlock()
	if lost {
		cut(w)
		return
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = io.Copy(w, bytes.NewReader(answer.Body.Bytes()))
}
