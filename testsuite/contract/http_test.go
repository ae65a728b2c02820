package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var httpChecks = []check{
	{"errors of the HTTP API", httpErrors},
	{"a bundle as JSON", bundleJSON},
	{"a consumer as JSON", consumerJSON},
}

const (
	api       = "/api/maestro/v1"
	bundles   = api + "/resource-bundles"
	consumers = api + "/consumers"
	nobody    = "00000000-0000-4000-8000-000000000000"
)

// operationIDs are made up per request, in a form of their own.
var operationIDs = regexp.MustCompile(`"operation_id":"[^"]*"`)

// ask records status and body of a request; the keys of the body are sorted.
func (s *scene) ask(question, method, path, body string) {
	s.Helper()
	code, answer := s.request(method, path, body)
	var value any
	shown := string(answer)
	if json.Unmarshal(answer, &value) == nil {
		shown = text(value)
	}
	s.record("http: "+question, fmt.Sprintf("%d %s", code, s.plain(operationIDs.ReplaceAllString(shown, `"operation_id":"<id>"`))))
}

func httpErrors(s *scene) {
	search := func(path, expression string) string { return path + "?search=" + url.QueryEscape(expression) }
	s.ask("absent bundle", http.MethodGet, bundles+"/"+nobody, "")
	s.ask("bundle id that is no UUID", http.MethodGet, bundles+"/x", "")
	s.ask("absent consumer", http.MethodGet, consumers+"/"+nobody, "")
	s.ask("unknown collection", http.MethodGet, api+"/works", "")
	s.ask("path outside of the API", http.MethodGet, "/elsewhere"+bundles, "")
	s.ask("method that is not offered", http.MethodPut, bundles+"/"+nobody, "{}")
	s.ask("search that is no expression", http.MethodGet, search(bundles, "name=="), "")
	s.ask("search for an unknown column", http.MethodGet, search(bundles, "color='red'"), "")
	s.ask("search that finds nothing", http.MethodGet, search(bundles, "consumer_name='nobody'"), "")
	s.ask("bad order", http.MethodGet, bundles+"?orderBy=id+sideways", "")
	s.ask("consumer twice", http.MethodPost, consumers, `{"name":"`+s.consumer+`"}`)
	s.ask("consumer with a bad name", http.MethodPost, consumers, `{"name":"Not A Name"}`)
	s.ask("consumer that is no JSON", http.MethodPost, consumers, `{`)
	s.ask("delete of an absent bundle", http.MethodDelete, bundles+"/"+nobody, "")
}

func bundleJSON(s *scene) {
	stored := s.create(s.parse(fullWork))
	code, body := s.get(bundles + "/" + stored.ID)
	require.Equal(s, http.StatusOK, code)
	s.record("http: bundle", s.shape(body))

	code, listed := s.get(bundles + "?search=" + url.QueryEscape("consumer_name='"+s.consumer+"'"))
	require.Equal(s, http.StatusOK, code)
	var page struct{ Items []json.RawMessage }
	require.NoError(s, json.Unmarshal(listed, &page))
	require.Len(s, page.Items, 1)
	assert.JSONEq(s, string(body), string(page.Items[0]), "a list shows what a read shows")
	assert.Contains(s, string(listed), `"total":1`)
}

func consumerJSON(s *scene) {
	code, listed := s.get(consumers + "?search=" + url.QueryEscape("name='"+s.consumer+"'"))
	require.Equal(s, http.StatusOK, code)
	s.record("http: list of consumers", s.shape(listed))
	var page struct {
		Items []struct{ ID, Name string }
		Total int
	}
	require.NoError(s, json.Unmarshal(listed, &page))
	require.Len(s, page.Items, 1)
	assert.Equal(s, 1, page.Total)
	assert.Equal(s, s.consumer, page.Items[0].Name)
	code, single := s.get(consumers + "/" + page.Items[0].ID)
	require.Equal(s, http.StatusOK, code)
	s.record("http: consumer", s.shape(single))
}

// instants are the timestamps of the server; how many digits it shows depends on the moment.
var instants = regexp.MustCompile(`"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)

func (s *scene) shape(body []byte) string {
	s.Helper()
	var value any
	require.NoError(s, json.Unmarshal(body, &value))
	return s.plain(instants.ReplaceAllString(text(value), `"<time>"`))
}
