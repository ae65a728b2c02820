package contract_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack/simcluster"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	source = "contract"
	// workName is that of nearly every work of the suite: names are only unique within source and consumer.
	workName = "web"
	// patience is how long something that has to happen may take. It is generous because several stacks may share
	// a machine; a check that passes never needs it.
	patience = 30 * time.Second
)

// scene is one check's view of the server: a consumer of its own and helpers that fail the test.
type scene struct {
	*testing.T
	suite    *suite
	name     string
	client   *maestro.Client
	consumer string
}

func newScene(t *testing.T, s *suite, name string) *scene {
	scene := &scene{T: t, suite: s, name: name, client: s.client}
	scene.consumer = scene.newConsumer()
	return scene
}

// each runs one check per item as a subtest in the same scene, so with the same consumer.
func (s *scene) each(name string, run func(*scene)) {
	full := s.name + "/" + name
	s.Run(name, func(t *testing.T) {
		t.Cleanup(func() { s.suite.finished(t, full) })
		inner := *s
		inner.T, inner.name = t, full
		run(&inner)
	})
}

func (s *scene) ctx() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	s.Cleanup(cancel)
	return ctx
}

func (s *scene) strict() bool { return s.suite.backend.Generation == fakemaestro.Strict }

func (s *scene) newConsumer() string {
	s.Helper()
	name := fmt.Sprintf("consumer-%d", s.suite.consumers.Add(1))
	require.NoError(s, s.suite.backend.AddConsumer(s.ctx(), name))
	return name
}

// connect gives the consumer a cluster, or brings it back.
func (s *scene) connect() {
	s.Helper()
	require.NoError(s, s.suite.clusters.AddConsumer(s.ctx(), s.consumer))
	require.NoError(s, s.suite.clusters.Connect(s.ctx(), s.consumer))
}

// disconnect cuts the consumer's cluster off; it hears and says nothing until connect.
func (s *scene) disconnect() { s.suite.clusters.Disconnect(s.consumer) }

func (s *scene) work(manifests ...string) *workv1.ManifestWork {
	return newWork(s.consumer, workName, manifests...)
}

func newWork(consumer, name string, manifests ...string) *workv1.ManifestWork {
	work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: consumer}}
	for _, text := range manifests {
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests,
			workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(text)}})
	}
	return work
}

// configMap is a manifest whose script is that of a fast cluster, with more annotations in pairs of key and value.
func configMap(name, value string, script ...string) string {
	annotations := fmt.Sprintf("%q:%q,%q:%q", simcluster.Prefix+"apply-delay", "20ms", simcluster.Prefix+"available-delay", "20ms")
	for index := 0; index < len(script); index += 2 {
		annotations += fmt.Sprintf(",%q:%q", simcluster.Prefix+script[index], script[index+1])
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default","annotations":{%s}},"data":{"k":%q}}`,
		name, annotations, value)
}

// create stores a work and reads it back.
func (s *scene) create(work *workv1.ManifestWork) *manifest.Stored {
	s.Helper()
	require.NoError(s, s.client.Create(s.ctx(), source, work))
	return s.readNamed(work.Name)
}

// change updates a work on top of the version just read and reads it back.
func (s *scene) change(work *workv1.ManifestWork) *manifest.Stored {
	s.Helper()
	require.NoError(s, s.client.Update(s.ctx(), source, s.readNamed(work.Name), work))
	return s.readNamed(work.Name)
}

func (s *scene) read() *manifest.Stored {
	s.Helper()
	return s.readNamed(workName)
}

func (s *scene) readNamed(name string) *manifest.Stored {
	s.Helper()
	stored, err := s.client.Read(s.ctx(), source, s.consumer, name)
	require.NoError(s, err)
	return stored
}

// await reads the work until it is as wanted.
func (s *scene) await(what string, reached func(*manifest.Stored) bool) *manifest.Stored {
	s.Helper()
	var last *manifest.Stored
	require.Eventually(s, func() bool {
		stored, err := s.client.Read(s.Context(), source, s.consumer, workName)
		if err != nil {
			return false
		}
		last = stored
		return reached(stored)
	}, patience, 10*time.Millisecond, "%s", what)
	return last
}

// awaitGone reads the work until Maestro says that there is none.
func (s *scene) awaitGone() {
	s.Helper()
	require.Eventually(s, func() bool {
		_, err := s.client.Read(s.Context(), source, s.consumer, workName)
		return isNotFound(err)
	}, patience, 10*time.Millisecond, "the work is gone")
}

func (s *scene) assertType(want contract.ErrorType, err error) {
	s.Helper()
	if assert.Error(s, err) {
		assert.Equal(s, want, contract.TypeOf(err), "%v", err)
	}
}

// assertUntouched: the row is the one that was read before, to the microsecond.
func (s *scene) assertUntouched(before *manifest.Stored) {
	s.Helper()
	assert.Equal(s, before, s.readNamed(before.Work.Name))
}

// assertSettled: the stored work is the desired one, so that applying it again publishes nothing.
func (s *scene) assertSettled(stored *manifest.Stored, desired *workv1.ManifestWork) {
	s.Helper()
	s.assertSame(stored, desired)
	write, _, err := manifest.Decide(stored, desired, false)
	require.NoError(s, err)
	assert.Equal(s, manifest.WriteNothing, write)
}

func (s *scene) assertSame(stored *manifest.Stored, desired *workv1.ManifestWork) {
	s.Helper()
	if !manifest.Same(stored.Work, desired) {
		assert.Fail(s, "the stored work is not the desired one", "stored %s\ndesired %s", text(stored.Work), text(desired))
	}
}
