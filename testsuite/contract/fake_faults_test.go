package contract_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const callTimeout = 150 * time.Millisecond

// faulty is a fake of its own with one stored work, and a client that does not wait long.
type faulty struct {
	*scene
	server *fakemaestro.Server
	stored *manifest.Stored
}

func newFaulty(t *testing.T) faulty {
	t.Helper()
	server := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	client, err := maestro.New(maestro.Config{
		GRPCEndpoint: server.GRPCAddress(), HTTPEndpoint: server.HTTPURL(), Source: source, Insecure: true, CallTimeout: callTimeout,
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	s := &scene{T: t, client: client, consumer: "c1"}
	return faulty{scene: s, server: server, stored: s.create(s.work(configMap("a", "1")))}
}

func (f faulty) get() error {
	_, err := f.client.Get(f.ctx(), f.consumer, workName)
	return err
}

func (f faulty) others() error {
	_, err := f.client.Others(f.ctx(), source, f.consumer, workName)
	return err
}

func (f faulty) update() error {
	return f.client.Update(f.ctx(), source, f.stored, f.work(configMap("a", "2")))
}

func TestFakeHTTPFaultsAreTyped(t *testing.T) {
	for status, want := range map[int]contract.ErrorType{
		http.StatusUnauthorized:        contract.ErrUnauthorized,
		http.StatusForbidden:           contract.ErrUnauthorized,
		http.StatusNotFound:            contract.ErrUnavailable, // a proxy's, not Maestro's
		http.StatusRequestTimeout:      contract.ErrUnavailable,
		http.StatusTooManyRequests:     contract.ErrUnavailable,
		http.StatusInternalServerError: contract.ErrUnavailable,
		http.StatusBadGateway:          contract.ErrUnavailable,
		http.StatusServiceUnavailable:  contract.ErrUnavailable,
		http.StatusGatewayTimeout:      contract.ErrUnavailable,
		http.StatusBadRequest:          contract.ErrManifestRefused,
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			f := newFaulty(t)
			f.server.Faults().Inject(fakemaestro.HTTPStatus(status))
			for _, err := range []error{f.get(), f.others(), f.client.Ready(f.ctx())} {
				f.assertType(want, err)
				assert.NotErrorIs(t, err, maestro.ErrNotFound)
			}
			require.NoError(t, f.server.Faults().Clear())
			assert.NoError(t, f.get())
		})
	}
}

func TestFakeRetryAfterBecomesTheDelay(t *testing.T) {
	f := newFaulty(t)
	f.server.Faults().Inject(fakemaestro.HTTPUnavailable(7 * time.Second))
	var typed *contract.Error
	require.ErrorAs(t, f.get(), &typed)
	assert.Equal(t, contract.ErrUnavailable, typed.Type)
	assert.Equal(t, 7*time.Second, typed.Delay)
}

func TestFakePublishFaultsAreTyped(t *testing.T) {
	for name, test := range map[string]struct {
		fault fakemaestro.Fault
		want  contract.ErrorType
	}{
		"no credentials":       {fakemaestro.NoCredentials(), contract.ErrUnauthorized},
		"bad token":            {fakemaestro.BadToken(), contract.ErrUnauthorized},
		"source not allowed":   {fakemaestro.NotAuthorized(), contract.ErrUnauthorized},
		"authorization broken": {fakemaestro.PublishRefused("failed to authorize the request: the API server is down"), contract.ErrUnavailable},
		"permission denied":    {fakemaestro.PublishError(codes.PermissionDenied, "no"), contract.ErrUnauthorized},
		"unavailable":          {fakemaestro.PublishError(codes.Unavailable, "no healthy upstream"), contract.ErrUnavailable},
		"too many connections": {fakemaestro.PublishError(codes.ResourceExhausted, "try later"), contract.ErrUnavailable},
		"too large":            {fakemaestro.PublishError(codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)"), contract.ErrTooLarge},
		"advisory lock":        {fakemaestro.PublishRefused("failed to update resource: maestro-26: Unable to get the lock"), contract.ErrUnavailable},
		"database is down":     {fakemaestro.PublishRefused("failed to update resource: maestro-9: Unable to update Resource: connection refused"), contract.ErrUnavailable},
		"refused":              {fakemaestro.PublishRefused("failed to update resource: maestro-8: it is bad"), contract.ErrManifestRefused},
		"unknown words":        {fakemaestro.PublishRefused("whatever"), contract.ErrManifestRefused},
		"only conflicts":       {fakemaestro.PublishConflict(), contract.ErrVersionConflict},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaulty(t)
			f.server.Faults().Inject(test.fault)
			f.assertType(test.want, f.update())
			require.NoError(t, f.server.Faults().Clear())
			assert.True(t, manifest.Same(f.read().Work, f.stored.Work), "nothing of the update is stored")
		})
	}
}

func TestFakeThatHangsIsUnavailableWithinTheCallTimeout(t *testing.T) {
	f := newFaulty(t)
	f.server.Faults().Inject(fakemaestro.HTTPHang())
	f.server.Faults().Inject(fakemaestro.PublishHang())
	for _, call := range []func() error{f.get, f.others, f.update} {
		began := time.Now()
		err := call()
		f.assertType(contract.ErrUnavailable, err)
		assert.ErrorContains(t, err, "does not answer")
		assert.GreaterOrEqual(t, time.Since(began), callTimeout)
		assert.Less(t, time.Since(began), callTimeout+5*time.Second)
	}
	require.NoError(t, f.server.Faults().Clear())
	assert.NoError(t, f.get())
}

func TestFakeThatComesBackServesTheSameClient(t *testing.T) {
	f := newFaulty(t)
	faults := f.server.Faults()
	require.NoError(t, faults.PauseHTTP())
	require.NoError(t, faults.PauseGRPC())
	f.assertType(contract.ErrUnavailable, f.get())
	f.assertType(contract.ErrUnavailable, f.update())
	require.NoError(t, faults.ResumeHTTP())
	require.NoError(t, faults.ResumeGRPC())
	require.NoError(t, f.get())
	require.Eventually(t, func() bool { return f.update() == nil }, patience, tick)
	assert.EqualValues(t, 2, f.read().Version)
}

// The caller cannot know what became of such a write; reading again tells.
func TestFakeThatLosesAnswersHasStoredTheUpdate(t *testing.T) {
	for name, fault := range map[string]fakemaestro.Fault{
		"answer lost": fakemaestro.AnswerLost(), "connection cut": fakemaestro.ConnectionCut(),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaulty(t)
			f.server.Faults().Inject(fault.Times(1))
			f.assertType(contract.ErrUnavailable, f.update())
			stored := f.read()
			assert.EqualValues(t, 2, stored.Version)
			f.assertSettled(stored, f.work(configMap("a", "2")))
			f.assertType(contract.ErrVersionConflict, f.update())
		})
	}
}
