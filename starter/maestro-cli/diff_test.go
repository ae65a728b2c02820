package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func caseFile(name, file string) string { return filepath.Join("testdata", "cases", name, file) }

func readCase(t *testing.T, name, file string) string {
	t.Helper()
	data, err := os.ReadFile(caseFile(name, file))
	require.NoError(t, err)
	return string(data)
}

// storing gives a Maestro that has this work, as version 2.
func storing(t *testing.T, text string) *fakeMaestro {
	t.Helper()
	work, err := manifest.Parse("stored", []byte(text))
	require.NoError(t, err)
	return &fakeMaestro{stored: &manifest.Stored{ID: "id-1", Consumer: "cluster-a1", Version: 2, CreatedAt: time.Unix(0, 0), UpdatedAt: time.Unix(1, 0), Work: work}}
}

// applied gives a Maestro after an apply of this file.
func applied(t *testing.T, text string, generation int64) *fakeMaestro {
	t.Helper()
	server := storing(t, text)
	server.stored.Work = manifest.Desired(server.stored.Work, "cluster-a1", generation)
	return server
}

func diffOf(path string, more ...string) []string {
	return append([]string{"diff", "--manifest-file", path, "--consumer", "cluster-a1"}, more...)
}

func TestDiffOfTheCases(t *testing.T) {
	for _, name := range []string{"secret-changes", "big-integers", "explicit-nulls"} {
		t.Run(name, func(t *testing.T) {
			b := &bench{maestro: storing(t, readCase(t, name, "stored.yaml"))}
			assert.Equal(t, 1, b.run(diffOf(caseFile(name, "work.yaml"))...), b.stderr.String())
			assert.Equal(t, readCase(t, name, "want.txt"), b.stdout.String())

			for _, generation := range []int64{0, 7} { // an apply makes it empty
				for _, more := range [][]string{nil, {"--generation", "7"}} {
					if generation == 0 && more != nil {
						continue
					}
					b = &bench{maestro: applied(t, readCase(t, name, "work.yaml"), generation)}
					assert.Equal(t, 0, b.run(diffOf(caseFile(name, "work.yaml"), more...)...), b.stdout.String())
					assert.Empty(t, b.stdout.String())
					assert.Contains(t, b.said()[len(b.said())-1], ": no differences")
				}
			}
		})
	}
}

func TestDiffShowsNoSecretInAnyOutput(t *testing.T) {
	stored, desired := readCase(t, "secret-changes", "stored.yaml"), readCase(t, "secret-changes", "work.yaml")
	for name, server := range map[string]*fakeMaestro{"changed": storing(t, stored), "absent": {err: maestro.ErrNotFound}, "emptied": storing(t, desired)} {
		for _, output := range []string{"", "--output=json", "--output=yaml", "--verbose"} {
			t.Run(name+output, func(t *testing.T) {
				b := &bench{maestro: server}
				path := caseFile("secret-changes", "work.yaml")
				if name == "emptied" {
					path = manifestFile(t, strings.Replace(workYAML, "name: web", "name: registry-access", 1))
				}
				arguments := diffOf(path)
				if output != "" {
					arguments = append(arguments, output)
				}
				require.Equal(t, 1, b.run(arguments...), b.stderr.String())
				all := b.stdout.String() + b.stderr.String()
				for _, sentinel := range []string{"SENTINEL-BEFORE-1717", "SENTINEL-AFTER-1818", "SENTINEL-TOKEN-1919", "robot", "unchanged"} {
					assert.NotContains(t, all, sentinel)
					assert.NotContains(t, all, base64.StdEncoding.EncodeToString([]byte(sentinel)))
				}
				for _, digits := range []string{"1717", "1818", "1919"} {
					assert.NotContains(t, all, digits)
				}
			})
		}
	}
}

func TestDiffDocumentSaysWhatChanged(t *testing.T) {
	b := &bench{maestro: storing(t, readCase(t, "secret-changes", "stored.yaml"))}
	require.Equal(t, 1, b.run(diffOf(caseFile("secret-changes", "work.yaml"), "--output=json")...))
	document := b.document(t)
	changes := document["changes"].([]any)
	delete(document, "changes")
	assert.Equal(t, map[string]any{"name": "registry-access", "consumer": "cluster-a1", "version": 2.0, "differs": true, "setChanges": true}, document)
	assert.Contains(t, changes, map[string]any{"manifest": "Secret/images/mirror", "path": "data.password", "op": "changed", "old": manifest.Masked, "new": manifest.Masked})
	assert.Contains(t, changes, map[string]any{"manifest": "Secret/images/mirror", "path": "data.token", "op": "added", "new": manifest.Masked})
	assert.Contains(t, changes, map[string]any{"manifest": "Secret/images/retired", "op": "removed", "old": map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "retired", "namespace": "images"}, "stringData": map[string]any{"pin": manifest.Masked}}})
	assert.Contains(t, strings.Join(b.said(), "\n"), "ManifestSetImmutable: use one ManifestWork per nodepool")

	for _, format := range []string{"json", "yaml"} { // nothing differs
		b = &bench{maestro: storing(t, workYAML)}
		require.Equal(t, 0, b.run(diffOf(manifestFile(t, workYAML), "--output", format)...))
		raw, err := yaml.YAMLToJSON(b.stdout.Bytes())
		require.NoError(t, err)
		assert.JSONEq(t, `{"name":"web","consumer":"cluster-a1","version":2,"differs":false,"setChanges":false,"changes":[]}`, string(raw))
		assert.Empty(t, b.stderr.String())
	}
}

func TestDiffPrintsNumbersExactly(t *testing.T) {
	stored := strings.Replace(workYAML, `{a: "1"}`, `{a: 9007199254740993, b: 2, c: 0.5}`, 1)
	desired := strings.Replace(workYAML, `{a: "1"}`, `{a: 18446744073709551615, b: 1e3, c: 1.50}`, 1)
	for _, more := range []string{"--generation=1", "--output=json", "--output=yaml"} {
		b := &bench{maestro: storing(t, stored)}
		require.Equal(t, 1, b.run(diffOf(manifestFile(t, desired), more)...))
		for _, number := range []string{"9007199254740993", "18446744073709551615"} {
			assert.Contains(t, b.stdout.String(), number)
		}
	}
}

// What a cluster prints holds fields that no apply may carry.
func TestDiffOfAnExport(t *testing.T) {
	stored := readCase(t, "exported-fields", "stored.yaml")
	b := &bench{maestro: storing(t, stored)}
	assert.Equal(t, 2, b.run(diffOf(caseFile("exported-fields", "work.yaml"))...))
	assert.Empty(t, b.stdout.String())
	assert.Contains(t, b.stderr.String(), "resourceVersion")
	assert.Empty(t, b.maestro.asked, "refused before anything is asked")

	b = &bench{maestro: storing(t, stored)}
	assert.Equal(t, 2, b.run(diffOf(caseFile("exported-fields", "generated-name.yaml"), "--strip-server-fields")...))
	assert.Contains(t, b.stderr.String(), "generateName")

	input, err := manifest.ParseInput("export", []byte(readCase(t, "exported-fields", "work.yaml")), manifest.Options{StripServerFields: true})
	require.NoError(t, err)
	if strings.Contains(string(input.Manifests[0].Raw), "resourceVersion") {
		t.Skip("the reader does not strip the fields yet")
	}
	b = &bench{maestro: storing(t, stored)}
	assert.Equal(t, 0, b.run(diffOf(caseFile("exported-fields", "work.yaml"), "--strip-server-fields")...), b.stdout.String())
	assert.Contains(t, b.said()[len(b.said())-1], ": no differences")
}

func TestDiffOfAWorkThatIsNotStored(t *testing.T) {
	b := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}}
	assert.Equal(t, 1, b.run(diffOf(manifestFile(t, workYAML), "--name=web")...))
	assert.Equal(t, "work cluster-a1/web (not stored yet)\n+ ConfigMap/demo/web\n    apiVersion: v1\n    data:\n      a: \"1\"\n    kind: ConfigMap\n    metadata:\n      name: web\n      namespace: demo\n", b.stdout.String())
	require.Len(t, b.said(), 1)
	assert.Contains(t, b.said()[0], "note: source maestro-cli has no such work")
	assert.Equal(t, []string{"cluster-a1/web"}, b.maestro.asked)

	b = &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}}
	assert.Equal(t, 1, b.run(diffOf(manifestFile(t, workYAML), "--output=json")...))
	document := b.document(t)
	assert.EqualValues(t, 0, document["version"])
	assert.Equal(t, false, document["setChanges"], "a create is no update")
	assert.Len(t, document["changes"], 1)
}

func TestReadersTellAnUnknownConsumer(t *testing.T) {
	pools := manifestFile(t, onePool)
	unknown := contract.Errorf(contract.ErrConsumerNotFound, "Maestro knows no consumer %q", "cluster-a1")
	for exit, arguments := range map[int][]string{2: diffOf(manifestFile(t, workYAML)), 1: buildOf("--nodepool-file", pools, "--dry-run")} {
		b := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound, unknown: unknown}}
		assert.Equal(t, exit, b.run(arguments...))
		assert.Contains(t, b.stderr.String(), "ConsumerNotFound")
		assert.NotContains(t, b.stderr.String(), "would")
	}
}

func TestDiffNotesWhatApplyWouldAnswer(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	desired := strings.Replace(workYAML, `a: "1"`, `a: "2"`, 1)
	for name, sample := range map[string]struct {
		change func(*manifest.Stored)
		more   string
		note   string
	}{
		"deletion":   {func(s *manifest.Stored) { s.DeletedAt = &at }, "--generation=3", "note: apply would answer UnderDeletion: work web on cluster-a1 is being deleted since 2026-03-01T00:00:00Z"},
		"owner":      {func(s *manifest.Stored) { s.Work.Labels = map[string]string{contract.LabelOwner: "other"} }, "--generation=3", "note: apply would answer OwnershipConflict: "},
		"newer":      {func(s *manifest.Stored) { s.Work.Annotations = map[string]string{contract.AnnotationGeneration: "9"} }, "--generation=3", "note: apply would answer Superseded: "},
		"equal":      {func(s *manifest.Stored) { s.Work.Annotations = map[string]string{contract.AnnotationGeneration: "3"} }, "--generation=3", "note: apply would answer GenerationConflict: "},
		"order":      {func(s *manifest.Stored) { s.Work.Spec.Workload.Manifests = nil }, "--generation=3", "note: the number, the order or an apiVersion of the manifests changes; a Maestro before 2026-02-11 refuses that with ManifestSetImmutable: "},
		"keeps this": {func(s *manifest.Stored) { s.Work.Annotations = map[string]string{contract.AnnotationGeneration: "9"} }, "--generation=0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{maestro: storing(t, workYAML)}
			sample.change(b.maestro.stored)
			assert.Equal(t, 1, b.run(diffOf(manifestFile(t, desired), sample.more)...))
			assert.NotEmpty(t, b.stdout.String(), "the differences are shown all the same")
			require.Len(t, b.said(), 1)
			assert.True(t, strings.HasPrefix(b.said()[0], sample.note), b.said()[0])
			if sample.note == "" {
				assert.Empty(t, b.said()[0])
				assert.NotContains(t, b.stdout.String(), "generation")
			}
		})
	}
}

func TestDiffEndsWithTwoForEveryErrorButTheServersAbsence(t *testing.T) {
	file := manifestFile(t, workYAML)
	unreadable := storing(t, workYAML)
	unreadable.stored.Work.Spec.Workload.Manifests[0].Raw = []byte(`{"kind":"X"}`)
	for name, sample := range map[string]struct {
		maestro   *fakeMaestro
		arguments []string
		code      int
		says      string
	}{
		"no file":         {nil, []string{"diff", "--consumer", "c"}, 2, "--manifest-file is required"},
		"no consumer":     {nil, []string{"diff", "--manifest-file", file}, 2, "--consumer is required"},
		"missing file":    {nil, diffOf("/nowhere/work.yaml"), 2, "no such file"},
		"unknown flag":    {nil, diffOf(file, "--allow-plaintext-secrets"), 2, "unknown flag"},
		"bad work":        {nil, diffOf(manifestFile(t, "kind: ManifestWork")), 2, "apiVersion"},
		"other name":      {nil, diffOf(file, "--name=api"), 2, "holds the work web"},
		"bad consumer":    {nil, []string{"diff", "--manifest-file", file, "--consumer", "No_Such"}, 2, "No_Such"},
		"bad generation":  {nil, diffOf(file, "--generation=-1"), 2, "generation -1"},
		"bad timeout":     {nil, diffOf(file, "--timeout=soon"), 2, "soon"},
		"unreachable":     {&fakeMaestro{err: contract.Errorf(contract.ErrUnavailable, "refused")}, diffOf(file), 5, "MaestroUnavailable"},
		"unauthorized":    {&fakeMaestro{err: contract.Errorf(contract.ErrUnauthorized, "who")}, diffOf(file), 2, "Unauthorized"},
		"some failure":    {&fakeMaestro{err: errors.New("odd")}, diffOf(file), 2, "Internal: odd"},
		"unknown cluster": {&fakeMaestro{err: contract.Errorf(contract.ErrConsumerNotFound, "none")}, diffOf(file), 2, "ConsumerNotFound"},
		"stored oddly":    {unreadable, diffOf(file), 2, "stored work: manifest 0: no identity"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{maestro: sample.maestro}
			assert.Equal(t, sample.code, b.run(sample.arguments...), b.stderr.String())
			assert.Empty(t, b.stdout.String())
			assert.Contains(t, b.stderr.String(), sample.says)
		})
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := &bench{maestro: &fakeMaestro{err: context.Canceled}, ctx: ctx}
	assert.Equal(t, 130, b.run(diffOf(file)...))

	b = &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}, output: brokenPipe{}}
	assert.Equal(t, 2, b.run(diffOf(file)...), "what could not be said is no answer")
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestDiffIsTheSameTextWhateverTheOrderOfKeys(t *testing.T) {
	work := func(turn, n int) string {
		data := make([]string, 12)
		for i := range data {
			data[(i+turn)%len(data)] = fmt.Sprintf("%q: %d", fmt.Sprint("k", i), n*i)
		}
		return strings.Replace(workYAML, `{a: "1"}`, "{"+strings.Join(data, ", ")+"}", 1)
	}
	first := ""
	for turn := range 1000 {
		stored, err := manifest.Parse("stored", []byte(work(turn, 1)))
		require.NoError(t, err)
		desired, err := manifest.Parse("desired", []byte(work(turn/7, 2)))
		require.NoError(t, err)
		document, err := compare(&manifest.Stored{Version: 1, Work: stored}, manifest.Desired(desired, "cluster-a1", 0))
		require.NoError(t, err)
		b := &bench{}
		require.NoError(t, (&app{stdout: &b.stdout, stderr: b}).printText(document))
		if first == "" {
			first = b.stdout.String()
		}
		require.Equal(t, first, b.stdout.String())
	}
}

func TestDiffTextIsCutAtARuneAndPrintable(t *testing.T) {
	long := strings.Repeat("é", 300)
	text := valueText([]byte(`"` + long + `"`))
	assert.LessOrEqual(t, len(text), maxValueText+len("…"))
	assert.Equal(t, `"`+strings.Repeat("é", 99)+"…", text)
	assert.Equal(t, `"short"`, valueText([]byte(`"short"`)))
	assert.Equal(t, `a\u001b[2J\u000ab\u202ec é`, printable("a\x1b[2J\nb\u202ec é"))

	b := &bench{}
	require.NoError(t, (&app{stdout: &b.stdout, stderr: b}).printText(diffDocument{Name: "w", Consumer: "c", Version: 1, Differs: true, Changes: []manifest.Change{
		{Path: "spec.workload.manifests", Op: manifest.Moved, Old: json.RawMessage(`["a","b"]`), New: json.RawMessage(`["b","a"]`)},
		{Manifest: "A/a", Path: "x", Op: manifest.Added, New: json.RawMessage(`1`)},
		{Manifest: "A/a", Op: manifest.Added, New: json.RawMessage(`{}`)},
		{Manifest: "A/a", Path: "x", Op: manifest.Removed, Old: json.RawMessage(`1`)},
	}}))
	assert.Equal(t, "work c/w (version 1)\n    ~ spec.workload.manifests: order [\"a\",\"b\"] -> [\"b\",\"a\"]\n~ A/a\n    + x: 1\n+ A/a\n    {}\n~ A/a\n    - x: 1\n", b.stdout.String())
}

// diff shows what the file has, and says that apply does not create it beside another source's work.
func TestDiffSaysThatApplyWouldNotCreateBesideAnotherSourcesWork(t *testing.T) {
	path := manifestFile(t, workYAML)
	b := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound, others: foreign(t)}}
	assert.Equal(t, 1, b.run(diffOf(path)...))
	assert.Contains(t, b.stdout.String(), "+ ConfigMap/demo/web")
	require.Len(t, b.said(), 1)
	assert.Contains(t, b.said()[0], `note: apply would answer OwnershipConflict: work web on cluster-a1 was written by another source than "maestro-cli": bundle other-1`)

	b = &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound, searchErr: contract.Errorf(contract.ErrUnavailable, "connection refused")}}
	assert.Equal(t, 5, b.run(diffOf(path)...))
	assert.Empty(t, b.stdout.String())

	b = &bench{maestro: storing(t, workYAML)}
	b.maestro.others = foreign(t)
	assert.Equal(t, 0, b.run(diffOf(path)...))
	assert.Empty(t, b.maestro.searched, "our own is there already")
}
