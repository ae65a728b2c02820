package contract_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var reachChecks = []check{
	{"a server that is down is MaestroUnavailable", serverDown},
	{"a server that hangs is MaestroUnavailable within the call timeout", serverHangs},
	{"a wrong base path is not ErrNotFound", wrongBasePath},
	{"swapped endpoints are MaestroUnavailable", swappedEndpoints},
	{"a caller that gives up is MaestroUnavailable", callerGivesUp},
}

// closed is an address where nothing listens: ports below 1024 are not handed out.
const closed = "127.0.0.1:1"

// assertUnavailable makes every call of a client that cannot reach one or both of its servers.
func (s *scene) assertUnavailable(client *maestro.Client, reads, writes bool) {
	s.Helper()
	stored := s.read()
	next := s.work(configMap("a", "2"))
	if reads {
		_, err := client.Get(s.ctx(), s.consumer, workName)
		s.assertType(contract.ErrUnavailable, err)
		assert.NotErrorIs(s, err, maestro.ErrNotFound)
		_, err = client.Others(s.ctx(), source, s.consumer, workName)
		s.assertType(contract.ErrUnavailable, err)
		s.assertType(contract.ErrUnavailable, client.Ready(s.ctx()))
	}
	if writes {
		s.assertType(contract.ErrUnavailable, client.Create(s.ctx(), source, newWork(s.consumer, "new", configMap("a", "1"))))
		s.assertType(contract.ErrUnavailable, client.Update(s.ctx(), source, stored, next))
		s.assertType(contract.ErrUnavailable, client.Delete(s.ctx(), source, stored))
		s.assertUntouched(stored)
	}
}

func serverDown(s *scene) {
	s.create(s.work(configMap("a", "1")))
	s.assertUnavailable(s.clientOf(maestro.Config{GRPCEndpoint: closed}), false, true)
	s.assertUnavailable(s.clientOf(maestro.Config{HTTPEndpoint: "http://" + closed}), true, false)

	// A refusal is explained by reading; when that is not possible the outcome is open.
	stored := s.read()
	blind := s.clientOf(maestro.Config{HTTPEndpoint: "http://" + closed})
	bad := s.work(object(headOK, metaOK+`,"generateName":"a-"`))
	s.assertType(contract.ErrUnavailable, blind.Update(s.ctx(), source, stored, bad))
	s.assertType(contract.ErrUnavailable, blind.Create(s.ctx(), source, bad))
	s.assertUntouched(stored)
}

func serverHangs(s *scene) {
	s.create(s.work(configMap("a", "1")))
	silent := newSilent(s)
	const timeout = 200 * time.Millisecond
	client := s.clientOf(maestro.Config{GRPCEndpoint: silent.address(), HTTPEndpoint: silent.url(), CallTimeout: timeout})
	began := time.Now()
	s.assertUnavailable(client, true, true)
	assert.Less(s, time.Since(began), 6*timeout+5*time.Second, "six calls")
}

func wrongBasePath(s *scene) {
	s.create(s.work(configMap("a", "1")))
	s.assertUnavailable(s.clientOf(maestro.Config{HTTPEndpoint: s.suite.backend.Maestro.HTTPEndpoint + "/elsewhere"}), true, false)

	page := httptest.NewServer(http.NotFoundHandler())
	s.Cleanup(page.Close)
	s.assertUnavailable(s.clientOf(maestro.Config{HTTPEndpoint: page.URL}), true, false)
}

func swappedEndpoints(s *scene) {
	s.create(s.work(configMap("a", "1")))
	right := s.suite.backend.Maestro
	client := s.clientOf(maestro.Config{
		GRPCEndpoint: strings.TrimPrefix(right.HTTPEndpoint, "http://"), HTTPEndpoint: "http://" + right.GRPCEndpoint,
	})
	s.assertUnavailable(client, true, true)
}

func callerGivesUp(s *scene) {
	stored := s.create(s.work(configMap("a", "1")))
	ctx, cancel := context.WithCancel(s.ctx())
	cancel()
	_, err := s.client.Get(ctx, s.consumer, workName)
	s.assertType(contract.ErrUnavailable, err)
	require.ErrorIs(s, err, context.Canceled)
	s.assertType(contract.ErrUnavailable, s.client.Update(ctx, source, stored, s.work(configMap("a", "2"))))
	s.assertUntouched(stored)
}
