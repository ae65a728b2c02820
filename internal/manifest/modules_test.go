package manifest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

// moduleDir is where a module of the build stands in the module cache.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	require.NoError(t, err)
	dir := strings.TrimSpace(string(out))
	require.NotEmpty(t, dir, "%s is not downloaded", module)
	return dir
}

// Kubernetes' own samples fill every field of every kind.
func TestEveryKubernetesKindSurvivesARequestAndPrinting(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(moduleDir(t, "k8s.io/api"), "testdata", "HEAD", "*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, 183)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		input, err := ParseInput(file, data, Options{})
		require.NoError(t, err)
		require.Nil(t, input.Work)
		require.Len(t, input.Manifests, 1, file)
		raw := string(input.Manifests[0].Raw)

		work := &workv1.ManifestWork{
			TypeMeta:   metav1.TypeMeta{APIVersion: workAPIVersion, Kind: workKind},
			ObjectMeta: metav1.ObjectMeta{Name: "sample"},
			Spec:       workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: input.Manifests}},
		}
		request, err := Encode(work)
		require.NoError(t, err)
		again, err := ParseJSON(request)
		require.NoError(t, err)
		require.Equal(t, raw, string(again.Spec.Workload.Manifests[0].Raw), file)
		assertSurvivesPrinting(t, raw)
	}
}

// The ManifestWorks among Maestro's own examples and tests.
func TestMaestrosOwnWorksAreValid(t *testing.T) {
	templates := map[string]bool{ // they hold {{ .Name }}, which is no YAML
		"test/performance/pkg/hub/workloads/manifests/aro-hcp/manifestwork.namespace.yaml":  true,
		"test/performance/pkg/hub/workloads/manifests/aro-hcp/manifestwork.hypershift.yaml": true,
	}
	root := moduleDir(t, "github.com/openshift-online/maestro")
	valid, filled := 0, 0
	for _, top := range []string{"examples", "test"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, top), func(path string, entry os.DirEntry, err error) error {
			require.NoError(t, err)
			extension := filepath.Ext(path)
			if entry.IsDir() || extension != ".yaml" && extension != ".yml" && extension != ".json" {
				return nil
			}
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			if !bytes.Contains(bytes.ReplaceAll(data, []byte(`"`), nil), []byte("kind: ManifestWork\n")) && !bytes.Contains(data, []byte(`"kind": "ManifestWork"`)) {
				return nil
			}
			name, err := filepath.Rel(root, path)
			require.NoError(t, err)
			if templates[filepath.ToSlash(name)] {
				filled++
				data = regexp.MustCompile(`\{\{[^}]*\}\}`).ReplaceAll(data, []byte("sample"))
			} else {
				valid++
			}
			input, err := ParseInput(name, data, Options{})
			require.NoError(t, err)
			require.NotNil(t, input.Work, name)
			warnings, err := input.Validate(Options{AllowPlaintextSecrets: true})
			assert.NoError(t, err)
			t.Log(warnings)
			return nil
		}))
	}
	assert.Equal(t, 1, valid)
	assert.Equal(t, 2, filled, "templates, with their names filled in")
}
