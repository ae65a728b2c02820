package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// storedYAML has what a merge must not lose: numbers, nulls, an executor and the record of what was removed.
const storedYAML = `apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata:
  name: web
  annotations: {team: blue, hyperfleet.io/removed: '[{"manifest":"ConfigMap/demo/old","generation":3}]'}
spec:
  executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: demo, name: applier}}}
  workload:
    manifests:
    - apiVersion: quota.example.test/v1
      kind: TenantQuota
      metadata: {name: tenant, namespace: demo}
      spec: {accountId: 9007199254740993, maxBytes: 1234567890123456789, step: 1000001, gone: null, empty: [], version: "1e3"}
`

// readAgain reads printed documents as apply and validate do.
func readAgain(t *testing.T, text string) []*manifest.Input {
	t.Helper()
	var inputs []*manifest.Input
	for _, document := range strings.Split(text, "\n---\n") {
		input, err := manifest.ParseInput("printed", []byte(document), manifest.Options{AllowPlaintextSecrets: true})
		require.NoError(t, err, document)
		_, err = input.Validate(manifest.Options{AllowPlaintextSecrets: true})
		require.NoError(t, err, document)
		inputs = append(inputs, input)
	}
	return inputs
}

// The printed work is the one that the operation would write, whatever the form and the way.
func TestBuildPrintsTheMergedWork(t *testing.T) {
	object := manifestFile(t, objectYAML)
	for name, sample := range map[string]struct {
		flags []string
		file  string
		begin string
	}{
		"by default":                {nil, "", "apiVersion"},
		"to -":                      {[]string{"--output", "-"}, "", "apiVersion"},
		"as YAML":                   {[]string{"--output", "yaml"}, "", "apiVersion"},
		"as JSON":                   {[]string{"--output=json"}, "", "{\n"},
		"by --format":               {[]string{"--format", "json"}, "", "{\n"},
		"format before output":      {[]string{"--output=yaml", "--format=json"}, "", "{\n"},
		"into a file":               {[]string{"--output", "FILE"}, "merged.yaml", "apiVersion"},
		"into a file by extension":  {[]string{"--output", "FILE"}, "merged.JSON", "{\n"},
		"into a file by its flag":   {[]string{"--output-file", "FILE"}, "merged.json", "{\n"},
		"both flags, one file":      {[]string{"--output-file", "FILE", "--output", "FILE"}, "merged", "apiVersion"},
		"form and file":             {[]string{"--output", "json", "--output-file", "FILE"}, "merged.yaml", "{\n"},
		"the format beats the name": {[]string{"--output-file", "FILE", "--format", "yaml"}, "merged.json", "apiVersion"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), sample.file)
			arguments := buildOf("--name", "web", "--resource-file", object)
			for _, flag := range sample.flags {
				arguments = append(arguments, strings.ReplaceAll(flag, "FILE", path))
			}
			b := &bench{maestro: storing(t, storedYAML)}
			require.Equal(t, 0, b.run(arguments...), b.stderr.String())
			text := b.stdout.String()
			if sample.file != "" {
				assert.Empty(t, text)
				raw, err := os.ReadFile(path)
				require.NoError(t, err)
				text = string(raw)
				info, err := os.Stat(path)
				require.NoError(t, err)
				assert.Equal(t, os.FileMode(0o644), info.Mode().Perm())
			}
			assert.True(t, strings.HasPrefix(text, sample.begin), text)
			for _, number := range []string{": 9007199254740993", ": 1234567890123456789", ": 1000001", ": null", ": []", `"1e3"`} {
				assert.Contains(t, text, number)
			}
			assert.NotContains(t, text, "hyperfleet.io/removed", "apply keeps the record by itself")
			assert.NotContains(t, text, "status")
			merged := readAgain(t, text)[0].Work
			assert.Equal(t, "applier", merged.Spec.Executor.Subject.ServiceAccount.Name)
			assert.Equal(t, map[string]string{"team": "blue"}, merged.Annotations)
			require.Len(t, merged.Spec.Workload.Manifests, 2)
			assert.Contains(t, string(merged.Spec.Workload.Manifests[1].Raw), `"extra"`)
			assert.Equal(t, []string{"cluster-a1/web"}, b.maestro.asked)
		})
	}
}

// What is printed is a file for apply: against it nothing is left to merge, and diff finds nothing.
func TestBuildsOutputIsAFileForApply(t *testing.T) {
	object, path := manifestFile(t, objectYAML), filepath.Join(t.TempDir(), "merged.yaml")
	b := &bench{maestro: storing(t, storedYAML)}
	require.Equal(t, 0, b.run(buildOf("--name", "web", "--resource-file", object, "--output", path)...), b.stderr.String())
	merged, err := os.ReadFile(path)
	require.NoError(t, err)

	b = &bench{}
	require.Equal(t, 0, b.run("validate", "--manifest-file", path, "--consumer", "cluster-a1"), b.stderr.String())
	b = &bench{maestro: storing(t, string(merged))}
	assert.Equal(t, 0, b.run(diffOf(path)...), b.stdout.String())
	b = &bench{maestro: storing(t, string(merged))}
	require.Equal(t, 0, b.run(buildOf("--name", "web", "--resource-file", object)...))
	assert.True(t, manifest.Same(readAgain(t, string(merged))[0].Work, readAgain(t, b.stdout.String())[0].Work), "merging twice changes nothing")
}

// The generation of the stored work is that of its last whole write. The printed work is another one, and has none of its
// own: apply takes it, and keeps the stored one by itself.
func TestBuildsOutputIsNoLateApply(t *testing.T) {
	generated := strings.Replace(storedYAML, "team: blue", `team: blue, hyperfleet.io/generation: "5"`, 1)
	object := manifestFile(t, objectYAML)
	for _, more := range [][]string{nil, {"--generation", "7"}} {
		b := &bench{maestro: storing(t, generated)}
		require.Equal(t, 0, b.run(append(buildOf("--name", "web", "--resource-file", object), more...)...), b.stderr.String())
		printed := readAgain(t, b.stdout.String())[0].Work
		assert.Equal(t, map[string]string{"team": "blue"}, printed.Annotations)
		assert.Equal(t, more != nil, strings.Contains(string(printed.Spec.Workload.Manifests[1].Raw), `"hyperfleet.io/generation":"7"`), "a manifest keeps its own")

		request := contract.Request{Action: contract.ActionApply, Name: "web"}
		var err error
		request.Work, err = manifest.Encode(printed)
		require.NoError(t, err)
		generation, err := request.EffectiveGeneration()
		require.NoError(t, err)
		write, work, err := manifest.Decide(storing(t, generated).stored, manifest.Desired(printed, "cluster-a1", generation), false)
		require.NoError(t, err)
		assert.Equal(t, manifest.WriteUpdate, write)
		assert.Equal(t, "5", work.Annotations[contract.AnnotationGeneration])
		assert.Len(t, work.Spec.Workload.Manifests, 2)

		path := manifestFile(t, b.stdout.String())
		b = &bench{maestro: storing(t, generated)}
		assert.Equal(t, 1, b.run(diffOf(path)...), b.stderr.String())
		assert.NotContains(t, b.stderr.String(), "apply would answer")
	}
}

func TestBuildTakesTheFormFromTheConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cli.yaml")
	require.NoError(t, os.WriteFile(file, []byte("output: json\n"), 0o600))
	for _, more := range [][]string{nil, {"--output=yaml"}} {
		b := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}}
		require.Equal(t, 0, b.run(append(buildOf("--source-file", manifestFile(t, workYAML), "--config", file), more...)...), b.stderr.String())
		assert.Equal(t, more == nil, strings.HasPrefix(b.stdout.String(), "{"))
	}
}

func TestSeveralWorksArePrintedAsDocumentsOrAsAList(t *testing.T) {
	pools := manifestFile(t, twoPools)
	b := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", pools)...), b.stderr.String())
	printed := readAgain(t, b.stdout.String())
	require.Len(t, printed, 2)
	names := []string{"west-1-nodepool-workers", "west-1-nodepool-gpu"}
	for index, name := range names {
		assert.Equal(t, name, printed[index].Work.Name)
		assert.Len(t, printed[index].Work.Spec.Workload.Manifests, 1)
		assert.Contains(t, b.said()[index], "note: cluster-a1/"+name+" does not exist, it would be made")
	}

	b = &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}}
	require.Equal(t, 0, b.run(buildOf("--nodepool-file", pools, "--output=json")...), b.stderr.String())
	var list struct {
		APIVersion, Kind string
		Items            []json.RawMessage
	}
	require.NoError(t, json.Unmarshal(b.stdout.Bytes(), &list))
	assert.Equal(t, []any{"v1", "List", 2}, []any{list.APIVersion, list.Kind, len(list.Items)})
	for index, item := range list.Items {
		assert.Equal(t, names[index], readAgain(t, string(item))[0].Work.Name)
	}
}

func TestBuildShowsSecretsInAFileOnly(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: demo}\nstringData: {pin: SENTINEL-4242}\n"
	resource := manifestFile(t, secret)
	for _, stored := range []string{workYAML, strings.Replace(workYAML, "kind: ConfigMap", "kind: Secret", 1)} {
		for _, more := range [][]string{nil, {"--output=json"}, {"--dry-run"}, {"--dry-run", "--output=json"}} {
			b := &bench{maestro: storing(t, stored)}
			require.Equal(t, 0, b.run(append(buildOf("--name", "web", "--resource-file", resource), more...)...), b.stderr.String())
			assert.NotContains(t, b.stdout.String()+b.stderr.String(), "4242")
			assert.Contains(t, b.stdout.String(), "Secret")
		}
		b := &bench{maestro: storing(t, stored)}
		require.Equal(t, 0, b.run(buildOf("--name", "web", "--resource-file", resource, "--show-secrets")...), b.stderr.String())
		assert.Contains(t, b.stdout.String(), "SENTINEL-4242")
		assert.Len(t, readAgain(t, b.stdout.String())[0].Work.Spec.Workload.Manifests, 2)

		path := filepath.Join(t.TempDir(), "merged.yaml")
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		b = &bench{maestro: storing(t, stored)}
		require.Equal(t, 0, b.run(buildOf("--name", "web", "--resource-file", resource, "--output", path)...), b.stderr.String())
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(raw), "SENTINEL-4242", "or apply would store the mask")
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "although the file was there, for everybody")
	}
}

func TestBuildThatCannotWriteFails(t *testing.T) {
	work := manifestFile(t, workYAML)
	b := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}}
	assert.Equal(t, 1, b.run(buildOf("--source-file", work, "--output", filepath.Join(t.TempDir(), "none", "merged.yaml"))...))
	assert.Contains(t, b.stderr.String(), "OutputFailed")
	for _, more := range [][]string{nil, {"--dry-run"}, {"--dry-run", "--output=json"}} {
		b = &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}, output: brokenPipe{}}
		assert.Equal(t, 1, b.run(append(buildOf("--source-file", work), more...)...))
		assert.Contains(t, b.stderr.String(), "broken pipe")
	}
}
