package contract_test

import (
	"errors"
	"fmt"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var consumerChecks = []check{
	{"a work for an unknown consumer is ConsumerNotFound", unknownConsumer},
	{"an absent work is ErrNotFound", absentWork},
	{"works of one name on many consumers stay apart", worksStayApart},
}

func unknownConsumer(s *scene) {
	err := s.client.Create(s.ctx(), source, newWork("nobody", workName, configMap("a", "1")))
	s.assertType(contract.ErrConsumerNotFound, err)
	assert.ErrorContains(s, err, `"nobody"`)
	_, err = s.client.Read(s.ctx(), source, "nobody", workName)
	assert.ErrorIs(s, err, maestro.ErrNotFound)
}

func absentWork(s *scene) {
	s.create(s.work(configMap("a", "1")))
	for _, at := range [][3]string{{source, s.consumer, "other"}, {source, "other", workName}, {"other", s.consumer, workName}} {
		_, err := s.client.Read(s.ctx(), at[0], at[1], at[2])
		assert.ErrorIs(s, err, maestro.ErrNotFound, "%v", at)
	}
	require.NoError(s, s.client.Ready(s.ctx()))
}

// A client that keeps one current consumer for all its users writes to the wrong cluster here.
func worksStayApart(s *scene) {
	const writers, rounds = 8, 5
	first, second := s.consumer, s.newConsumer()
	require.NoError(s, s.suite.clusters.AddConsumer(s.ctx(), first))
	require.NoError(s, s.suite.clusters.AddConsumer(s.ctx(), second))
	content := func(consumer string, writer, round int) string {
		return configMap("a", fmt.Sprintf("%s %d %d", consumer, writer, round))
	}
	var running sync.WaitGroup
	for writer := range writers {
		for _, consumer := range []string{first, second} {
			running.Go(func() {
				name := fmt.Sprintf("web-%d", writer)
				for round := range rounds {
					assert.NoError(s, s.put(consumer, name, content(consumer, writer, round)))
				}
			})
		}
	}
	running.Wait()
	for writer := range writers {
		for _, consumer := range []string{first, second} {
			s.consumer = consumer
			desired := newWork(consumer, fmt.Sprintf("web-%d", writer), content(consumer, writer, rounds-1))
			stored := s.readNamed(desired.Name)
			assert.EqualValues(s, rounds, stored.Version)
			s.assertSettled(stored, desired)
		}
	}
	for _, consumer := range []string{first, second} {
		s.awaitObjects(consumer, writers)
		for _, work := range s.suite.clusters.Objects(consumer) {
			assert.Contains(s, string(work.Manifests[0]), `"k":"`+consumer+" ")
		}
	}
}

// put creates or updates a work from what was just read, as one of several goroutines.
func (s *scene) put(consumer, name, content string) error {
	stored, err := s.client.Read(s.Context(), source, consumer, name)
	if errors.Is(err, maestro.ErrNotFound) {
		return s.client.Create(s.Context(), source, newWork(consumer, name, content))
	}
	if err != nil {
		return err
	}
	return s.client.Update(s.Context(), source, stored, newWork(consumer, name, content))
}

func (s *scene) awaitObjects(consumer string, works int) {
	s.Helper()
	require.Eventually(s, func() bool {
		return len(s.suite.clusters.Objects(consumer)) == works
	}, patience, tick, "%d works on %s", works, consumer)
}
