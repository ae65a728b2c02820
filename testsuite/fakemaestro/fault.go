package fakemaestro

import (
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Fault describes one misbehaviour. It is a value: the methods that narrow it return a changed copy.
//
//	fake.Faults().Inject(fakemaestro.AnswerLost().Times(1).Consumer("c1"))
type Fault struct {
	kind     faultKind
	times    int
	consumer string
	id       string
	action   string
	method   string

	delay      time.Duration
	text       string
	status     int
	retryAfter time.Duration
	code       codes.Code
}

type faultKind int

const (
	answerLost faultKind = iota
	connectionCut
	publishConflict
	publishError
	publishSlow
	publishHang
	notAuthorized
	noCredentials
	badToken
	httpStatus
	httpSlow
	httpHang
	eventLost
)

// Times ends the fault after it has struck n times; 0 means until it is removed.
func (f Fault) Times(n int) Fault { f.times = n; return f }

// Consumer limits the fault to calls about one consumer. Requests that name none, such as a list over all, are not
// concerned.
func (f Fault) Consumer(name string) Fault { f.consumer = name; return f }

// ID limits the fault to calls about one resource bundle.
func (f Fault) ID(id string) Fault { f.id = id; return f }

// Action limits a fault of Publish to create_request, update_request or delete_request.
func (f Fault) Action(action string) Fault { f.action = action; return f }

// Method limits an HTTP fault to one method.
func (f Fault) Method(method string) Fault { f.method = method; return f }

// AnswerLost stores the publish and then answers Unavailable, as a proxy does whose server went away.
func AnswerLost() Fault { return Fault{kind: answerLost} }

// ConnectionCut stores the publish and then closes the client's connection without an answer.
func ConnectionCut() Fault { return Fault{kind: connectionCut} }

// PublishConflict lets another writer in before every update: the version is raised with unchanged content, and the
// update, if it names the version that its sender has read, is refused by the server's own rule.
func PublishConflict() Fault { return Fault{kind: publishConflict, action: "update_request"} }

// PublishRefused refuses every publish with the text, unchanged; code Unknown, as all refusals of the real server.
func PublishRefused(text string) Fault {
	return Fault{kind: publishError, text: text, code: codes.Unknown}
}

// PublishError answers every publish with a gRPC code and text without handling it.
func PublishError(code codes.Code, text string) Fault {
	return Fault{kind: publishError, text: text, code: code}
}

// PublishSlow delays every publish before it is handled.
func PublishSlow(delay time.Duration) Fault { return Fault{kind: publishSlow, delay: delay} }

// PublishHang does not answer a publish, and does not handle it, until the fault is removed or the client gives up.
func PublishHang() Fault { return Fault{kind: publishHang} }

// NoCredentials refuses publishes and subscriptions as a server with token authentication does when no token came:
// code Unauthenticated, text "invalid token".
func NoCredentials() Fault { return Fault{kind: noCredentials} }

// BadToken refuses publishes and subscriptions as the server does when the token is not accepted: text "token not
// authenticated" with code Unknown.
func BadToken() Fault { return Fault{kind: badToken} }

// NotAuthorized refuses publishes and subscriptions of a source that the caller may not use: a text with the
// source's name and code Unknown.
func NotAuthorized() Fault { return Fault{kind: notAuthorized} }

// HTTPStatus answers HTTP requests with a status instead of handling them: 500 in the server's own form, the others
// as a proxy in front of it does.
func HTTPStatus(code int) Fault { return Fault{kind: httpStatus, status: code} }

// HTTPUnavailable answers 503 with a Retry-After header in whole seconds, rounded up.
func HTTPUnavailable(retryAfter time.Duration) Fault {
	return Fault{kind: httpStatus, status: http.StatusServiceUnavailable, retryAfter: retryAfter}
}

// HTTPSlow delays HTTP requests before they are handled.
func HTTPSlow(delay time.Duration) Fault { return Fault{kind: httpSlow, delay: delay} }

// HTTPHang does not answer HTTP requests until the fault is removed, after which they are handled, or the client
// gives up.
func HTTPHang() Fault { return Fault{kind: httpHang} }

// EventLost keeps status events from the subscribers; what is stored does not change.
func EventLost() Fault { return Fault{kind: eventLost} }

// call is what a fault can be limited to.
type call struct {
	kinds    map[faultKind]bool // what can happen at this point
	consumer string
	id       string
	action   string
	method   string
}

func (f Fault) concerns(c call) bool {
	return c.kinds[f.kind] &&
		(f.consumer == "" || f.consumer == c.consumer) &&
		(f.id == "" || f.id == c.id) &&
		(f.action == "" || f.action == c.action) &&
		(f.method == "" || f.method == c.method)
}

// grpcError is the answer of the faults that refuse a call about a source.
func (f Fault) grpcError(verb, source string) error {
	switch f.kind {
	case publishError:
		return status.Error(f.code, f.text)
	case noCredentials:
		return status.Error(codes.Unauthenticated, "invalid token")
	case badToken:
		return fmt.Errorf("token not authenticated")
	case notAuthorized:
		return fmt.Errorf("unauthorized to %s the event from source %s", verb, source)
	case answerLost, connectionCut, publishConflict, publishSlow, publishHang, httpStatus, httpSlow, httpHang, eventLost:
	}
	panic(fmt.Sprintf("fakemaestro: fault %d does not refuse a call about a source", int(f.kind)))
}
