package activities_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestCommitCreatesUpdatesAndLeavesAlone(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation.String(), func(t *testing.T) {
			s := newStore(t, generation)
			s.stores(apply("1"), contract.CommitCreated, 1)
			s.stores(apply("1"), contract.CommitUnchanged, 1)
			s.stores(apply("2"), contract.CommitUpdated, 2)
			s.stores(apply("2"), contract.CommitUnchanged, 2)
			s.stores(apply("2"), contract.CommitUnchanged, 2)
			publishes := s.maestro.Publishes()
			require.Len(t, publishes, 2, "what is stored already is not published")
			assert.Equal(t, int32(1), publishes[1].Version, "on top of the version that was read")
			for _, publish := range publishes {
				assert.Equal(t, []string{source, consumer, uid}, []string{publish.Source, publish.Consumer, publish.ID})
			}
			assert.Equal(t, "2", s.content())
			assert.Equal(t, int32(2), s.bundle().Version)
		})
	}
}

func TestCommitDoesNotPublishAnotherSpellingOfTheSame(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(apply("1"), contract.CommitCreated, 1)
	params := apply()
	params.Work = []byte(`{"kind":"ManifestWork","apiVersion":"work.open-cluster-management.io/v1",
		"metadata":{"labels":{}, "name":"web", "namespace":"cluster-a1"},
		"spec":{"workload":{"manifests":[{"data":{"value":"1"},"metadata":{"namespace":"default","name":"a"},"kind":"ConfigMap","apiVersion":"v1"}]}}}`)
	s.stores(params, contract.CommitUnchanged, 1)
}

func TestCommitRefusesToChangeTheManifestSetOnAStrictServer(t *testing.T) {
	for change, params := range map[string]contract.CommitParams{
		"one more": apply("1", "2", "3"), "one less": apply("1"),
	} {
		t.Run(change, func(t *testing.T) {
			s := newStore(t, fakemaestro.Strict)
			s.stores(apply("1", "2"), contract.CommitCreated, 1)
			s.refuses(params, contract.ErrManifestSetImmutable, "2 stored")
			publishes := s.maestro.Publishes()
			require.Len(t, publishes, 2, "it is tried once")
			assert.Equal(t, "update_request", publishes[1].Action)
			assert.Equal(t, int32(1), s.bundle().Version)
			assert.Zero(t, s.bundle().DeletedAt, "nothing is deleted to get around it")
		})
	}
}

func TestCommitChangesTheManifestSetOnALooseServer(t *testing.T) {
	s := newStore(t, fakemaestro.Loose)
	s.stores(apply("1", "2"), contract.CommitCreated, 1)
	s.stores(apply("1", "2", "3"), contract.CommitUpdated, 2)
	s.stores(apply("1"), contract.CommitUpdated, 3)
	assert.Len(t, s.bundle().Work.Spec.Workload.Manifests, 1)
}

func TestCommitFencesByGeneration(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(withGeneration(apply("5"), 5), contract.CommitCreated, 1)
	s.refuses(withGeneration(apply("4"), 4), contract.ErrSuperseded, "already holds generation 5")
	s.refuses(withGeneration(apply("other"), 5), contract.ErrGenerationConflict, "generation 5 with other content")
	s.stores(withGeneration(apply("5"), 5), contract.CommitUnchanged, 1)
	assert.Equal(t, 1, s.published())

	s.stores(forced(withGeneration(apply("other"), 5)), contract.CommitUpdated, 2)
	s.stores(withGeneration(apply("6"), 6), contract.CommitUpdated, 3)
	s.stores(apply("by hand"), contract.CommitUpdated, 4)
	s.refuses(withGeneration(apply("4"), 4), contract.ErrSuperseded, "already holds generation 6")
	assert.Equal(t, "by hand", s.content())
}

func TestForceDoesNotWriteAnOlderGeneration(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(withGeneration(apply("5"), 5), contract.CommitCreated, 1)
	s.refuses(forced(withGeneration(apply("4"), 4)), contract.ErrSuperseded, "generation 5")
	assert.Equal(t, "5", s.content())
}

func TestCommitLeavesAnotherOwnersWorkAlone(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(labelled("ingress", "1"), contract.CommitCreated, 1)
	s.refuses(labelled("nodepool", "2"), contract.ErrOwnershipConflict, "hyperfleet.io/adapter=ingress")
	s.refuses(apply("2"), contract.ErrOwnershipConflict, "hyperfleet.io/adapter=ingress")
	assert.Equal(t, 1, s.published())
	s.stores(forced(labelled("nodepool", "2")), contract.CommitUpdated, 2)
	s.stores(labelled("nodepool", "3"), contract.CommitUpdated, 3)
}

func TestCommitDoesNotCreateBesideAnotherSourcesWork(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	other := labelled("ingress", "1")
	other.Source = "another"
	s.stores(other, contract.CommitCreated, 1)
	s.refuses(apply("2"), contract.ErrOwnershipConflict, "another source than \"hyperfleet\"")
	s.refuses(apply("2"), contract.ErrOwnershipConflict, "hyperfleet.io/adapter=ingress")
	assert.Equal(t, 1, s.published())
	s.stores(forced(apply("2")), contract.CommitCreated, 1)
	assert.Len(t, s.maestro.Bundles(), 2)
}

func TestSourceAndNameDecideTheBundle(t *testing.T) {
	first, second := newStore(t, fakemaestro.Strict), newStore(t, fakemaestro.Loose)
	first.stores(apply("1"), contract.CommitCreated, 1)
	second.stores(apply("1"), contract.CommitCreated, 1)
	assert.Equal(t, first.bundle().ID, second.bundle().ID, "whichever worker writes it")
}

func TestCommitWaitsForADeletionUnderWay(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(apply("1"), contract.CommitCreated, 1)
	s.stores(remove(), contract.CommitDeleting, 1)
	_, err := s.commit(apply("1"))
	assert.Equal(t, contract.ErrUnderDeletion, contract.TypeOf(err))
	assert.True(t, retried(t, err), "the cluster may confirm it")
	assert.Equal(t, contract.Rules[contract.ErrUnderDeletion].Delay, delay(t, err))
	assert.Equal(t, 2, s.published())
	require.NoError(t, s.maestro.ConfirmDelete(uid))
	s.stores(apply("1"), contract.CommitCreated, 1)
}

func TestDeleteOnAnUnknownConsumerIsNotASuccess(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	params := remove()
	params.Consumer = "nobody"
	_, err := s.commit(params)
	assert.Equal(t, contract.ErrConsumerNotFound, contract.TypeOf(err))
	assert.Zero(t, s.published())
}

func TestDeleteAsksOnce(t *testing.T) {
	for _, generation := range generations {
		s := newStore(t, generation)
		s.stores(remove(), contract.CommitAbsent, 0)
		assert.Zero(t, s.published(), "there is nothing to delete")
		s.stores(apply("1"), contract.CommitCreated, 1)
		s.stores(remove(), contract.CommitDeleting, 1)
		s.stores(remove(), contract.CommitDeleting, 1)
		assert.Equal(t, 2, s.published(), "a create and one delete")
		assert.NotZero(t, s.bundle().DeletedAt)
		require.NoError(t, s.maestro.ConfirmDelete(uid))
		s.stores(remove(), contract.CommitAbsent, 0)
	}
}

func TestDeleteOfAnOlderGenerationIsRefused(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(withGeneration(apply("5"), 5), contract.CommitCreated, 1)
	s.refuses(withGeneration(remove(), 4), contract.ErrSuperseded, "holds generation 5")
	assert.Zero(t, s.bundle().DeletedAt)
	s.stores(withGeneration(remove(), 5), contract.CommitDeleting, 1)
}

func TestCommitReachesOnlyTheConsumerThatWasAsked(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	_, err := s.maestro.AddConsumer("cluster-b2")
	require.NoError(t, err)
	s.stores(apply("a1"), contract.CommitCreated, 1)
	other := apply("b2")
	other.Consumer = "cluster-b2"
	s.stores(other, contract.CommitCreated, 1)
	assert.Equal(t, "a1", s.content())
	bundles := s.maestro.Bundles()
	require.Len(t, bundles, 2)
	assert.ElementsMatch(t, []string{consumer, "cluster-b2"}, []string{bundles[0].Consumer, bundles[1].Consumer})
}
