package contract_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/apis/work/v1/validator"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var seed = flag.Uint64("seed", 1, "of the mutated works")

var mutationChecks = []check{
	{"mutated works meet one verdict", mutatedWorks},
	{"mutated updates meet one verdict", mutatedUpdates},
}

// goodWorks are what mutations start from.
var goodWorks = []string{
	`{"metadata":{},"spec":{"workload":{"manifests":[` + goodConfigMap + `]}}}`,
	`{"metadata":{"labels":{"hyperfleet.io/owner":"adapter"},"annotations":{"hyperfleet.io/generation":"7","note":"a b"}},
"spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"demo"}},` + goodDeployment + `,` + goodConfigMap + `]},
 "manifestConfigs":[{"resourceIdentifier":{"group":"apps","resource":"deployments","namespace":"demo","name":"web"},
  "feedbackRules":[{"type":"WellKnownStatus"},{"type":"JSONPaths","jsonPaths":[{"name":"ready","path":".status.readyReplicas"}]}],
  "updateStrategy":{"type":"ServerSideApply","serverSideApply":{"force":true,"fieldManager":"work-agent"}}}]}}`,
	`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"5a1c6f3e-0000-4000-8000-000000000001"}]},
"spec":{"workload":{"manifests":[` + goodConfigMap + `,` + goodCustom + `]},
 "deleteOption":{"propagationPolicy":"SelectivelyOrphan","ttlSecondsAfterFinished":60,
  "selectivelyOrphans":{"orphaningRules":[{"group":"","resource":"configmaps","namespace":"demo","name":"settings"}]}},
 "executor":{"subject":{"type":"ServiceAccount","serviceAccount":{"namespace":"demo","name":"applier"}}}}}`,
	`{"metadata":{"labels":{"a":"b"}},"spec":{"workload":{"manifests":[` + goodDeployment + `,` + goodCustom + `,` + goodConfigMap + `]},"deleteOption":{"propagationPolicy":"Orphan"}}}`,
}

const (
	goodConfigMap  = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"demo","labels":{"app":"web"},"annotations":{"a.b/c":"d e"}},"data":{"k":"v"}}`
	goodDeployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"demo"},"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"c","image":"i:1"}]}}}}`
	goodCustom     = `{"apiVersion":"example.io/v1alpha1","kind":"Pool","metadata":{"name":"pool"},"spec":{"size":3,"nested":{"empty":{},"list":[null,0,"",false]}}}`
)

// sample is one mutated work.
type sample struct {
	name string
	work *workv1.ManifestWork
	// of is the mutation, nil for a work with several.
	of *mutation
}

// samples are every value of every kind once, on a good work that chance picks, and works with two of them.
func samples(random *rand.Rand) []sample {
	var all []sample
	start := func() *mutant {
		work := newWork("", fmt.Sprintf("m-%d", len(all)))
		mustDecode(goodWorks[random.IntN(len(goodWorks))], work)
		return &mutant{work: work, target: random.IntN(len(work.Spec.Workload.Manifests))}
	}
	var small []sample // they can be combined
	for _, group := range mutations {
		for index := range group {
			kind := &group[index]
			for _, value := range kind.values {
				m := start()
				kind.apply(m, value)
				one := sample{name: kind.name + ": " + short(value), work: m.work, of: kind}
				all = append(all, one)
				if len(value) < 1000 && !strings.HasPrefix(kind.name, "work name") && !strings.HasPrefix(kind.name, "size") && !strings.HasPrefix(kind.name, "nesting") {
					small = append(small, sample{name: value, of: kind})
				}
			}
		}
	}
	for range 150 {
		m, names := start(), []string(nil)
		for range 2 {
			one := small[random.IntN(len(small))]
			if len(m.work.Spec.Workload.Manifests) > m.target {
				one.of.apply(m, one.name)
				names = append(names, one.of.name+": "+short(one.name))
			}
		}
		all = append(all, sample{name: strings.Join(names, " + "), work: m.work})
	}
	return all
}

func short(value string) string {
	if len(value) > 60 {
		value = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(value[:60], ""), len(value))
	}
	return value
}

// verdicts on one sample; nil is yes.
type verdicts struct {
	ours, server, sdk error
}

func (v verdicts) String() string {
	return fmt.Sprintf("\n ours: %v\n server: %v\n sdk: %v", v.ours, v.server, v.sdk)
}

// mutatedWorks are judged by validate, by the SDK's validator and by the server, which gets them without being asked
// first. What validate accepts, all accept and the server keeps; what one of them refuses, validate refuses.
func mutatedWorks(s *scene) {
	works := samples(rand.New(rand.NewPCG(*seed, 0)))
	s.Logf("seed %d: %d mutated works", *seed, len(works))
	require.GreaterOrEqual(s, len(works), 300)
	judged := make([]verdicts, len(works))
	inParallel(len(works), func(index int) { judged[index] = s.judge(works[index]) })

	accepted, seen := 0, map[string]bool{}
	for index, one := range works {
		if v := judged[index]; v.ours == nil {
			accepted++
		}
		if one.of != nil {
			seen[one.of.name] = true
		}
	}
	kinds := 0
	for _, group := range mutations {
		kinds += len(group)
	}
	assert.Len(s, seen, kinds, "two kinds of one name, or one without values: %v", slices.Sorted(maps.Keys(seen)))
	assert.Greater(s, accepted, len(works)/5)
	assert.Less(s, accepted, len(works)*4/5)
	s.Logf("%d kinds, %d accepted, %d refused", kinds, accepted, len(works)-accepted)
}

func (s *scene) judge(one sample) verdicts {
	desired := manifest.Desired(one.work, s.consumer, 0)
	v := verdicts{sdk: validator.ManifestValidator.ValidateManifests(desired.Spec.Workload.Manifests)}
	_, v.ours = manifest.Validate(one.work, s.consumer)
	v.server = s.client.Create(s.ctx(), source, desired)
	s.assertRefusals(one.name, v)
	if one.of != nil {
		stricter := one.of.stricter != "" && (s.strict() || !one.of.looseRefuses)
		assert.Equal(s, stricter, v.ours != nil && v.server == nil && v.sdk == nil, "%s: stricter than the server without a reason, or the reason is stale%s", one.name, v)
	}
	if v.ours == nil && v.server == nil {
		stored, err := s.client.Read(s.ctx(), source, s.consumer, one.work.Name)
		if assert.NoError(s, err, one.name) && !manifest.Same(stored.Work, desired) {
			assert.Fail(s, "kept as something else", "%s\nstored %s\ndesired %s", one.name, short(text(stored.Work)), short(text(desired)))
		}
	}
	return v
}

// assertRefusals: whatever anybody refuses, validate refuses, with what is wrong.
func (s *scene) assertRefusals(name string, v verdicts) {
	s.Helper()
	if v.server != nil || v.sdk != nil {
		assert.Error(s, v.ours, "%s: accepted, but refused later%s", name, v)
	}
	var problems manifest.Problems
	if v.ours != nil && assert.ErrorAs(s, v.ours, &problems, "%s: %v", name, v.ours) {
		assert.NotEmpty(s, problems)
	}
	switch contract.TypeOf(v.server) {
	case "", contract.ErrManifestRefused, contract.ErrTooLarge:
	case contract.ErrInternal:
		assert.ErrorContains(s, v.server, "encode", name) // no JSON at all
	default:
		assert.Fail(s, "a refusal that looks like another error", "%s: %v", name, v.server)
	}
}

// inParallel stays far below the number of requests at which the server deadlocks.
func inParallel(n int, do func(index int)) {
	next := make(chan int)
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for index := range next {
				do(index)
			}
		})
	}
	for index := range n {
		next <- index
	}
	close(next)
	running.Wait()
}
