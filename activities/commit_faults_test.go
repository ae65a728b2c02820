package activities_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/activities"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func applicationError(t *testing.T, err error) *temporal.ApplicationError {
	t.Helper()
	var application *temporal.ApplicationError
	require.True(t, errors.As(err, &application), "%v", err)
	return application
}

func retried(t *testing.T, err error) bool { return !applicationError(t, err).NonRetryable() }

func delay(t *testing.T, err error) time.Duration { return applicationError(t, err).NextRetryDelay() }

func TestLostAnswerToAWriteIsFoundByTheNextAttempt(t *testing.T) {
	for lost, fault := range map[string]fakemaestro.Fault{
		"answer": fakemaestro.AnswerLost(), "connection": fakemaestro.ConnectionCut(),
	} {
		for _, generation := range generations {
			t.Run(lost+" "+generation.String(), func(t *testing.T) {
				s := newStore(t, generation)
				s.maestro.Faults().Inject(fault.Times(1))
				_, err := s.commit(apply("1"))
				require.Equal(t, contract.ErrUnavailable, contract.TypeOf(err))
				assert.True(t, retried(t, err))
				s.stores(apply("1"), contract.CommitUnchanged, 1)

				s.maestro.Faults().Inject(fault.Times(1))
				_, err = s.commit(apply("2"))
				require.Equal(t, contract.ErrUnavailable, contract.TypeOf(err))
				s.stores(apply("2"), contract.CommitUnchanged, 2)
				assert.Equal(t, 2, s.published(), "one version for each content")

				s.maestro.Faults().Inject(fault.Times(1))
				_, err = s.commit(remove())
				require.Equal(t, contract.ErrUnavailable, contract.TypeOf(err))
				s.stores(remove(), contract.CommitDeleting, 2)
				assert.Equal(t, 3, s.published())
			})
		}
	}
}

func TestAnotherContentAfterALostCreateIsAnUpdate(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.maestro.Faults().Inject(fakemaestro.AnswerLost().Times(1))
	_, err := s.commit(apply("1"))
	require.Error(t, err)
	s.stores(apply("2"), contract.CommitUpdated, 2)
	assert.Equal(t, "2", s.content())
}

// rival writes just before the product's own write, so that the version moves between its read and its publish.
type rival struct {
	activities.Writer
	before func()
}

func (r *rival) Create(ctx context.Context, source string, work *workv1.ManifestWork) error {
	r.before()
	return r.Writer.Create(ctx, source, work)
}

func (r *rival) Update(ctx context.Context, source string, stored *manifest.Stored, work *workv1.ManifestWork) error {
	r.before()
	return r.Writer.Update(ctx, source, stored, work)
}

// interferes lets somebody else write as often as times says before a write of the store.
func (s *store) interferes(times int, writes func(n int) contract.CommitParams) {
	other := &store{t: s.t, maestro: s.maestro, client: s.client, committer: &activities.Committer{Reader: s.client, Writer: s.client}}
	n := 0
	s.committer = &activities.Committer{Reader: s.client, Writer: &rival{Writer: s.client, before: func() {
		if n++; n <= times {
			_, err := other.commit(writes(n))
			require.NoError(s.t, err)
		}
	}}}
}

func TestConflictIsReadAgainAndDecidedAgain(t *testing.T) {
	for _, generation := range generations {
		t.Run(generation.String(), func(t *testing.T) {
			s := newStore(t, generation)
			s.stores(apply("1"), contract.CommitCreated, 1)
			s.interferes(1, func(int) contract.CommitParams { return apply("rival") })
			s.stores(apply("2"), contract.CommitUpdated, 3)
			assert.Equal(t, "2", s.content())
		})
	}
}

func TestConflictWithTheSameContentNeedsNoWrite(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.interferes(1, func(int) contract.CommitParams { return apply("1") })
	s.stores(apply("1"), contract.CommitUnchanged, 1)
}

func TestConflictWithANewerGenerationIsSuperseded(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(withGeneration(apply("1"), 1), contract.CommitCreated, 1)
	s.interferes(1, func(int) contract.CommitParams { return withGeneration(apply("3"), 3) })
	s.refuses(withGeneration(apply("2"), 2), contract.ErrSuperseded, "generation 3")
	assert.Equal(t, "3", s.content())
}

func TestVersionThatMovesAlwaysIsAConflict(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(apply("1"), contract.CommitCreated, 1)
	s.interferes(1000, func(n int) contract.CommitParams { return apply("rival " + strconv.Itoa(n)) })
	_, err := s.commit(apply("2"))
	assert.Equal(t, contract.ErrVersionConflict, contract.TypeOf(err))
	assert.True(t, retried(t, err), "the patience decides")
	assert.ErrorContains(t, err, "version moved from")
	assert.Equal(t, 1+4+4, s.published(), "four rounds in one attempt")
}

func TestRefusalIsFinalAfterTwoPublishesAndCarriesTheServersText(t *testing.T) {
	const text = "maestro-8: spec.replicas must not be negative"
	for _, existing := range []bool{false, true} {
		s := newStore(t, fakemaestro.Strict)
		before := 0
		if existing {
			s.stores(apply("1"), contract.CommitCreated, 1)
			before = 1
		}
		s.maestro.Faults().Inject(fakemaestro.PublishRefused(text))
		_, err := s.commit(apply("2"))
		assert.Equal(t, contract.ErrManifestRefused, contract.TypeOf(err))
		assert.ErrorContains(t, err, text)
		assert.False(t, retried(t, err))
		assert.Equal(t, before+2, s.published())
	}
}

func TestRefusalByAccidentIsTriedAgain(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.maestro.Faults().Inject(fakemaestro.PublishRefused("pq: something odd").Times(1))
	s.stores(apply("1"), contract.CommitCreated, 1)
	assert.Equal(t, 2, s.published())
}

// A server that says conflict although nobody wrote refuses: the version decides, not the wording.
func TestConflictInWordsOnlyIsARefusal(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(apply("1"), contract.CommitCreated, 1)
	s.maestro.Faults().Inject(fakemaestro.PublishRefused("maestro-6: the resource version is not the latest, the latest version: 2"))
	s.refuses(apply("2"), contract.ErrManifestRefused, "the resource version is not the latest")
	assert.Equal(t, 3, s.published())
}

func TestServerThatConflictsForEverIsAConflict(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.stores(apply("1"), contract.CommitCreated, 1)
	s.maestro.Faults().Inject(fakemaestro.PublishConflict())
	s.refuses(apply("2"), contract.ErrVersionConflict, "version moved")
	assert.Equal(t, "1", s.content())
}

func TestUnknownConsumerIsNamed(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	params := apply("1")
	params.Consumer = "cluster-zz"
	_, err := s.commit(params)
	assert.Equal(t, contract.ErrConsumerNotFound, contract.TypeOf(err))
	assert.ErrorContains(t, err, `"cluster-zz"`)
	assert.False(t, retried(t, err))
	assert.Equal(t, 1, s.published())
}

func TestRefusedCredentialsAreFinal(t *testing.T) {
	for refusal, fault := range map[string]fakemaestro.Fault{
		"none": fakemaestro.NoCredentials(), "bad": fakemaestro.BadToken(), "other source": fakemaestro.NotAuthorized(),
		"http 401": fakemaestro.HTTPStatus(http.StatusUnauthorized), "http 403": fakemaestro.HTTPStatus(http.StatusForbidden),
	} {
		t.Run(refusal, func(t *testing.T) {
			s := newStore(t, fakemaestro.Strict)
			s.maestro.Faults().Inject(fault)
			_, err := s.commit(apply("1"))
			assert.Equal(t, contract.ErrUnauthorized, contract.TypeOf(err), "%v", err)
			assert.False(t, retried(t, err))
			assert.LessOrEqual(t, s.published(), 1)
		})
	}
}

func TestMaestroThatCannotAnswerIsTriedAgain(t *testing.T) {
	for answer, fault := range map[string]fakemaestro.Fault{
		"500": fakemaestro.HTTPStatus(http.StatusInternalServerError), "503": fakemaestro.HTTPStatus(http.StatusServiceUnavailable),
		"429": fakemaestro.HTTPStatus(http.StatusTooManyRequests), "proxy's 404": fakemaestro.HTTPStatus(http.StatusNotFound),
		"grpc": fakemaestro.PublishError(codes.Unavailable, "upstream connect error"),
	} {
		t.Run(answer, func(t *testing.T) {
			s := newStore(t, fakemaestro.Strict)
			s.maestro.Faults().Inject(fault)
			_, err := s.commit(apply("1"))
			assert.Equal(t, contract.ErrUnavailable, contract.TypeOf(err), "%v", err)
			assert.True(t, retried(t, err))
			assert.Empty(t, s.maestro.Bundles())
		})
	}
}

func TestServerSaysWhenToComeBack(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.maestro.Faults().Inject(fakemaestro.HTTPUnavailable(7 * time.Second))
	_, err := s.commit(apply("1"))
	assert.Equal(t, 7*time.Second, delay(t, err))
}

// A cancel must not cut a write whose answer is on its way: nobody would know what is stored.
func TestCancelLetsTheWriteUnderWayEnd(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	hang := s.maestro.Faults().Inject(fakemaestro.PublishHang())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		if hang.WaitHits(t.Context(), 1) == nil {
			cancel()
			hang.Remove()
		}
	}()
	result, err := s.commitIn(ctx, apply("1"))
	require.NoError(t, err)
	assert.Equal(t, contract.CommitCreated, result.Outcome)
}
