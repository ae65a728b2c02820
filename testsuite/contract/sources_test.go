package contract_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/openshift-online/maestro/pkg/api/openapi"
	"github.com/openshift-online/maestro/pkg/client/cloudevents/grpcsource"
	"github.com/openshift-online/ocm-sdk-go/logging"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1client "open-cluster-management.io/api/client/work/clientset/versioned/typed/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	grpcoptions "open-cluster-management.io/sdk-go/pkg/cloudevents/generic/options/grpc"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
)

var sourceChecks = []check{
	{"works of one name from two sources live beside each other", sourcesLiveBeside},
	{"Others finds another source's work and no more", othersFindsForeignWork},
	{"what the upstream client writes is read and updated", upstreamWritesWeRead},
	{"what we write is read and updated by the upstream client", weWriteUpstreamReads},
}

func sourcesLiveBeside(s *scene) {
	own := s.create(s.work(configMap("a", "own")))
	require.NoError(s, s.client.Create(s.ctx(), "other", s.work(configMap("a", "other"))))
	other, err := s.client.Read(s.ctx(), "other", s.consumer, workName)
	require.NoError(s, err)
	assert.NotEqual(s, own.ID, other.ID)
	s.assertSettled(other, s.work(configMap("a", "other")))
	s.assertUntouched(own)
}

func (s *scene) others() []*manifest.Stored {
	s.Helper()
	others, err := s.client.Others(s.ctx(), source, s.consumer, workName)
	require.NoError(s, err)
	return others
}

func othersFindsForeignWork(s *scene) {
	assert.Empty(s, s.others(), "no work at all")
	s.create(s.work(configMap("a", "own")))
	s.create(newWork(s.consumer, workName+"-2", configMap("a", "another name")))
	require.NoError(s, s.client.Create(s.ctx(), source, newWork(s.newConsumer(), workName, configMap("a", "another consumer"))))
	assert.Empty(s, s.others(), "only works of our own, of other names and on other consumers")

	desired := s.work(configMap("a", "foreign"))
	desired.Labels = map[string]string{"team": "x"}
	require.NoError(s, s.client.Create(s.ctx(), "other", desired))
	others := s.others()
	require.Len(s, others, 1)
	assert.Equal(s, maestro.UID("other", s.consumer, workName), others[0].ID)
	read, err := s.client.Read(s.ctx(), "other", s.consumer, workName)
	require.NoError(s, err)
	assert.Equal(s, read, others[0], "a search gives what a read gives")

	require.NoError(s, s.client.Delete(s.ctx(), "other", others[0]))
	assert.Empty(s, s.others(), "a work under deletion does not count")
}

// upstream is the client that other sources use. It gives up its goroutines when the check is over.
func (s *scene) upstream() workv1client.ManifestWorkInterface {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.Cleanup(cancel)
	logger, err := logging.NewStdLoggerBuilder().Streams(io.Discard, io.Discard).Build()
	require.NoError(s, err)
	rest := openapi.NewAPIClient(&openapi.Configuration{
		Servers:    openapi.ServerConfigurations{{URL: s.suite.backend.Maestro.HTTPEndpoint}},
		HTTPClient: &http.Client{Timeout: patience},
	})
	client, err := grpcsource.NewMaestroGRPCSourceWorkClient(ctx, logger, rest,
		&grpcoptions.GRPCOptions{Dialer: &grpcoptions.GRPCDialer{URL: s.suite.backend.Maestro.GRPCEndpoint}}, source)
	require.NoError(s, err)
	return client.ManifestWorks(s.consumer)
}

// once calls the upstream client until it has its connection.
func (s *scene) once(call func() error) {
	s.Helper()
	var err error
	require.Eventually(s, func() bool {
		err = call()
		return err == nil || !strings.Contains(err.Error(), "client is not ready")
	}, patience, tick)
	require.NoError(s, err)
}

func (s *scene) upstreamUpdate(works workv1client.ManifestWorkInterface, desired *workv1.ManifestWork) *workv1.ManifestWork {
	s.Helper()
	base, err := works.Get(s.ctx(), workName, metav1.GetOptions{})
	require.NoError(s, err)
	patch, err := grpcsource.ToWorkPatch(base, desired)
	require.NoError(s, err)
	s.once(func() error {
		_, err := works.Patch(s.ctx(), workName, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	updated, err := works.Get(s.ctx(), workName, metav1.GetOptions{})
	require.NoError(s, err)
	return updated
}

func upstreamWritesWeRead(s *scene) {
	works := s.upstream()
	desired := s.parse(fullWork)
	s.once(func() error {
		_, err := works.Create(s.ctx(), desired, metav1.CreateOptions{})
		return err
	})
	stored := s.read()
	assert.EqualValues(s, 1, stored.Version)
	assert.Equal(s, maestro.UID(source, s.consumer, workName), stored.ID)
	assert.Empty(s, s.others(), "the upstream client's work is our own")
	without := desired.DeepCopy()
	without.Spec.Executor = nil
	s.assertSame(stored, without) // all but the executor, which that client does not keep

	updated := s.change(desired)
	assert.EqualValues(s, 2, updated.Version)
	s.assertSettled(updated, desired)
}

func weWriteUpstreamReads(s *scene) {
	works := s.upstream()
	desired := s.parse(fullWork)
	stored := s.create(desired)
	read, err := works.Get(s.ctx(), workName, metav1.GetOptions{})
	require.NoError(s, err)
	assert.Equal(s, stored.ID, string(read.UID))
	assert.EqualValues(s, 1, read.Generation)
	assert.Equal(s, desired.Labels, read.Labels)
	assert.JSONEq(s, text(desired.Spec.ManifestConfigs), text(read.Spec.ManifestConfigs))
	assert.JSONEq(s, text(desired.Spec.Workload), text(read.Spec.Workload))

	// Its merge patches drop nulls.
	next := s.parse(strings.ReplaceAll(fullWork, `"replicas":0,"paused":false,"template":null`, `"replicas":5`))
	assert.EqualValues(s, 2, s.upstreamUpdate(works, next).Generation)
	ours := s.read()
	assert.EqualValues(s, 2, ours.Version)
	assert.JSONEq(s, text(next.Spec.Workload), text(ours.Work.Spec.Workload))

	require.NoError(s, works.Delete(s.ctx(), workName, metav1.DeleteOptions{}))
	assert.NotNil(s, s.read().DeletedAt)
}

// tick is the time between two looks at something that is awaited.
const tick = 10 * time.Millisecond
