package fakemaestro_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

const api = "/api/maestro/v1"

// call sends one request and returns status and body.
func call(t *testing.T, s *fakemaestro.Server, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(testContext(t), method, s.HTTPURL()+path, strings.NewReader(body))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(data)
}

func TestConsumersAnswerLikeTheServer(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{})
	for _, test := range []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"POST", "/consumers", `{"name":"c1","labels":{"a":"b"}}`, 201, `"labels":{"a":"b"},"name":"c1"`},
		{"POST", "/consumers", `{"name":"c1"}`, 409, `"code":"maestro-6","href":"/api/maestro/v1/errors/6","id":"6","kind":"Error"`},
		{"POST", "/consumers", `{"name":"Bad_Name"}`, 500, `Unable to create Consumer: consumer.name: Invalid value`},
		{"POST", "/consumers", `{"name":"c2","id":"x"}`, 400, `"reason":"id must be empty"`},
		{"POST", "/consumers", `{`, 400, `"code":"maestro-17"`},
		{"GET", "/consumers/none", ``, 404, `"reason":"Consumer with id='none' not found"`},
		{"DELETE", "/consumers/none", ``, 204, ``},
		{"GET", "/consumers?search=" + url.QueryEscape("name='c1'"), ``, 200, `"kind":"ConsumerList","page":1,"size":1,"total":1`},
		{"GET", "/resource-bundles/none", ``, 404, `"code":"maestro-7"`},
		{"DELETE", "/resource-bundles/none", ``, 204, ``},
		{"POST", "/resource-bundles", `{}`, 404, `"code":"maestro-404"`},
	} {
		status, body := call(t, s, test.method, api+test.path, test.body)
		assert.Equal(t, test.status, status, "%s %s %s: %s", test.method, test.path, test.body, body)
		assert.Contains(t, body, test.contains, "%s %s %s", test.method, test.path, test.body)
	}
}

func TestConsumerWithBundlesCannotBeDeleted(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{})
	id, err := s.AddConsumer("c1")
	require.NoError(t, err)
	c := sourceClient(t, s, source)
	create(t, c, "c1", newWork("w", configMap("a", "1")))
	require.NoError(t, c.ManifestWorks("c1").Delete(testContext(t), "w", metav1.DeleteOptions{}))

	status, body := call(t, s, "DELETE", api+"/consumers/"+id, "")
	assert.Equal(t, 403, status, "a bundle that waits for its agent still counts")
	assert.Contains(t, body, `"code":"maestro-4"`)
	assert.Contains(t, body, `fk_resources_consumers`)

	require.NoError(t, s.ConfirmDelete(fakemaestro.UID(source, "c1", "w")))
	status, _ = call(t, s, "DELETE", api+"/consumers/"+id, "")
	assert.Equal(t, 204, status)
}

func TestBundleShowsNeitherSourceNorExecutor(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	work := newWork("w", configMap("a", "1"))
	work.Spec.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{
		Type:           workv1.ExecutorSubjectTypeServiceAccount,
		ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{Namespace: "n", Name: "s"},
	}}
	create(t, c, "c1", work)
	id := fakemaestro.UID(source, "c1", "w")
	_, body := call(t, s, "GET", api+"/resource-bundles/"+id, "")
	shown := decode(t, []byte(body))
	keys := []string{}
	for key := range shown {
		keys = append(keys, key)
	}
	assert.ElementsMatch(t, []string{
		"id", "kind", "href", "name", "consumer_name", "version", "created_at", "updated_at",
		"metadata", "manifests", "manifest_configs", "delete_option",
	}, keys, "no status before the first report")
	assert.NotContains(t, body, "executor")
	assert.NotContains(t, body, "executer")
	assert.Equal(t, id, shown["name"], "the name of the bundle is its id")

	stored, ok := s.Bundle(id)
	require.True(t, ok)
	assert.Equal(t, source, stored.Source)
	require.NotNil(t, stored.Work.Spec.Executor, "stored, though not shown")
	assert.Equal(t, "s", stored.Work.Spec.Executor.Subject.ServiceAccount.Name)

	require.NoError(t, s.SetStatus(id, fakemaestro.Status{Conditions: []metav1.Condition{condition("Applied", 1)}}))
	_, body = call(t, s, "GET", api+"/resource-bundles/"+id, "")
	status, ok := decode(t, []byte(body))["status"].(map[string]any)
	require.True(t, ok)
	assert.EqualValues(t, 1, status["ObservedVersion"])
	assert.NotEmpty(t, status["SequenceID"])
}

// found lists bundles and returns the names of their works.
func found(t *testing.T, s *fakemaestro.Server, query url.Values) (status int, names []string, body string) {
	t.Helper()
	status, body = call(t, s, "GET", api+"/resource-bundles?"+query.Encode(), "")
	var list struct {
		Items []struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		} `json:"items"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &list), body)
	for _, item := range list.Items {
		names = append(names, item.Metadata.Name)
	}
	return status, names, body
}

func TestSearchFormsOfClients(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1", "c2"}})
	c, other := sourceClient(t, s, source), sourceClient(t, s, "other")
	labelled := newWork("a", configMap("a", "1"))
	labelled.Labels = map[string]string{"app": "x", "tier": "1"}
	create(t, c, "c1", labelled)
	create(t, c, "c1", newWork("b", configMap("a", "1")))
	create(t, c, "c2", newWork("c", configMap("a", "1")))
	create(t, other, "c1", newWork("d", configMap("a", "1")))
	require.NoError(t, c.ManifestWorks("c1").Delete(testContext(t), "b", metav1.DeleteOptions{}))
	ids := fakemaestro.UID(source, "c1", "a") + "','" + fakemaestro.UID(source, "c2", "c")

	for search, names := range map[string][]string{
		"":                                      {"a", "b", "c", "d"},
		"source='tests'":                        {"a", "b", "c"},
		"source='tests' and consumer_name='c1'": {"a", "b"},
		"source='tests' and (consumer_name='c1' or consumer_name='c2')": {"a", "b", "c"},
		"deleted_at is null":                                      {"a", "c", "d"},
		"id in ('" + ids + "')":                                   {"a", "c"},
		"payload->'metadata'->>'name'='d'":                        {"d"},
		"consumer_name='c1' and payload->'metadata'->>'name'='d'": {"d"},
		`payload->'metadata'->'labels'@>'{"app":"x"}'`:            {"a"},
		`payload->'metadata'->'labels'@>'{"app":"y"}'`:            nil,
		`payload->'metadata'->'labels'->>'app'<>null`:             {"a"},
		`payload->'metadata'->'labels'->>'app'in('x','y')`:        {"a"},
		`payload->'metadata'->'labels'->>'app'<>'y'`:              {"a"},
		"version > 1": nil,
		"name='a'":    nil,
	} {
		status, got, body := found(t, s, url.Values{"search": {search}, "orderBy": {"created_at"}})
		assert.Equal(t, 200, status, "%s: %s", search, body)
		assert.Equal(t, names, got, search)
	}
	for search, want := range map[string]struct {
		status int
		reason string
	}{
		"source=":          {400, "Failed to parse search query: source="},
		"nothing='x'":      {500, "Unable to list resources: ERROR: column resources.nothing does not exist (SQLSTATE 42703)"},
		"payload->>'x'=''": {400, "failed to parse the search query: [8] error parsing the filter: unexpected token `->>`"},
		"payload->'metadata'->>'name'='w' and deleted_at is null": {400,
			"failed to parse the search query: [49] error parsing the filter: unexpected token `is`"},
		"payload->'metadata'->>'name'='w'" + strings.Repeat(" and version>0", 11): {400, "maximum number of permitted joins (10) exceeded"},
	} {
		status, _, body := found(t, s, url.Values{"search": {search}})
		assert.Equal(t, want.status, status, search)
		assert.Contains(t, decode(t, []byte(body))["reason"], want.reason, search)
	}
}

func TestListsArePaged(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	for i := range 120 {
		require.NoError(t, s.PutRaw(fmt.Appendf(nil, `{"id":"id-%03d","consumer_name":"c1","version":1,"metadata":{"name":"w%03d"}}`, i, i)))
	}
	_, names, body := found(t, s, url.Values{})
	assert.Len(t, names, 100, "the default size")
	assert.Contains(t, body, `"kind":"ResourceBundleList","page":1,"size":100,"total":120`)
	_, names, body = found(t, s, url.Values{"page": {"3"}, "size": {"50"}, "orderBy": {"id desc"}})
	assert.Equal(t, "w019", names[0])
	assert.Contains(t, body, `"page":3,"size":20,"total":120`)
	_, names, _ = found(t, s, url.Values{"size": {"0"}})
	assert.Empty(t, names)
	_, names, _ = found(t, s, url.Values{"size": {"-1"}})
	assert.Len(t, names, 120)
	status, _, _ := found(t, s, url.Values{"orderBy": {"id sideways"}})
	assert.Equal(t, 400, status)

	_, err := http.Get(s.HTTPURL() + api + "/resource-bundles?fields=id")
	assert.Error(t, err, "the server panics over fields and drops the connection")
}

func TestUpdatedRowMovesToTheEndOfAnUnorderedList(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, s.PutRaw([]byte(`{"id":"`+name+`","consumer_name":"c1","version":1,"metadata":{"name":"`+name+`"}}`)))
	}
	require.NoError(t, s.SetStatus("a", fakemaestro.Status{}))
	_, names, _ := found(t, s, url.Values{})
	assert.Equal(t, []string{"b", "c", "a"}, names)
}
