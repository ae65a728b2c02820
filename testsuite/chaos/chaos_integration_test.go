//go:build integration

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack/simcluster"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakehyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var (
	operations = flag.Int("operations", 60, "how many operations")
	seed       = flag.Uint64("seed", 0, "seed of the operations; 0 takes the time")
)

const (
	queue = "chaos"
	// inFlight are the operations of one target that run at once.
	inFlight = 3
	patience = 15 * time.Minute
)

// chaos is what the operations run on.
type chaos struct {
	t       *testing.T
	ctx     context.Context
	maestro *fakemaestro.Server
	api     *fakehyperfleet.Server
	starter *starter.Client
	results string
	// clusters are the IDs of the resources that works report to, by target.
	clusters map[string]string
	spawn    func(int) *devstack.Process

	mu       sync.Mutex
	accepted map[string]planned // the highest generation per target
	outcomes map[string]int     // by reason
}

func TestChaos(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d, %d operations", *seed, *operations)
	random := rand.New(rand.NewPCG(*seed, 0))
	strict := *seed%2 == 0
	t.Logf("the server keeps the set of manifests, and works are recreated: %v", strict)
	lists := plan(random, *operations, strict)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := newChaos(ctx, t, strict)
	breaking, mend := context.WithCancel(ctx)
	var faults, requests sync.WaitGroup
	for _, fault := range []func(*rand.Rand){
		func(r *rand.Rand) { breaksMaestro(breaking, r, c.maestro) },
		func(r *rand.Rand) { breaksHyperFleet(breaking, r, c.api) },
		func(r *rand.Rand) { killsWorkers(breaking, t, r, c.spawn) },
		func(*rand.Rand) { readsResults(breaking, t, c.results) },
	} {
		r := rand.New(rand.NewPCG(*seed, random.Uint64()))
		faults.Go(func() { fault(r) })
	}
	anchored := make(chan struct{})
	requests.Go(func() {
		defer close(anchored)
		for n := range consumers {
			c.operate(planned{Request: anchor(fmt.Sprintf("cluster-%d", n)), part: "anchor"})
		}
	})
	<-anchored
	for _, list := range lists {
		requests.Go(func() { c.send(list) })
	}
	requests.Wait()
	mend()
	faults.Wait()
	require.NoError(t, c.maestro.Faults().Clear())
	t.Logf("outcomes: %v", c.outcomes)
	for target, last := range c.accepted {
		c.check(target, last)
	}
}

func newChaos(ctx context.Context, t *testing.T, strict bool) *chaos {
	t.Helper()
	stack, err := devstack.Start(ctx, devstack.Options{WithoutMaestro: true, Logf: t.Logf})
	require.NoError(t, err)
	t.Cleanup(stack.Stop)
	var names []string
	for n := range consumers {
		names = append(names, fmt.Sprintf("cluster-%d", n))
	}
	generation := fakemaestro.Loose
	if strict {
		generation = fakemaestro.Strict
	}
	fake := fakemaestro.New(t, fakemaestro.Options{Generation: generation, Consumers: names})
	clusters, err := simcluster.Start(ctx, simcluster.Options{BrokerAddress: fake.BrokerAddress(), Consumers: names})
	require.NoError(t, err)
	t.Cleanup(clusters.Stop)
	temporal, err := client.DialContext(ctx, client.Options{HostPort: stack.TemporalAddress(), Namespace: stack.Namespace(), Logger: quiet{}})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	c := &chaos{
		t: t, ctx: ctx, maestro: fake, starter: starter.New(temporal, queue), results: t.TempDir(),
		api: fakehyperfleet.New(t, fakehyperfleet.Options{}), clusters: map[string]string{},
		accepted: map[string]planned{}, outcomes: map[string]int{},
	}
	for _, name := range names {
		reported := planned{Request: contract.Request{Consumer: name, Name: "whole-a"}}
		id := c.api.AddCluster(name)
		for range *operations {
			c.api.Bump(id) // no operation is of a generation that the API does not know
		}
		c.clusters[reported.target()] = id
	}
	spawner, binary := devstack.NewSpawner(t.Logf), buildWorker(t)
	t.Cleanup(spawner.Close)
	logs := t.TempDir()
	c.spawn = func(n int) *devstack.Process {
		process, err := spawner.Start(devstack.Command{
			Name: "maestro-worker", Path: binary, Log: filepath.Join(logs, fmt.Sprintf("worker-%d.log", n)), Finite: true,
			Args: []string{"--grpc-insecure", "--grpc-endpoint", fake.GRPCAddress(), "--http-endpoint", fake.HTTPURL(),
				"--temporal-address", stack.TemporalAddress(), "--task-queue", queue, "--results-dir", c.results,
				"--hyperfleet-url", c.api.URL()},
		})
		require.NoError(t, err)
		return process
	}
	return c
}

func buildWorker(t *testing.T) string {
	t.Helper()
	root, err := devstack.RepoRoot()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "maestro-worker")
	command := exec.Command("go", "build", "-o", path, "./worker")
	command.Dir = root
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
	return path
}

// send hands in one target's requests, a few of them at once.
func (c *chaos) send(list []planned) {
	width := inFlight
	if list[0].Name == "gone" {
		width = 1
	}
	slots := make(chan struct{}, width)
	var group sync.WaitGroup
	for _, one := range list {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			c.operate(one)
		})
	}
	group.Wait()
}

// operate hands in one request and waits for its outcome. What is accepted has exactly one, and it is its own.
func (c *chaos) operate(one planned) {
	if one.reported() {
		report := *one.Report
		report.HyperFleet = &contract.HyperFleetReport{Kind: "Cluster", ID: c.clusters[one.target()], Adapter: adapter}
		one.Report = &report
	}
	operation, err := c.starter.Start(c.ctx, one.Request)
	if err != nil {
		assert.Equal(c.t, contract.ErrSuperseded, contract.TypeOf(err), "%s generation %d: %v", one.target(), one.Generation, err)
		c.count("refused")
		return
	}
	c.mu.Lock()
	if one.Generation > 0 && c.accepted[one.target()].Generation < one.Generation {
		c.accepted[one.target()] = one
	}
	c.mu.Unlock()
	if one.verb != "" {
		c.says(operation, one.verb)
	}
	result, err := operation.Wait(c.ctx)
	assert.Equal(c.t, one.Digest(), result.RequestDigest, "%s generation %d: %v", one.target(), one.Generation, err)
	c.count(result.Reason)
	if !result.Succeeded() {
		ends := []string{string(contract.ErrSuperseded)}
		if one.Action == contract.ActionWait {
			ends = []string{string(contract.ErrCancelled)}
		}
		assert.Contains(c.t, ends, result.Reason, "%s generation %d: %s", one.target(), one.Generation, result.Message)
	}
}

// says a verb. What an operation that does not wait any more answers does not matter.
func (c *chaos) says(operation *starter.Operation, verb string) {
	time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
	said := contract.Extension{By: "chaos", Reason: "because", For: "30m"}
	if verb != contract.UpdateExtend {
		said.For = ""
	}
	ctx, stop := context.WithTimeout(c.ctx, 20*time.Second)
	defer stop()
	if verb == cancel {
		_ = operation.Cancel(ctx)
		return
	}
	_, err := c.starter.Tell(ctx, operation.WorkflowID, verb, said)
	c.count("said " + verb + map[bool]string{true: "", false: ", refused"}[err == nil])
	if verb == contract.UpdatePause {
		time.Sleep(time.Second)
		// Also when the answer was lost: nobody else takes the pause away.
		for c.ctx.Err() == nil {
			within, stop := context.WithTimeout(c.ctx, 20*time.Second)
			_, err := c.starter.Tell(within, operation.WorkflowID, contract.UpdateResume, said)
			stop()
			if !errors.Is(err, starter.ErrTemporalUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
				return // resumed, or it is not paused, or it has ended
			}
		}
	}
}

func (c *chaos) count(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcomes[reason]++
}

// check that a target is as its highest accepted generation wants it.
func (c *chaos) check(target string, last planned) {
	bundle, found := c.maestro.Bundle(fakemaestro.UID(source, last.Consumer, last.Name))
	if last.Action == contract.ActionDelete {
		assert.False(c.t, found, "%s is deleted at generation %d", target, last.Generation)
		return
	}
	if !assert.True(c.t, found, "%s is stored at generation %d", target, last.Generation) {
		return
	}
	held := ""
	for _, manifest := range bundle.Work.Spec.Workload.Manifests {
		var object struct {
			Metadata struct {
				Name        string
				Annotations map[string]string
			}
			Data map[string]string
			Spec struct{ Replicas json.Number }
		}
		require.NoError(c.t, json.Unmarshal(manifest.Raw, &object))
		switch {
		case last.part == "":
			held = object.Data["generation"]
			assert.Equal(c.t, held, bundle.Work.Annotations[contract.AnnotationGeneration], target)
		case object.Metadata.Name == "west-"+last.part:
			held = object.Spec.Replicas.String()
			assert.Equal(c.t, held, object.Metadata.Annotations[contract.AnnotationGeneration], target)
		}
	}
	if last.Action == contract.ActionRemove {
		assert.Empty(c.t, held, "%s is removed at generation %d", target, last.Generation)
		return
	}
	assert.Equal(c.t, strconv.FormatInt(last.Generation, 10), held, "%s holds its highest accepted generation", target)
	if last.reported() {
		status, told := c.api.Status(c.clusters[target], adapter)
		if assert.True(c.t, told, "%s is reported", target) {
			assert.Equal(c.t, last.Generation, status.ObservedGeneration, "%s: the last status is of the highest accepted generation", target)
		}
	}
}

// quiet drops the SDK's log.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
