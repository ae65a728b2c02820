package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var limitChecks = []check{
	{"each of 250 works is read by its identity with one request", manyWorks},
	{"manifests above 500 KiB are TooLarge before the server takes them", largeManifests},
	{"a message above 4 MiB is TooLarge", hugeMessage},
}

func manyWorks(s *scene) {
	const works = 250
	var running sync.WaitGroup
	for index := range works {
		running.Go(func() {
			name := fmt.Sprintf("web-%d", index)
			assert.NoError(s, s.client.Create(s.Context(), source, newWork(s.consumer, name, configMap("a", name))))
		})
	}
	running.Wait()
	require.NoError(s, s.client.Create(s.ctx(), "other", newWork(s.consumer, "web-249", configMap("a", "foreign"))))

	counter := newCounter(s)
	client := s.clientOf(maestro.Config{HTTPEndpoint: counter.server.URL})
	var want []string
	for index := range works {
		name := fmt.Sprintf("web-%d", index)
		want = append(want, http.MethodGet+" "+bundles+"/"+maestro.UID(source, s.consumer, name))
		running.Go(func() {
			stored, err := client.Get(s.Context(), s.consumer, name)
			if assert.NoError(s, err) {
				s.assertSame(stored, newWork(s.consumer, name, configMap("a", name)))
			}
		})
	}
	running.Wait()
	assert.ElementsMatch(s, want, counter.taken())
	others, err := client.Others(s.ctx(), source, s.consumer, "web-249")
	require.NoError(s, err)
	require.Len(s, others, 1)
	assert.Equal(s, maestro.UID("other", s.consumer, "web-249"), others[0].ID)
	assert.Equal(s, []string{http.MethodGet + " " + bundles}, counter.taken())
}

// The server itself has no limit below that of a gRPC message, but every agent drops what is larger without a word.
func largeManifests(s *scene) {
	desired := s.work(configMap("a", strings.Repeat("x", contract.MaxManifestsBytes)))
	_, err := manifest.Validate(desired, s.consumer)
	s.assertType(contract.ErrTooLarge, err)
	s.assertSame(s.create(desired), desired)
}

func hugeMessage(s *scene) {
	stored := s.create(s.work(configMap("a", "1")))
	huge := s.work(configMap("a", strings.Repeat("x", 4<<20)))
	s.assertType(contract.ErrTooLarge, s.client.Update(s.ctx(), source, stored, huge))
	s.assertUntouched(stored)
}
