package maestro

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Answers captured from the real server at 48b47506a254 and, where noted, from main in summer 2026.
func TestClassifyGRPC(t *testing.T) {
	unknown := func(text string) error { return status.Error(codes.Unknown, text) }
	for text, sample := range map[string]struct {
		err  error
		want contract.ErrorType
	}{
		"stale version":          {unknown("failed to update resource: maestro-6: the resource version is not the latest, the latest version: 2"), contract.ErrManifestRefused},
		"exists":                 {unknown("failed to create resource: maestro-6: This Resource already exists"), contract.ErrManifestRefused},
		"under deletion":         {unknown("failed to update resource: maestro-6: the resource is under deletion, id: 11111111-2222-5333-8444-555555555555"), contract.ErrManifestRefused},
		"absent":                 {unknown("failed to get resource: maestro-7: Resource with id='11111111-2222-5333-8444-555555555555' not found"), contract.ErrManifestRefused},
		"other set, strict":      {unknown("failed to update resource: maestro-8: the new manifest bundle in the resource is invalid, new and old manifest have different number of objects"), contract.ErrManifestRefused},
		"other kind, strict":     {unknown(`failed to update resource: maestro-8: the new manifest bundle in the resource is invalid, kind: Invalid value: "Secret": field is immutable`), contract.ErrManifestRefused},
		"duplicate, main":        {unknown("failed to create resource: maestro-8: the manifest bundle in the resource is invalid, duplicate manifest: v1, kind=ConfigMap, namespace=default, name=a"), contract.ErrManifestRefused},
		"forbidden field":        {unknown("failed to create resource: maestro-8: the manifest bundle in the resource is invalid, metadata.generateName: Forbidden: field cannot be set"), contract.ErrManifestRefused},
		"unknown consumer":       {unknown(`failed to create resource: maestro-9: Unable to create Resource: ERROR: insert or update on table "resources" violates foreign key constraint "fk_resources_consumers" (SQLSTATE 23503)`), contract.ErrManifestRefused},
		"a NUL":                  {unknown("failed to create resource: maestro-9: Unable to create Resource: ERROR: unsupported Unicode escape sequence (SQLSTATE 22P05)"), contract.ErrManifestRefused},
		"number beyond a double": {unknown("failed to decode cloudevent: failed to convert cloudevent to resource payload: failed to unmarshal cloudevent JSON to JSONMAP: json: cannot unmarshal number 1e400 into Go value of type float64"), contract.ErrManifestRefused},
		"quotes another error":   {unknown(`failed to create resource: maestro-8: the manifest bundle in the resource is invalid, metadata.labels: Invalid value: "unauthorized to publish, failed to authorize the request, maestro-11, maestro-26": must be no more than 63 characters`), contract.ErrManifestRefused},
		"unknown action":         {unknown("unsupported action frobnicate_request"), contract.ErrManifestRefused},

		"database gone":       {unknown("failed to create resource: maestro-9: Unable to create Resource: failed to connect to `host=localhost user=maestro database=maestro`: dial error"), contract.ErrUnavailable},
		"database deadlock":   {unknown("failed to update resource: maestro-9: Unable to update Resource: ERROR: deadlock detected (SQLSTATE 40P01)"), contract.ErrUnavailable},
		"lock":                {unknown("failed to update resource: maestro-26: cannot acquire the advisory lock"), contract.ErrUnavailable},
		"authoriser gone":     {unknown("failed to authorize the request: connection refused"), contract.ErrUnavailable},
		"server gone":         {status.Error(codes.Unavailable, "connection error: desc = \"transport: Error while dialing: dial tcp 127.0.0.1:8090: connect: connection refused\""), contract.ErrUnavailable},
		"answer lost":         {status.Error(codes.Unavailable, "error reading from server: EOF"), contract.ErrUnavailable},
		"no answer":           {status.FromContextError(context.DeadlineExceeded).Err(), contract.ErrUnavailable},
		"given up":            {status.FromContextError(context.Canceled).Err(), contract.ErrUnavailable},
		"internal":            {status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"), contract.ErrUnavailable},
		"another service":     {status.Error(codes.Unimplemented, "unknown service io.cloudevents.v1.CloudEventService"), contract.ErrUnavailable},
		"too many":            {status.Error(codes.ResourceExhausted, "too many requests"), contract.ErrUnavailable},
		"message too large":   {status.Error(codes.ResourceExhausted, "grpc: received message larger than max (4194368 vs. 4194304)"), contract.ErrTooLarge},
		"no token":            {status.Error(codes.Unauthenticated, "invalid token"), contract.ErrUnauthorized},
		"bad token":           {unknown("token not authenticated"), contract.ErrUnauthorized},
		"another's source":    {unknown("unauthorized to pub the event from source other"), contract.ErrUnauthorized},
		"refused by a proxy":  {status.Error(codes.PermissionDenied, "unexpected HTTP status code received from server: 403 (Forbidden)"), contract.ErrUnauthorized},
		"not a gRPC error":    {errors.New("something else"), contract.ErrManifestRefused},
		"wrapped gRPC status": {fmt.Errorf("publish: %w", status.Error(codes.Unavailable, "EOF")), contract.ErrUnavailable},
	} {
		t.Run(text, func(t *testing.T) {
			err := classifyGRPC("maestro:8090", sample.err)
			assert.Equal(t, sample.want, contract.TypeOf(err), "%v", err)
			assert.Contains(t, err.Error(), "maestro:8090")
			assert.Contains(t, err.Error(), status.Convert(sample.err).Message(), "the server's words are passed on")
		})
	}
}

func TestClassifyHTTP(t *testing.T) {
	maestroError := func(code int, reason string) string {
		return fmt.Sprintf(`{"code":"maestro-%d","href":"/api/maestro/v1/errors/%d","id":"%d","kind":"Error","operation_id":"x","reason":%q}`, code, code, code, reason)
	}
	const page = "<html><body>nginx</body></html>"
	for name, sample := range map[string]struct {
		code  int
		body  string
		after string
		want  contract.ErrorType
		says  string
		delay time.Duration
	}{
		"another path":         {404, `{"type":"Error","id":"404","href":"/api/maestro/v1/errors/404","code":"maestro-404","reason":"The requested resource '/x' doesn't exist"}`, "", contract.ErrUnavailable, "check the HTTP endpoint", 0},
		"a proxy's 404":        {404, page, "", contract.ErrUnavailable, "not as Maestro does", 0},
		"code 70":              {404, maestroError(70, "x"), "", contract.ErrUnavailable, "not as Maestro does", 0},
		"an empty 404":         {404, "", "", contract.ErrUnavailable, "not as Maestro does", 0},
		"bad search":           {400, maestroError(21, "Failed to parse search query: name=="), "", contract.ErrManifestRefused, "answers 400: Failed to parse search query: name==", 0},
		"conflict":             {409, maestroError(6, "This Consumer already exists"), "", contract.ErrManifestRefused, "This Consumer already exists", 0},
		"no token":             {401, page, "", contract.ErrUnauthorized, "answers 401: Unauthorized", 0},
		"forbidden":            {403, maestroError(4, "Account is unauthorized"), "", contract.ErrUnauthorized, "Account is unauthorized", 0},
		"general":              {500, maestroError(9, "Unable to list resources: context deadline exceeded"), "", contract.ErrUnavailable, "answers 500: Unable to list resources", 0},
		"gateway":              {502, page, "", contract.ErrUnavailable, "answers 502: Bad Gateway", 0},
		"unavailable":          {503, "", "7", contract.ErrUnavailable, "answers 503", 7 * time.Second},
		"unavailable for ever": {503, "", "86400", contract.ErrUnavailable, "answers 503", time.Minute},
		"a date to retry":      {503, "", "Wed, 21 Oct 2026 07:28:00 GMT", contract.ErrUnavailable, "answers 503", 0},
		"a time in the past":   {503, "", "-5", contract.ErrUnavailable, "answers 503", 0},
		"too many":             {429, "", "1", contract.ErrUnavailable, "answers 429", time.Second},
		"slow request":         {408, "", "", contract.ErrUnavailable, "answers 408", 0},
	} {
		t.Run(name, func(t *testing.T) {
			response := &http.Response{StatusCode: sample.code, Header: http.Header{}}
			if sample.after != "" {
				response.Header.Set("Retry-After", sample.after)
			}
			err := classifyHTTP("http://maestro:8000", response, []byte(sample.body))
			assert.Equal(t, sample.want, contract.TypeOf(err))
			assert.NotErrorIs(t, err, ErrNotFound)
			assert.Contains(t, err.Error(), sample.says)
			assert.Contains(t, err.Error(), "http://maestro:8000 answers")
			assert.NotContains(t, err.Error(), "nginx", "no page of a proxy in an error")
			var typed *contract.Error
			require.ErrorAs(t, err, &typed)
			assert.Equal(t, sample.delay, typed.Delay)
		})
	}
	err := classifyHTTP("x", &http.Response{StatusCode: 404}, []byte(maestroError(7, "Resource with id='x' not found")))
	assert.ErrorIs(t, err, ErrNotFound, "only Maestro's own words say that a work does not exist")
}

func TestUnreachable(t *testing.T) {
	for _, cause := range []error{context.DeadlineExceeded, fmt.Errorf("get: %w", context.DeadlineExceeded), errors.New("connection refused"), context.Canceled} {
		err := unreachable("http://maestro:8000", cause)
		assert.Equal(t, contract.ErrUnavailable, contract.TypeOf(err))
		assert.ErrorIs(t, err, cause)
		assert.Equal(t, errors.Is(cause, context.DeadlineExceeded), strings.Contains(err.Error(), "does not answer"))
	}
}

func TestQuoteIsShortText(t *testing.T) {
	assert.Equal(t, "a b c", quote(" a\n\tb  c\n"))
	for _, text := range []string{strings.Repeat("x", maxQuote), strings.Repeat("é", maxQuote), "x" + strings.Repeat("é", maxQuote), strings.Repeat("😀", maxQuote)} {
		have := quote(text)
		assert.True(t, utf8.ValidString(have))
		assert.LessOrEqual(t, len(have), maxQuote+len("…"))
		assert.Equal(t, len(text) > maxQuote, strings.HasSuffix(have, "…"))
	}
}
