package manifest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var epoch = time.Unix(0, 0)

func manifestOf(format string, args ...any) workv1.Manifest {
	return workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(fmt.Sprintf(format, args...))}}
}

// pool is a NodePool; generation 0 means without one, owner "" without a label.
func pool(name string, replicas int, generation int64, owner string) workv1.Manifest {
	manifest := manifestOf(`{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{"name":%q,"namespace":"pools"},"spec":{"replicas":%d}}`, name, replicas)
	if owner != "" {
		manifest.Raw, _ = setText(manifest.Raw, [3]string{"metadata", "labels", contract.LabelOwner}, owner)
	}
	if generation > 0 {
		manifest.Raw, _ = withGeneration(manifest.Raw, generation)
	}
	return manifest
}

func poolID(name string) Identity {
	return Identity{Group: "hypershift.openshift.io", Kind: "NodePool", Namespace: "pools", Name: name}
}

func storedWork(manifests ...workv1.Manifest) *Stored {
	return &Stored{ID: "id", Consumer: "c1", Version: 3, Work: partWork(manifests...)}
}

func partWork(manifests ...workv1.Manifest) *workv1.ManifestWork {
	work := &workv1.ManifestWork{}
	work.Name, work.Namespace = "shared", "c1"
	work.Spec.Workload.Manifests = manifests
	return work
}

// mergeAll merges parts one after the other, each into what the one before left.
func mergeAll(t require.TestingT, stored *Stored, parts ...Part) *Stored {
	for _, part := range parts {
		merged, err := Merge(stored, part)
		require.NoError(t, err)
		if merged.Write != WriteNothing {
			stored = &Stored{ID: "id", Consumer: "c1", Version: 4, Work: merged.Work}
		}
	}
	return stored
}

func raws(work *workv1.ManifestWork) []string {
	var out []string
	for _, manifest := range work.Spec.Workload.Manifests {
		out = append(out, string(manifest.Raw))
	}
	return out
}

func TestMergeReplacesInPlaceKeepsOthersAndAppends(t *testing.T) {
	service := manifestOf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"metrics","namespace":"pools"},"spec":{"big":9007199254740993,"null":null,"empty":[],"step":1e3}}`)
	stored := storedWork(service, pool("a", 1, 0, ""), pool("b", 1, 0, ""))
	knative := manifestOf(`{"apiVersion":"serving.knative.dev/v1","kind":"Service","metadata":{"name":"metrics","namespace":"pools"}}`)
	newer := manifestOf(`{"apiVersion":"hypershift.openshift.io/v1","kind":"NodePool","metadata":{"name":"a","namespace":"pools"},"spec":{"replicas":4}}`)
	write, work, err := merge(stored, Part{Work: partWork(knative, newer, pool("c", 2, 0, ""))})
	require.NoError(t, err)
	assert.Equal(t, WriteUpdate, write)
	assert.Equal(t, []string{
		string(service.Raw), string(newer.Raw), string(pool("b", 1, 0, "").Raw), string(knative.Raw), string(pool("c", 2, 0, "").Raw),
	}, raws(work))
	assert.Len(t, stored.Work.Spec.Workload.Manifests, 3, "the stored work is not changed")
	assert.Equal(t, string(pool("a", 1, 0, "").Raw), raws(stored.Work)[1])
}

func TestMergeIntoNothingCreates(t *testing.T) {
	write, work, err := merge(nil, Part{Work: partWork(pool("a", 1, 0, "")), Owner: "np", Generation: 4, Strategy: contract.StrategyReplace})
	require.NoError(t, err)
	assert.Equal(t, WriteCreate, write)
	assert.Equal(t, []string{`{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{"name":"a","namespace":"pools","labels":{"hyperfleet.io/adapter":"np"},"annotations":{"hyperfleet.io/generation":"4"}},"spec":{"replicas":1}}`}, raws(work))
}

func TestMergeTwiceChangesNothing(t *testing.T) {
	part := Part{Work: partWork(pool("a", 5, 0, ""), pool("new", 1, 0, "")), Owner: "np", Generation: 7}
	stored := mergeAll(t, storedWork(pool("a", 1, 0, ""), pool("b", 1, 0, "")), part)
	write, work, err := merge(stored, part)
	require.NoError(t, err)
	assert.Equal(t, WriteNothing, write)
	assert.Equal(t, raws(stored.Work), raws(work))
}

func TestMergeIsMonotonePerManifest(t *testing.T) {
	stored := func() *Stored { return storedWork(pool("a", 1, 5, ""), pool("b", 1, 2, "")) }
	for name, sample := range map[string]struct {
		part Part
		want contract.ErrorType
		says string
	}{
		"newer":                        {part: Part{Work: partWork(pool("a", 2, 0, "")), Generation: 6}},
		"older":                        {part: Part{Work: partWork(pool("a", 2, 0, "")), Generation: 4}, want: contract.ErrSuperseded, says: "NodePool.hypershift.openshift.io/pools/a holds generation 5; this request is generation 4"},
		"older, forced":                {part: Part{Work: partWork(pool("a", 2, 0, "")), Generation: 4, Force: true}, want: contract.ErrSuperseded},
		"one of two is older":          {part: Part{Work: partWork(pool("b", 2, 0, ""), pool("a", 2, 0, "")), Generation: 4}, want: contract.ErrSuperseded},
		"older by annotation":          {part: Part{Work: partWork(pool("a", 2, 4, ""))}, want: contract.ErrSuperseded, says: "older by its manifests' annotations"},
		"equal, same content":          {part: Part{Work: partWork(pool("a", 1, 0, "")), Generation: 5}},
		"equal, other content":         {part: Part{Work: partWork(pool("a", 2, 0, "")), Generation: 5}, want: contract.ErrGenerationConflict, says: "pools/a holds generation 5 with other content"},
		"equal, other content, forced": {part: Part{Work: partWork(pool("a", 2, 0, "")), Generation: 5, Force: true}},
		"without a generation":         {part: Part{Work: partWork(pool("a", 2, 0, ""))}},
		"removal of an older one":      {part: Part{Work: partWork(), Remove: []Identity{poolID("a")}, Generation: 4}, want: contract.ErrSuperseded},
		"removal":                      {part: Part{Work: partWork(), Remove: []Identity{poolID("a")}, Generation: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			_, work, err := merge(stored(), sample.part)
			require.Equal(t, sample.want, contract.TypeOf(err), "%v", err)
			if sample.want != "" {
				assert.ErrorContains(t, err, sample.says)
				return
			}
			for _, manifest := range work.Spec.Workload.Manifests {
				id, _ := Identify(manifest)
				assert.GreaterOrEqual(t, generationOf(manifest), map[string]int64{"a": 5, "b": 2}[id.Name], "never decreases")
			}
		})
	}
}

func TestRemovedManifestIsNotBroughtBackByALateAdd(t *testing.T) {
	stored := mergeAll(t, storedWork(pool("a", 1, 5, ""), pool("b", 1, 0, "")),
		Part{Work: partWork(), Remove: []Identity{poolID("a"), poolID("never")}, Generation: 7})
	assert.Equal(t, []string{string(pool("b", 1, 0, "").Raw)}, raws(stored.Work))
	for _, name := range []string{"a", "never"} {
		_, err := Merge(stored, Part{Work: partWork(pool(name, 1, 0, "")), Generation: 7})
		assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err))
		assert.ErrorContains(t, err, "was removed at generation 7")
	}
	again := mergeAll(t, stored, Part{Work: partWork(pool("a", 1, 0, "")), Generation: 8})
	assert.Len(t, raws(again.Work), 2)
	_, err := Merge(again, Part{Work: partWork(pool("a", 1, 0, "")), Generation: 7})
	assert.ErrorContains(t, err, "holds generation 8")
	// A removal without a generation is of the one that it removes.
	stored = mergeAll(t, storedWork(pool("a", 1, 5, ""), pool("b", 1, 0, "")), Part{Work: partWork(), Remove: []Identity{poolID("a"), poolID("b")}}.withKept())
	_, err = Merge(stored, Part{Work: partWork(pool("a", 1, 0, "")), Generation: 5})
	assert.ErrorContains(t, err, "was removed at generation 5")
	_, err = Merge(stored, Part{Work: partWork(pool("b", 1, 0, "")), Generation: 1})
	assert.NoError(t, err, "nothing is known of its generation")
}

// withKept gives the part a manifest, so that a work stays.
func (p Part) withKept() Part {
	p.Work.Spec.Workload.Manifests = append(p.Work.Spec.Workload.Manifests, pool("kept", 1, 0, ""))
	return p
}

func TestTombstonesAreBounded(t *testing.T) {
	stored := storedWork(pool("kept", 1, 0, ""))
	for index := range contract.MaxTombstones + 3 {
		stored = mergeAll(t, stored, Part{Work: partWork(), Remove: []Identity{poolID(fmt.Sprintf("p%d", index))}, Generation: 2})
	}
	list, err := readTombstones(stored.Work)
	require.NoError(t, err)
	require.Len(t, list, contract.MaxTombstones)
	assert.Equal(t, poolID("p3").String(), list[0].Manifest, "the oldest are forgotten")
	stored.Work.Annotations[contract.AnnotationRemoved] = "garbage"
	_, err = Merge(stored, Part{Work: partWork(pool("a", 1, 0, ""))})
	assert.Equal(t, contract.ErrInvalidManifest, contract.TypeOf(err))
	_, work, err := merge(stored, Part{Work: partWork(pool("a", 1, 0, "")), Force: true})
	require.NoError(t, err)
	assert.NotContains(t, work.Annotations, contract.AnnotationRemoved)
}

func TestReplaceRemovesWhatItsOwnerHas(t *testing.T) {
	configMap := manifestOf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"pools"}}`)
	owned := manifestOf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"mine","namespace":"pools","labels":{"hyperfleet.io/adapter":"np"}}}`)
	stored := func() *Stored {
		return storedWork(configMap, pool("a", 1, 0, ""), pool("b", 1, 0, "np"), pool("c", 1, 0, "other"), owned)
	}
	_, work, err := merge(stored(), Part{Work: partWork(pool("a", 1, 0, "")), Owner: "np", Strategy: contract.StrategyReplace})
	require.NoError(t, err)
	assert.Equal(t, []string{string(configMap.Raw), string(pool("a", 1, 0, "np").Raw), string(pool("c", 1, 0, "other").Raw)}, raws(work))

	_, err = Merge(stored(), Part{Work: partWork(pool("d", 1, 0, "")), Owner: "np", Strategy: contract.StrategyReplace})
	assert.Equal(t, contract.ErrInvalidInput, contract.TypeOf(err))
	assert.ErrorContains(t, err, "would remove all 3 manifests")
	_, work, err = merge(stored(), Part{Work: partWork(pool("d", 1, 0, "")), Owner: "np", Strategy: contract.StrategyReplace, Force: true})
	require.NoError(t, err)
	assert.Equal(t, []string{string(configMap.Raw), string(pool("c", 1, 0, "other").Raw), string(pool("d", 1, 0, "np").Raw)}, raws(work))

	_, err = Merge(storedWork(pool("a", 1, 0, ""), pool("b", 1, 9, "")), Part{Work: partWork(pool("a", 1, 0, "")), Generation: 8, Strategy: contract.StrategyReplace})
	assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err), "an older set does not remove a newer manifest")
}

func TestMergeRespectsOwners(t *testing.T) {
	labelled := storedWork(pool("a", 1, 0, ""))
	labelled.Work.Labels = map[string]string{contract.LabelOwner: "ingress"}
	_, err := Merge(labelled, Part{Work: partWork(pool("b", 1, 0, "")), Owner: "np"})
	assert.Equal(t, contract.ErrOwnershipConflict, contract.TypeOf(err))
	_, work, err := merge(labelled, Part{Work: partWork(pool("b", 1, 0, ""))})
	require.NoError(t, err, "a part without an owner does not claim the work")
	assert.Equal(t, "ingress", work.Labels[contract.LabelOwner])

	foreign := storedWork(pool("a", 1, 0, "ingress"), pool("b", 1, 0, ""))
	_, err = Merge(foreign, Part{Work: partWork(pool("a", 2, 0, "")), Owner: "np"})
	assert.Equal(t, contract.ErrOwnershipConflict, contract.TypeOf(err))
	_, err = Merge(foreign, Part{Work: partWork(), Remove: []Identity{poolID("a")}, Owner: "np"})
	assert.Equal(t, contract.ErrOwnershipConflict, contract.TypeOf(err))
	_, err = Merge(foreign, Part{Work: partWork(pool("a", 2, 0, "")), Owner: "np", Force: true})
	assert.NoError(t, err)

	// Nobody in particular may not touch what belongs to somebody, and does not take the label off.
	_, err = Merge(foreign, Part{Work: partWork(pool("a", 2, 0, ""))})
	assert.Equal(t, contract.ErrOwnershipConflict, contract.TypeOf(err))
	assert.ErrorContains(t, err, `pools/a in work shared on c1 belongs to hyperfleet.io/adapter=ingress, this request's adapter is ""`)
	_, err = Merge(foreign, Part{Work: partWork(), Remove: []Identity{poolID("a")}})
	assert.Equal(t, contract.ErrOwnershipConflict, contract.TypeOf(err))
	_, err = Merge(foreign, Part{Work: partWork(pool("b", 2, 0, ""))})
	assert.NoError(t, err)
	source := partWork(pool("a", 2, 0, ""))
	source.Labels = map[string]string{contract.LabelOwner: "ingress"}
	_, work, err = merge(foreign, Part{Work: source})
	require.NoError(t, err, "the merged work's label says whose it is")
	assert.Equal(t, []string{string(pool("a", 2, 0, "ingress").Raw), string(pool("b", 1, 0, "").Raw)}, raws(work))
}

func TestReplaceTakesItsOwnerFromTheMergedWork(t *testing.T) {
	source := partWork(pool("a", 2, 0, ""))
	source.Labels = map[string]string{contract.LabelOwner: "np"}
	_, work, err := merge(storedWork(pool("a", 1, 0, "np"), pool("b", 1, 0, "np"), pool("c", 1, 0, "other")), Part{Work: source, Strategy: contract.StrategyReplace})
	require.NoError(t, err)
	assert.Equal(t, []string{string(pool("a", 2, 0, "np").Raw), string(pool("c", 1, 0, "other").Raw)}, raws(work))
}

func TestMergeDoesNotTakeAPoolToAnotherCluster(t *testing.T) {
	of := func(cluster string) workv1.Manifest {
		manifest := pool("a", 1, 0, "")
		manifest.Raw, _ = setText(manifest.Raw, [3]string{"metadata", "labels", labelCluster}, cluster)
		return manifest
	}
	_, err := Merge(storedWork(of("west-1")), Part{Work: partWork(of("east-2"))})
	assert.Equal(t, contract.ErrOwnershipConflict, contract.TypeOf(err))
	assert.ErrorContains(t, err, `belongs to hyperfleet.io/cluster-name=west-1, this request's is "east-2"`)
	_, err = Merge(storedWork(of("west-1")), Part{Work: partWork(of("east-2")), Force: true})
	assert.NoError(t, err)
	_, err = Merge(storedWork(pool("a", 1, 0, "")), Part{Work: partWork(of("east-2"))})
	assert.NoError(t, err, "nothing is known")

	// Pool a in the zones b and c has an object called a-b, and so has pool a-b.
	named := func(pool string) workv1.Manifest {
		manifest := of("west-1")
		manifest.Raw, _ = setText(manifest.Raw, [3]string{"metadata", "labels", labelNodepool}, pool)
		return manifest
	}
	_, err = Merge(storedWork(named("a-b")), Part{Work: partWork(named("a"))})
	assert.ErrorContains(t, err, `belongs to hyperfleet.io/nodepool-name=a-b, this request's is "a"`)
}

func TestMergeKeepsTheWorksOwnFields(t *testing.T) {
	config := func(name, strategy string) workv1.ManifestConfigOption {
		return workv1.ManifestConfigOption{
			ResourceIdentifier: workv1.ResourceIdentifier{Group: "hypershift.openshift.io", Resource: "nodepools", Namespace: "pools", Name: name},
			UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyType(strategy)},
		}
	}
	stored := storedWork(pool("a", 1, 0, ""), pool("b", 1, 0, ""))
	stored.Work.Labels = map[string]string{"team": "blue"}
	stored.Work.Annotations = map[string]string{"note": "x"}
	stored.Work.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	stored.Work.Spec.Executor = &workv1.ManifestWorkExecutor{Subject: workv1.ManifestWorkExecutorSubject{Type: workv1.ExecutorSubjectTypeServiceAccount,
		ServiceAccount: &workv1.ManifestWorkSubjectServiceAccount{Namespace: "pools", Name: "applier"}}}
	stored.Work.Spec.ManifestConfigs = []workv1.ManifestConfigOption{config("a", "Update"), config("b", "Update")}

	work := mergeAll(t, stored, Part{Work: partWork(pool("a", 2, 0, ""))}).Work
	assert.Equal(t, stored.Work.Labels, work.Labels)
	assert.Equal(t, stored.Work.Annotations, work.Annotations)
	assert.Equal(t, stored.Work.Spec.DeleteOption, work.Spec.DeleteOption)
	assert.Equal(t, stored.Work.Spec.Executor, work.Spec.Executor)
	assert.Equal(t, stored.Work.Spec.ManifestConfigs, work.Spec.ManifestConfigs)

	part := partWork(pool("a", 2, 0, ""))
	part.Spec.ManifestConfigs = []workv1.ManifestConfigOption{config("c", "CreateOnly"), config("a", "ServerSideApply")}
	part.Labels = map[string]string{"tier": "gold", contract.LabelOwner: "np"}
	part.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}
	work = mergeAll(t, stored, Part{Work: part, Remove: []Identity{poolID("b")}}).Work
	assert.Equal(t, []workv1.ManifestConfigOption{config("a", "ServerSideApply"), config("c", "CreateOnly")}, work.Spec.ManifestConfigs, "a removed manifest takes its config along")
	assert.Equal(t, map[string]string{"team": "blue", "tier": "gold"}, work.Labels, "merging does not take a work over")
	assert.Equal(t, workv1.DeletePropagationPolicyTypeForeground, work.Spec.DeleteOption.PropagationPolicy)
}

func TestMergeRefusesWhatItCannotDo(t *testing.T) {
	a := pool("a", 1, 0, "")
	big := manifestOf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big","namespace":"pools"},"data":{"x":%q}}`, strings.Repeat("x", contract.MaxManifestsBytes))
	for name, sample := range map[string]struct {
		stored *Stored
		part   Part
		want   contract.ErrorType
		says   string
	}{
		"no identity":      {storedWork(a), Part{Work: partWork(manifestOf(`{"kind":"Job"}`))}, contract.ErrInvalidManifest, "manifest 0 of the part: no identity"},
		"given twice":      {storedWork(a), Part{Work: partWork(a, a)}, contract.ErrInvalidManifest, "pools/a is given twice"},
		"stored twice":     {storedWork(a, a), Part{Work: partWork(a)}, contract.ErrInvalidManifest, "holds NodePool.hypershift.openshift.io/pools/a twice"},
		"removed of two":   {storedWork(a, a), Part{Work: partWork(), Remove: []Identity{poolID("a")}}, contract.ErrInvalidManifest, "twice"},
		"nothing left":     {storedWork(a), Part{Work: partWork(), Remove: []Identity{poolID("a")}}, contract.ErrInvalidManifest, "delete the work instead"},
		"too large":        {storedWork(a), Part{Work: partWork(big)}, contract.ErrTooLarge, "the limit is 512000"},
		"not an object":    {storedWork(a), Part{Work: partWork(manifestOf(`[]`))}, contract.ErrInvalidManifest, "not a Kubernetes object"},
		"odd metadata":     {storedWork(a), Part{Work: partWork(manifestOf(`{"apiVersion":"v1","kind":"A","metadata":{"name":"x","annotations":[]}}`)), Generation: 1}, contract.ErrInvalidManifest, "annotations"},
		"under deletion":   {&Stored{Consumer: "c1", Work: partWork(a), DeletedAt: &epoch}, Part{Work: partWork(a)}, contract.ErrUnderDeletion, "is being deleted"},
		"untouched double": {storedWork(a, a), Part{Work: partWork(pool("b", 1, 0, ""))}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			write, work, err := merge(sample.stored, sample.part)
			assert.Equal(t, sample.want, contract.TypeOf(err), "%v", err)
			if sample.want != "" {
				assert.ErrorContains(t, err, sample.says)
				assert.Nil(t, work)
				assert.Equal(t, WriteNothing, write)
			}
		})
	}
}

func TestSetTextKeepsEveryOtherByte(t *testing.T) {
	const before = `{"b":1e3,"metadata":{"name":"x","annotations":{"z":"1","a":"2"}},"a":[1.50,null]}`
	path := [3]string{"metadata", "annotations", "new"}
	after, err := setText([]byte(before), path, "v")
	require.NoError(t, err)
	assert.Equal(t, `{"b":1e3,"metadata":{"name":"x","annotations":{"z":"1","a":"2","new":"v"}},"a":[1.50,null]}`, string(after))
	back, err := setText(after, path, "")
	require.NoError(t, err)
	assert.Equal(t, before, string(back))
	added, err := setText([]byte(`{"metadata":{"annotations":null}}`), path, "v")
	require.NoError(t, err)
	assert.Equal(t, `{"metadata":{"annotations":{"new":"v"}}}`, string(added))
	gone, err := setText(added, path, "")
	require.NoError(t, err)
	assert.Equal(t, `{"metadata":{}}`, string(gone))
}

// merge is Merge in parts.
func merge(stored *Stored, part Part) (Write, *workv1.ManifestWork, error) {
	merged, err := Merge(stored, part)
	return merged.Write, merged.Work, err
}

func TestMergeDoesNotLowerTheGenerationOfTheWork(t *testing.T) {
	stored := storedWork(pool("a", 1, 0, ""))
	stored.Work.Annotations = map[string]string{contract.AnnotationGeneration: "9"}
	part := partWork(pool("b", 1, 0, ""))
	part.Annotations = map[string]string{contract.AnnotationGeneration: "5"}
	work := mergeAll(t, stored, Part{Work: part, Generation: 5}).Work
	assert.Equal(t, "9", work.Annotations[contract.AnnotationGeneration])
	part.Annotations["note"] = "x"
	work = mergeAll(t, stored, Part{Work: part, Generation: 10}).Work
	assert.Equal(t, "9", work.Annotations[contract.AnnotationGeneration], "a part does not make the rest newer")
	assert.Equal(t, "x", work.Annotations["note"])
}

func configFor(group, resource, namespace, name string) workv1.ManifestConfigOption {
	return workv1.ManifestConfigOption{
		ResourceIdentifier: workv1.ResourceIdentifier{Group: group, Resource: resource, Namespace: namespace, Name: name},
		UpdateStrategy:     &workv1.UpdateStrategy{Type: workv1.UpdateStrategyTypeCreateOnly},
	}
}

func TestRemovalTakesTheConfigOfItsManifestAlone(t *testing.T) {
	of := func(kind string) workv1.Manifest {
		return manifestOf(`{"apiVersion":"apps/v1","kind":%q,"metadata":{"name":"web","namespace":"d"}}`, kind)
	}
	stored := storedWork(of("Deployment"), of("StatefulSet"))
	keep := []workv1.ManifestConfigOption{configFor("apps", "statefulsets", "d", "web"), configFor("apps", "deployments", "d", "*")}
	stored.Work.Spec.ManifestConfigs = append([]workv1.ManifestConfigOption{configFor("apps", "deployments", "d", "web")}, keep...)
	work := mergeAll(t, stored, Part{Work: partWork(), Remove: []Identity{{Group: "apps", Kind: "Deployment", Namespace: "d", Name: "web"}}}).Work
	assert.Equal(t, keep, work.Spec.ManifestConfigs)
}

// A part's configs may be for what is stored; they are judged with the merged work.
func TestPartMayChangeTheWorkWithoutAManifest(t *testing.T) {
	for name, sample := range map[string]struct {
		spec, warns string
	}{
		"a config":       {`"manifestConfigs":[{"resourceIdentifier":{"group":"hypershift.openshift.io","resource":"nodepools","namespace":"pools","name":"a"},"updateStrategy":{"type":"CreateOnly"}}]`, ""},
		"an idle config": {`"manifestConfigs":[{"resourceIdentifier":{"group":"hypershift.openshift.io","resource":"nodepools","namespace":"pools","name":"zz"},"updateStrategy":{"type":"CreateOnly"}}]`, "matches no manifest of the work"},
		"deleteOption":   {`"deleteOption":{"propagationPolicy":"Orphan"}`, ""},
	} {
		part, err := PartOf(contract.Request{Consumer: "c1", Name: "shared", Action: contract.ActionMerge, Work: []byte(
			`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"x"},"spec":{` + sample.spec + `}}`)}.Commit("shared", 0))
		require.NoError(t, err, name)
		warnings, err := part.Check("c1")
		require.NoError(t, err, name)
		assert.Empty(t, warnings, name)
		merged, err := Merge(storedWork(pool("a", 1, 0, "")), part)
		require.NoError(t, err, name)
		assert.Equal(t, WriteUpdate, merged.Write, name)
		if sample.warns == "" {
			assert.Empty(t, merged.Warnings, name)
		} else {
			require.Len(t, merged.Warnings, 1, name)
			assert.Contains(t, merged.Warnings[0], sample.warns)
		}
		_, err = Merge(nil, part)
		assert.ErrorContains(t, err, "would be without manifests")
	}
	empty, err := PartOf(contract.Request{Consumer: "c1", Name: "shared", Action: contract.ActionMerge, Work: []byte(
		`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"x"}}`)}.Commit("shared", 0))
	require.NoError(t, err)
	_, err = empty.Check("c1")
	assert.ErrorContains(t, err, "spec.workload.manifests: empty, give at least one manifest")
}

func TestMergeSaysWhenHostedClusterAndClusterDiffer(t *testing.T) {
	config := pools(t, poolConfig("name: w, instanceType: m5.large, replicas: 1"))
	part := Part{Work: partWork(), Cluster: "a1", Render: func(stored []workv1.Manifest) ([]workv1.Manifest, error) {
		return config.Render(DefaultNodepoolTemplate(), stored)
	}}
	for _, name := range []string{"other", "w"} {
		merged, err := Merge(storedWork(storedPool("here", name, `{"clusterName":"c"}`)), part)
		require.NoError(t, err)
		assert.Equal(t, []string{"NodePool.hypershift.openshift.io/here/w of a1 is a NodePool of the hosted cluster c, as the stored work has it"}, merged.Warnings)
		again, err := Merge(&Stored{Consumer: "c1", Work: merged.Work}, part)
		require.NoError(t, err)
		assert.Empty(t, again.Warnings, "said once")
	}
}

// Two clusters in one work: neither sees the other's pools, whoever comes first.
func TestPoolsOfTwoClustersInOneWork(t *testing.T) {
	part := func(cluster, pool string) Part {
		config := pools(t, strings.Replace(poolConfig("name: "+pool+", instanceType: m5.large, replicas: 1"), "a1", cluster, 1))
		return Part{Work: partWork(), Owner: "nodepool", Cluster: cluster, Render: func(stored []workv1.Manifest) ([]workv1.Manifest, error) {
			return config.Render(DefaultNodepoolTemplate(), stored)
		}}
	}
	stored := mergeAll(t, nil, part("west", "workers"), part("east", "workers"), part("east", "gpu"), part("west", "gpu"))
	ids, err := Identities(stored.Work)
	require.NoError(t, err)
	var names []string
	for _, id := range ids {
		names = append(names, id.Name)
	}
	assert.Equal(t, []string{"west-workers", "east-workers", "east-gpu", "west-gpu"}, names)
	replacing := part("east", "gpu")
	replacing.Strategy = contract.StrategyReplace
	assert.Len(t, mergeAll(t, stored, replacing).Work.Spec.Workload.Manifests, 3, "another cluster's stay")

	// A template that sets no labels does not hide whose a pool is.
	bare := customTemplate(t, "apiVersion: hypershift.openshift.io/v1beta1\nkind: NodePool\nmetadata: {name: west-workers, namespace: clusters}\nspec: {replicas: 0}\n")
	theirs := part("east", "workers")
	config := pools(t, strings.Replace(poolConfig("name: workers, instanceType: m5.large, replicas: 0"), "a1", "east", 1))
	theirs.Render = func(stored []workv1.Manifest) ([]workv1.Manifest, error) { return config.Render(bare, stored) }
	_, err = Merge(stored, theirs)
	assert.Equal(t, contract.ErrOwnershipConflict, contract.TypeOf(err))
	assert.ErrorContains(t, err, `belongs to the cluster west, this request's is "east"`)
}

func TestLateZonesOfAPoolAreRefused(t *testing.T) {
	part := func(generation int64, zones string) Part {
		config := pools(t, poolConfig("name: gpu, instanceType: m5.large, replicas: 2"+zones))
		return Part{Work: partWork(), Cluster: "a1", Generation: generation, Render: func(stored []workv1.Manifest) ([]workv1.Manifest, error) {
			return config.Render(DefaultNodepoolTemplate(), stored)
		}}
	}
	stored := mergeAll(t, nil, part(5, ", zones: [a, b]"))
	_, err := Merge(stored, part(4, ""))
	assert.Equal(t, contract.ErrSuperseded, contract.TypeOf(err))
	assert.ErrorContains(t, err, "a1-gpu-a of the same pool holds generation 5")
	_, err = Merge(stored, part(6, ""))
	assert.NoError(t, err)
}

func TestOlderPartDoesNotChangeTheWorkItself(t *testing.T) {
	stored := storedWork(pool("a", 1, 0, ""))
	stored.Work.Annotations = map[string]string{contract.AnnotationGeneration: "9"}
	part := partWork()
	part.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}
	for generation, want := range map[int64]contract.ErrorType{3: contract.ErrSuperseded, 9: "", 0: ""} {
		_, err := Merge(stored, Part{Work: part, Generation: generation})
		assert.Equal(t, want, contract.TypeOf(err), "%d", generation)
	}
}

func TestAdapterIsNotTakenFromTheManifest(t *testing.T) {
	_, err := Merge(storedWork(pool("a", 1, 0, "b")), Part{Work: partWork(pool("a", 2, 0, "b")), Owner: "a"})
	assert.Equal(t, contract.ErrOwnershipConflict, contract.TypeOf(err))
	_, err = Merge(storedWork(pool("a", 1, 0, "b")), Part{Work: partWork(pool("a", 2, 0, "b"))})
	assert.NoError(t, err, "an export that goes back")
}

// A file applied by hand has neither owner nor generation: merging it again brings them back.
func TestMergeAgainAfterAHandApplyOfTheSame(t *testing.T) {
	part := Part{Work: partWork(pool("a", 1, 0, "")), Owner: "np", Generation: 7}
	stored := mergeAll(t, storedWork(pool("b", 1, 0, "")), part)
	_, work, err := Decide(stored, partWork(pool("b", 1, 0, ""), pool("a", 1, 0, "")), false)
	require.NoError(t, err)
	again := mergeAll(t, &Stored{Consumer: "c1", Version: 5, Work: work}, part)
	assert.Equal(t, string(pool("a", 1, 7, "np").Raw), raws(again.Work)[1])
	other := part
	other.Work = partWork(pool("a", 2, 0, ""))
	_, err = Merge(&Stored{Consumer: "c1", Version: 5, Work: work}, other)
	assert.Equal(t, contract.ErrGenerationConflict, contract.TypeOf(err))
}
