package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// A dry run only reads: it has no Temporal here, and what is stored stays as it is.
func TestBuildDryRunShowsTheChangesAndMakesNone(t *testing.T) {
	object := manifestFile(t, objectYAML)
	b := &bench{maestro: storing(t, workYAML)}
	before := b.maestro.stored.Work.DeepCopy()
	require.Equal(t, 0, b.run(buildOf("--name", "web", "--resource-file", object, "--dry-run")...), b.stderr.String())
	assert.Equal(t, "work cluster-a1/web (version 2)\n+ ConfigMap/demo/extra\n    apiVersion: v1\n    data:\n      b: \"2\"\n    kind: ConfigMap\n    metadata:\n      name: extra\n      namespace: demo\n", b.stdout.String())
	require.Len(t, b.said(), 1)
	assert.Contains(t, b.said()[0], "note: cluster-a1/web: the number, the order or an apiVersion of the manifests changes")
	assert.Contains(t, b.said()[0], "refuses that with ManifestSetImmutable: use one ManifestWork per nodepool", "and the ways out")
	assert.Equal(t, before, b.maestro.stored.Work)

	for _, more := range [][]string{{"--apply"}, {"--apply", "--wait=ConfigMap/extra:Available"}} { // the dry run wins
		b = &bench{maestro: storing(t, workYAML)}
		require.Equal(t, 0, b.run(append(buildOf("--name", "web", "--resource-file", object, "--dry-run"), more...)...), b.stderr.String())
		assert.Contains(t, b.stdout.String(), "+ ConfigMap/demo/extra")
	}

	for _, form := range []string{"--output=json", "--format=json"} {
		b = &bench{maestro: storing(t, workYAML)}
		require.Equal(t, 0, b.run(buildOf("--name", "web", "--resource-file", object, "--dry-run", form)...), b.stderr.String())
		document := b.document(t)
		assert.Equal(t, []any{"web", "cluster-a1", 2.0, true, true}, []any{document["name"], document["consumer"], document["version"], document["differs"], document["setChanges"]})
		assert.Len(t, document["changes"], 1)
	}
}

func TestBuildDryRunInPlaceKeepsTheSet(t *testing.T) {
	changed := manifestFile(t, strings.Replace(workYAML, `a: "1"`, `a: "2"`, 1))
	b := &bench{maestro: storing(t, workYAML)}
	require.Equal(t, 0, b.run(buildOf("--source-file", changed, "--dry-run")...), b.stderr.String())
	assert.Equal(t, "work cluster-a1/web (version 2)\n~ ConfigMap/demo/web\n    ~ data.a: \"1\" -> \"2\"\n", b.stdout.String())
	assert.Empty(t, b.stderr.String())

	b = &bench{maestro: storing(t, workYAML)}
	require.Equal(t, 0, b.run(buildOf("--source-file", manifestFile(t, workYAML), "--dry-run")...))
	assert.Empty(t, b.stdout.String())
	assert.Equal(t, []string{"work cluster-a1/web: no differences"}, b.said())

	b = &bench{maestro: storing(t, workYAML)}
	require.Equal(t, 0, b.run(buildOf("--source-file", manifestFile(t, workYAML), "--dry-run", "--output=json")...))
	assert.Equal(t, false, b.document(t)["differs"])
}

func TestBuildDryRunOfSeveralWorks(t *testing.T) {
	pools := manifestFile(t, twoPools)
	server := &fakeMaestro{err: maestro.ErrNotFound, works: map[string]*manifest.Stored{}}
	b := &bench{maestro: server}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", pools, "--dry-run")...), b.stderr.String())
	for _, name := range []string{"west-1-nodepool-workers", "west-1-nodepool-gpu"} {
		assert.Contains(t, b.stdout.String(), "work cluster-a1/"+name+" (not stored yet)\n")
		assert.Contains(t, b.stdout.String(), "+ NodePool.hypershift.openshift.io/clusters/west-1-"+strings.TrimPrefix(name, "west-1-nodepool-")+"\n")
	}
	assert.Equal(t, []string{"cluster-a1/west-1-nodepool-workers", "cluster-a1/west-1-nodepool-gpu"}, server.asked)

	b = &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", pools, "--dry-run", "--output=json")...))
	var all []diffDocument
	require.NoError(t, json.Unmarshal(b.stdout.Bytes(), &all))
	assert.Len(t, all, 2)
}

// The preview ends as the operation would: with its type, and the exit code of that.
func TestBuildPreviewRefusesWhatTheOperationWould(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	source := manifestFile(t, strings.Replace(workYAML, `a: "1"`, `a: "2"`, 1))
	large := `"` + strings.Repeat("x", 300_000) + `"`
	big := manifestFile(t, strings.Replace(objectYAML, `"2"`, large, 1))
	held := func(generation string) string {
		return strings.Replace(workYAML, "namespace: demo", `namespace: demo, annotations: {hyperfleet.io/generation: "`+generation+`"}, labels: {hyperfleet.io/adapter: other}`, 1)
	}
	for name, sample := range map[string]struct {
		stored string
		change func(*manifest.Stored)
		more   []string
		code   int
		says   string
	}{
		"under deletion":      {workYAML, func(s *manifest.Stored) { s.DeletedAt = &at }, nil, 1, "UnderDeletion: work web on cluster-a1 is being deleted since 2026-03-01"},
		"another owner's":     {workYAML, func(s *manifest.Stored) { s.Work.Labels = map[string]string{contract.LabelOwner: "other"} }, []string{"--adapter", "mine"}, 1, "OwnershipConflict: "},
		"another's manifest":  {held("1"), nil, []string{"--name", "web", "--adapter", "mine"}, 1, "OwnershipConflict: ConfigMap/demo/web"},
		"an older generation": {held("9"), nil, []string{"--adapter", "other", "--generation", "8"}, 4, "Superseded: work web on cluster-a1: ConfigMap/demo/web holds generation 9"},
		"older, forced":       {held("9"), nil, []string{"--generation", "8", "--force"}, 4, "Superseded: "},
		"an equal generation": {held("9"), nil, []string{"--adapter", "other", "--generation", "9"}, 4, "GenerationConflict: "},
		"a late add": {storedYAML, nil, []string{"--name", "web", "--generation", "2", "--resource-file",
			manifestFile(t, strings.Replace(objectYAML, "name: extra", "name: old", 1))}, 4, "ConfigMap/demo/old was removed at generation 3"},
		"nobody's": {held("1"), nil, nil, 1, `belongs to hyperfleet.io/adapter=other, this request's adapter is ""; name that owner (--adapter)`},
		"too large": {strings.NewReplacer("name: web, n", "name: web2, n", `"1"`, large).Replace(workYAML), nil, []string{"--resource-file", big}, 2,
			"TooLarge: work web on cluster-a1 would have 600"},
		"replaces everything": {strings.Replace(workYAML, "name: web, n", "name: web2, n", 1), nil, []string{"--strategy", "replace"}, 2, "strategy replace would remove all 1 manifests"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, mode := range []string{"--dry-run=false", "--dry-run"} {
				b := &bench{maestro: storing(t, sample.stored)}
				if sample.change != nil {
					sample.change(b.maestro.stored)
				}
				arguments := append(buildOf("--source-file", source, mode), sample.more...)
				assert.Equal(t, sample.code, b.run(arguments...), b.stderr.String())
				assert.Contains(t, b.stderr.String(), sample.says)
				assert.Contains(t, b.stderr.String(), "build cluster-a1/web: ")
				assert.Empty(t, b.stdout.String())
			}
		})
	}
}

// foreign is a work of another source.
func foreign(t *testing.T) []*manifest.Stored {
	t.Helper()
	stored := storing(t, workYAML).stored
	stored.ID, stored.Work.Labels = "other-1", map[string]string{contract.LabelOwner: "ingress"}
	return []*manifest.Stored{stored}
}

// The operation does not create beside another source's work of the same name, so the preview does not promise it.
func TestBuildPreviewDoesNotPromiseAWorkBesideAnotherSources(t *testing.T) {
	work := manifestFile(t, workYAML)
	for _, mode := range []string{"--dry-run=false", "--dry-run"} {
		b := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound, others: foreign(t)}}
		assert.Equal(t, 1, b.run(buildOf("--source-file", work, mode)...), mode)
		assert.Equal(t, []string{`maestro-cli: build cluster-a1/web: OwnershipConflict: work web on cluster-a1 was written by another source than "maestro-cli": ` +
			`bundle other-1 (hyperfleet.io/adapter=ingress); ` + contract.Rules[contract.ErrOwnershipConflict].Act}, b.said())
		assert.Empty(t, b.stdout.String())
		assert.Equal(t, []string{"maestro-cli cluster-a1/web"}, b.maestro.searched)

		b = &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound, others: foreign(t)}}
		assert.Equal(t, 0, b.run(buildOf("--source-file", work, mode, "--force")...), b.stderr.String())
		assert.Equal(t, []string{"note: cluster-a1/web does not exist, it would be made"}, b.said())

		b = &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound, searchErr: contract.Errorf(contract.ErrUnavailable, "connection refused")}}
		assert.Equal(t, 5, b.run(buildOf("--source-file", work, mode)...), b.stderr.String())
		assert.Empty(t, b.stdout.String())

		b = &bench{maestro: storing(t, workYAML)}
		b.maestro.others = foreign(t)
		assert.Equal(t, 0, b.run(buildOf("--source-file", work, mode)...), b.stderr.String())
		assert.Empty(t, b.maestro.searched, "our own is there already")
	}
}

func TestBuildPreviewOfSeveralWorksConnectsOnce(t *testing.T) {
	b := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", manifestFile(t, twoPools), "--dry-run")...), b.stderr.String())
	assert.Equal(t, []int{1, 1}, []int{b.maestro.dialled, b.maestro.closed})
	assert.Len(t, b.maestro.searched, 2)
}

func TestBuildPreviewRefusesAWaitThatCannotEnd(t *testing.T) {
	b := &bench{maestro: storing(t, workYAML)}
	assert.Equal(t, 2, b.run(buildOf("--source-file", manifestFile(t, workYAML), "--apply", "--dry-run", "--wait=Job/x:Complete")...))
	assert.Contains(t, b.stderr.String(), "the work has no such manifest")
	assert.Empty(t, b.stdout.String())
}

func TestBuildPreviewThatCannotRead(t *testing.T) {
	work := manifestFile(t, workYAML)
	for name, sample := range map[string]struct {
		err  error
		code int
		says string
	}{
		"unreachable":  {contract.Errorf(contract.ErrUnavailable, "connection refused"), 5, "build cluster-a1/web: MaestroUnavailable: connection refused"},
		"unauthorized": {contract.Errorf(contract.ErrUnauthorized, "who"), 1, "Unauthorized"},
		"odd":          {context.DeadlineExceeded, 1, "Internal"},
	} {
		for _, mode := range []string{"--dry-run=false", "--dry-run"} {
			b := &bench{maestro: &fakeMaestro{err: sample.err}}
			assert.Equal(t, sample.code, b.run(buildOf("--source-file", work, mode)...), name)
			assert.Contains(t, b.stderr.String(), sample.says)
			assert.Empty(t, b.stdout.String())
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := &bench{maestro: &fakeMaestro{err: context.Canceled}, ctx: ctx}
	assert.Equal(t, 130, b.run(buildOf("--source-file", work)...))
}

// A pool that moves to other zones has its old NodePools kept, which is said.
func TestBuildPreviewPassesTheWarningsOfTheMerge(t *testing.T) {
	zones := func(zones string) string {
		return manifestFile(t, strings.Replace(onePool, `"replicas"`, `"zones":[`+zones+`],"replicas"`, 1))
	}
	b := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", zones(`"a","b"`))...), b.stderr.String())
	stored := storing(t, b.stdout.String())
	b = &bench{maestro: stored}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", zones(`"a","c"`), "--dry-run")...), b.stderr.String())
	assert.Contains(t, b.stderr.String(), "warning: NodePool.hypershift.openshift.io/")
	assert.Contains(t, b.stderr.String(), "workers-b is kept beside the other NodePools of its pool")
}
