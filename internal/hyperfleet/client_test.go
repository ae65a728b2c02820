package hyperfleet_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/hyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakehyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// scene is a client in front of a fake with one cluster.
type scene struct {
	t       *testing.T
	fake    *fakehyperfleet.Server
	client  *hyperfleet.Client
	tokens  string
	cluster string
	now     time.Time
}

func newScene(t *testing.T, change ...func(*hyperfleet.Config)) *scene {
	t.Helper()
	s := &scene{t: t, now: began, tokens: filepath.Join(t.TempDir(), "token")}
	s.fake = fakehyperfleet.New(t, fakehyperfleet.Options{
		Clusters: []string{"pools"}, Nodepools: []string{"pools"}, Clock: func() time.Time { return s.now },
	})
	config := hyperfleet.Config{URL: s.fake.URL()}
	for _, apply := range change {
		apply(&config)
	}
	if config.TokenFile != "" {
		config.TokenFile = s.tokens
	}
	client, err := hyperfleet.New(config)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	s.client, s.cluster = client, s.fake.AddCluster("west-1")
	return s
}

func withToken(config *hyperfleet.Config) { config.TokenFile = "set" }

func (s *scene) token(text string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(s.tokens, []byte(text), 0o600))
}

func (s *scene) target() contract.HyperFleetReport {
	return contract.HyperFleetReport{Kind: "Cluster", ID: s.cluster, Adapter: "pools"}
}

// report sends an outcome with a time after the scene's clock.
func (s *scene) report(at time.Duration, change ...func(*contract.StatusResult)) (hyperfleet.Answer, error) {
	s.t.Helper()
	change = append([]func(*contract.StatusResult){func(r *contract.StatusResult) { r.Generation = 1 }}, change...)
	body := hyperfleet.StatusBody(hyperfleet.Status{
		Adapter: "pools", Time: s.now.Add(at), Result: result(contract.StatusInProgress, contract.ReasonRunning, change...),
	})
	return s.client.Report(s.t.Context(), s.target(), body)
}

func generation(generation int64) func(*contract.StatusResult) {
	return func(r *contract.StatusResult) { r.Generation = generation }
}

func message(text string) func(*contract.StatusResult) {
	return func(r *contract.StatusResult) { r.Message = text }
}

func retryable(err error) bool { return contract.Rules[contract.TypeOf(err)].Retryable }

func TestReportIsStoredUnderEveryAddress(t *testing.T) {
	s := newScene(t)
	nodepool := s.fake.AddNodepool(s.cluster, "workers")
	for i, target := range []contract.HyperFleetReport{
		{Kind: "NodePool", ID: nodepool},
		{Href: "/api/hyperfleet/v1/nodepools/" + nodepool},
		{Href: "/api/hyperfleet/v1/clusters/" + s.cluster + "/nodepools/" + nodepool},
		{Href: "/api/hyperfleet/v1/nodepools/" + nodepool + "/"},
		{Href: s.fake.URL() + "/api/hyperfleet/v1/nodepools/" + nodepool, Kind: "ignored", ID: "ignored"},
	} {
		at := s.now.Add(time.Duration(i) * time.Microsecond)
		body := hyperfleet.StatusBody(hyperfleet.Status{Adapter: "pools", Time: at, Result: result(contract.StatusInProgress, contract.ReasonRunning, generation(1))})
		answer, err := s.client.Report(t.Context(), target, body)
		require.NoError(t, err)
		assert.Equal(t, hyperfleet.Answer{Outcome: contract.ReportStored, Generation: 1, Last: at}, answer)
		status, _ := s.fake.Status(nodepool, "pools")
		assert.Equal(t, at, status.LastReportTime)
		assert.Equal(t, map[string]any{"name": "pools", "consumer": "cluster-a1", "version": 4.0}, status.Data["manifestwork"])
	}
}

func TestTargetsThatLeadElsewhereAreRefused(t *testing.T) {
	s := newScene(t)
	for _, target := range []contract.HyperFleetReport{
		{Href: "http://other.example/api/hyperfleet/v1/clusters/c"}, {Href: "//other.example/api/hyperfleet/v1/clusters/c"},
		{Href: "https://" + strings.TrimPrefix(s.fake.URL(), "http://") + "/api/hyperfleet/v1/clusters/c"},
		{Href: "/api/hyperfleet/v1/clusters/../x"}, {Href: "/api/hyperfleet/v1/clusters/%2e%2e/x"}, {Href: "/api/hyperfleet/v1/clusters/a%2Fb"},
		{Href: "/api/hyperfleet/v1/clusters/c?x=1"}, {Href: "/api/hyperfleet/v1/clusters/c?"}, {Href: "/api/hyperfleet/v1/clusters/c#"},
		{Href: "/api/hyperfleet/v1/clusters//c"}, {Href: "/metrics"}, {Href: "clusters/c"}, {Href: "http:api"}, {Href: "http://u:p@h/api/c"}, {Href: "\x7f"},
		{Kind: "Cluster", ID: "a/b"}, {Kind: "Cluster", ID: ".."}, {Kind: "Cluster", ID: "a?b"}, {Kind: "Cluster", ID: ""},
	} {
		_, err := s.client.Report(t.Context(), target, hyperfleet.Body{})
		assert.Equal(t, contract.ErrHyperFleetRefused, contract.TypeOf(err), "%+v", target)
	}
	_, err := s.client.Nodepools(t.Context(), "x' or id != '")
	assert.Equal(t, contract.ErrHyperFleetRefused, contract.TypeOf(err))
	assert.Empty(t, s.fake.Requests())
}

func TestBadAddressesAreRefusedAtOnce(t *testing.T) {
	for _, address := range []string{"", "host:8000", "ftp://host", "http://", "http://u:p@host", "http://host?a", "http://host/?a=b", "http://host#f"} {
		_, err := hyperfleet.New(hyperfleet.Config{URL: address})
		assert.Equal(t, contract.ErrInvalidInput, contract.TypeOf(err), address)
	}
}

func TestReplayOfAReportIsHarmless(t *testing.T) {
	s := newScene(t)
	s.fake.Inject(fakehyperfleet.ResetAfterStoring().Times(1))
	_, err := s.report(0)
	assert.Equal(t, contract.ErrHyperFleetUnavailable, contract.TypeOf(err))
	assert.True(t, retryable(err))
	answer, err := s.report(0)
	require.NoError(t, err)
	assert.Equal(t, contract.ReportStored, answer.Outcome)
}

func TestEchoOfOtherContentIsALostReport(t *testing.T) {
	s := newScene(t)
	_, err := s.report(0)
	require.NoError(t, err)
	answer, err := s.report(0, message("other"))
	assert.Equal(t, contract.ErrReportDropped, contract.TypeOf(err))
	assert.True(t, retryable(err))
	assert.Equal(t, s.now, answer.Last)
	answer, err = s.report(time.Microsecond, message("other"))
	require.NoError(t, err)
	assert.Equal(t, contract.ReportStored, answer.Outcome)
}

func TestDroppedReportIsLookedInto(t *testing.T) {
	s := newScene(t)
	_, err := s.report(time.Minute)
	require.NoError(t, err)
	answer, err := s.report(0)
	assert.Equal(t, contract.ErrReportDropped, contract.TypeOf(err), "our clock was behind")
	assert.True(t, retryable(err))
	assert.Equal(t, s.now.Add(time.Minute), answer.Last, "the next time has to be later than this")

	_, err = s.report(2*time.Minute, generation(7))
	assert.Equal(t, contract.ErrHyperFleetRefused, contract.TypeOf(err))
	assert.ErrorContains(t, err, "is at generation 1, the report is for 7")

	s.fake.Bump(s.cluster)
	answer, err = s.report(2 * time.Minute)
	require.NoError(t, err)
	assert.Equal(t, contract.ReportStored, answer.Outcome, "older, but not older than the adapter's own last")
	_, err = s.report(3*time.Minute, generation(2))
	require.NoError(t, err)
	answer, err = s.report(4 * time.Minute)
	require.NoError(t, err)
	assert.Equal(t, hyperfleet.Answer{Outcome: contract.ReportSuperseded, Generation: 2}, answer)

	s.fake.Inject(fakehyperfleet.Unavailable().Method("GET"))
	_, err = s.report(4 * time.Minute)
	assert.Equal(t, contract.ErrHyperFleetUnavailable, contract.TypeOf(err), "nothing is decided without a look")
}

func TestGoneEndsQuietly(t *testing.T) {
	s := newScene(t)
	s.cluster = "nobody"
	answer, err := s.report(0)
	require.NoError(t, err)
	assert.Equal(t, contract.ReportGone, answer.Outcome)
	_, err = s.client.Resource(t.Context(), s.target())
	assert.ErrorIs(t, err, hyperfleet.ErrGone)
}

func TestEveryAnswerHasItsClass(t *testing.T) {
	for name, sample := range map[string]struct {
		fault fakehyperfleet.Fault
		want  contract.ErrorType
		says  string
		delay time.Duration
	}{
		"rate limit":           {fakehyperfleet.TooManyRequests(7 * time.Second), contract.ErrHyperFleetUnavailable, "answers 429", 7 * time.Second},
		"rate limit for a day": {fakehyperfleet.TooManyRequests(24 * time.Hour), contract.ErrHyperFleetUnavailable, "HYPERFLEET-LMT-001", 10 * time.Minute},
		"database away":        {fakehyperfleet.Unavailable(), contract.ErrHyperFleetUnavailable, "database is unavailable", 0},
		"proxy 408":            {fakehyperfleet.NotJSON(408), contract.ErrHyperFleetUnavailable, "(Request Timeout)", 0},
		"proxy 409":            {fakehyperfleet.NotJSON(409), contract.ErrHyperFleetUnavailable, "answers 409", 0},
		"proxy 502":            {fakehyperfleet.NotJSON(502), contract.ErrHyperFleetUnavailable, "(Bad Gateway)", 0},
		"proxy 504":            {fakehyperfleet.NotJSON(504), contract.ErrHyperFleetUnavailable, "answers 504", 0},
		"proxy 201":            {fakehyperfleet.NotJSON(201), contract.ErrHyperFleetUnavailable, "check hyperfleet-url", 0},
		"proxy 200":            {fakehyperfleet.NotJSON(200), contract.ErrHyperFleetRefused, "check hyperfleet-url", 0},
		"redirect":             {fakehyperfleet.NotJSON(302), contract.ErrHyperFleetRefused, "answers 302", 0},
		"proxy 400":            {fakehyperfleet.NotJSON(400), contract.ErrHyperFleetRefused, "answers 400", 0},
		"proxy 403":            {fakehyperfleet.NotJSON(403), contract.ErrHyperFleetRefused, "check hyperfleet-token-file", 0},
		"proxy 404":            {fakehyperfleet.NotJSON(404), contract.ErrHyperFleetRefused, "check hyperfleet-url", 0},
		"proxy 405":            {fakehyperfleet.NotJSON(405), contract.ErrHyperFleetRefused, "check hyperfleet-url", 0},
		"no longer valid":      {fakehyperfleet.ExpiredToken(), contract.ErrHyperFleetRefused, "HYPERFLEET-AUT-003", 0},
		"connection reset":     {fakehyperfleet.ResetAfterStoring(), contract.ErrHyperFleetUnavailable, "cannot be reached", 0},
		"slow":                 {fakehyperfleet.Slow(5 * time.Second), contract.ErrHyperFleetUnavailable, "cannot be reached", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, func(config *hyperfleet.Config) { config.Timeout = 300 * time.Millisecond })
			s.fake.Inject(sample.fault)
			_, err := s.report(0)
			require.Error(t, err)
			assert.Equal(t, sample.want, contract.TypeOf(err))
			assert.ErrorContains(t, err, sample.says)
			assert.NotContains(t, err.Error(), "<html>")
			var typed *contract.Error
			require.ErrorAs(t, err, &typed)
			assert.Equal(t, sample.delay, typed.Delay)
		})
	}
}

func TestWrongBaseIsNotGone(t *testing.T) {
	s := newScene(t, func(config *hyperfleet.Config) { config.URL += "/prefix" })
	_, err := s.report(0)
	assert.Equal(t, contract.ErrHyperFleetRefused, contract.TypeOf(err))
	assert.ErrorContains(t, err, "HYPERFLEET-NTF-000")
}

func TestRefusedReportNamesWhatTheServerSays(t *testing.T) {
	s := newScene(t)
	_, err := s.report(-time.Hour)
	assert.Equal(t, contract.ErrHyperFleetRefused, contract.TypeOf(err))
	assert.ErrorContains(t, err, "HYPERFLEET-VAL-000: observed_time: more than 30 minutes old")
	assert.False(t, retryable(err))
}

func TestTokenIsReadForEachRequest(t *testing.T) {
	s := newScene(t, withToken)
	s.fake.SetToken("first-token", fakehyperfleet.TokenValid)
	s.token("first-token\n")
	_, err := s.report(0)
	require.NoError(t, err)
	s.fake.SetToken("first-token", fakehyperfleet.TokenExpired)
	s.fake.SetToken("second-token", fakehyperfleet.TokenValid)
	s.token("second-token")
	_, err = s.report(1)
	require.NoError(t, err)
	assert.Len(t, s.fake.Requests(), 2)
}

func TestUnauthorizedReadsTheTokenOnceMore(t *testing.T) {
	s := newScene(t, withToken)
	s.fake.SetToken("old-token", fakehyperfleet.TokenExpired)
	s.fake.SetToken("new-token", fakehyperfleet.TokenValid)
	s.token("old-token")
	// The token is replaced between the request and its answer.
	s.fake.Inject(fakehyperfleet.Slow(0).Times(1).Then(func() { s.token("new-token") }))
	_, err := s.report(0)
	require.NoError(t, err)
	requests := s.fake.Requests()
	require.Len(t, requests, 2)
	assert.Equal(t, []string{"Bearer old-token", "Bearer new-token"}, []string{requests[0].Authorization, requests[1].Authorization})
	assert.Equal(t, requests[0].Body, requests[1].Body, "the same request")

	s.token("old-token")
	_, err = s.report(1)
	assert.Equal(t, contract.ErrHyperFleetRefused, contract.TypeOf(err))
	assert.Len(t, s.fake.Requests(), 4, "once more and no oftener")
	assert.NotContains(t, err.Error(), "old-token")
}

func TestNoTokenStandsInAnError(t *testing.T) {
	s := newScene(t, withToken)
	_, err := s.report(0)
	assert.Equal(t, contract.ErrHyperFleetUnavailable, contract.TypeOf(err), "the file may be on its way")
	for _, text := range []string{"", " \n", "secret\nsecret", "sec\x00ret", "secrét", strings.Repeat("secret", 20000)} {
		s.token(text)
		_, err := s.report(0)
		assert.Equal(t, contract.ErrHyperFleetUnavailable, contract.TypeOf(err), "%.10q", text)
		assert.NotContains(t, err.Error(), "secret")
	}
	assert.Empty(t, s.fake.Requests())
}

func TestNodepoolsPagesThroughAll(t *testing.T) {
	s := newScene(t)
	names, err := s.client.Nodepools(t.Context(), s.cluster)
	require.NoError(t, err)
	assert.Empty(t, names)
	other := s.fake.AddCluster("west-2")
	s.fake.AddNodepool(other, "elsewhere")
	for range 250 {
		s.fake.AddNodepool(s.cluster, "workers")
	}
	s.fake.Delete(s.cluster)
	names, err = s.client.Nodepools(t.Context(), s.cluster)
	require.NoError(t, err)
	assert.Len(t, names, 250, "those that are being deleted count")
	assert.NotContains(t, names, "elsewhere")
	for _, request := range s.fake.Requests() {
		assert.Equal(t, http.StatusOK, request.Status)
	}
}

func TestResourceIsRead(t *testing.T) {
	s := newScene(t)
	s.fake.Delete(s.cluster)
	head, err := s.client.Resource(t.Context(), s.target())
	require.NoError(t, err)
	assert.Equal(t, s.cluster, head.ID)
	assert.Equal(t, "Cluster", head.Kind)
	assert.Equal(t, int64(2), head.Generation)
	assert.NotNil(t, head.DeletedTime)
	s.fake.Inject(fakehyperfleet.NotJSON(200))
	_, err = s.client.Resource(t.Context(), s.target())
	assert.Equal(t, contract.ErrHyperFleetUnavailable, contract.TypeOf(err))
	_, err = s.client.Nodepools(t.Context(), s.cluster)
	assert.Equal(t, contract.ErrHyperFleetUnavailable, contract.TypeOf(err), "no list is not an empty list")
}
