package fakehyperfleet

import (
	"encoding/json"
	"net/http"
	"strings"
)

// problems are the types of RFC 9457 that belong to the codes.
var problems = map[string]string{
	"VAL-000": "validation-error", "VAL-005": "bad-request", "VAL-006": "malformed-request",
	"AUT-001": "authentication-error", "AUT-002": "authentication-error", "AUT-003": "authentication-error",
	"AUZ-001": "permission-denied", "NTF-000": "not-found", "NTF-001": "not-found", "CNF-001": "conflict", "CNF-003": "conflict",
	"LMT-001": "rate-limit", "INT-001": "internal-error", "SVC-001": "service-unavailable",
}

// problem answers in the server's own form. The code is given without its prefix.
func (s *Server) problem(w http.ResponseWriter, r *http.Request, status int, code, detail string) {
	kind := problems[code]
	write(w, "application/problem+json", status, map[string]any{
		"type":   "https://api.hyperfleet.io/errors/" + kind,
		"title":  strings.ReplaceAll(kind, "-", " "),
		"status": status, "detail": detail, "code": "HYPERFLEET-" + code,
		"instance": r.URL.Path, "trace_id": "fake",
	})
}

func write(w http.ResponseWriter, contentType string, status int, document any) {
	encoded, err := json.Marshal(document)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(encoded)
}

func writeJSON(w http.ResponseWriter, status int, document any) {
	write(w, "application/json", status, document)
}

// failure is an answer that is a problem.
type failure struct {
	status int
	code   string
	detail string
}

func invalid(detail string) *failure { return &failure{http.StatusBadRequest, "VAL-000", detail} }

func malformed(detail string) *failure { return &failure{http.StatusBadRequest, "VAL-006", detail} }

func absent(what string) *failure {
	return &failure{http.StatusNotFound, "NTF-001", what + " not found"}
}

func conflict(code, detail string) *failure { return &failure{http.StatusConflict, code, detail} }
