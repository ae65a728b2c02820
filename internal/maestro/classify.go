package maestro

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Maestro's own error codes, as they stand in its HTTP errors and in the texts of its gRPC errors.
const (
	codeNotFound     = 7
	codeGeneral      = 9
	codeUnauthorized = 11
	codeUnauthentic  = 15
	codeAdvisoryLock = 26
)

// maxQuote bounds what is repeated of a server's text.
const maxQuote = 600

var maestroCode = regexp.MustCompile(`\bmaestro-(\d+)\b`)

func codeIn(text string) int {
	match := maestroCode.FindStringSubmatch(text)
	if match == nil {
		return 0
	}
	code, _ := strconv.Atoi(match[1])
	return code
}

// classifyGRPC types the error of a publish. Everything that is neither about reachability nor about credentials is
// ManifestRefused here; the callers then look at the stored work for the real cause. Samples from the real server are
// in classify_test.go.
func classifyGRPC(endpoint string, err error) error {
	answer, _ := status.FromError(err)
	text := quote(answer.Message())
	switch answer.Code() {
	case codes.Unauthenticated, codes.PermissionDenied:
		return contract.Errorf(contract.ErrUnauthorized, "Maestro %s: %s", endpoint, text)
	case codes.ResourceExhausted:
		if strings.Contains(text, "larger than max") {
			return contract.Errorf(contract.ErrTooLarge, "Maestro %s: %s", endpoint, text)
		}
		return contract.Errorf(contract.ErrUnavailable, "Maestro %s: %s", endpoint, text)
	case codes.DeadlineExceeded, codes.Canceled:
		return contract.Errorf(contract.ErrUnavailable, "Maestro %s does not answer: %s", endpoint, text)
	case codes.Unavailable, codes.Aborted, codes.Internal, codes.Unimplemented:
		return contract.Errorf(contract.ErrUnavailable, "Maestro %s: %s", endpoint, text)
	default:
		return classifyText(endpoint, text)
	}
}

// classifyText is for answers of code Unknown, which is all that Maestro gives for its own errors. A refusal quotes the
// manifests, so the words of other errors only count where they stand in those: at the beginning, or behind a code.
func classifyText(endpoint, text string) error {
	switch code := codeIn(text); {
	case strings.HasPrefix(text, "unauthorized to "), text == "token not authenticated", code == codeUnauthorized, code == codeUnauthentic:
		return contract.Errorf(contract.ErrUnauthorized, "Maestro %s: %s", endpoint, text)
	case code == codeGeneral && strings.Contains(text, "fk_resources_consumers"):
		// The caller asks the consumers before it says so.
		return contract.Errorf(contract.ErrManifestRefused, "Maestro %s: %s", endpoint, text)
	case code == codeGeneral && strings.Contains(text, "(SQLSTATE 22"):
		// The database cannot keep the data itself, such as a NUL in a string: trying again changes nothing.
		return contract.Errorf(contract.ErrManifestRefused, "Maestro %s refuses it: %s", endpoint, text)
	case code == codeGeneral, code == codeAdvisoryLock, strings.HasPrefix(text, "failed to authorize the request"):
		return contract.Errorf(contract.ErrUnavailable, "Maestro %s: %s", endpoint, text)
	default:
		return contract.Errorf(contract.ErrManifestRefused, "Maestro %s refuses it: %s", endpoint, text)
	}
}

// classifyHTTP types an answer other than 200. Only Maestro's own not-found error is [ErrNotFound]: a 404 of a proxy
// or of a wrong base URL must never look like a work that does not exist.
func classifyHTTP(endpoint string, response *http.Response, body []byte) error {
	var problem struct {
		Code   string `json:"code"`
		Reason string `json:"reason"`
	}
	text := http.StatusText(response.StatusCode)
	if err := json.Unmarshal(body, &problem); err == nil && problem.Reason != "" {
		text = quote(problem.Reason)
	}
	where := endpoint + " answers " + strconv.Itoa(response.StatusCode)
	switch code := response.StatusCode; {
	case code == http.StatusNotFound && codeIn(problem.Code) == codeNotFound:
		return ErrNotFound
	case code == http.StatusNotFound:
		return contract.Errorf(contract.ErrUnavailable, "%s, but not as Maestro does: check the HTTP endpoint", where)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return contract.Errorf(contract.ErrUnauthorized, "Maestro %s: %s", where, text)
	case code == http.StatusTooManyRequests, code >= 500, code == http.StatusRequestTimeout:
		err := contract.Errorf(contract.ErrUnavailable, "Maestro %s: %s", where, text)
		err.Delay = retryAfter(response)
		return err
	default:
		return contract.Errorf(contract.ErrManifestRefused, "Maestro %s: %s", where, text)
	}
}

func retryAfter(response *http.Response) time.Duration {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, time.Minute)
}

func unreachable(endpoint string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return contract.Errorf(contract.ErrUnavailable, "Maestro %s does not answer: %w", endpoint, err)
	}
	return contract.Errorf(contract.ErrUnavailable, "Maestro %s cannot be reached: %w", endpoint, err)
}

func quote(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxQuote {
		text = strings.ToValidUTF8(text[:maxQuote], "") + "…"
	}
	return text
}
