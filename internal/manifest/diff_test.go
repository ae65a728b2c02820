package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"pgregory.net/rapid"
)

// changeLines writes changes one per line: op, manifest, path, old, new.
func changeLines(changes []Change) []string {
	out := []string{}
	for _, c := range changes {
		out = append(out, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s -> %s", c.Op, c.Manifest, c.Path, c.Old, c.New)), " "))
	}
	return out
}

func diffed(t testing.TB, stored, desired *workv1.ManifestWork) []string {
	t.Helper()
	changes, err := Diff(stored, desired)
	require.NoError(t, err)
	assert.Equal(t, stored != nil && Same(stored, desired), len(changes) == 0, "as Same says")
	return changeLines(changes)
}

// thing is a manifest with fields beside its head.
func thing(kind, name, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"namespace":"team","name":%q}%s}`, kind, name, fields)
}

func TestDiffComparesFieldsAsAClusterSeesThem(t *testing.T) {
	for name, sample := range map[string]struct {
		stored, desired string
		want            []string
	}{
		"nothing":            {`"a":1`, `"a":1`, nil},
		"key order":          {`"a":1,"b":{"c":2,"d":3}`, `"b":{"d":3,"c":2},"a":1`, nil},
		"changed":            {`"spec":{"replicas":2}`, `"spec":{"replicas":5}`, []string{"changed spec.replicas 2 -> 5"}},
		"added":              {`"a":{}`, `"a":{"b":[]}`, []string{"added a.b -> []"}},
		"removed":            {`"a":{"b":false}`, `"a":{}`, []string{"removed a.b false ->"}},
		"absent to null":     {`"a":{}`, `"a":{"b":null}`, []string{"added a.b -> null"}},
		"null to absent":     {`"a":{"b":null}`, `"a":{}`, []string{"removed a.b null ->"}},
		"null to empty":      {`"a":null`, `"a":{}`, []string{"changed a null -> {}"}},
		"empty list to map":  {`"a":[]`, `"a":{}`, []string{"changed a [] -> {}"}},
		"type":               {`"a":1`, `"a":"1"`, []string{`changed a 1 -> "1"`}},
		"odd keys":           {`"a":{"x.y/z":1,"":1}`, `"a":{"x.y/z":2,"":2}`, []string{"changed a[] 1 -> 2", "changed a[x.y/z] 1 -> 2"}},
		"spelling of number": {`"a":1000`, `"a":1e3`, nil},
		"rounded by Maestro": {`"a":9007199254740992`, `"a":9007199254740993`, nil},
		"not rounded":        {`"a":9007199254740993`, `"a":9007199254740992`, []string{"changed a 9007199254740993 -> 9007199254740992"}},
		"exact numbers":      {`"a":1.50`, `"a":123456789012345678901234567890`, []string{"changed a 1.50 -> 123456789012345678901234567890"}},
		"status and metadata": {`"status":{"a":1}`, `"status":{"a":2},"metadata":{"namespace":"team","name":"x","finalizers":[]}`,
			[]string{"added metadata.finalizers -> []", "changed status.a 1 -> 2"}},
		"list by position":     {`"a":[1,2,3]`, `"a":[1,3]`, []string{"changed a[1] 2 -> 3", "removed a[2] 3 ->"}},
		"list grows":           {`"a":[]`, `"a":[{"b":1}]`, []string{`added a[0] -> {"b":1}`}},
		"list by name":         {`"a":[{"name":"x","v":1},{"name":"y"}]`, `"a":[{"name":"z"},{"name":"x","v":2}]`, []string{`added a[name=z] -> {"name":"z"}`, "changed a[name=x].v 1 -> 2", `removed a[name=y] {"name":"y"} ->`}},
		"list moved":           {`"a":[{"name":"x"},{"name":"y"}]`, `"a":[{"name":"y"},{"name":"x"}]`, []string{`moved a ["name=x","name=y"] -> ["name=y","name=x"]`}},
		"list by type":         {`"a":[{"type":"x","v":1}]`, `"a":[{"type":"x","v":2}]`, []string{"changed a[type=x].v 1 -> 2"}},
		"list by key":          {`"a":[{"key":"x","v":1}]`, `"a":[{"key":"x","v":2}]`, []string{"changed a[key=x].v 1 -> 2"}},
		"names not unique":     {`"a":[{"name":"x"},{"name":"x"}]`, `"a":[{"name":"x"},{"name":"y"}]`, []string{`changed a[1].name "x" -> "y"`}},
		"names on some":        {`"a":[{"name":"x"},{}]`, `"a":[{"name":"y"},{}]`, []string{`changed a[0].name "x" -> "y"`}},
		"name that is no text": {`"a":[{"name":1}]`, `"a":[{"name":2}]`, []string{"changed a[0].name 1 -> 2"}},
		"one side only named":  {`"a":[{"name":"x"}]`, `"a":[{"key":"x"}]`, []string{`added a[0].key -> "x"`, `removed a[0].name "x" ->`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := diffed(t, workOf(thing("X", "x", sample.stored)), workOf(thing("X", "x", sample.desired)))
			want := []string{}
			for _, line := range sample.want {
				op, rest, _ := strings.Cut(line, " ")
				want = append(want, op+" X/team/x "+rest)
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestDiffMatchesManifestsByIdentity(t *testing.T) {
	a, b, c := thing("A", "a", ""), thing("B", "b", ""), thing("C", "c", "")
	v2 := strings.Replace(a, `"v1"`, `"g/v2"`, 1)
	v3 := strings.Replace(a, `"v1"`, `"g/v3"`, 1)
	other := thing("A", "a", `"n":2`)
	const moved = "moved spec.workload.manifests "
	for name, sample := range map[string]struct{ stored, desired, want []string }{
		"order":              {[]string{a, b}, []string{b, a}, []string{moved + `["A/team/a","B/team/b"] -> ["B/team/b","A/team/a"]`}},
		"order of the rest":  {[]string{a, b, c}, []string{c, b}, []string{moved + `["A/team/a","B/team/b","C/team/c"] -> ["C/team/c","B/team/b"]`, "removed A/team/a " + a + " ->"}},
		"added in front":     {[]string{a}, []string{b, a}, []string{"added B/team/b -> " + b}},
		"removed":            {[]string{a, b}, []string{b}, []string{"removed A/team/a " + a + " ->"}},
		"version":            {[]string{v2}, []string{v3}, []string{`changed A.g/team/a apiVersion "g/v2" -> "g/v3"`}},
		"group":              {[]string{a}, []string{v2}, []string{"added A.g/team/a -> " + v2, "removed A/team/a " + a + " ->"}},
		"doubled, one less":  {[]string{a, a}, []string{a}, []string{"removed A/team/a " + a + " ->"}},
		"doubled, one more":  {[]string{a}, []string{a, other}, []string{"added A/team/a -> " + other}},
		"doubled, in order":  {[]string{a, b, a}, []string{a, b, other}, []string{"added A/team/a n -> 2"}},
		"doubled, moved":     {[]string{a, b, a}, []string{a, a, b}, []string{moved + `["A/team/a","B/team/b","A/team/a"] -> ["A/team/a","A/team/a","B/team/b"]`}},
		"doubled, exchanged": {[]string{a, other}, []string{other, a}, []string{"added A/team/a n -> 2", "removed A/team/a n 2 ->"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := []string{}
			for _, line := range sample.want { // whole objects are printed with sorted keys
				for _, raw := range []string{a, b, v2, other} {
					value, err := decodeExact([]byte(raw))
					require.NoError(t, err)
					line = strings.ReplaceAll(line, raw, string(encodeMasked(value, shadeOpen)))
				}
				want = append(want, line)
			}
			assert.Equal(t, want, diffed(t, workOf(sample.stored...), workOf(sample.desired...)))
		})
	}
}

func TestDiffRefusesWhatHasNoIdentity(t *testing.T) {
	for _, raw := range []string{`{}`, `[]`, `{"kind":"A","apiVersion":"v1"}`, `{"kind":"A"`, ``} {
		for _, pair := range [][2]*workv1.ManifestWork{{workOf(raw), workOf(goodManifest)}, {workOf(goodManifest), workOf(raw)}, {nil, workOf(raw)}, {workOf(raw), workOf(raw)}} {
			_, err := Diff(pair[0], pair[1])
			assert.Error(t, err, raw)
		}
	}
}

func TestDiffCoversTheFieldsOfAWork(t *testing.T) {
	for name, sample := range map[string]struct {
		change func(*workv1.ManifestWork)
		want   []string
	}{
		"nothing":         {func(*workv1.ManifestWork) {}, []string{}},
		"label":           {func(w *workv1.ManifestWork) { w.Labels["a"] = "c" }, []string{`changed metadata.labels.a "b" -> "c"`}},
		"labels gone":     {func(w *workv1.ManifestWork) { w.Labels = nil }, []string{`removed metadata.labels.a "b" ->`}},
		"annotation":      {func(w *workv1.ManifestWork) { w.Annotations["x.y/z"] = "c" }, []string{`added metadata.annotations[x.y/z] -> "c"`}},
		"owner":           {func(w *workv1.ManifestWork) { w.OwnerReferences[0].UID = "v" }, []string{`changed metadata.ownerReferences[name=c].uid "u" -> "v"`}},
		"owner gone":      {func(w *workv1.ManifestWork) { w.OwnerReferences = nil }, []string{`removed metadata.ownerReferences [{"apiVersion":"","kind":"Cluster","name":"c","uid":"u"}] ->`}},
		"delete option":   {func(w *workv1.ManifestWork) { w.Spec.DeleteOption.PropagationPolicy = "Orphan" }, []string{`changed spec.deleteOption.propagationPolicy "Foreground" -> "Orphan"`}},
		"no delete":       {func(w *workv1.ManifestWork) { w.Spec.DeleteOption = &workv1.DeleteOption{} }, []string{`removed spec.deleteOption {"propagationPolicy":"Foreground"} ->`}},
		"config":          {func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs[0].FeedbackScrapeType = "Poll" }, []string{`added spec.manifestConfigs[configmaps/team/a].feedbackScrapeType -> "Poll"`}},
		"configs gone":    {func(w *workv1.ManifestWork) { w.Spec.ManifestConfigs = nil }, []string{`removed spec.manifestConfigs[configmaps/team/a] {"resourceIdentifier":{"group":"","name":"a","namespace":"team","resource":"configmaps"}} ->`}},
		"executor":        {func(w *workv1.ManifestWork) { w.Spec.Executor.Subject.ServiceAccount.Name = "root" }, []string{`changed spec.executor.subject.serviceAccount.name "applier" -> "root"`}},
		"empty executor":  {func(w *workv1.ManifestWork) { w.Spec.Executor = &workv1.ManifestWorkExecutor{} }, []string{`removed spec.executor.subject.serviceAccount {"name":"applier","namespace":"team"} ->`, `changed spec.executor.subject.type "ServiceAccount" -> ""`}},
		"server's fields": {func(w *workv1.ManifestWork) { w.Generation, w.ResourceVersion, w.UID, w.Namespace = 7, "7", "u", "c1" }, []string{}},
		"kubectl's copy":  {func(w *workv1.ManifestWork) { w.Annotations[kubectlCopy] = "HUSH" }, []string{`added metadata.annotations[` + kubectlCopy + `] -> "(masked)"`}},
	} {
		t.Run(name, func(t *testing.T) {
			changed := fullWork()
			sample.change(changed)
			got := diffed(t, fullWork(), changed)
			assert.ElementsMatch(t, sample.want, got)
			assert.Len(t, diffed(t, changed, fullWork()), len(sample.want))
		})
	}
}

func TestDiffSaysTheOrderOfManifestConfigsOnce(t *testing.T) {
	stored, desired := workOf(goodManifest), workOf(goodManifest)
	for _, name := range []string{"a", "b", "b"} {
		config("configmaps", "team", name)(stored)
	}
	for _, name := range []string{"b", "a", "b"} {
		config("configmaps", "team", name)(desired)
	}
	assert.Equal(t, []string{`moved spec.manifestConfigs ["configmaps/team/a","configmaps/team/b","configmaps/team/b"] -> ["configmaps/team/b","configmaps/team/a","configmaps/team/b"]`},
		diffed(t, stored, desired))
}

// What a Go value tells apart and Maestro does not, and the other way round.
func TestDiffTakesEmptyForAbsentWhereSameDoes(t *testing.T) {
	stored, desired := workOf(goodManifest), workOf(goodManifest)
	desired.Labels, desired.Annotations = map[string]string{}, map[string]string{}
	desired.OwnerReferences, desired.Spec.ManifestConfigs = []metav1.OwnerReference{}, []workv1.ManifestConfigOption{}
	desired.Spec.DeleteOption = &workv1.DeleteOption{}
	assert.Empty(t, diffed(t, stored, desired))
	assert.Empty(t, diffed(t, desired, stored))

	rule := func(expressions []string) *workv1.ManifestWork {
		work := workOf(goodManifest)
		config("configmaps", "team", "a")(work)
		work.Spec.ManifestConfigs[0].ConditionRules = []workv1.ConditionRule{{Condition: "Ready", CelExpressions: expressions}}
		return work
	}
	assert.Empty(t, diffed(t, rule(nil), rule([]string{})))

	large := func(seconds int64) *workv1.ManifestWork {
		work := workOf(goodManifest)
		work.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: "Foreground", TTLSecondsAfterFinished: &seconds}
		return work
	}
	assert.Len(t, diffed(t, large(9007199254740992), large(9007199254740993)), 1, "no double in between")
}

func TestDiffAddsAllOfAWorkThatIsNotStored(t *testing.T) {
	got := diffed(t, nil, fullWork())
	for _, line := range got {
		assert.True(t, strings.HasPrefix(line, "added "), line)
	}
	assert.Len(t, got, 7)
}

func TestDiffNeverShowsASecret(t *testing.T) {
	secret := func(fields string) string { return thing("Secret", "s", fields) }
	inside := func(fields string) string { return thing("X", "s", `"spec":{"t":{`+fields+`}}`) }
	const changed = `"(masked)" -> "(masked)"`
	for name, sample := range map[string]struct {
		stored, desired string
		want            []string
	}{
		"per key": {secret(`"data":{"user":"HUSH1","password":"HUSH2","old":"HUSH3"}`), secret(`"data":{"user":"HUSH1","password":"HUSH4","token":"HUSH5"}`),
			[]string{`removed data.old "(masked)" ->`, "changed data.password " + changed, `added data.token -> "(masked)"`}},
		"moved to stringData": {secret(`"data":{"a":"HUSH1"}`), secret(`"stringData":{"a":"HUSH1"}`), []string{`removed data {"a":"(masked)"} ->`, `added stringData -> {"a":"(masked)"}`}},
		"became a list":       {secret(`"data":{"a":"HUSH1"}`), secret(`"data":["HUSH1"]`), []string{`changed data {"a":"(masked)"} -> "(masked)"`}},
		"lists":               {secret(`"data":["HUSH1","HUSH2"]`), secret(`"data":["HUSH1","HUSH3"]`), []string{"changed data " + changed}},
		"named lists":         {secret(`"data":[{"name":"HUSH1"}]`), secret(`"data":[{"name":"HUSH3"}]`), []string{"changed data " + changed}},
		"text":                {secret(`"data":"HUSH1"`), secret(`"data":"HUSH2"`), []string{"changed data " + changed}},
		"deep":                {secret(`"data":{"a":{"HUSH1":1}}`), secret(`"data":{"a":{"HUSH2":1}}`), []string{"changed data.a " + changed}},
		"numbers":             {secret(`"data":{"a":4711}`), secret(`"data":{"a":4712}`), []string{"changed data.a " + changed}},
		"null to value":       {secret(`"data":{"a":null}`), secret(`"data":{"a":"HUSH"}`), []string{`changed data.a null -> "(masked)"`}},
		"labels and type":     {secret(`"type":"A"`), secret(`"type":"B"`), []string{`changed type "A" -> "B"`}},
		"template":            {inside(`"kind":"Secret","data":{"a":"HUSH1"}`), inside(`"kind":"Secret","data":{"a":"HUSH2"}`), []string{"changed spec.t.data.a " + changed}},
		"becomes a secret":    {inside(`"kind":"C","data":{"a":"HUSH1"}`), inside(`"kind":"Secret","data":{"a":"HUSH2"}`), []string{"changed spec.t.data.a " + changed, `changed spec.t.kind "C" -> "Secret"`}},
		"ceases to be one":    {inside(`"kind":"Secret","data":{"a":"HUSH1"}`), inside(`"kind":"C","data":{"a":"HUSH2"}`), []string{"changed spec.t.data.a " + changed, `changed spec.t.kind "Secret" -> "C"`}},
		"list to secret":      {inside(`"kind":"SecretList","items":[{"data":{"a":"HUSH1"}}]`), inside(`"kind":"Secret","data":{"a":"HUSH2"}`), []string{`added spec.t.data -> {"a":"(masked)"}`, `removed spec.t.items "(masked)" ->`, `changed spec.t.kind "SecretList" -> "Secret"`}},
		"secret to text":      {thing("X", "s", `"t":{"kind":"Secret","data":{"a":"HUSH1"}}`), thing("X", "s", `"t":"HUSH1"`), []string{`changed t {"data":{"a":"(masked)"},"kind":"Secret"} -> "(masked)"`}},
		"template gone":       {inside(`"kind":"Secret","data":{"a":"HUSH1"}`), thing("X", "s", `"spec":{}`), []string{`removed spec.t {"data":{"a":"(masked)"},"kind":"Secret"} ->`}},
		"list of secrets":     {inside(`"kind":"SecretList","items":[{"data":{"a":"HUSH1"}},{"data":{"b":"HUSH1"}}]`), inside(`"kind":"SecretList","items":[{"data":{"a":"HUSH2"}}]`), []string{"changed spec.t.items[0].data.a " + changed, `removed spec.t.items[1] {"data":{"b":"(masked)"}} ->`}},
		"kubectl's copy":      {thing("X", "s", `"a":{"`+kubectlCopy+`":"HUSH1"}`), thing("X", "s", `"a":{"`+kubectlCopy+`":"HUSH2"}`), []string{"changed a[" + kubectlCopy + "] " + changed}},
	} {
		t.Run(name, func(t *testing.T) {
			got := diffed(t, workOf(sample.stored), workOf(sample.desired))
			assert.NotContains(t, strings.Join(got, "\n"), "HUSH")
			assert.NotContains(t, strings.Join(got, "\n"), "471")
			for index := range got {
				got[index] = strings.NewReplacer(" Secret/team/s ", " ", " X/team/s ", " ").Replace(got[index])
			}
			assert.Equal(t, sample.want, got)
			for _, raw := range []string{sample.stored, sample.desired} {
				if strings.Contains(raw, `"t":"HUSH1"`) || strings.Contains(raw, `"kind":"C"`) {
					continue // alone, this is no Secret
				}
				whole := strings.Join(append(diffed(t, nil, workOf(raw)), diffed(t, workOf(raw), workOf())...), "\n")
				assert.NotContains(t, whole, "HUSH")
			}
		})
	}
}

// anyWork draws a work from few names and fields, so that two of them have much in common.
func anyWork(t *rapid.T, label string) *workv1.ManifestWork {
	work := &workv1.ManifestWork{}
	few := rapid.SampledFrom([]string{"a", "b", "x.y/z"})
	texts := rapid.MapOfN(few, few, 0, 2)
	work.Labels, work.Annotations = texts.Draw(t, label+" labels"), texts.Draw(t, label+" annotations")
	for _, name := range rapid.SliceOfN(few, 0, 2).Draw(t, label+" owners") {
		controller := rapid.SampledFrom([]*bool{nil, new(bool)}).Draw(t, label+" controller")
		work.OwnerReferences = append(work.OwnerReferences, metav1.OwnerReference{Name: name, Controller: controller})
	}
	work.Spec.DeleteOption = rapid.SampledFrom([]*workv1.DeleteOption{
		nil, {}, {PropagationPolicy: "Orphan"}, {SelectivelyOrphan: &workv1.SelectivelyOrphan{}}, {SelectivelyOrphan: &workv1.SelectivelyOrphan{OrphaningRules: []workv1.OrphaningRule{}}},
	}).Draw(t, label+" deleteOption")
	work.Spec.Executor = rapid.SampledFrom([]*workv1.ManifestWorkExecutor{nil, {}, {Subject: workv1.ManifestWorkExecutorSubject{Type: "ServiceAccount"}}}).Draw(t, label+" executor")
	for _, name := range rapid.SliceOfN(few, 0, 3).Draw(t, label+" configs") {
		config("configmaps", "team", name)(work)
		last := &work.Spec.ManifestConfigs[len(work.Spec.ManifestConfigs)-1]
		last.FeedbackRules = rapid.SampledFrom([][]workv1.FeedbackRule{nil, {}, {{Type: "WellKnownStatus"}}}).Draw(t, label+" rules")
		last.ConditionRules = rapid.SampledFrom([][]workv1.ConditionRule{nil, {{Condition: "C"}}, {{Condition: "C", CelExpressions: []string{}}}}).Draw(t, label+" rules")
	}
	for range rapid.IntRange(0, 4).Draw(t, label+" manifests") {
		value := map[string]any{
			"apiVersion": rapid.SampledFrom([]string{"v1", "v2", "g/v1"}).Draw(t, label+" version"),
			"kind":       rapid.SampledFrom([]string{"Secret", "ConfigMap"}).Draw(t, label+" kind"),
			"metadata":   map[string]any{"name": few.Draw(t, label+" name")},
		}
		switch rapid.IntRange(0, 3).Draw(t, label+" content") {
		case 0:
			value["data"] = anyJSON(2).Draw(t, label+" any")
		case 1:
			value["data"] = texts.Draw(t, label+" data")
		case 2:
			names := rapid.SliceOfN(rapid.SampledFrom([]any{map[string]any{"name": "a"}, map[string]any{"name": "b", "n": 1}, map[string]any{"name": "b"}, 1, nil}), 0, 3).Draw(t, label+" list")
			value["list"] = names
		}
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, workOf(string(encoded(t, value))).Spec.Workload.Manifests...)
	}
	return work
}

func shuffledWork(t *rapid.T, work *workv1.ManifestWork) *workv1.ManifestWork {
	work = work.DeepCopy()
	for index, manifest := range work.Spec.Workload.Manifests {
		value, err := decodeExact(manifest.Raw)
		require.NoError(t, err)
		work.Spec.Workload.Manifests[index].Raw = []byte(shuffled(t, value))
	}
	return work
}

func TestDiffFindsSomethingExactlyWhenSameDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyWork(t, "a"), anyWork(t, "b")
		if rapid.Bool().Draw(t, "related") {
			b = a.DeepCopy()
			if manifests := b.Spec.Workload.Manifests; len(manifests) > 1 && rapid.Bool().Draw(t, "move") {
				b.Spec.Workload.Manifests = rapid.Permutation(manifests).Draw(t, "order")
			}
			if len(b.Spec.Workload.Manifests) > 0 && rapid.Bool().Draw(t, "change") {
				value, err := decodeExact(b.Spec.Workload.Manifests[0].Raw)
				require.NoError(t, err)
				object := value.(map[string]any)
				if data, found := object["data"]; found {
					object["data"] = changeLeaf(t, data)
				}
				b.Spec.Workload.Manifests[0].Raw = encoded(t, object)
			}
		}
		changes, err := Diff(a, b)
		require.NoError(t, err)
		assert.Equal(t, Same(a, b), len(changes) == 0, "%s", changeLines(changes))

		again, err := Diff(shuffledWork(t, a), shuffledWork(t, b))
		require.NoError(t, err)
		assert.Equal(t, changes, again, "whatever the order of keys")

		for _, work := range []*workv1.ManifestWork{a, b, shuffledWork(t, a)} {
			none, err := Diff(work, work)
			require.NoError(t, err)
			assert.Empty(t, none)
		}
	})
}

// A long path times many fields must not need gigabytes.
func TestDiffTellsAsOneWhatStandsUnderAnEndlessPath(t *testing.T) {
	work := func(n int, deep bool) *workv1.ManifestWork {
		var leaves []string
		for i := range 20_000 {
			leaves = append(leaves, fmt.Sprintf(`"%d":%d`, i, n))
		}
		inner := "{" + strings.Join(leaves, ",") + "}"
		if deep {
			return workOf(thing("A", "a", strings.Repeat(`"k":{`, 9000)+`"k":`+inner+strings.Repeat("}", 9000)))
		}
		return workOf(thing("A", "a", `"`+strings.Repeat("k", 200_000)+`":`+inner))
	}
	for _, deep := range []bool{false, true} {
		began := time.Now()
		assert.Len(t, diffed(t, work(1, deep), work(2, deep)), 1)
		assert.Empty(t, diffed(t, work(1, deep), work(1, deep)))
		assert.Less(t, time.Since(began), mostTime)
	}
}

func TestDiffIsTheSameBytesOverAThousandRuns(t *testing.T) {
	fields := func(n int) string {
		var parts []string
		for i := range 20 {
			parts = append(parts, fmt.Sprintf(`"f%d":%d`, i, i*n))
		}
		return `"spec":{` + strings.Join(parts, ",") + `}`
	}
	stored, desired := fullWork(), fullWork()
	for i := range 10 {
		stored.Labels[fmt.Sprint("s", i)], desired.Labels[fmt.Sprint("d", i)] = "x", "x"
	}
	stored.Spec.Workload = workOf(thing("A", "a", fields(1)), thing("B", "b", fields(1)), thing("C", "c", "")).Spec.Workload
	desired.Spec.Workload = workOf(thing("B", "b", fields(2)), thing("A", "a", fields(2)), thing("D", "d", "")).Spec.Workload
	var first []byte
	for range 1000 {
		changes, err := Diff(stored, desired)
		require.NoError(t, err)
		raw, err := json.Marshal(changes)
		require.NoError(t, err)
		if first == nil {
			first = raw
		}
		require.True(t, bytes.Equal(first, raw))
	}
}

func FuzzDiff(f *testing.F) {
	for _, pair := range [][2]string{
		{thing("Secret", "s", `"data":{"a":"b"}`), thing("Secret", "s", `"data":["b"]`)},
		{thing("A", "a", `"l":[{"name":"x"},{"name":"y"}]`), thing("A", "a", `"l":[{"name":"y"},{"key":"x"}]`)},
		{goodManifest, `{`}, {`[1e400,0]`, `{"kind":"SecretList","items":[[],{}]}`},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, stored, desired []byte) {
		within(t, func() {
			a, b := workOf(string(stored), goodManifest), workOf(goodManifest, string(desired))
			if none, err := Diff(a, a); err == nil {
				require.Empty(t, none)
			}
			// Of doubled keys, which no reader lets through, an identity is read in another way.
			for _, work := range []*workv1.ManifestWork{a, b} {
				for index, manifest := range work.Spec.Workload.Manifests {
					if value, err := decodeExact(manifest.Raw); err == nil {
						work.Spec.Workload.Manifests[index].Raw = encodeMasked(value, shadeOpen)
					}
				}
			}
			changes, err := Diff(a, b)
			if err != nil {
				return
			}
			require.Equal(t, Same(a, b), len(changes) == 0)
			for _, change := range changes {
				require.True(t, change.Old == nil || json.Valid(change.Old))
				require.True(t, change.New == nil || json.Valid(change.New))
			}
		})
	})
}

// A work of the largest size, every object of it changed.
func BenchmarkDiff(b *testing.B) {
	const objects, size = 500, 499 << 10
	build := func(n int) *workv1.ManifestWork {
		var manifests []string
		for i := range objects {
			head := thing("ConfigMap", fmt.Sprintf("c%03d", i), fmt.Sprintf(`"n":%d,"data":{"text":""}`, n))
			filler := strings.Repeat(`x\ny `, (size/objects-len(head))/5)
			manifests = append(manifests, strings.Replace(head, `"text":""`, `"text":"`+filler+`"`, 1))
		}
		return workOf(manifests...)
	}
	stored, desired := build(1), build(2)
	b.ReportAllocs()
	for b.Loop() {
		changes, err := Diff(stored, desired)
		if err != nil || len(changes) != objects {
			b.Fatal(len(changes), err)
		}
	}
}
