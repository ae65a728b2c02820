package contract_test

import (
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var deletionChecks = []check{
	{"a delete is soft until the cluster confirms it", deleteIsSoft},
	{"a work under deletion takes no writes", deletingTakesNoWrites},
	{"a delete of an old version is accepted", deleteOfOldVersion},
	{"a delete of an absent work is accepted", deleteOfAbsentWork},
	{"a work created after its deletion is a fresh one", createAfterDelete},
	{"a confirmation counts even when nothing was deleted", confirmationWithoutDeletion},
	{"a work that was applied goes from the cluster", deleteFromCluster},
}

func (s *scene) remove() *manifest.Stored {
	s.Helper()
	require.NoError(s, s.client.Delete(s.ctx(), source, s.read()))
	stored := s.read()
	require.NotNil(s, stored.DeletedAt)
	return stored
}

func deleteIsSoft(s *scene) {
	desired := s.parse(fullWork)
	created := s.create(desired)
	deleting := s.remove()
	assert.WithinRange(s, *deleting.DeletedAt, created.CreatedAt, time.Now().Add(time.Minute))
	assert.Equal(s, created.Version, deleting.Version)
	assert.True(s, manifest.Same(deleting.Work, desired), "its content is still there")

	require.NoError(s, s.client.Delete(s.ctx(), source, deleting), "a second time")
	assert.Equal(s, deleting.DeletedAt, s.read().DeletedAt)

	s.connect()
	s.awaitGone()
}

func deletingTakesNoWrites(s *scene) {
	created := s.create(s.work(configMap("a", "1")))
	deleting := s.remove()
	next := s.work(configMap("a", "2"))
	s.assertType(contract.ErrUnderDeletion, s.client.Update(s.ctx(), source, deleting, next))
	s.assertType(contract.ErrUnderDeletion, s.client.Update(s.ctx(), source, created, next))
	s.assertType(contract.ErrUnderDeletion, s.client.Create(s.ctx(), source, next))
	_, _, err := manifest.Decide(deleting, next, true)
	s.assertType(contract.ErrUnderDeletion, err)
	s.assertUntouched(deleting)
}

// Whoever deletes has to look at the version himself: the server does not.
func deleteOfOldVersion(s *scene) {
	first := s.create(s.work(configMap("a", "1")))
	s.change(s.work(configMap("a", "2")))
	require.NoError(s, s.client.Delete(s.ctx(), source, first))
	assert.NotNil(s, s.read().DeletedAt)
}

func deleteOfAbsentWork(s *scene) {
	never := &manifest.Stored{Version: 1, Consumer: s.consumer, Work: s.work(configMap("a", "1"))}
	assert.NoError(s, s.client.Delete(s.ctx(), source, never))
}

func createAfterDelete(s *scene) {
	s.connect()
	s.create(s.work(configMap("a", "1", "delete-delay", "20ms")))
	s.change(s.work(configMap("a", "2", "delete-delay", "20ms")))
	before := s.awaitAvailable(2)
	require.NoError(s, s.client.Delete(s.ctx(), source, before))
	s.awaitGone()
	s.disconnect()

	after := s.create(s.work(configMap("b", "3")))
	assert.EqualValues(s, 1, after.Version)
	assert.Equal(s, before.ID, after.ID)
	assert.True(s, after.CreatedAt.After(before.CreatedAt))
	assert.Nil(s, after.DeletedAt)
	assert.False(s, after.Status.Reported)
	s.assertSettled(after, s.work(configMap("b", "3")))
}

// The server removes a work on any report that says Deleted, whatever its version. A confirmation that a cluster repeats
// can therefore take away a work that was created anew in between: not found after a write is possible at any time.
func confirmationWithoutDeletion(s *scene) {
	stored := s.create(s.work(configMap("a", "1")))
	s.report(stored.ID, 9, metav1.Condition{Type: "Applied", Status: metav1.ConditionTrue, Reason: "Early"})
	s.assertUntouched(stored) // a report for another version than the stored one is dropped
	s.report(stored.ID, 9, metav1.Condition{Type: "Deleted", Status: metav1.ConditionTrue, Reason: "ManifestsDeleted"})
	s.awaitGone()
}

func deleteFromCluster(s *scene) {
	s.connect()
	s.create(s.work(configMap("a", "1", "delete-delay", "20ms")))
	s.awaitAvailable(1)
	require.Len(s, s.suite.clusters.Objects(s.consumer), 1)
	require.NoError(s, s.client.Delete(s.ctx(), source, s.read()))
	s.awaitGone()
	assert.Empty(s, s.suite.clusters.Objects(s.consumer))
}
