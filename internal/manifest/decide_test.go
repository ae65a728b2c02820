package manifest

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// version of a work's content, generation and owner; the zero values mean none.
type content struct {
	replicas, generation int
	owner                string
}

func (c content) work() *workv1.ManifestWork {
	work := workOf(`{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{"name":"workers"},"spec":{"replicas":` + strconv.Itoa(c.replicas) + `}}`)
	work.Namespace = "c1"
	if c.generation > 0 {
		work.Annotations = map[string]string{contract.AnnotationGeneration: strconv.Itoa(c.generation)}
	}
	if c.owner != "" {
		work.Labels = map[string]string{contract.LabelOwner: c.owner}
	}
	return work
}

func TestDecide(t *testing.T) {
	const forced = true
	for name, sample := range map[string]struct {
		stored, desired content
		force           bool
		write           Write
		fails           contract.ErrorType
	}{
		"same":                                {content{2, 7, "a"}, content{2, 7, "a"}, false, WriteNothing, ""},
		"same, forced":                        {content{2, 7, "a"}, content{2, 7, "a"}, forced, WriteNothing, ""},
		"newer":                               {content{2, 7, "a"}, content{3, 8, "a"}, false, WriteUpdate, ""},
		"newer, same content":                 {content{2, 7, "a"}, content{2, 8, "a"}, false, WriteUpdate, ""},
		"older":                               {content{2, 7, "a"}, content{3, 6, "a"}, false, WriteNothing, contract.ErrSuperseded},
		"older, same content":                 {content{2, 7, "a"}, content{2, 6, "a"}, false, WriteNothing, contract.ErrSuperseded},
		"older, forced":                       {content{2, 7, "a"}, content{3, 6, "a"}, forced, WriteNothing, contract.ErrSuperseded},
		"equal generation, other content":     {content{2, 7, "a"}, content{3, 7, "a"}, false, WriteNothing, contract.ErrGenerationConflict},
		"equal, other content, forced":        {content{2, 7, "a"}, content{3, 7, "a"}, forced, WriteUpdate, ""},
		"none given, none stored":             {content{2, 0, "a"}, content{3, 0, "a"}, false, WriteUpdate, ""},
		"none given":                          {content{2, 7, "a"}, content{3, 0, "a"}, false, WriteUpdate, ""},
		"none given, same content":            {content{2, 7, "a"}, content{2, 0, "a"}, false, WriteNothing, ""},
		"none stored":                         {content{2, 0, "a"}, content{3, 1, "a"}, false, WriteUpdate, ""},
		"none stored, same content":           {content{2, 0, "a"}, content{2, 1, "a"}, false, WriteUpdate, ""},
		"another owner":                       {content{2, 7, "a"}, content{3, 8, "b"}, false, WriteNothing, contract.ErrOwnershipConflict},
		"another owner, same content":         {content{2, 7, "a"}, content{2, 7, "b"}, false, WriteNothing, contract.ErrOwnershipConflict},
		"no owner given":                      {content{2, 7, "a"}, content{3, 8, ""}, false, WriteNothing, contract.ErrOwnershipConflict},
		"another owner, forced":               {content{2, 7, "a"}, content{3, 8, "b"}, forced, WriteUpdate, ""},
		"another owner, older":                {content{2, 7, "a"}, content{3, 6, "b"}, false, WriteNothing, contract.ErrOwnershipConflict},
		"another owner, older, forced":        {content{2, 7, "a"}, content{3, 6, "b"}, forced, WriteNothing, contract.ErrSuperseded},
		"nobody's":                            {content{2, 7, ""}, content{3, 8, "b"}, false, WriteUpdate, ""},
		"nobody's, only the label is missing": {content{2, 7, ""}, content{2, 8, "b"}, false, WriteUpdate, ""},
	} {
		t.Run(name, func(t *testing.T) {
			stored := &Stored{Consumer: "c1", Version: 4, Work: sample.stored.work()}
			desired := sample.desired.work()
			write, work, err := Decide(stored, desired, sample.force)
			assert.Equal(t, sample.desired.work(), desired, "the argument is not changed")
			assert.Equal(t, sample.write, write)
			if sample.fails != "" {
				require.Error(t, err)
				assert.Equal(t, sample.fails, contract.TypeOf(err))
				assert.Nil(t, work)
				return
			}
			require.NoError(t, err)
			generation := max(sample.desired.generation, sample.stored.generation)
			want := content{sample.desired.replicas, generation, sample.desired.owner}
			assert.Equal(t, want.work(), work, "a write keeps the generation that is stored")

			stored.DeletedAt = new(time.Time)
			_, _, err = Decide(stored, desired, sample.force)
			assert.Equal(t, contract.ErrUnderDeletion, contract.TypeOf(err), "while it is being deleted")
		})
	}
}

func TestDecideCreatesWhatIsNotThere(t *testing.T) {
	desired := content{2, 7, "a"}.work()
	for _, force := range []bool{false, true} {
		write, work, err := Decide(nil, desired, force)
		require.NoError(t, err)
		assert.Equal(t, WriteCreate, write)
		assert.Same(t, desired, work)
	}
}

func TestRefusalsSayWhoAndWhat(t *testing.T) {
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.FixedZone("", 3600))
	stored := &Stored{Consumer: "c1", Work: content{2, 7, "ingress"}.work()}
	_, _, err := Decide(stored, content{2, 7, "pools"}.work(), false)
	assert.EqualError(t, err, `work sample on c1 belongs to hyperfleet.io/adapter=ingress, this request's is "pools"`)
	_, _, err = Decide(stored, content{3, 6, "ingress"}.work(), false)
	assert.EqualError(t, err, "work sample on c1 already holds generation 7, this request is generation 6")
	_, _, err = Decide(stored, content{3, 7, "ingress"}.work(), false)
	assert.EqualError(t, err, "work sample on c1 already holds generation 7 with other content")
	stored.DeletedAt = &at
	_, _, err = Decide(stored, content{3, 8, "ingress"}.work(), true)
	assert.EqualError(t, err, "work sample on c1 is being deleted since 2026-03-01T09:00:00Z and the cluster has not confirmed it")
}

func TestAnUnreadableStoredGenerationIsNone(t *testing.T) {
	stored := &Stored{Consumer: "c1", Work: content{2, 0, ""}.work()}
	stored.Work.Annotations = map[string]string{contract.AnnotationGeneration: "seven"}
	assert.Zero(t, stored.Generation())
	write, _, err := Decide(stored, content{2, 1, ""}.work(), false)
	require.NoError(t, err)
	assert.Equal(t, WriteUpdate, write)
}

func TestDesiredLeavesItsArgumentAlone(t *testing.T) {
	work := workOf(goodManifest)
	work.Annotations = map[string]string{"a": "b"}
	before := work.DeepCopy()
	desired := Desired(work, "c1", 7)
	assert.Equal(t, before, work)
	assert.Equal(t, "c1", desired.Namespace)
	assert.Equal(t, map[string]string{"a": "b", contract.AnnotationGeneration: "7"}, desired.Annotations)
	desired.Spec.Workload.Manifests[0].Raw[0] = 'x'
	assert.Equal(t, before, work, "nothing is shared")
	assert.Nil(t, Desired(workOf(goodManifest), "c1", 0).Annotations)
}

// A whole work takes the place of what was merged, but not of what is newer.
func TestDecideIsMonotonePerManifest(t *testing.T) {
	stored := storedWork(pool("a", 1, 5, ""), pool("b", 1, 2, ""))
	for name, sample := range map[string]struct {
		desired *workv1.ManifestWork
		want    contract.ErrorType
	}{
		"newer":                {partWork(pool("a", 2, 6, ""), pool("b", 1, 2, "")), ""},
		"one is older":         {partWork(pool("a", 2, 4, ""), pool("b", 1, 3, "")), contract.ErrSuperseded},
		"without generations":  {partWork(pool("a", 2, 0, ""), pool("b", 1, 0, "")), ""},
		"equal, other content": {partWork(pool("a", 2, 5, ""), pool("b", 1, 2, "")), ""},
	} {
		_, _, err := Decide(stored, sample.desired, false)
		assert.Equal(t, sample.want, contract.TypeOf(err), "%s: %v", name, err)
	}
}

func TestWholeWriteRemembersWhatItRemoves(t *testing.T) {
	stored := storedWork(pool("a", 1, 5, ""), pool("b", 1, 0, ""))
	write, work, err := Decide(stored, Desired(partWork(pool("b", 1, 0, "")), "c1", 7), false)
	require.NoError(t, err)
	assert.Equal(t, WriteUpdate, write)
	after := &Stored{Consumer: "c1", Version: 4, Work: work}
	_, err = Merge(after, Part{Work: partWork(pool("a", 1, 0, "")), Generation: 7})
	assert.ErrorContains(t, err, "was removed at generation 7")
	_, _, err = Decide(after, Desired(partWork(pool("b", 1, 0, ""), pool("a", 1, 6, "")), "c1", 8), false)
	assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err))
	// The same file again, which knows nothing of the record, changes nothing.
	write, _, err = Decide(after, Desired(partWork(pool("b", 1, 0, "")), "c1", 7), false)
	require.NoError(t, err)
	assert.Equal(t, WriteNothing, write)
	_, work, err = Decide(after, Desired(partWork(pool("b", 1, 0, ""), pool("a", 1, 8, "")), "c1", 8), false)
	require.NoError(t, err)
	assert.NotContains(t, work.Annotations, contract.AnnotationRemoved, "it is there again")
	changes, err := Diff(after.Work, Settled(after, Desired(partWork(pool("b", 1, 0, "")), "c1", 7)))
	require.NoError(t, err)
	assert.Empty(t, changes)
}

func TestWorkAndManifestsJudgeEachOthersGenerations(t *testing.T) {
	stored := storedWork(pool("a", 1, 7, ""), pool("b", 1, 0, ""))
	_, _, err := Decide(stored, Desired(partWork(pool("a", 2, 0, ""), pool("b", 1, 0, "")), "c1", 6), false)
	assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err), "an older whole work over a newer manifest")
	_, work, err := Decide(stored, Desired(partWork(pool("a", 2, 7, "")), "c1", 8), false)
	require.NoError(t, err)
	_, err = Merge(&Stored{Consumer: "c1", Version: 4, Work: work}, Part{Work: partWork(pool("b", 1, 0, "")), Generation: 8})
	assert.ErrorContains(t, err, "was removed at generation 8")
	stored.Work.Annotations = map[string]string{contract.AnnotationGeneration: "9"}
	_, err = Merge(stored, Part{Work: partWork(pool("b", 2, 0, "")), Generation: 8})
	assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err), "an older part over a newer whole work")
}

// A write by hand without generations does not open the door to a request that is late.
func TestGenerationsOutliveAWriteWithoutThem(t *testing.T) {
	stored := storedWork(pool("a", 1, 5, ""), pool("b", 1, 2, ""))
	byHand := partWork(pool("b", 1, 0, ""), pool("a", 9, 0, ""))
	_, work, err := Decide(stored, byHand, false)
	require.NoError(t, err)
	assert.Equal(t, raws(byHand), raws(work), "the manifests are as given")
	after := &Stored{Consumer: "c1", Version: 4, Work: work}
	write, _, err := Decide(after, byHand, false)
	require.NoError(t, err)
	assert.Equal(t, WriteNothing, write)
	for _, of := range []int64{4, 5} {
		_, err = Merge(after, Part{Work: partWork(pool("a", 2, 0, "")), Generation: of})
		assert.Equal(t, map[int64]contract.ErrorType{4: contract.ErrSuperseded, 5: contract.ErrGenerationConflict}[of], contract.TypeOf(err), "%v", err)
	}
	_, _, err = Decide(after, Desired(byHand, "c1", 4), false)
	assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err))
	_, _, err = Decide(after, Desired(byHand, "c1", 5), false)
	assert.NoError(t, err)
	newest, of := after.Newest()
	assert.Equal(t, int64(5), newest)
	assert.Equal(t, poolID("a").String(), of)
	later := mergeAll(t, after, Part{Work: partWork(pool("a", 2, 0, "")), Generation: 6})
	list, err := readTombstones(later.Work)
	require.NoError(t, err)
	assert.Equal(t, tombstones{{Manifest: poolID("b").String(), Generation: 2}}, list, "the manifest says it itself")

	// Removed, and brought back by hand.
	removed := mergeAll(t, stored, Part{Work: partWork(), Remove: []Identity{poolID("a")}, Generation: 7})
	_, work, err = Decide(removed, partWork(pool("a", 3, 0, ""), pool("b", 1, 2, "")), false)
	require.NoError(t, err)
	_, err = Merge(&Stored{Consumer: "c1", Version: 6, Work: work}, Part{Work: partWork(pool("a", 1, 0, "")), Generation: 6})
	assert.ErrorContains(t, err, "holds generation 7")
	merged := mergeAll(t, removed, Part{Work: partWork(pool("a", 3, 0, ""))})
	_, err = Merge(merged, Part{Work: partWork(pool("a", 1, 0, "")), Generation: 6})
	assert.ErrorContains(t, err, "holds generation 7")
}

func TestOlderWholeWriteDoesNotRemoveWhatIsNewer(t *testing.T) {
	stored := storedWork(pool("a", 1, 5, ""), pool("b", 1, 0, ""))
	_, _, err := Decide(stored, Desired(partWork(pool("b", 1, 0, "")), "c1", 3), false)
	assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err))
	assert.ErrorContains(t, err, "pools/a, which it does not hold, is of generation 5")
	_, work, err := Decide(stored, partWork(pool("b", 1, 0, "")), false)
	require.NoError(t, err, "without a generation it is newer")
	_, err = Merge(&Stored{Consumer: "c1", Work: work}, Part{Work: partWork(pool("a", 1, 0, "")), Generation: 4})
	assert.ErrorContains(t, err, "was removed at generation 5")
}

// What a whole work of generation 5 holds is of that generation, also when it is gone.
func TestRemovalByAWriteWithoutAGenerationIsOfTheWorks(t *testing.T) {
	stored := storedWork(pool("x", 1, 0, ""), pool("z", 1, 0, ""))
	stored.Work.Annotations = map[string]string{contract.AnnotationGeneration: "5"}
	_, work, err := Decide(stored, partWork(pool("x", 1, 0, "")), false)
	require.NoError(t, err)
	after := &Stored{Consumer: "c1", Work: work}
	_, err = Merge(after, Part{Work: partWork(pool("z", 1, 0, "")), Generation: 3})
	assert.ErrorContains(t, err, "was removed at generation 5")
	removed := mergeAll(t, stored, Part{Work: partWork(), Remove: []Identity{poolID("z")}})
	_, err = Merge(removed, Part{Work: partWork(pool("z", 1, 0, "")), Generation: 3})
	assert.ErrorContains(t, err, "was removed at generation 5")
}

func TestRecordsKeepTheirOrder(t *testing.T) {
	stored := storedWork(pool("x", 1, 0, ""))
	stored.Work.Annotations = map[string]string{contract.AnnotationRemoved: `[{"manifest":"NodePool.hypershift.openshift.io/pools/x","generation":3},{"manifest":"NodePool.hypershift.openshift.io/pools/z","generation":4}]`}
	write, _, err := Decide(stored, partWork(pool("x", 1, 0, "")), false)
	require.NoError(t, err)
	assert.Equal(t, WriteNothing, write)
}

// A newer whole work without a manifest that was removed before it is also the newer word on that manifest.
func TestWholeWriteRaisesTheRecordsOfWhatIsGone(t *testing.T) {
	stored := mergeAll(t, storedWork(pool("a", 1, 5, ""), pool("b", 1, 0, "")), Part{Work: partWork(), Remove: []Identity{poolID("a")}, Generation: 6})
	desired := Desired(partWork(pool("b", 1, 0, "")), "c1", 9)
	_, work, err := Decide(stored, desired, false)
	require.NoError(t, err)
	after := &Stored{Consumer: "c1", Version: 4, Work: work}
	_, err = Merge(after, Part{Work: partWork(pool("a", 1, 0, "")), Generation: 8})
	assert.ErrorContains(t, err, "was removed at generation 9")
	write, _, err := Decide(after, desired, false)
	require.NoError(t, err)
	assert.Equal(t, WriteNothing, write)
	_, err = Merge(after, Part{Work: partWork(pool("new", 1, 0, "")), Generation: 1})
	assert.NoError(t, err, "what the work never held is new")

	// A removal after it does not make the same work a conflict.
	removed := mergeAll(t, after, Part{Work: partWork(), Remove: []Identity{poolID("z")}, Generation: 3})
	write, _, err = Decide(removed, desired, false)
	require.NoError(t, err)
	assert.Equal(t, WriteNothing, write)
}

// A hand apply over a work with many merged manifests forgets none of their generations.
func TestGenerationsOfManyManifestsOutliveAWriteWithoutThem(t *testing.T) {
	const count = 300
	var merged, byHand []workv1.Manifest
	for index := range count {
		merged = append(merged, pool(fmt.Sprintf("p%d", index), 1, 5, ""))
		byHand = append(byHand, pool(fmt.Sprintf("p%d", index), 2, 0, ""))
	}
	_, work, err := Decide(storedWork(merged...), partWork(byHand...), false)
	require.NoError(t, err)
	for _, index := range []int{0, count - 1} {
		_, err = Merge(&Stored{Consumer: "c1", Work: work}, Part{Work: partWork(pool(fmt.Sprintf("p%d", index), 1, 0, "")), Generation: 4})
		assert.ErrorContains(t, err, "holds generation 5")
	}
}
