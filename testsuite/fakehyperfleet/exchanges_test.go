package fakehyperfleet_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakehyperfleet"
)

var began = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

const base = "/api/hyperfleet/v1"

// caller sends requests to a fake and keeps what their paths are made of.
type caller struct {
	t       *testing.T
	fake    *fakehyperfleet.Server
	now     time.Time
	headers map[string]string
	ids     map[string]string
}

func newCaller(t *testing.T) *caller {
	t.Helper()
	c := &caller{t: t, now: began, headers: map[string]string{}, ids: map[string]string{}}
	c.fake = fakehyperfleet.New(t, fakehyperfleet.Options{
		Clusters: []string{"validation", "hypershift"}, Nodepools: []string{"hypershift"},
		Clock: func() time.Time { return c.now },
	})
	return c
}

// answer of the fake.
type answer struct {
	status int
	kind   string
	code   string
	body   map[string]any
}

func (c *caller) send(method, path, body string) answer {
	c.t.Helper()
	for name, id := range c.ids {
		path = strings.ReplaceAll(path, "{"+name+"}", id)
	}
	if !strings.HasPrefix(path, "/") {
		path = base + "/" + path
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.fake.URL()+path, strings.NewReader(body))
	require.NoError(c.t, err)
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(c.t, err)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	out := answer{status: response.StatusCode, kind: response.Header.Get("Content-Type")}
	if response.StatusCode == http.StatusNoContent {
		assert.Empty(c.t, raw, "204 has no body")
	}
	if strings.HasSuffix(out.kind, "json") {
		require.NoError(c.t, json.NewDecoder(bytes.NewReader(raw)).Decode(&out.body))
		out.code, _ = out.body["code"].(string)
		out.code = strings.TrimPrefix(out.code, "HYPERFLEET-")
	}
	return out
}

// report is a status with a time that is a second after the last one, unless changed.
func (c *caller) report(adapter string, generation int, available string, change ...func(map[string]any)) string {
	c.now = c.now.Add(time.Second)
	condition := func(kind, status string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": "Reported", "message": "as said"}
	}
	document := map[string]any{
		"adapter": adapter, "observed_generation": generation, "observed_time": c.now.Format(time.RFC3339Nano),
		"conditions": []any{condition("Applied", "True"), condition("Available", available), condition("Health", "True")},
	}
	for _, apply := range change {
		apply(document)
	}
	encoded, err := json.Marshal(document)
	require.NoError(c.t, err)
	return string(encoded)
}

func set(key string, value any) func(map[string]any) {
	return func(document map[string]any) { document[key] = value }
}

func conditions(of ...string) func(map[string]any) {
	return func(document map[string]any) {
		var list []any
		for _, text := range of {
			kind, status, _ := strings.Cut(text, "=")
			list = append(list, map[string]any{"type": kind, "status": status})
		}
		document["conditions"] = list
	}
}

func finalized(document map[string]any) {
	document["conditions"] = append(document["conditions"].([]any), map[string]any{"type": "Finalized", "status": "True"})
}

// condition of a resource as "Status Reason".
func (c *caller) condition(id, kind string) string {
	c.t.Helper()
	resource, found := c.fake.Get(c.ids[id])
	require.True(c.t, found)
	for _, condition := range resource.Status.Conditions {
		if condition.Type == kind {
			return condition.Status + " " + condition.Reason
		}
	}
	return ""
}

const created = http.StatusCreated

// TestObservedExchanges goes through what was seen on a running server, in its order; the numbers are those of the
// observed exchanges in section 7.4 of the API's fact sheet.
func TestObservedExchanges(t *testing.T) {
	c := newCaller(t)
	clusterStatus, nodepoolStatus := "clusters/{C}/statuses", "nodepools/{N}/statuses"
	frozen := ""
	for _, exchange := range []struct {
		number       string
		method, path string
		body         func() string
		status       int
		code         string
		after        func(answer)
	}{
		{"1", "POST", "clusters", text(`{"kind":"Cluster","name":"west-1","spec":{"region":"eu"},"labels":{"env":"dev"}}`), created, "", func(a answer) {
			c.ids["C"] = a.body["id"].(string)
			assert.Equal(t, 1.0, a.body["generation"])
			assert.Equal(t, "False ReconciledMissingAdapters", c.condition("C", "Reconciled"))
			resource, _ := c.fake.Get(c.ids["C"])
			assert.Contains(t, resource.Status.Conditions[0].Message, "not reporting Available=True: [hypershift, validation]. Currently reporting: []")
			assert.Equal(t, "False AdaptersMissingReports", c.condition("C", "LastKnownReconciled"))
		}},
		{"2", "POST", "clusters/{C}/nodepools", text(`{"kind":"NodePool","name":"workers","spec":{"replicas":3}}`), created, "", func(a answer) {
			c.ids["N"] = a.body["id"].(string)
			owner := a.body["owner_references"].(map[string]any)
			assert.Equal(t, map[string]any{"id": c.ids["C"], "kind": "Cluster", "href": base + "/clusters/" + c.ids["C"]}, owner)
		}},
		{"3", "POST", clusterStatus, text(`{}`), http.StatusMethodNotAllowed, "", func(a answer) { assert.Contains(t, a.kind, "text/plain") }},
		{"4", "PUT", clusterStatus, func() string { return c.report("validation", 1, "True") }, created, "", func(answer) {
			assert.Equal(t, "True Reported", c.condition("C", "ValidationSuccessful"))
			assert.Equal(t, "False ReconciledMissingAdapters", c.condition("C", "Reconciled"))
		}},
		{"5", "PUT", clusterStatus, func() string {
			return c.report("hypershift", 1, "False", set("data", map[string]any{"a": 1}), set("metadata", map[string]any{"job_name": "j", "foo": "x"}))
		}, created, "", func(a answer) {
			assert.Equal(t, map[string]any{"job_name": "j"}, a.body["metadata"])
			assert.Equal(t, "False Reported", c.condition("C", "HypershiftSuccessful"))
			assert.Equal(t, "False AdapterReportedNotAvailable", c.condition("C", "LastKnownReconciled"))
		}},
		{"6", "PUT", clusterStatus, func() string { return c.report("hypershift", 1, "True") }, created, "", func(a answer) {
			assert.Equal(t, map[string]any{}, a.body["data"], "replaced as a whole")
			assert.Equal(t, "True ReconciledAll", c.condition("C", "Reconciled"))
			assert.Equal(t, "True AllAdaptersReconciled", c.condition("C", "LastKnownReconciled"))
		}},
		{"7", "PUT", clusterStatus, func() string {
			status, _ := c.fake.Status(c.ids["C"], "hypershift")
			return c.report("hypershift", 1, "False", set("observed_time", status.LastReportTime.Format(time.RFC3339Nano)))
		}, created, "", func(a answer) { assert.Equal(t, "True", echoed(a, "Available"), "the old content") }},
		{"8", "PUT", clusterStatus, func() string {
			return c.report("hypershift", 1, "False", set("observed_time", c.now.Add(-time.Minute).Format(time.RFC3339Nano)))
		}, http.StatusNoContent, "", nil},
		{"9", "PUT", clusterStatus, func() string { return c.report("hypershift", 5, "True") }, http.StatusNoContent, "", nil},
		{"10", "PATCH", "clusters/{C}", text(`{"spec":{"region":"us"}}`), http.StatusOK, "", func(a answer) {
			assert.Equal(t, 2.0, a.body["generation"])
			assert.Equal(t, "True AllAdaptersReconciled", c.condition("C", "LastKnownReconciled"), "it sticks")
		}},
		{"10", "PUT", clusterStatus, func() string { return c.report("hypershift", 2, "True") }, created, "", nil},
		{"11", "PUT", clusterStatus, func() string { return c.report("hypershift", 1, "False") }, http.StatusNoContent, "", func(answer) {
			status, _ := c.fake.Status(c.ids["C"], "hypershift")
			assert.Equal(t, int64(2), status.ObservedGeneration)
		}},
		{"12", "PUT", clusterStatus, func() string { return c.report("validation", 1, "False") }, created, "", func(answer) {
			assert.Equal(t, "False ReconciledMissingAdapters", c.condition("C", "Reconciled"))
			assert.Equal(t, "False AdapterReportedNotAvailable", c.condition("C", "LastKnownReconciled"))
		}},
		{"13", "PUT", clusterStatus, func() string { return c.report("validation", 2, "Unknown") }, http.StatusNoContent, "", nil},
		{"14", "PUT", clusterStatus, func() string { return c.report("newone", 2, "Unknown") }, created, "", nil},
		{"15", "PUT", clusterStatus, func() string { return c.report("validation", 2, "True") }, created, "", func(answer) {
			assert.Equal(t, "True ReconciledAll", c.condition("C", "Reconciled"))
		}},
		{"16", "PUT", clusterStatus, func() string { return c.report("hypershift", 2, "True", conditions("Applied=True", "Available=True")) }, 400, "VAL-000",
			func(a answer) { assert.Contains(t, a.body["detail"], "missing mandatory condition 'Health': ") }},
		{"17", "PUT", clusterStatus, func() string { return c.report("hypershift", 2, "Maybe") }, 400, "VAL-000", nil},
		{"17", "PUT", clusterStatus, func() string {
			return c.report("hypershift", 2, "True", conditions("Applied=True", "Available=True", "Health=True", "Health=True"))
		}, 400, "VAL-000", nil},
		{"17", "PUT", clusterStatus, func() string { return c.report("", 2, "True") }, 400, "VAL-000", nil},
		{"17", "PUT", clusterStatus, func() string { return c.report("hypershift", 0, "True") }, 400, "VAL-000", nil},
		{"17", "PUT", clusterStatus, func() string {
			return c.report("hypershift", 2, "True", set("observed_time", c.now.Add(-time.Hour).Format(time.RFC3339)))
		}, 400, "VAL-000", nil},
		{"17", "PUT", clusterStatus, func() string {
			return c.report("hypershift", 2, "True", set("observed_time", c.now.Add(10*time.Minute).Format(time.RFC3339)))
		}, 400, "VAL-000", nil},
		{"18", "PUT", clusterStatus, text(`{"adapter":5}`), 400, "VAL-000", nil},
		{"18", "PUT", clusterStatus, text(`{oops`), 400, "VAL-006", nil},
		{"18", "PUT", clusterStatus, text(``), 400, "VAL-006", nil},
		{"18", "PUT", clusterStatus, func() string { return c.report("hypershift", 2, "True", set("observed_time", "yesterday")) }, 400, "VAL-006", nil},
		{"19", "PUT", "clusters/nobody/statuses", func() string { return c.report("hypershift", 2, "True") }, 404, "NTF-001", nil},
		{"19", "PUT", "clusters/{N}/nodepools/{N}/statuses", func() string { return c.report("hypershift", 1, "True") }, 404, "NTF-001", nil},
		{"20", "PATCH", "clusters/{C}", text(`{"labels":{"env":"prod"}}`), 200, "", func(a answer) { assert.Equal(t, 3.0, a.body["generation"]) }},
		{"21", "DELETE", "clusters/{C}", text(``), 202, "", func(a answer) {
			assert.Equal(t, 4.0, a.body["generation"])
			nodepool, _ := c.fake.Get(c.ids["N"])
			assert.Equal(t, int64(2), nodepool.Generation)
			assert.Equal(t, a.body["deleted_time"], nodepool.DeletedTime.Format(time.RFC3339Nano))
		}},
		{"22", "PATCH", "clusters/{C}", text(`{"labels":{}}`), 409, "CNF-003", nil},
		{"22", "POST", "clusters/{C}/nodepools", text(`{"kind":"NodePool","name":"more","spec":{}}`), 409, "CNF-003", nil},
		{"23", "PUT", clusterStatus, func() string { return c.report("validation", 4, "False", finalized) }, created, "", nil},
		{"23", "PUT", clusterStatus, func() string { return c.report("hypershift", 4, "False", finalized) }, created, "", func(answer) {
			assert.Equal(t, "True ReconciledAll", c.condition("C", "Reconciled"), "and the row stays")
		}},
		{"24", "PUT", nodepoolStatus, func() string { return c.report("hypershift", 1, "False", finalized) }, created, "", nil},
		{"24", "GET", "nodepools/{N}", text(``), 200, "", nil},
		{"24", "PUT", nodepoolStatus, func() string { return c.report("hypershift", 2, "False", finalized) }, created, "", nil},
		{"24", "GET", "nodepools/{N}", text(``), 404, "NTF-001", nil},
		{"25", "GET", "clusters/{C}", text(``), 200, "", nil},
		{"25", "PUT", clusterStatus, func() string { frozen = c.report("hypershift", 4, "False", finalized); return frozen }, created, "", nil},
		{"25", "GET", "clusters/{C}", text(``), 404, "NTF-001", nil},
		{"25", "PUT", clusterStatus, func() string { return frozen }, 404, "NTF-001", nil},
		{"26", "POST", "clusters", text(`{"kind":"Cluster","name":"west-1","spec":{}}`), created, "", func(a answer) {
			assert.NotEqual(t, c.ids["C"], a.body["id"])
			assert.Equal(t, 1.0, a.body["generation"])
			c.ids["C"] = a.body["id"].(string)
		}},
		{"26", "DELETE", "clusters/{C}", text(``), 202, "", nil},
		{"26", "POST", "clusters/{C}/force-delete", text(`{}`), 400, "VAL-000", nil},
		{"26", "POST", "clusters/{C}/force-delete", text(`{"reason":"stuck"}`), 204, "", nil},
		{"26", "POST", "clusters/{C}/force-delete", text(`{"reason":"stuck"}`), 404, "NTF-001", nil},
	} {
		answered := c.send(exchange.method, exchange.path, exchange.body())
		require.Equal(t, exchange.status, answered.status, "exchange %s: %s %s: %v", exchange.number, exchange.method, exchange.path, answered.body)
		require.Equal(t, exchange.code, answered.code, "exchange %s", exchange.number)
		if exchange.after != nil {
			exchange.after(answered)
		}
	}
}

// Exchange 27.
func TestObservedExchangesOfTokens(t *testing.T) {
	c := newCaller(t)
	c.ids["C"] = c.fake.AddCluster("west-1")
	c.fake.SetToken("good", fakehyperfleet.TokenValid)
	c.fake.SetToken("old", fakehyperfleet.TokenExpired)
	c.fake.SetToken("anonymous", fakehyperfleet.TokenAnonymous)
	for _, exchange := range []struct {
		token, method, path string
		status              int
		code                string
	}{
		{"", "GET", "clusters/{C}", 401, "AUT-001"},
		{"old", "GET", "clusters/{C}", 401, "AUT-003"},
		{"foreign", "GET", "clusters/{C}", 401, "AUT-002"},
		{"anonymous", "GET", "clusters/{C}", 200, ""},
		{"anonymous", "PUT", "clusters/{C}/statuses", 401, "AUT-001"},
		{"good", "PUT", "clusters/{C}/statuses", 201, ""},
	} {
		c.headers["Authorization"] = "Bearer " + exchange.token
		answered := c.send(exchange.method, exchange.path, c.report("validation", 1, "True"))
		assert.Equal(t, exchange.status, answered.status, "%+v", exchange)
		assert.Equal(t, exchange.code, answered.code, "%+v", exchange)
	}
	c.headers["X-HyperFleet-System"] = "true"
	assert.Equal(t, 201, c.send("PUT", "clusters/{C}/statuses", c.report("validation", 1, "True")).status)
	assert.Equal(t, "AUZ-001", c.send("DELETE", "clusters/{C}", "").code)
	assert.Equal(t, 403, c.send("POST", "clusters", `{}`).status)
}

func text(body string) func() string { return func() string { return body } }

// echoed status of a condition in an answer.
func echoed(a answer, kind string) string {
	for _, item := range a.body["conditions"].([]any) {
		if condition := item.(map[string]any); condition["type"] == kind {
			return condition["status"].(string)
		}
	}
	return ""
}
