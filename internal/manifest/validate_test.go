package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const goodManifest = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"team"}}`

func workOf(manifests ...string) *workv1.ManifestWork {
	work := &workv1.ManifestWork{
		TypeMeta:   metav1.TypeMeta{APIVersion: workAPIVersion, Kind: workKind},
		ObjectMeta: metav1.ObjectMeta{Name: "sample"},
	}
	for _, raw := range manifests {
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}})
	}
	return work
}

func with(change func(*workv1.ManifestWork)) *workv1.ManifestWork {
	work := workOf(goodManifest)
	change(work)
	return work
}

// object is a manifest with these metadata.
func object(metadata string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{` + metadata + `}}`
}

func TestValidateNamesEachProblem(t *testing.T) {
	const first = "spec.workload.manifests[0]"
	long := strings.Repeat("n", 64)
	for name, sample := range map[string]struct {
		work   *workv1.ManifestWork
		says   string
		others int
	}{
		"no name":             {with(func(w *workv1.ManifestWork) { w.Name = "" }), `metadata.name: "": a lowercase RFC 1123 label`, 0},
		"dotted name":         {with(func(w *workv1.ManifestWork) { w.Name = "a.b" }), `metadata.name: "a.b"`, 0},
		"upper-case name":     {with(func(w *workv1.ManifestWork) { w.Name = "A" }), `metadata.name: "A"`, 0},
		"long name":           {with(func(w *workv1.ManifestWork) { w.Name = long }), "must be no more than 63", 0},
		"generateName":        {with(func(w *workv1.ManifestWork) { w.GenerateName = "a-" }), "metadata.generateName: not allowed", 0},
		"another's namespace": {with(func(w *workv1.ManifestWork) { w.Namespace = "c2" }), `metadata.namespace: "c2" is not the consumer "c1"`, 0},
		"zero generation":     {with(func(w *workv1.ManifestWork) { w.Annotations = map[string]string{contract.AnnotationGeneration: "0"} }), `annotation hyperfleet.io/generation "0": give a positive integer`, 0},
		"worded generation": {with(func(w *workv1.ManifestWork) {
			w.Annotations = map[string]string{contract.AnnotationGeneration: "seven"}
		}), `"seven"`, 0},
		"own executor note":     {with(func(w *workv1.ManifestWork) { w.Annotations = map[string]string{contract.AnnotationExecutor: "{"} }), "metadata.annotations[hyperfleet.io/executor]: written by maestro-workflows, give spec.executor", 0},
		"bad annotation":        {with(func(w *workv1.ManifestWork) { w.Annotations = map[string]string{"a b": "x"} }), `metadata.annotations[a b]: key "a b": name part must`, 0},
		"bad label key":         {with(func(w *workv1.ManifestWork) { w.Labels = map[string]string{"a b": "x"} }), `metadata.labels[a b]: key "a b": name part must`, 0},
		"bad label value":       {with(func(w *workv1.ManifestWork) { w.Labels = map[string]string{"a": "x y"} }), `metadata.labels.a: "x y": a valid label must`, 0},
		"no manifests":          {workOf(), "spec.workload.manifests: empty", 0},
		"no object":             {workOf(`[]`), first + ": not a Kubernetes object", 0},
		"null":                  {workOf(`null`), first + ": not a Kubernetes object, but null", 0},
		"no bytes":              {workOf(``), first + ": not a Kubernetes object, but nothing", 0},
		"no apiVersion":         {workOf(`{"kind":"A","metadata":{"name":"a"}}`), first + ".apiVersion: required", 0},
		"three parts":           {workOf(`{"apiVersion":"a/b/c","kind":"A","metadata":{"name":"a"}}`), first + `.apiVersion: "a/b/c": want version or group/version`, 0},
		"empty group":           {workOf(`{"apiVersion":"/v1","kind":"A","metadata":{"name":"a"}}`), first + `.apiVersion: "/v1": group:`, 0},
		"upper-case version":    {workOf(`{"apiVersion":"a/V1","kind":"A","metadata":{"name":"a"}}`), first + `.apiVersion: "a/V1": version:`, 0},
		"no kind":               {workOf(`{"apiVersion":"v1","metadata":{"name":"a"}}`), first + ".kind: required", 0},
		"kind in another case":  {workOf(`{"apiVersion":"v1","Kind":"ConfigMap","metadata":{"name":"a"}}`), first + ".kind: required", 0},
		"no object name":        {workOf(object("")), first + ".metadata.name: required", 0},
		"name in another case":  {workOf(object(`"Name":"a"`)), first + ".metadata.name: required", 0},
		"object generateName":   {workOf(object(`"generateName":"a-"`)), first + ".metadata.generateName: not allowed", 1},
		"resourceVersion":       {workOf(object(`"name":"a","resourceVersion":"7"`)), first + ".metadata.resourceVersion: set by a server", 0},
		"grace period":          {workOf(object(`"name":"a","deletionGracePeriodSeconds":0`)), first + ".metadata.deletionGracePeriodSeconds: set by a server", 0},
		"bad namespace":         {workOf(object(`"name":"a","namespace":"A"`)), first + `.metadata.namespace: "A"`, 0},
		"object's annotation":   {workOf(object(`"name":"a","annotations":{"a b":"x"}`)), first + `.metadata.annotations[a b]: key "a b"`, 0},
		"object's label":        {workOf(object(`"name":"a","labels":{"a":"x y"}`)), first + `.metadata.labels.a: "x y": a valid label`, 0},
		"object's finalizer":    {workOf(object(`"name":"a","finalizers":["a b"]`)), first + `.metadata.finalizers`, 0},
		"label of a number":     {workOf(object(`"name":"a","labels":{"a":1}`)), first + `.metadata.labels.a: a number, want a text: write it in quotes: "1"`, 0},
		"doubled":               {workOf(goodManifest, goodManifest), "spec.workload.manifests[1]: ConfigMap/team/a is there twice (the API version does not tell objects apart): leave one out; the first is spec.workload.manifests[0]", 0},
		"doubled with versions": {workOf(`{"apiVersion":"apps/v1","kind":"D","metadata":{"name":"a"}}`, `{"apiVersion":"apps/v2","kind":"D","metadata":{"name":"a"}}`), "spec.workload.manifests[1]: D.apps/a is there twice", 0},
		"a NUL in a text":       {workOf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":["x\u0000y"]}}`), first + ".data.k[0]: holds a NUL character, which Maestro's database cannot keep", 0},
		"a NUL in a key":        {workOf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"\u0000":1}}`), first + ".data[\x00]: holds a NUL character", 0},
		"a huge number":         {workOf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"spec":{"k":-1e400}}`), first + `.spec.k: -1e400 is beyond the numbers that Maestro can keep`, 0},
		"a NUL in a note":       {with(func(w *workv1.ManifestWork) { w.Annotations = map[string]string{"a": "x\x00"} }), "metadata.annotations.a: holds a NUL character", 0},
		"a NUL in an owner":     {with(func(w *workv1.ManifestWork) { w.OwnerReferences = []metav1.OwnerReference{{Name: "\x00"}} }), "metadata.ownerReferences[0].name: holds a NUL character", 0},
		"a NUL in a rule":       {with(feedback("a\x00", ".a")), "spec.manifestConfigs[0].feedbackRules[0].jsonPaths[0].name: holds a NUL character", 0},
		"kind twice":            {workOf(`{"apiVersion":"v1","kind":"ConfigMap","kind":null,"metadata":{"name":"a"}}`), first + ".kind: the key is there twice", 0},
		"metadata twice":        {workOf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"metadata":{}}`), first + ".metadata: the key is there twice", 0},
		"name twice":            {workOf(object(`"name":"a","name":""`)), first + ".metadata.name: the key is there twice", 1},
		"too deep":              {workOf(nestedManifest(contract.MaxNesting)), first + ": values lie more than 9900 levels deep", 0},
		"ttl beyond a double": {with(func(w *workv1.ManifestWork) {
			ttl := int64(1<<53 + 1)
			w.Spec.DeleteOption = &workv1.DeleteOption{TTLSecondsAfterFinished: &ttl}
		}), "spec.deleteOption.ttlSecondsAfterFinished: 9007199254740993 is beyond the integers that Maestro keeps", 0},
		"config without name":   {with(config("configmaps", "team", "")), "spec.manifestConfigs[0].resourceIdentifier.name: required", 0},
		"config of no resource": {with(config("", "team", "a")), "spec.manifestConfigs[0].resourceIdentifier.resource: required", 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Validate(sample.work, "c1")
			require.Error(t, err)
			assert.Equal(t, contract.ErrInvalidManifest, contract.TypeOf(err))
			assert.Contains(t, err.Error(), sample.says)
			assert.Equal(t, sample.others, strings.Count(err.Error(), "\n"), "one problem, one line: %s", err)
		})
	}
}

// nestedManifest has this many brackets in its data.
func nestedManifest(levels int) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}`
}

func feedback(name, path string) func(*workv1.ManifestWork) {
	return func(work *workv1.ManifestWork) {
		config("configmaps", "team", "a")(work)
		work.Spec.ManifestConfigs[0].FeedbackRules = []workv1.FeedbackRule{{Type: workv1.JSONPathsType, JsonPaths: []workv1.JsonPath{{Name: name, Path: path}}}}
	}
}

func config(resource, namespace, name string) func(*workv1.ManifestWork) {
	return func(work *workv1.ManifestWork) {
		work.Spec.ManifestConfigs = append(work.Spec.ManifestConfigs, workv1.ManifestConfigOption{
			ResourceIdentifier: workv1.ResourceIdentifier{Resource: resource, Namespace: namespace, Name: name},
		})
	}
}

func TestValidateAcceptsWhatIsRight(t *testing.T) {
	for name, work := range map[string]*workv1.ManifestWork{
		"plain":                 workOf(goodManifest),
		"consumer's namespace":  with(func(w *workv1.ManifestWork) { w.Namespace = "c1" }),
		"name of 63":            with(func(w *workv1.ManifestWork) { w.Name = strings.Repeat("n", 63) }),
		"generation":            with(func(w *workv1.ManifestWork) { w.Annotations = map[string]string{contract.AnnotationGeneration: "7"} }),
		"groups tell apart":     workOf(`{"apiVersion":"a/v1","kind":"K","metadata":{"name":"a"}}`, `{"apiVersion":"b/v1","kind":"K","metadata":{"name":"a"}}`),
		"namespaces tell apart": workOf(object(`"name":"a","namespace":"x"`), object(`"name":"a","namespace":"y"`)),
		"odd object names":      workOf(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"system:Reader_1"}}`),
		"deep":                  workOf(nestedManifest(contract.MaxNesting - 1)),
		"backslashes in a note": with(func(w *workv1.ManifestWork) { w.Annotations = map[string]string{"a": `\u0000`} }),
		"escaped backslash":     workOf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"\\u0000"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			warnings, err := Validate(work, "c1")
			require.NoError(t, err)
			assert.Empty(t, warnings)
		})
	}
	_, err := Validate(with(func(w *workv1.ManifestWork) { w.Namespace = "elsewhere" }), "")
	assert.NoError(t, err, "no consumer is known yet")
}

func TestValidateFindsEverythingAtOnce(t *testing.T) {
	work := parsed(t, string(sample(t, "exported.yaml")))
	work.Labels = map[string]string{"a": "x y"}
	_, err := Validate(work, "c1")
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	for index, want := range []string{
		"metadata.labels.a: \"x y\": a valid label", "metadata.resourceVersion", "metadata.uid", "metadata.creationTimestamp", "metadata.generation", "status",
		"spec.workload.manifests[0].metadata.resourceVersion", "spec.workload.manifests[0].metadata.uid",
		"spec.workload.manifests[0].metadata.generation", "spec.workload.manifests[0].metadata.deletionGracePeriodSeconds",
		"spec.workload.manifests[1].metadata.name: required", "spec.workload.manifests[1].metadata.generateName",
	} {
		require.Greater(t, len(lines), index, err.Error())
		assert.True(t, strings.HasPrefix(lines[index], want), "%d: want %s: %s", index, want, lines[index])
	}
	assert.Len(t, lines, 12)
}

func TestValidateWarnsAboutConfigsThatMatchNothing(t *testing.T) {
	for name, sample := range map[string]struct {
		change func(*workv1.ManifestWork)
		warns  bool
	}{
		"match":           {config("configmaps", "team", "a"), false},
		"other name":      {config("configmaps", "team", "b"), true},
		"other namespace": {config("configmaps", "", "a"), true},
		"other group": {func(w *workv1.ManifestWork) {
			config("configmaps", "team", "a")(w)
			w.Spec.ManifestConfigs[0].ResourceIdentifier.Group = "apps"
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, err := Validate(with(sample.change), "c1")
			require.NoError(t, err)
			if !sample.warns {
				assert.Empty(t, warnings)
				return
			}
			require.Len(t, warnings, 1)
			assert.Contains(t, warnings[0], "spec.manifestConfigs[0].resourceIdentifier")
			assert.Contains(t, warnings[0], "matches no manifest of the work")
		})
	}
}

// sized is a work of n manifests whose size, as agents measure it, is total.
func sized(n, total int) *workv1.ManifestWork {
	manifests := make([]string, n)
	for index := range manifests {
		manifests[index] = fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big-%d"},"data":{"k":""}}`, index)
	}
	work := workOf(manifests...)
	for index := range work.Spec.Workload.Manifests {
		manifest := &work.Spec.Workload.Manifests[index]
		share := total / n
		if index == 0 {
			share += total % n
		}
		for manifest.Size() < share { // the size's own varints grow with it
			fill := strings.Repeat("x", max(share-manifest.Size()-6, 1))
			manifest.Raw = []byte(strings.Replace(string(manifest.Raw), `"k":"`, `"k":"`+fill, 1))
		}
	}
	return work
}

func TestValidateMeasuresTheLimitOfTheAgents(t *testing.T) {
	for _, n := range []int{1, 40} {
		_, err := Validate(sized(n, contract.MaxManifestsBytes), "c1")
		assert.NoError(t, err, "%d manifests at the limit", n)

		work := sized(n, contract.MaxManifestsBytes+1)
		work.GenerateName = "x-"
		_, err = Validate(work, "c1")
		require.Error(t, err)
		assert.Equal(t, contract.ErrTooLarge, contract.TypeOf(err), "%d manifests above the limit", n)
		assert.Contains(t, err.Error(), "spec.workload.manifests: 512001 bytes, the limit is 512000")
		assert.Contains(t, err.Error(), "metadata.generateName", "the other problems are named too")
	}
}
