package contract_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack/simcluster"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

var update = flag.Bool("update", false, "write the answers of the servers that are the authority to testdata")

// The libraries on both sides of the wire log every event.
func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// Backend is a running Maestro.
type Backend struct {
	// Maestro says how the client reaches it. Timeouts and limits are the product's own.
	Maestro maestro.Config
	// Broker is host:port of the agents' side.
	Broker string
	// Generation is the release whose rules the server follows.
	Generation fakemaestro.Generation
	// AddConsumer registers a managed cluster.
	AddConsumer func(ctx context.Context, name string) error
	// Authority means that its answers are what -update writes down for its generation.
	Authority bool
}

// check is one named behaviour. It has a consumer of its own.
type check struct {
	name string
	run  func(*scene)
}

// Run runs every check against the backend.
func Run(t *testing.T, backend Backend) {
	backend.Maestro.Insecure = true
	// A busy machine is no finding; what a deadline does has tests of its own.
	backend.Maestro.CallTimeout = 5 * time.Minute
	client, err := maestro.New(backend.Maestro)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	clusters, err := simcluster.Start(t.Context(), simcluster.Options{BrokerAddress: backend.Broker})
	require.NoError(t, err)
	t.Cleanup(clusters.Stop)

	suite := &suite{
		backend: backend, client: client, clusters: clusters,
		publisher: newPublisher(t, backend.Maestro.GRPCEndpoint),
		reporter:  newPublisher(t, backend.Broker),
		answers:   readAnswers(t, backend.Generation),
	}
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			for _, check := range group.checks {
				suite.run(t, group.name+"/"+check.name, check)
			}
		})
	}
	if t.Failed() || narrowed() {
		return
	}
	suite.compareChecks(t)
	suite.answers.close(t, backend.Authority)
}

// suite is one run. One client serves all checks, as it serves a whole process of the product: together they stay
// below the number of requests at which the server deadlocks.
type suite struct {
	backend   Backend
	client    *maestro.Client
	clusters  *simcluster.Cluster
	publisher *publisher
	reporter  *publisher
	answers   *answers
	consumers atomic.Int64

	mu   sync.Mutex
	done []string
}

func (s *suite) run(t *testing.T, name string, check check) {
	t.Run(check.name, func(t *testing.T) {
		t.Parallel()
		t.Cleanup(func() { s.finished(t, name) })
		check.run(newScene(t, s, name))
	})
}

// finished counts a check; one that skipped itself is a failure, not a gap.
func (s *suite) finished(t *testing.T, name string) {
	if t.Skipped() {
		t.Errorf("%s was skipped", name)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, name)
}

const checksFile = "testdata/checks.txt"

// compareChecks makes sure that this backend ran the same checks as all others.
func (s *suite) compareChecks(t *testing.T) {
	slices.Sort(s.done)
	require.Len(t, slices.Compact(slices.Clone(s.done)), len(s.done), "two checks of one name")
	got := fmt.Sprintf("%d checks\n%s\n", len(s.done), strings.Join(s.done, "\n"))
	if *update {
		require.NoError(t, os.WriteFile(checksFile, []byte(got), 0o644))
	}
	want, err := os.ReadFile(checksFile)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "run with -update when a check was added")
}

// narrowed reports whether only some of the checks were asked for.
func narrowed() bool {
	return strings.Contains(flag.Lookup("test.run").Value.String(), "/") || flag.Lookup("test.skip").Value.String() != ""
}

var groups = []struct {
	name   string
	checks []check
}{
	{"Content", contentChecks},
	{"Versions", versionChecks},
	{"Refusals", refusalChecks},
	{"Mutations", mutationChecks},
	{"Answers", httpChecks},
	{"Consumers", consumerChecks},
	{"Sources", sourceChecks},
	{"Deletion", deletionChecks},
	{"Status", statusChecks},
	{"Limits", limitChecks},
	{"Reach", reachChecks},
}
