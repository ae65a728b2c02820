package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/activities"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var began = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// watch plays the looks of one wait. What a look remembers reaches the next one as it does in Temporal: as JSON.
type watch struct {
	t      *testing.T
	now    time.Time
	params contract.ObserveParams
	stored *manifest.Stored
	err    error

	// deletions are the times at which a look asked for one.
	deletions []time.Duration

	memory     json.RawMessage
	heartbeats int
}

func newWatch(t *testing.T, condition string) *watch {
	return &watch{
		t: t, now: began, err: maestro.ErrNotFound,
		params: contract.ObserveParams{
			Source: source, Consumer: consumer, Name: name, Version: 7, Wait: condition, MustExist: true,
			Grace: 30 * time.Second, Until: began.Add(time.Minute),
		},
	}
}

// Read makes a watch the reader of its own looks.
func (w *watch) Read(_ context.Context, source, consumer, name string) (*manifest.Stored, error) {
	assert.Equal(w.t, []string{w.params.Source, w.params.Consumer, w.params.Name}, []string{source, consumer, name})
	return w.stored, w.err
}

// Create and Update are never called by a look.
func (w *watch) Create(context.Context, string, *workv1.ManifestWork) error {
	return errors.New("a look creates nothing")
}

func (w *watch) Update(context.Context, string, *manifest.Stored, *workv1.ManifestWork) error {
	return errors.New("a look updates nothing")
}

func (w *watch) Delete(ctx context.Context, _ string, stored *manifest.Stored) error {
	_, bounded := ctx.Deadline()
	assert.True(w.t, bounded)
	assert.NotNil(w.t, stored.DeletedAt)
	w.deletions = append(w.deletions, w.now.Sub(began))
	return errors.New("nobody answers")
}

// Others is never asked by a wait.
func (w *watch) Registered(context.Context, string) error { return nil }

func (w *watch) Others(context.Context, string, string, string) ([]*manifest.Stored, error) {
	return nil, errors.New("not asked by a wait")
}

func (w *watch) look() (contract.ObserveResult, error) {
	w.t.Helper()
	env := newEnvironment()
	observer := &activities.Observer{Reader: w, Writer: w, Now: func() time.Time { return w.now }}
	env.RegisterActivityWithOptions(observer.Observe, activity.RegisterOptions{Name: contract.ActivityObserve})
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		w.heartbeats++
		assert.NoError(w.t, details.Get(&w.memory))
	})
	if w.memory != nil {
		env.SetHeartbeatDetails(w.memory)
	}
	value, err := env.ExecuteActivity(contract.ActivityObserve, w.params)
	if err != nil {
		return contract.ObserveResult{}, err
	}
	var result contract.ObserveResult
	require.NoError(w.t, value.Get(&result))
	return result, nil
}

// after moves the clock to a time from the start of the wait.
func (w *watch) after(since time.Duration) *watch {
	w.now = began.Add(since)
	return w
}

// waits looks and expects that the wait goes on, with what is missing; it gives the delay to the next look.
func (w *watch) waits(missing string) time.Duration {
	w.t.Helper()
	result, err := w.look()
	require.Error(w.t, err, "%+v", result)
	assert.Equal(w.t, contract.ErrNotReady, contract.TypeOf(err), "%v", err)
	assert.ErrorContains(w.t, err, missing)
	assert.True(w.t, retried(w.t, err))
	return delay(w.t, err)
}

// ends looks and expects the end of the wait.
func (w *watch) ends(outcome contract.ObserveOutcome, failure contract.ErrorType, message string) contract.ObserveResult {
	w.t.Helper()
	result, err := w.look()
	require.NoError(w.t, err)
	assert.Equal(w.t, outcome, result.Outcome)
	assert.Equal(w.t, failure, result.Failure)
	assert.Contains(w.t, result.Message, message)
	return result
}

// serves the work with a version and the conditions that its cluster reported for another one.
func (w *watch) serves(version, observed int64, conditions ...contract.Condition) *watch {
	w.stored, w.err = &manifest.Stored{
		ID: uid, Consumer: consumer, Version: version,
		Work:   &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: consumer}},
		Status: manifest.Status{Reported: observed > 0, ObservedVersion: observed, Conditions: conditions},
	}, nil
	return w
}

func (w *watch) with(resources ...contract.ResourceStatus) *watch {
	w.stored.Status.Resources = resources
	return w
}

func (w *watch) fails(err error) *watch {
	w.stored, w.err = nil, err
	return w
}

func is(kind, status string, version int64, message ...string) contract.Condition {
	condition := contract.Condition{Type: kind, Status: status, Reason: kind + status, ObservedGeneration: version}
	if len(message) > 0 {
		condition.Message = message[0]
	}
	return condition
}

func nodePool(applied contract.Condition) contract.ResourceStatus {
	return contract.ResourceStatus{
		Group: "hypershift.openshift.io", Version: "v1beta1", Kind: "NodePool", Namespace: "pools-a1", Name: "workers",
		Conditions: []contract.Condition{applied, {Type: "Available", Status: "True"}},
	}
}
