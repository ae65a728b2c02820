package fakehyperfleet

import (
	"net/http"
	"strings"
)

// Token is what the server thinks of a bearer token.
type Token int

// Tokens. A token that was never set has the wrong issuer.
const (
	TokenValid Token = iota
	TokenExpired
	// TokenAnonymous is valid and carries no identity: it may read and not write.
	TokenAnonymous
)

// SetToken switches the token check on, and says what a token is worth.
func (s *Server) SetToken(text string, token Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[text] = token
}

// authenticate is nil when the request may go on. Without a token set nothing is checked.
func (s *Server) authenticate(r *http.Request) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	deny := func(code, detail string) *failure { return &failure{http.StatusUnauthorized, code, detail} }
	write := r.Method != http.MethodGet
	if len(s.tokens) > 0 {
		text, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		token, known := s.tokens[text]
		switch {
		case !found || text == "":
			return deny("AUT-001", "missing bearer token")
		case !known:
			return deny("AUT-002", "token has an unknown issuer")
		case token == TokenExpired:
			return deny("AUT-003", "token has expired")
		case token == TokenAnonymous && write:
			return deny("AUT-001", "token carries no identity")
		}
	}
	status := strings.HasSuffix(r.URL.Path, "/statuses")
	if r.Header.Get("X-HyperFleet-System") == "true" && write && !status {
		return &failure{http.StatusForbidden, "AUZ-001", "a system identity may only read and report"}
	}
	return nil
}
