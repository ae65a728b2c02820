package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
)

const (
	objectYAML = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra, namespace: demo}\ndata: {b: \"2\"}\n"
	onePool    = `{"nodepools":[{"name":"workers","instanceType":"m5.large","replicas":2}],"metadata":{"cluster":"west-1","version":"4.17"}}`
	twoPools   = `{"nodepools":[{"name":"workers","instanceType":"m5.large","replicas":2},{"name":"gpu","instanceType":"p3.2xlarge","replicas":1}],` +
		`"metadata":{"cluster":"west-1","version":"4.17"}}`
)

func buildOf(more ...string) []string {
	return append([]string{"build", "--consumer", "cluster-a1"}, more...)
}

// Whatever can be said without a server is said without one, by the preview and by --apply alike.
func TestBuildFindsEveryMistakeBeforeItConnects(t *testing.T) {
	work, object, pools, more := manifestFile(t, workYAML), manifestFile(t, objectYAML), manifestFile(t, twoPools), manifestFile(t, onePool)
	for name, sample := range map[string]struct {
		arguments []string
		says      []string
	}{
		"nothing":                   {[]string{"build"}, []string{"--consumer is required", "give --source-file, --resource-file or --nodepool-file"}},
		"no consumer":               {[]string{"build", "--source-file", work}, []string{"--consumer is required"}},
		"bad consumer":              {[]string{"build", "--source-file", work, "--consumer", "A_b"}, []string{`consumer "A_b"`}},
		"no file":                   {buildOf(), []string{"give --source-file"}},
		"missing file":              {buildOf("--source-file", "/none.yaml"), []string{"no such file"}},
		"a folder":                  {buildOf("--nodepool-file", t.TempDir()), []string{"is a directory"}},
		"strategy":                  {buildOf("--source-file", work, "--strategy", "patch"), []string{`--strategy "patch": give merge or replace`}},
		"strategy, forced":          {buildOf("--source-file", work, "--strategy", "Merge", "--force"), []string{`--strategy "Merge"`}},
		"empty strategy":            {buildOf("--source-file", work, "--strategy="), []string{`--strategy ""`}},
		"two files on stdin":        {buildOf("--source-file", "-", "--nodepool-file", "-"), []string{"standard input can be one file only"}},
		"resource file, no name":    {buildOf("--resource-file", object), []string{"--resource-file: give the --name"}},
		"bare objects, no name":     {buildOf("--source-file", object), []string{"name: required for merge"}},
		"a work as resource file":   {buildOf("--resource-file", work, "--name", "web"), []string{"holds a ManifestWork: give it as --source-file"}},
		"unknown granularity":       {buildOf("--nodepool-file", pools, "--granularity", "pool"), []string{`--granularity "pool": give resource, adapter or cluster`}},
		"granularity with a name":   {buildOf("--nodepool-file", pools, "--granularity", "adapter", "--name", "web"), []string{"--granularity: only with --nodepool-file and without --name"}},
		"granularity of objects":    {buildOf("--source-file", work, "--granularity", "adapter"), []string{"--granularity: only with --nodepool-file"}},
		"granularity with a work":   {buildOf("--source-file", work, "--nodepool-file", pools, "--granularity", "adapter"), []string{"--granularity: the nodepools go into the work web"}},
		"template without pools":    {buildOf("--source-file", work, "--nodepool-template", object), []string{"--nodepool-template: only with --nodepool-file"}},
		"objects for several works": {buildOf("--source-file", object, "--nodepool-file", pools), []string{"would go into each of the 2 works"}},
		"unknown format":            {buildOf("--source-file", work, "--format", "xml"), []string{`--format "xml": give yaml or json`}},
		"bad name":                  {buildOf("--source-file", object, "--name", "Web_1"), []string{`name "Web_1"`}},
		"bad adapter":               {buildOf("--source-file", work, "--adapter", "a b"), []string{`adapter "a b"`}},
		"bad generation":            {buildOf("--source-file", work, "--generation", "-1"), []string{"generation -1"}},
		"bad timeout":               {buildOf("--source-file", work, "--timeout", "5"), []string{`timeout "5"`}},
		"bad patience":              {buildOf("--source-file", work, "--patience", "soon"), []string{`patience "soon"`}},
		"bad grace":                 {buildOf("--source-file", work, "--grace", "-1s"), []string{`grace "-1s"`}},
		"replace of one manifest":   {buildOf("--source-file", work, "--manifest-name", "web", "--strategy", "replace"), []string{"--manifest-name: not with --strategy replace"}},
		"no such manifest":          {buildOf("--source-file", work, "--manifest-name", "api"), []string{`"api": 0 manifests are called that, the files hold ConfigMap/demo/web`}},
		"other generation":          {buildOf("--name", "web", "--generation", "4", "--source-file", manifestFile(t, annotated("3"))), []string{"generation 4: manifests are of generation 3"}},
		"bad nodepool config":       {buildOf("--nodepool-file", manifestFile(t, strings.Replace(onePool, "replicas", "replica", 1))), []string{`pool "workers": replica is not a known key`}},
		"bad template":              {buildOf("--nodepool-file", more, "--nodepool-template", manifestFile(t, "kind: {{ .Nothing }}")), []string{"Nothing"}},
		"bad object":                {buildOf("--name", "web", "--resource-file", manifestFile(t, "apiVersion: v1\nkind: ConfigMap\n")), []string{"metadata.name"}},
		"objects of one identity":   {buildOf("--name", "web", "--resource-file", object, "--source-file", object), []string{"ConfigMap/demo/extra"}},
		"other program settings":    {buildOf("--source-file", work, "--results-format", "x"), []string{"results-format"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, mode := range [][]string{nil, {"--dry-run"}, {"--apply"}} {
				b, path := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}, stdin: workYAML}, stale(t)
				applies := slices.Contains(mode, "--apply")
				arguments := append(sample.arguments, mode...)
				if applies {
					arguments = append(arguments, "--results-path", path)
				}
				assert.Equal(t, 2, b.run(arguments...), "%s %s", mode, b.stderr.String())
				for _, text := range sample.says {
					assert.Contains(t, b.stderr.String(), text, mode)
				}
				assert.Empty(t, b.stdout.String())
				assert.Empty(t, b.maestro.asked)
				if applies {
					assert.Equal(t, "failure", readResults(t, path).Status)
				}
			}
		})
	}
}

func annotated(generation string) string {
	return strings.Replace(objectYAML, "namespace: demo", `namespace: demo, annotations: {hyperfleet.io/generation: "`+generation+`"}`, 1)
}

func TestBuildNamesEveryWrongArgumentAtOnce(t *testing.T) {
	one, other := filepath.Join(t.TempDir(), "a.yaml"), filepath.Join(t.TempDir(), "b.yaml")
	for _, mode := range []string{"--apply=false", "--apply"} {
		b := &bench{}
		assert.Equal(t, 2, b.run("build", "--strategy=x", "--granularity=y", "--format=xml", "--manifest-name=z", "--nodepool-template=t", "--generation=-2",
			"--timeout=1", "--patience=2", "--wait=Available OR", "--output="+one, "--output-file="+other, mode))
		for _, text := range []string{"--consumer is required", "--source-file", `--strategy "x"`, `--granularity "y"`, `--format "xml"`, "--nodepool-template",
			"generation -2", `timeout "1"`, `patience "2"`, "--wait"} {
			assert.Contains(t, b.stderr.String(), text, mode)
		}
		assert.Len(t, b.said(), 1)
	}
}

func TestBuildRefusesWhatContradictsItself(t *testing.T) {
	work := manifestFile(t, workYAML)
	one, other := filepath.Join(t.TempDir(), "a.yaml"), filepath.Join(t.TempDir(), "b.yaml")
	for name, sample := range map[string]struct {
		arguments []string
		says      string
	}{
		"wait":             {buildOf("--source-file", work, "--wait"), "--wait: only with --apply"},
		"wait, dry run":    {buildOf("--source-file", work, "--wait=Applied", "--dry-run"), "--wait: only with --apply"},
		"malformed wait":   {buildOf("--source-file", work, "--wait=Available OR", "--apply"), "--wait"},
		"two files":        {buildOf("--source-file", work, "--output", one, "--output-file", other), "--output " + one + " and --output-file " + other + ": give one of them"},
		"file and apply":   {buildOf("--source-file", work, "--output", one, "--apply"), "--output " + one + ": a file takes the merged work"},
		"file and dry run": {buildOf("--source-file", work, "--output-file", one, "--dry-run"), "--output " + one + ": a file takes the merged work"},
		"secrets, apply":   {buildOf("--source-file", work, "--show-secrets", "--apply"), "--show-secrets: not with --apply or --dry-run, which do not print the merged work"},
		"secrets, dry run": {buildOf("--source-file", work, "--show-secrets", "--dry-run"), "--show-secrets: not with --apply or --dry-run"},
		"results":          {buildOf("--source-file", work, "--results-path", one), "--results-path: only with --apply, and without --dry-run"},
		"results, dry run": {buildOf("--source-file", work, "--results-path", one, "--apply", "--dry-run"), "--results-path: only with --apply, and without --dry-run"},
		"an argument":      {buildOf("--source-file", work, "more"), "more"},
		"unknown flag":     {buildOf("--source-file", work, "--merge"), "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}}
			assert.Equal(t, 2, b.run(sample.arguments...), b.stderr.String())
			assert.Contains(t, b.stderr.String(), sample.says)
			assert.Len(t, b.said(), 1)
			assert.Empty(t, b.stdout.String())
			assert.Zero(t, b.maestro.dialled)
			assert.NoFileExists(t, one)
			assert.NoFileExists(t, other)
		})
	}
}

// A Job has the variable for all its commands, and a preview has no outcome.
func TestBuildPreviewLeavesTheResultsFileOfTheEnvironmentAlone(t *testing.T) {
	path, work := stale(t), manifestFile(t, workYAML)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	t.Setenv("RESULTS_PATH", path)
	for _, more := range [][]string{nil, {"--dry-run"}, {"--apply", "--dry-run"}, {"--results-path="}} {
		b := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}}
		require.Equal(t, 0, b.run(append(buildOf("--source-file", work), more...)...), b.stderr.String())
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(before), string(after))
	}
}
