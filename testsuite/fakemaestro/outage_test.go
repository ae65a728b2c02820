package fakemaestro_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

func TestPausedListenersRefuseAndComeBackUnderTheSameAddress(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{})
	f := s.Faults()
	for name, test := range map[string]struct {
		address       string
		pause, resume func() error
	}{
		"http":   {s.HTTPURL()[len("http://"):], f.PauseHTTP, f.ResumeHTTP},
		"grpc":   {s.GRPCAddress(), f.PauseGRPC, f.ResumeGRPC},
		"broker": {s.BrokerAddress(), f.PauseBroker, f.ResumeBroker},
	} {
		t.Run(name, func(t *testing.T) {
			open, err := net.Dial("tcp", test.address)
			require.NoError(t, err)
			defer func() { _ = open.Close() }()
			for range 3 {
				require.NoError(t, test.pause())
				require.NoError(t, test.pause(), "twice is harmless")
				_, err = net.Dial("tcp", test.address)
				require.Error(t, err)
				assert.True(t, errors.Is(err, syscall.ECONNREFUSED), "%v", err)
				require.NoError(t, test.resume())
				again, err := net.Dial("tcp", test.address)
				require.NoError(t, err)
				require.NoError(t, again.Close())
			}
		})
	}
}

func TestPauseCutsRequestsInFlight(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{})
	hang := s.Faults().Inject(fakemaestro.HTTPHang())
	done := make(chan error, 1)
	go func() {
		resp, err := http.Get(s.HTTPURL() + api + "/consumers")
		if err == nil {
			err = resp.Body.Close()
		}
		done <- err
	}()
	require.NoError(t, hang.WaitHits(testContext(t), 1))
	require.NoError(t, s.Faults().PauseHTTP())
	require.Error(t, <-done)
}

func TestCloseEndsHangingCalls(t *testing.T) {
	s, err := fakemaestro.Start(fakemaestro.Options{})
	require.NoError(t, err)
	hang := s.Faults().Inject(fakemaestro.HTTPHang())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := http.Get(s.HTTPURL() + api + "/consumers"); err == nil {
			_ = resp.Body.Close()
		}
	}()
	require.NoError(t, hang.WaitHits(testContext(t), 1))
	require.NoError(t, s.Close())
	<-done
	require.NoError(t, s.Close(), "twice is harmless")
}

// flood sends n requests at once and returns how many were answered.
func flood(ctx context.Context, s *fakemaestro.Server, n int) int {
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: n}}
	defer client.CloseIdleConnections()
	var answered atomic.Int32
	var all sync.WaitGroup
	for range n {
		all.Add(1)
		go func() {
			defer all.Done()
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.HTTPURL()+api+"/consumers", nil)
			if err != nil {
				return
			}
			if resp, err := client.Do(req); err == nil {
				_ = resp.Body.Close()
				answered.Add(1)
			}
		}()
	}
	all.Wait()
	return int(answered.Load())
}

func TestMoreRequestsThanTheLimitAllHang(t *testing.T) {
	const limit = fakemaestro.DefaultInFlightLimit
	s := fakemaestro.New(t, fakemaestro.Options{})
	f := s.Faults()
	f.LimitInFlight(limit, 0)
	for _, test := range []struct {
		requests, answered, jams int
		patience                 time.Duration
	}{
		{limit, limit, 0, patience},
		{limit + 14, 0, 1, time.Second},
		{10, 10, 1, patience}, // it recovers when the clients have given up
	} {
		hold := f.Inject(fakemaestro.HTTPHang()) // until all of them have met
		answered := make(chan int, 1)
		ctx, giveUp := context.WithCancel(t.Context())
		go func() { answered <- flood(ctx, s, test.requests) }()
		require.NoError(t, hold.WaitHits(testContext(t), test.requests))
		hold.Remove()
		timer := time.AfterFunc(test.patience, giveUp)
		assert.Equal(t, test.answered, <-answered)
		timer.Stop()
		giveUp()
		assert.Equal(t, test.jams, f.Jams())
		waitIdle(t, s)
	}
	assert.Equal(t, limit+14, f.MaxInFlight())
}

// waitIdle waits until the requests of clients that gave up are gone.
func waitIdle(t *testing.T, s *fakemaestro.Server) {
	t.Helper()
	require.NoError(t, s.Faults().WaitInFlight(testContext(t), 0))
}

func TestInFlightIsCountedWithoutALimit(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{})
	hang := s.Faults().Inject(fakemaestro.HTTPHang())
	done := make(chan int, 1)
	go func() { done <- flood(t.Context(), s, 7) }()
	require.NoError(t, hang.WaitHits(testContext(t), 7))
	assert.Equal(t, 7, s.Faults().MaxInFlight())
	hang.Remove()
	assert.Equal(t, 7, <-done)
	waitIdle(t, s)
	s.Faults().ResetMaxInFlight()
	assert.Zero(t, s.Faults().MaxInFlight())
}

func TestWaitsEndWithTheirContext(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.WaitPublishes(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.WaitRequests(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, s.WaitSubscribers(ctx, source, 1), context.Canceled)
	require.ErrorIs(t, s.Faults().Inject(fakemaestro.HTTPHang()).WaitHits(ctx, 1), context.Canceled)
}
