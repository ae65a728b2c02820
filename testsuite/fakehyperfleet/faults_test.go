package fakehyperfleet_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakehyperfleet"
)

func TestTimesAreKeptInMicroseconds(t *testing.T) {
	c := newCaller(t)
	c.ids["C"] = c.fake.AddCluster("west-1")
	put := func(body string) int { return c.send("PUT", "clusters/{C}/statuses", body).status }
	exact := c.report("validation", 1, "True", set("observed_time", began.Add(1500*time.Microsecond).Format(time.RFC3339Nano)))
	assert.Equal(t, created, put(exact))
	assert.Equal(t, created, put(exact), "a replay changes nothing")
	fine := c.report("validation", 1, "True", set("observed_time", began.Add(2*time.Millisecond+700).Format(time.RFC3339Nano)))
	assert.Equal(t, created, put(fine))
	assert.Equal(t, http.StatusNoContent, put(fine), "the database has rounded the time")
}

func TestAnswersAreJudgedInTheServersOrder(t *testing.T) {
	c := newCaller(t)
	c.ids["C"] = c.fake.AddCluster("west-1")
	put := func(body string) answer { return c.send("PUT", "clusters/{C}/statuses", body) }
	noHealth := conditions("Applied=True", "Available=True")
	assert.Equal(t, http.StatusNoContent, put(c.report("validation", 2, "True", noHealth)).status, "the generation comes before the conditions")
	assert.Equal(t, "VAL-000", put(c.report("validation", 1, "True", noHealth)).code)
	assert.Equal(t, "INT-001", put(c.report(strings.Repeat("a", 256), 1, "True")).code)
	assert.Equal(t, "VAL-000", c.send("PUT", "clusters/nobody/statuses", c.report("", 1, "True")).code, "values come before the resource")
	assert.Equal(t, "NTF-000", c.send("PUT", "/api/other/v1/clusters/{C}/statuses", c.report("validation", 1, "True")).code)
	for _, path := range []string{"clusters/{C}/statuses", "resources/{C}/statuses"} {
		assert.Equal(t, created, c.send("PUT", path, c.report("validation", 1, "True")).status, path)
	}
}

func TestListsShowWhatIsBeingDeleted(t *testing.T) {
	c := newCaller(t)
	c.ids["C"] = c.fake.AddCluster("west-1")
	other := c.fake.AddCluster("west-2")
	c.fake.AddNodepool(other, "elsewhere")
	for _, name := range []string{"one", "two", "three"} {
		c.fake.AddNodepool(c.ids["C"], name)
	}
	c.fake.Delete(c.ids["C"])
	answered := c.send("GET", "nodepools?size=2&page=2&search=owner_id%20=%20'{C}'", "")
	require.Equal(t, 200, answered.status)
	assert.Equal(t, 3.0, answered.body["total"])
	assert.Equal(t, 1.0, answered.body["size"])
	assert.Equal(t, "VAL-005", c.send("GET", "nodepools?size=101", "").code)
	assert.Equal(t, "VAL-005", c.send("GET", "nodepools?search=name", "").code)
}

func TestFaultsStrikeAsOftenAsAskedFor(t *testing.T) {
	c := newCaller(t)
	c.ids["C"] = c.fake.AddCluster("west-1")
	put := func() answer { return c.send("PUT", "clusters/{C}/statuses", c.report("validation", 1, "True")) }
	c.fake.Inject(fakehyperfleet.TooManyRequests(3 * time.Second).Times(1).Method("PUT"))
	c.fake.Inject(fakehyperfleet.Unavailable().Times(1))
	c.fake.Inject(fakehyperfleet.ExpiredToken().Times(1))
	c.fake.Inject(fakehyperfleet.NotJSON(502).Times(1).Path("/statuses"))
	assert.Equal(t, "LMT-001", put().code)
	assert.Equal(t, "SVC-001", put().code)
	assert.Equal(t, "AUT-003", put().code)
	answered := put()
	assert.Equal(t, 502, answered.status)
	assert.Equal(t, "text/html", answered.kind)
	assert.Equal(t, created, put().status)

	c.fake.Inject(fakehyperfleet.ResetAfterStoring().Times(1))
	body := c.report("validation", 1, "False")
	request, err := http.NewRequestWithContext(t.Context(), "PUT", c.fake.URL()+base+"/clusters/"+c.ids["C"]+"/statuses", strings.NewReader(body))
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		response.Body.Close()
	}
	require.Error(t, err)
	status, _ := c.fake.Status(c.ids["C"], "validation")
	assert.Equal(t, c.now, status.LastReportTime, "stored before the connection was cut")
	reports := c.fake.Reports()
	assert.Zero(t, reports[len(reports)-1].Status)
	assert.Equal(t, created, c.send("PUT", "clusters/{C}/statuses", body).status, "the same again ends well")
}
