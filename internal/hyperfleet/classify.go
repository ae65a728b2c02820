package hyperfleet

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// ErrGone is the answer for a resource that the API does not have, or no longer.
var ErrGone = errors.New("no such resource")

const (
	codeNoResource = "HYPERFLEET-NTF-001"
	// maxQuote bounds what is repeated of a server's text.
	maxQuote = 600
	// maxRetryAfter bounds what a server may ask for.
	maxRetryAfter = 10 * time.Minute
)

// classify types an answer that is no success. Only the API's own code says that a resource does not exist: a 404 of a
// proxy or of a wrong address must not end a report quietly.
func classify(out request, in answer) error {
	var problem struct {
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}
	text := http.StatusText(in.status)
	// A body that is not JSON is left out, whatever wrote it.
	if err := json.Unmarshal(in.body, &problem); err == nil && problem.Code != "" {
		text = problem.Code + ": " + quote(problem.Detail, in.token)
	}
	refused := func(hint string) error {
		return contract.Errorf(contract.ErrHyperFleetRefused, "HyperFleet answers %d to %s %s (%s)%s", in.status, out.method, out.path, text, hint)
	}
	switch {
	case in.status == http.StatusNotFound && problem.Code == codeNoResource:
		return ErrGone
	case in.status == http.StatusNotFound, in.status == http.StatusMethodNotAllowed, in.status < http.StatusBadRequest:
		return refused(", check hyperfleet-url and the target's href")
	case in.status == http.StatusUnauthorized, in.status == http.StatusForbidden:
		return refused(", check hyperfleet-token-file and what its identity may do")
	// A status report is never in conflict with the resource's state, so a 409 is somebody else's and may pass.
	case in.status == http.StatusRequestTimeout, in.status == http.StatusConflict, in.status == http.StatusTooManyRequests, in.status >= http.StatusInternalServerError:
		err := contract.Errorf(contract.ErrHyperFleetUnavailable, "HyperFleet answers %d to %s %s (%s)", in.status, out.method, out.path, text)
		err.Delay = in.retryAfter
		return err
	default:
		return refused("")
	}
}

// retryAfter is in seconds or a date; 0 when there is none.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return bounded(time.Duration(seconds) * time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return bounded(at.Sub(now))
	}
	return 0
}

func bounded(delay time.Duration) time.Duration { return min(max(delay, 0), maxRetryAfter) }

// quote repeats a server's text, without the token if the server did that.
func quote(text, token string) string {
	if token != "" {
		text = strings.ReplaceAll(text, token, "[token]")
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxQuote {
		text = strings.ToValidUTF8(text[:maxQuote], "") + "…"
	}
	return text
}
