package activities_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/activities"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// build runs the activity in a workflow with the ID, which it checks.
func build(t *testing.T, workflowID string, request contract.Request) (contract.BuildResult, error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute) // half a megabyte takes its time under the race detector
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: workflowID})
	env.RegisterActivityWithOptions(activities.Build, activity.RegisterOptions{Name: contract.ActivityBuild})
	env.ExecuteWorkflow(func(ctx workflow.Context) (contract.BuildResult, error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		var result contract.BuildResult
		err := workflow.ExecuteActivity(ctx, contract.ActivityBuild, contract.BuildParams{Request: request}).Get(ctx, &result)
		return result, err
	})
	require.True(t, env.IsWorkflowCompleted())
	if err := env.GetWorkflowError(); err != nil {
		return contract.BuildResult{}, err
	}
	var result contract.BuildResult
	require.NoError(t, env.GetWorkflowResult(&result))
	return result, nil
}

func request(change ...func(*contract.Request)) contract.Request {
	request := contract.Request{Source: source, Consumer: consumer, Work: apply("1", "2").Work}
	for _, c := range change {
		c(&request)
	}
	return request
}

func TestBuildNamesWorkGenerationAndManifests(t *testing.T) {
	whole := request(func(r *contract.Request) { r.Generation, r.Wait = 7, "ConfigMap/default/a:Applied AND Available" })
	result, err := build(t, whole.WorkflowID(), whole)
	require.NoError(t, err)
	assert.Equal(t, contract.BuildResult{
		Name: name, Generation: 7, Manifests: []string{"ConfigMap/default/a", "ConfigMap/default/b"},
	}, result)
}

func TestBuildTakesTheGenerationOfTheWork(t *testing.T) {
	annotated := request(func(r *contract.Request) {
		r.Work = json.RawMessage(strings.Replace(string(r.Work), `"labels":{}`, `"annotations":{"hyperfleet.io/generation":"9"}`, 1))
	})
	result, err := build(t, annotated.WorkflowID(), annotated)
	require.NoError(t, err)
	assert.Equal(t, int64(9), result.Generation)
}

func TestBuildOfADeleteOrAWaitNeedsOnlyTheName(t *testing.T) {
	for _, request := range []contract.Request{
		{Source: source, Consumer: consumer, Action: contract.ActionDelete, Name: name, Generation: 3, Wait: "yes, please"},
		{Source: source, Consumer: consumer, Action: contract.ActionWait, Name: name, Generation: 3, Wait: "Available"},
	} {
		result, err := build(t, request.WorkflowID(), request)
		require.NoError(t, err)
		assert.Equal(t, contract.BuildResult{Name: name, Generation: 3}, result)
	}
}

func TestBuildRefuses(t *testing.T) {
	for problem, test := range map[string]struct {
		request contract.Request
		failure contract.ErrorType
		texts   []string
	}{
		"an envelope, with all that is wrong": {
			request(func(r *contract.Request) { r.Source, r.Consumer, r.Timeout, r.Patience = "", "Not A Label", "5", "-1s" }),
			contract.ErrInvalidInput, []string{"source", `consumer "Not A Label"`, `timeout "5"`, `patience "-1s"`},
		},
		"a malformed condition": {
			request(func(r *contract.Request) { r.Wait = "Available AND" }), contract.ErrInvalidInput, []string{`"Available AND", position 14`},
		},
		"a condition on a manifest that the work lacks": {
			request(func(r *contract.Request) { r.Wait = "Deployment/web:Available" }), contract.ErrInvalidInput, []string{"Deployment/web"},
		},
		"a wait without a condition": {
			contract.Request{Source: source, Consumer: consumer, Action: contract.ActionWait, Name: name}, contract.ErrInvalidInput, []string{"wait"},
		},
		"generations that contradict each other": {
			request(func(r *contract.Request) {
				r.Generation = 8
				r.Work = json.RawMessage(strings.Replace(string(r.Work), `"labels":{}`, `"annotations":{"hyperfleet.io/generation":"9"}`, 1))
			}), contract.ErrInvalidInput, []string{"generation 8", "9"},
		},
		"a work without manifests": {request(func(r *contract.Request) { r.Work = apply().Work }), contract.ErrInvalidManifest, []string{"manifest"}},
		"a work of another cluster": {
			request(func(r *contract.Request) {
				r.Work = json.RawMessage(strings.Replace(string(r.Work), `"labels":{}`, `"namespace":"cluster-b2"`, 1))
			}), contract.ErrInvalidManifest, []string{"cluster-b2"},
		},
		"the same object twice": {
			request(func(r *contract.Request) {
				r.Work = json.RawMessage(strings.Replace(string(r.Work), `"name":"b"`, `"name":"a"`, 1))
			}), contract.ErrInvalidManifest, []string{"ConfigMap"},
		},
		"too much": {
			request(func(r *contract.Request) { r.Work = apply(strings.Repeat("x", 501*1024)).Work }), contract.ErrTooLarge, []string{"the limit is 512000"},
		},
	} {
		t.Run(problem, func(t *testing.T) {
			_, err := build(t, test.request.WorkflowID(), test.request)
			require.Error(t, err)
			assert.Equal(t, test.failure, contract.TypeOf(err), "%v", err)
			assert.False(t, retried(t, err))
			for _, text := range test.texts {
				assert.ErrorContains(t, err, text)
			}
		})
	}
}

func TestBuildRefusesToRunUnderAnotherWorksID(t *testing.T) {
	for _, id := range []string{"my-own-id", "op/hyperfleet/cluster-a1/other", "op/hyperfleet/cluster-b2/web"} {
		_, err := build(t, id, request())
		assert.Equal(t, contract.ErrInvalidInput, contract.TypeOf(err))
		assert.ErrorContains(t, err, "must run as op/hyperfleet/cluster-a1/web")
	}
}
