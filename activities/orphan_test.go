package activities_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// attempt makes one attempt of an activity.
func attempt[P, R any](s *store, call any, params P) (R, error) {
	s.t.Helper()
	var result R
	env := newEnvironment()
	env.RegisterActivityWithOptions(call, activity.RegisterOptions{Name: "step"})
	value, err := env.ExecuteActivity("step", params)
	if err == nil && value.HasValue() {
		require.NoError(s.t, value.Get(&result))
	}
	return result, err
}

func (s *store) orphan(params contract.CommitParams) (contract.OrphanResult, error) {
	return attempt[contract.CommitParams, contract.OrphanResult](s, s.committer.Orphan, params)
}

func (s *store) deleteOrphaned(params contract.OrphanedParams) (contract.CommitResult, error) {
	return attempt[contract.OrphanedParams, contract.CommitResult](s, s.committer.DeleteOrphaned, params)
}

func (s *store) unorphan() {
	s.t.Helper()
	_, err := attempt[contract.OrphanedParams, struct{}](s, s.committer.Unorphan, orphaned(contract.OrphanResult{}))
	require.NoError(s.t, err)
}

func (s *store) recreate(prepared contract.OrphanResult) contract.RecreateResult {
	s.t.Helper()
	result, err := attempt[contract.OrphanedParams, contract.RecreateResult](s, s.committer.Recreate, orphaned(prepared))
	require.NoError(s.t, err)
	return result
}

func orphaned(prepared contract.OrphanResult) contract.OrphanedParams {
	return contract.OrphanedParams{Source: source, Consumer: consumer, Name: name, Version: prepared.Version, Work: prepared.Work, Old: prepared.Old}
}

func (s *store) policy() workv1.DeletePropagationPolicyType {
	if option := s.bundle().Work.Spec.DeleteOption; option != nil {
		return option.PropagationPolicy
	}
	return ""
}

// foreground gives a work a deleteOption of its own.
func foreground(params contract.CommitParams) contract.CommitParams {
	var work map[string]any
	if err := json.Unmarshal(params.Work, &work); err != nil {
		panic(err)
	}
	work["spec"].(map[string]any)["deleteOption"] = map[string]any{"propagationPolicy": "Foreground"}
	params.Work, _ = json.Marshal(work)
	return params
}

// Each step may be repeated, as after a crash before its answer was heard.
func TestRecreationStepByStep(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(foreground(apply("1")), contract.CommitCreated, 1)
	wanted := foreground(apply("1", "2"))
	s.refuses(wanted, contract.ErrManifestSetImmutable, "2 wanted")
	var prepared contract.OrphanResult
	for range 2 {
		var err error
		prepared, err = s.orphan(wanted)
		require.NoError(t, err)
		assert.Equal(t, contract.OrphanReady, prepared.Outcome)
		assert.Equal(t, int64(2), prepared.Version)
	}
	assert.Equal(t, workv1.DeletePropagationPolicyTypeOrphan, s.policy())
	for range 2 {
		result, err := s.deleteOrphaned(orphaned(prepared))
		require.NoError(t, err)
		assert.Equal(t, contract.CommitDeleting, result.Outcome)
	}
	require.NoError(t, s.maestro.ConfirmDelete(uid))
	for range 2 {
		result := s.recreate(prepared)
		assert.Equal(t, contract.CommitRecreated, result.Outcome)
		assert.Empty(t, result.Failure)
	}
	assert.Len(t, s.bundle().Work.Spec.Workload.Manifests, 2)
	assert.Equal(t, workv1.DeletePropagationPolicyTypeForeground, s.policy())
	assert.NotContains(t, s.bundle().Work.Annotations, contract.AnnotationDeleteOption)
	s.stores(wanted, contract.CommitUnchanged, 1)
}

func TestOrphanSaysWhenThereIsNothingToDo(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	result, err := s.orphan(apply("1"))
	require.NoError(t, err)
	assert.Equal(t, contract.OrphanNeedless, result.Outcome, "a work that is not there is created by the write")
	result, err = s.orphan(remove())
	require.NoError(t, err)
	assert.Equal(t, contract.OrphanAbsent, result.Outcome)
	s.stores(apply("1"), contract.CommitCreated, 1)
	result, err = s.orphan(apply("2"))
	require.NoError(t, err)
	assert.Equal(t, contract.OrphanNeedless, result.Outcome, "the set stays")
	stale := withGeneration(remove(), 1)
	s.stores(withGeneration(apply("2"), 5), contract.CommitUpdated, 2)
	_, err = s.orphan(stale)
	assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err))
	assert.Empty(t, s.policy())
}

func TestPreparedWorkThatIsWrittenMeanwhileIsNotDeleted(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(apply("1"), contract.CommitCreated, 1)
	prepared, err := s.orphan(apply("1", "2"))
	require.NoError(t, err)
	s.stores(apply("9"), contract.CommitUpdated, 3)
	assert.Empty(t, s.policy(), "a write takes the preparation back")
	_, err = s.deleteOrphaned(orphaned(prepared))
	assert.Equal(t, contract.ErrVersionConflict, contract.TypeOf(err))
	assert.Equal(t, "9", s.content())
	for _, publish := range s.maestro.Publishes() {
		assert.NotEqual(t, "delete_request", publish.Action)
	}
}

func TestPreparationIsTakenBack(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(foreground(apply("1")), contract.CommitCreated, 1)
	_, err := s.orphan(remove())
	require.NoError(t, err)
	s.unorphan()
	assert.Equal(t, workv1.DeletePropagationPolicyTypeForeground, s.policy())
	published := s.published()
	s.unorphan()
	assert.Equal(t, published, s.published(), "nothing to take back")
	// The same content again is no reason to leave a preparation that somebody has abandoned.
	_, err = s.orphan(remove())
	require.NoError(t, err)
	s.stores(foreground(apply("1")), contract.CommitUpdated, 5)
	assert.Equal(t, workv1.DeletePropagationPolicyTypeForeground, s.policy())
}

func TestRecreateDoesNotOverwriteWhatSomebodyElseCreated(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(apply("1"), contract.CommitCreated, 1)
	prepared, err := s.orphan(apply("1", "2"))
	require.NoError(t, err)
	_, err = s.deleteOrphaned(orphaned(prepared))
	require.NoError(t, err)
	require.NoError(t, s.maestro.ConfirmDelete(uid))
	s.stores(apply("7"), contract.CommitCreated, 1)
	assert.Equal(t, contract.CommitForeign, s.recreate(prepared).Outcome)
	assert.Equal(t, "7", s.content())
}

// A work that Maestro does not take must not leave none behind.
func TestRefusedNewWorkBringsTheOldOneBack(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(apply("1"), contract.CommitCreated, 1)
	prepared, err := s.orphan(apply("1", "2"))
	require.NoError(t, err)
	_, err = s.deleteOrphaned(orphaned(prepared))
	require.NoError(t, err)
	require.NoError(t, s.maestro.ConfirmDelete(uid))
	refused := prepared
	refused.Work = json.RawMessage(`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"web"},"spec":{"workload":{"manifests":[{"kind":"ConfigMap"}]}}}`)
	for range 2 {
		result := s.recreate(refused)
		assert.Equal(t, contract.ErrManifestRefused, result.Failure)
		assert.Equal(t, "1", s.content())
	}
}

func TestDeletionOfWhatBelongsToAnother(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(labelled("ingress", "1"), contract.CommitCreated, 1)
	mine := contract.Request{Source: source, Consumer: consumer, Name: name, Action: contract.ActionDelete, Adapter: "nodepool"}
	s.refuses(mine.Commit(name, 0), contract.ErrOwnershipConflict, "belongs to hyperfleet.io/adapter=ingress")
	elsewhere := remove()
	elsewhere.Source = "another"
	s.refuses(elsewhere, contract.ErrOwnershipConflict, `was written by another source than "another"`)
	s.stores(forced(elsewhere), contract.CommitAbsent, 0)
	assert.Equal(t, "1", s.content())
	mine.Force = true
	s.stores(mine.Commit(name, 0), contract.CommitDeleting, 1)
}

// The agent would leave the objects, of which the caller wants to be rid.
func TestPlainDeleteAfterAnAbandonedPreparationIsRefused(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(apply("1"), contract.CommitCreated, 1)
	_, err := s.orphan(remove())
	require.NoError(t, err)
	s.refuses(remove(), contract.ErrInvalidInput, "its objects would stay")
	assert.Zero(t, s.bundle().DeletedAt)
	s.stores(apply("1"), contract.CommitUpdated, 3)
	s.stores(remove(), contract.CommitDeleting, 3)
}
