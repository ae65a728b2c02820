package fakehyperfleet

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is one misbehaviour. It is a value: the methods that narrow it return a changed copy.
//
//	fake.Inject(fakehyperfleet.Unavailable().Times(2).Method("PUT"))
type Fault struct {
	kind   faultKind
	times  int
	struck int
	method string
	path   string

	status     int
	retryAfter time.Duration
	delay      time.Duration
	body       string
	hook       func()
}

type faultKind int

const (
	limited faultKind = iota
	unavailable
	reset
	slow
	expired
	notJSON
)

// TooManyRequests answers 429 with a Retry-After header in whole seconds.
func TooManyRequests(retryAfter time.Duration) Fault {
	return Fault{kind: limited, retryAfter: retryAfter}
}

// Unavailable answers 503 as the server does without its database.
func Unavailable() Fault { return Fault{kind: unavailable} }

// ResetAfterStoring handles the request and cuts the connection instead of answering.
func ResetAfterStoring() Fault { return Fault{kind: reset} }

// Slow delays the request before it is handled, or until the client gives up.
func Slow(delay time.Duration) Fault { return Fault{kind: slow, delay: delay} }

// ExpiredToken answers 401 AUT-003 whatever the token is.
func ExpiredToken() Fault { return Fault{kind: expired} }

// NotJSON answers with a status and a page of HTML, as a proxy does.
func NotJSON(status int) Fault {
	return Fault{kind: notJSON, status: status, body: "<html><body>" + http.StatusText(status) + "</body></html>"}
}

// Times ends the fault after it has struck n times; 0 means until [Server.Heal].
func (f Fault) Times(n int) Fault { f.times = n; return f }

// Method limits the fault to one method.
func (f Fault) Method(method string) Fault { f.method = method; return f }

// Path limits the fault to paths that contain the text.
func (f Fault) Path(text string) Fault { f.path = text; return f }

// Then calls a function when the fault strikes, before the request is answered.
func (f Fault) Then(hook func()) Fault { f.hook = hook; return f }

// Inject switches a fault on. Of several that fit the oldest strikes.
func (s *Server) Inject(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault)
}

// Heal switches all faults off.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

func (s *Server) strike(r *http.Request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fault := range s.faults {
		if fault.times > 0 && fault.struck >= fault.times ||
			fault.method != "" && fault.method != r.Method || !strings.Contains(r.URL.Path, fault.path) {
			continue
		}
		fault.struck++
		return fault
	}
	return nil
}

// answer reports whether the fault has answered the request itself.
func (f *Fault) answer(s *Server, w http.ResponseWriter, r *http.Request) bool {
	if f.hook != nil {
		f.hook()
	}
	switch f.kind {
	case limited:
		w.Header().Set("Retry-After", strconv.Itoa(int(f.retryAfter.Seconds())))
		s.problem(w, r, http.StatusTooManyRequests, "LMT-001", "rate limit exceeded")
		return true
	case unavailable:
		s.problem(w, r, http.StatusServiceUnavailable, "SVC-001", "database is unavailable")
		return true
	case expired:
		s.problem(w, r, http.StatusUnauthorized, "AUT-003", "token has expired")
		return true
	case notJSON:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.status)
		_, _ = w.Write([]byte(f.body))
		return true
	case slow:
		select {
		case <-time.After(f.delay):
		case <-r.Context().Done():
		}
		return false
	case reset:
		return false
	}
	return false
}

// cut resets the connection.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
