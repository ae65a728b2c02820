package wiring

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/operation"
)

const generalPool = `{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{"name":"general","namespace":"pools"},"spec":{"clusterName":"c3","replicas":2}}`

// put stores the work with these manifests, as another tool left it, as version 3.
func (s *stage) put(manifests string) {
	s.t.Helper()
	require.NoError(s.t, s.maestro.PutRaw([]byte(fmt.Sprintf(
		`{"id":%q,"kind":"ResourceBundle","name":%q,"consumer_name":%q,"version":3,"metadata":{"name":%q,"namespace":%q},"manifests":[%s],"manifest_configs":[]}`,
		uid, uid, consumer, name, consumer, manifests)), fakemaestro.OwnedBy(source)))
}

// merge of one nodepool.
func merge(pool string, replicas int, change ...func(*contract.Request)) contract.Request {
	request := contract.Request{
		Source: source, Consumer: consumer, Name: name, Action: contract.ActionMerge, Timeout: "5m", Patience: "1m",
		Nodepools: json.RawMessage(fmt.Sprintf(`{"nodepools":[{"name":%q,"instanceType":"m5.large","replicas":%d}],"metadata":{"cluster":"tenant-c3","version":"4.17"}}`, pool, replicas)),
	}
	for _, c := range change {
		c(&request)
	}
	return request
}

func generation(generation int64) func(*contract.Request) {
	return func(r *contract.Request) { r.Generation = generation }
}

// replicas of each stored NodePool.
func (s *stage) replicas() map[string]int {
	s.t.Helper()
	bundle, found := s.maestro.Bundle(uid)
	require.True(s.t, found)
	out := map[string]int{}
	for _, manifest := range bundle.Work.Spec.Workload.Manifests {
		var object struct {
			Metadata struct{ Name string }
			Spec     struct{ Replicas int }
		}
		require.NoError(s.t, json.Unmarshal(manifest.Raw, &object))
		out[object.Metadata.Name] = object.Spec.Replicas
	}
	return out
}

// A set that this Maestro does not take is final within two publishes, however patient the request is.
func TestMergeOfANewPoolEndsAtOnceWhereTheSetIsImmutable(t *testing.T) {
	s := newStage(t, fakemaestro.Strict)
	s.put(generalPool)
	result, took := s.play(merge("fast", 1, waiting, reporting))
	assert.Equal(t, contract.StatusFailed, result.Status)
	assert.Equal(t, string(contract.ErrManifestSetImmutable), result.Reason)
	assert.Less(t, took, slack)
	assert.Contains(t, contract.Rules[contract.ErrManifestSetImmutable].Act, "one ManifestWork per nodepool")
	assert.False(t, contract.Rules[contract.ErrManifestSetImmutable].Retryable)
	publishes := s.maestro.Publishes()
	require.NotEmpty(t, publishes)
	assert.LessOrEqual(t, len(publishes), 2)
	for _, publish := range publishes {
		assert.Equal(t, "update_request", publish.Action, "nothing is deleted and made again")
		assert.EqualValues(t, 3, publish.Version)
		assert.False(t, publish.Accepted)
	}
	assert.Equal(t, map[string]int{"general": 2}, s.replicas())
	assert.Equal(t, "failure", s.reported().Status)
	assert.Equal(t, string(contract.ErrManifestSetImmutable), s.reported().Reason)

	s.reset() // nothing is held: what keeps the set goes through
	result, _ = s.play(merge("general", 5))
	assert.Equal(t, contract.ReasonPublished, result.Reason)
	assert.Equal(t, map[string]int{"general": 5}, s.replicas())

	s.reset() // nor does the way out meet anything
	result, _ = s.play(merge("fast", 1, func(r *contract.Request) { r.Name = "" }))
	assert.Equal(t, contract.ReasonPublished, result.Reason)
	assert.Equal(t, "tenant-c3-nodepool-fast", result.ManifestWorkName)
}

func TestMergeOfANewPoolWhereTheSetMayChange(t *testing.T) {
	s := newStage(t, fakemaestro.Loose)
	s.put(generalPool)
	s.reports(10*time.Second, available(4))
	result, _ := s.play(merge("fast", 1, waiting, reporting))
	assert.Equal(t, contract.ReasonConditionMet, result.Reason)
	assert.EqualValues(t, 4, result.Version)
	assert.Equal(t, map[string]int{"general": 2, "fast": 1}, s.replicas())
	assert.Equal(t, "success", s.reported().Status)

	s.reset()
	result, _ = s.play(merge("fast", 1))
	assert.Equal(t, contract.ReasonUnchanged, result.Reason, "merging twice changes nothing")
}

// offer hands a newer request to the running operation, and gives the error with which it is refused.
func (s *stage) offer(after time.Duration, request contract.Request) (refused *error) {
	refused = new(error)
	s.env.RegisterDelayedCallback(func() {
		s.env.UpdateWorkflow(contract.UpdateSubmit, "", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { *refused = err }, OnComplete: func(any, error) {},
		}, request)
	}, after)
	return refused
}

// A newer generation of a part takes over from the wait for the older one; another part is another operation, which runs
// to its end meanwhile.
func TestMergesOfOnePartTakeTurnsAndThoseOfAnotherRunBeside(t *testing.T) {
	s := newStage(t, fakemaestro.Loose)
	s.put(generalPool)
	first, second, other := merge("general", 4, generation(1), waiting, reporting), merge("general", 6, generation(2)), merge("fast", 1, generation(1))
	require.Equal(t, first.WorkflowID(), second.WorkflowID())
	require.NotEqual(t, first.WorkflowID(), other.WorkflowID())

	beside := &stage{t: t, maestro: s.maestro, client: s.client, results: t.TempDir()}
	beside.reset()
	var otherResult contract.StatusResult
	s.env.RegisterDelayedCallback(func() {
		assert.Equal(t, map[string]int{"general": 4}, s.replicas(), "the first is written, and waits")
		otherResult, _ = beside.play(other)
	}, 20*time.Second)
	refused := s.offer(30*time.Second, second)

	s.env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: first.WorkflowID()})
	s.env.ExecuteWorkflow(operation.ManifestWorkOperation, first)
	require.NoError(t, *refused)
	assert.Equal(t, contract.ReasonPublished, otherResult.Reason)
	assert.Equal(t, string(contract.ErrSuperseded), s.reported().Reason)
	var moved *workflow.ContinueAsNewError
	require.True(t, errors.As(s.env.GetWorkflowError(), &moved))
	var next contract.Request
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(moved.Input, &next))
	assert.Equal(t, second, next)

	s.reset()
	result, _ := s.play(next)
	assert.Equal(t, contract.ReasonPublished, result.Reason)
	assert.Equal(t, map[string]int{"general": 6, "fast": 1}, s.replicas())

	s.reset()
	result, _ = s.play(first)
	assert.Equal(t, string(contract.ErrSuperseded), result.Reason, "the older one, sent again, changes nothing")
	assert.Equal(t, map[string]int{"general": 6, "fast": 1}, s.replicas())
}

// Maestro's HTTP API does not give the executor back, without which an agent would apply with all of its own rights.
func TestMergeAfterAnApplyPublishesItsExecutor(t *testing.T) {
	for _, server := range []fakemaestro.Generation{fakemaestro.Strict, fakemaestro.Loose} {
		s := newStage(t, server)
		result, _ := s.play(contract.Request{Source: source, Consumer: consumer, Work: json.RawMessage(
			`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"web"},"spec":{` +
				`"executor":{"subject":{"type":"ServiceAccount","serviceAccount":{"namespace":"pools","name":"pool-writer"}}},` +
				`"deleteOption":{"propagationPolicy":"Foreground"},"workload":{"manifests":[` + generalPool + `]}}}`)})
		require.Equal(t, contract.ReasonPublished, result.Reason)
		s.reset()
		result, _ = s.play(merge("general", 5))
		require.Equal(t, contract.ReasonPublished, result.Reason)
		publishes := s.maestro.Publishes()
		require.Len(t, publishes, 2)
		for _, publish := range publishes {
			assert.Contains(t, string(publish.Data), `"pool-writer"`)
			assert.Contains(t, string(publish.Data), `"Foreground"`)
		}
		assert.Contains(t, string(publishes[1].Data), `"replicas":5`)
		bundle, _ := s.maestro.Bundle(uid)
		require.NotNil(t, bundle.Work.Spec.Executor)
		assert.Equal(t, "pool-writer", bundle.Work.Spec.Executor.Subject.ServiceAccount.Name)
	}
}

// Nulls are sent as they are written, by the create and by the updates, so that applying again publishes nothing.
func TestExplicitNullsAreStoredByUpdatesToo(t *testing.T) {
	s := newStage(t, fakemaestro.Strict)
	pool := func(replicas int) contract.Request {
		return apply("", func(r *contract.Request) {
			r.Work = json.RawMessage(fmt.Sprintf(`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"web"},"spec":{"workload":{"manifests":[`+
				`{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{"name":"south","namespace":"pools"},"spec":`+
				`{"replicas":%d,"nodeDrainTimeout":null,"management":{"upgradeType":"InPlace","replace":null},"config":[]}}]}}}`, replicas))
		})
	}
	for turn, sample := range []struct {
		replicas int
		reason   string
	}{{1, contract.ReasonPublished}, {2, contract.ReasonPublished}, {2, contract.ReasonUnchanged}} {
		s.reset()
		result, _ := s.play(pool(sample.replicas))
		assert.Equal(t, sample.reason, result.Reason, turn)
	}
	publishes := s.maestro.Publishes()
	require.Len(t, publishes, 2)
	for _, publish := range publishes {
		for _, kept := range []string{`"nodeDrainTimeout":null`, `"replace":null`, `"config":[]`} {
			assert.Contains(t, string(publish.Data), kept)
		}
	}
}
