package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/openshift-hyperfleet/maestro-workflows/activities"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	source   = "hyperfleet"
	consumer = "cluster-a1"
	name     = "web"
)

var uid = maestro.UID(source, consumer, name)

// generations of the server, whose rules differ.
var generations = []fakemaestro.Generation{fakemaestro.Strict, fakemaestro.Loose}

// store is a fake Maestro with the product's client, and the activity that writes to it.
type store struct {
	t         *testing.T
	maestro   *fakemaestro.Server
	client    *maestro.Client
	committer *activities.Committer
}

func newStore(t *testing.T, generation fakemaestro.Generation) *store {
	t.Helper()
	fake := fakemaestro.New(t, fakemaestro.Options{Generation: generation, Consumers: []string{consumer}})
	client, err := maestro.New(maestro.Config{
		GRPCEndpoint: fake.GRPCAddress(), HTTPEndpoint: fake.HTTPURL(), Insecure: true, CallTimeout: 5 * time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, client.Close())
		for _, publish := range fake.Publishes() {
			if publish.Action != "create_request" {
				assert.Positive(t, publish.Version, "%s with version 0 overwrites whatever is stored", publish.Action)
			}
		}
	})
	return &store{t: t, maestro: fake, client: client, committer: &activities.Committer{Reader: client, Writer: client}}
}

// commit makes one attempt.
func (s *store) commit(params contract.CommitParams) (contract.CommitResult, error) {
	s.t.Helper()
	return s.commitIn(context.Background(), params)
}

// commitIn makes one attempt whose context ends with ctx, as that of a cancelled activity does.
func (s *store) commitIn(ctx context.Context, params contract.CommitParams) (contract.CommitResult, error) {
	s.t.Helper()
	env := newEnvironment()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	env.RegisterActivityWithOptions(s.committer.Commit, activity.RegisterOptions{Name: contract.ActivityCommit})
	value, err := env.ExecuteActivity(contract.ActivityCommit, params)
	if err != nil {
		return contract.CommitResult{}, err
	}
	var result contract.CommitResult
	require.NoError(s.t, value.Get(&result))
	return result, nil
}

func newEnvironment() *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	return suite.NewTestActivityEnvironment()
}

// stores commits and expects the outcome.
func (s *store) stores(params contract.CommitParams, outcome contract.CommitOutcome, version int64) {
	s.t.Helper()
	result, err := s.commit(params)
	require.NoError(s.t, err)
	assert.Equal(s.t, contract.CommitResult{Outcome: outcome, Version: version, Attempt: 1}, result)
}

// refuses commits and expects the failure's type and a part of its text.
func (s *store) refuses(params contract.CommitParams, failure contract.ErrorType, text string) {
	s.t.Helper()
	_, err := s.commit(params)
	require.Error(s.t, err)
	assert.Equal(s.t, failure, contract.TypeOf(err), "%v", err)
	assert.ErrorContains(s.t, err, text)
}

// published counts the publishes so far.
func (s *store) published() int { return len(s.maestro.Publishes()) }

func (s *store) bundle() fakemaestro.Bundle {
	s.t.Helper()
	bundle, found := s.maestro.Bundle(uid)
	require.True(s.t, found)
	return bundle
}

// content of the first manifest's data.value.
func (s *store) content() string {
	s.t.Helper()
	manifests := s.bundle().Work.Spec.Workload.Manifests
	require.NotEmpty(s.t, manifests)
	var object struct{ Data struct{ Value string } }
	require.NoError(s.t, json.Unmarshal(manifests[0].Raw, &object))
	return object.Data.Value
}

// apply of a work with one ConfigMap per value, called a, b, c and so on.
func apply(values ...string) contract.CommitParams { return labelled("", values...) }

func labelled(owner string, values ...string) contract.CommitParams {
	var manifests []string
	for i, value := range values {
		manifests = append(manifests, fmt.Sprintf(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%c","namespace":"default"},"data":{"value":%q}}`, 'a'+i, value))
	}
	labels := "{}"
	if owner != "" {
		labels = fmt.Sprintf(`{%q:%q}`, contract.LabelOwner, owner)
	}
	return contract.CommitParams{
		Action: contract.ActionApply, Consumer: consumer, Name: name, Source: source,
		Work: json.RawMessage(fmt.Sprintf(`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork",`+
			`"metadata":{"name":%q,"labels":%s},"spec":{"workload":{"manifests":[%s]}}}`, name, labels, strings.Join(manifests, ","))),
	}
}

func withGeneration(params contract.CommitParams, generation int64) contract.CommitParams {
	params.Generation = generation
	return params
}

func forced(params contract.CommitParams) contract.CommitParams {
	params.Force = true
	return params
}

func remove() contract.CommitParams {
	return contract.CommitParams{Action: contract.ActionDelete, Consumer: consumer, Name: name, Source: source}
}

// quiet drops the environment's log.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
