package contract_test

import (
	"fmt"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var versionChecks = []check{
	{"an update raises the version by one", updateRaisesVersion},
	{"a stale update is a conflict and changes nothing", staleUpdateIsConflict},
	{"a version of the future is a conflict", futureVersionIsConflict},
	{"an update of an absent work is a conflict", updateOfAbsentWork},
	{"of ten writers with one version one succeeds", oneWriterWins},
	{"of ten creators one succeeds", oneCreatorWins},
	{"base version 0 is refused without a request", versionZeroIsRefused},
	{"a raw publish without version overwrites", rawVersionZeroOverwrites},
	{"an unchanged update raises the version, so it is not published", unchangedUpdateRaisesVersion},
}

func updateRaisesVersion(s *scene) {
	stored := s.create(s.work(configMap("a", "1")))
	require.EqualValues(s, 1, stored.Version)
	for want := int64(2); want <= 6; want++ {
		desired := s.work(configMap("a", fmt.Sprint(want)))
		require.NoError(s, s.client.Update(s.ctx(), source, stored, desired))
		stored = s.read()
		assert.Equal(s, want, stored.Version)
		s.assertSettled(stored, desired)
	}
}

func staleUpdateIsConflict(s *scene) {
	first := s.create(s.work(configMap("a", "1")))
	second := s.change(s.work(configMap("a", "2")))
	s.assertType(contract.ErrVersionConflict, s.client.Update(s.ctx(), source, first, s.work(configMap("a", "3"))))
	s.assertUntouched(second)
}

func futureVersionIsConflict(s *scene) {
	stored := s.create(s.work(configMap("a", "1")))
	ahead := *stored
	ahead.Version = 9
	s.assertType(contract.ErrVersionConflict, s.client.Update(s.ctx(), source, &ahead, s.work(configMap("a", "2"))))
	s.assertUntouched(stored)
}

func updateOfAbsentWork(s *scene) {
	never := &manifest.Stored{Version: 1, Consumer: s.consumer, Work: s.work(configMap("a", "1"))}
	s.assertType(contract.ErrVersionConflict, s.client.Update(s.ctx(), source, never, s.work(configMap("a", "2"))))
	_, err := s.client.Read(s.ctx(), source, s.consumer, workName)
	assert.ErrorIs(s, err, maestro.ErrNotFound)
}

// race runs ten writers at once and gives the number of the only one that succeeded.
func (s *scene) race(write func(writer int) error) int {
	s.Helper()
	const writers = 10
	results := make([]error, writers)
	start := make(chan struct{})
	var running sync.WaitGroup
	for writer := range writers {
		running.Go(func() {
			<-start
			results[writer] = write(writer)
		})
	}
	close(start)
	running.Wait()
	var winners []int
	for writer, err := range results {
		if err == nil {
			winners = append(winners, writer)
			continue
		}
		s.assertType(contract.ErrVersionConflict, err)
	}
	require.Len(s, winners, 1)
	return winners[0]
}

func oneWriterWins(s *scene) {
	base := s.create(s.work(configMap("a", "base")))
	winner := s.race(func(writer int) error {
		return s.client.Update(s.ctx(), source, base, s.work(configMap("a", fmt.Sprint(writer))))
	})
	stored := s.read()
	assert.Equal(s, base.Version+1, stored.Version)
	s.assertSettled(stored, s.work(configMap("a", fmt.Sprint(winner))))
}

func oneCreatorWins(s *scene) {
	winner := s.race(func(writer int) error {
		return s.client.Create(s.ctx(), source, s.work(configMap("a", fmt.Sprint(writer))))
	})
	stored := s.read()
	assert.EqualValues(s, 1, stored.Version)
	s.assertSettled(stored, s.work(configMap("a", fmt.Sprint(winner))))
}

func versionZeroIsRefused(s *scene) {
	silent := newSilent(s)
	client := s.clientOf(maestro.Config{GRPCEndpoint: silent.address(), HTTPEndpoint: silent.url()})
	for _, version := range []int64{0, -1} {
		base := &manifest.Stored{Version: version, Consumer: s.consumer, Work: s.work(configMap("a", "1"))}
		s.assertType(contract.ErrInternal, client.Update(s.ctx(), source, base, s.work(configMap("a", "2"))))
	}
	assert.Zero(s, silent.accepted())
}

// Why the client must refuse it: the server takes version 0 for "whatever is stored".
func rawVersionZeroOverwrites(s *scene) {
	s.create(s.work(configMap("a", "1")))
	s.change(s.work(configMap("a", "2")))
	require.Equal(s, "accepted", s.said(types.UpdateRequestAction, s.work(configMap("a", "3")), 0))
	stored := s.read()
	assert.EqualValues(s, 3, stored.Version)
	s.assertSettled(stored, s.work(configMap("a", "3")))
}

func unchangedUpdateRaisesVersion(s *scene) {
	desired := s.parse(fullWork)
	stored := s.create(desired)
	s.assertSettled(stored, desired)
	require.NoError(s, s.client.Update(s.ctx(), source, stored, desired))
	again := s.read()
	s.record("version after an unchanged update", fmt.Sprint(again.Version))
	s.assertSettled(again, desired)
}
