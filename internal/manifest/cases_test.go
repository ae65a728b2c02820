package manifest

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// checked reads and checks an input as the commands do, and gives warnings and problems as lines.
func checked(name, data string, options Options) (input *Input, warnings, problems []string, err error) {
	input, err = ParseInput(name, []byte(data), options)
	if err == nil {
		var found Problems
		found, err = input.Validate(options)
		warnings = lines(found)
	}
	var found Problems
	if errors.As(err, &found) {
		problems = lines(found)
	}
	return input, warnings, problems, err
}

func lines(problems Problems) []string {
	var texts []string
	for _, problem := range problems {
		texts = append(texts, problem.String())
	}
	return texts
}

func readCase(t *testing.T, name string) string {
	t.Helper()
	return string(sample(t, filepath.Join("cases", name)))
}

// What goes wrong with inputs in the field, each with all that is said about it.
func TestFieldCasesAreRefusedWithAllTheirProblems(t *testing.T) {
	const setByServer = ": set by a server: leave it out, or give --strip-server-fields"
	for name, want := range map[string]struct{ warnings, problems []string }{
		"separators/two-works.yaml": {nil, []string{"f:6: a second ManifestWork: give one per file; the first begins on line 1"}},
		"doubled-keys/work.yaml": {nil, []string{
			`f:15: spec.workload.manifests[0].metadata.labels: key "labels" is already set on line 13: keep one of the two`,
			`f:21: spec.workload.manifests[0].spec.replicas: key "replicas" is already set on line 19: keep one of the two`,
		}},
		"doubled-keys/work.json": {nil, []string{
			`f:5: spec.workload.manifests[0].data.replicas: key "replicas" is already set on line 3: keep one of the two`,
		}},
		"unquoted-labels/bad.yaml": {nil, []string{
			`f:6: metadata.labels[example.test/spot]: a boolean, want a text: write it in quotes: "true"`,
			`f:15: spec.workload.manifests[0].metadata.labels.gpu: a boolean, want a text: write it in quotes: "no"`,
			`f:15: spec.workload.manifests[0].metadata.labels.rank: a number, want a text: write it in quotes: "01"`,
			`f:16: spec.workload.manifests[0].metadata.annotations.billing-id: a number, want a text: write it in quotes: "87654321"`,
		}},
		"exports/generate-name.yaml": {nil, []string{
			"f:9: spec.workload.manifests[0].metadata.name: required",
			"f:9: spec.workload.manifests[0].metadata.generateName: not allowed, give metadata.name: every apply would make another object",
		}},
		"exports/export.yaml": {nil, []string{
			"f:5: metadata.resourceVersion" + setByServer, "f:6: metadata.uid" + setByServer, "f:7: metadata.creationTimestamp" + setByServer,
			"f:8: metadata.generation" + setByServer, "f:24: status" + setByServer,
			"f:17: spec.workload.manifests[0].metadata.resourceVersion" + setByServer, "f:18: spec.workload.manifests[0].metadata.uid" + setByServer,
			"f:20: spec.workload.manifests[0].metadata.generation" + setByServer, "f:21: spec.workload.manifests[0].metadata.managedFields" + setByServer,
			"f:23: spec.workload.manifests[0].status" + setByServer,
		}},
		"feedback/work.yaml": {[]string{
			`f:16: spec.manifestConfigs[0].resourceIdentifier.resource: "job" matches no manifest of the work: the resource of Job.batch/tenant-b7/setup is written "jobs"`,
			`f:18: spec.manifestConfigs[1].resourceIdentifier.namespace: configmaps tenant/script matches no manifest of the work: namespace "tenant" matches nothing, the work has configmaps tenant-b7/script`,
		}, []string{
			`f:20: spec.manifestConfigs[2].resourceIdentifier.version: unknown field "version": correct its name or leave it out`,
			`f:21: spec.manifestConfigs[2].feedbackRules[0].type: unknown "jsonpath": give WellKnownStatus or JSONPaths`,
			`f:21: spec.manifestConfigs[2].feedbackRules[0].jsonPaths[0].path: "status.succeeded" does not begin with a dot: write .status.succeeded`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for ends, data := range map[string]string{"unix": readCase(t, name), "windows": strings.ReplaceAll(readCase(t, name), "\n", "\r\n")} {
				_, warnings, problems, err := checked("f", data, Options{})
				assert.Equal(t, want.warnings, warnings, ends)
				assert.Equal(t, want.problems, problems, ends)
				assert.Equal(t, contract.ErrInvalidManifest, contract.TypeOf(err), ends)
			}
		})
	}
	_, _, problems, _ := checked("f", readCase(t, "aliases/bomb.yaml"), Options{})
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "larger than 1048576 bytes with its aliases expanded")
}

func TestACommentOrWindowsLineEndsDoNotHideADocument(t *testing.T) {
	data := readCase(t, "separators/objects.yaml")
	for _, data := range []string{data, strings.ReplaceAll(data, "\n", "\r\n"), "\xef\xbb\xbf" + data} {
		input, warnings, problems, err := checked("f", data, Options{})
		require.NoError(t, err)
		assert.Empty(t, warnings)
		assert.Empty(t, problems)
		require.Len(t, input.Manifests, 3)
		assert.Contains(t, string(input.Manifests[2].Raw), `"run":"echo first\n--- stays a text\necho second\n"`)
	}
}

func TestHonestAnchorsAreTaken(t *testing.T) {
	input, _, _, err := checked("f", readCase(t, "aliases/honest.yaml"), Options{})
	require.NoError(t, err)
	require.Len(t, input.Manifests, 2)
	assert.JSONEq(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"second","namespace":"tenant-b7","labels":{"team":"green","tier":"silver"}},"data":{"a":"1","b":"3"}}`,
		string(input.Manifests[1].Raw))
}

func TestTextsThatLookLikeOtherThingsStayTexts(t *testing.T) {
	input, _, _, err := checked("f", readCase(t, "unquoted-labels/good.yaml"), Options{})
	require.NoError(t, err)
	raw, err := Encode(input.Work)
	require.NoError(t, err)
	printed, err := YAML(raw)
	require.NoError(t, err)
	again, _, _, err := checked("f", string(printed), Options{})
	require.NoError(t, err)
	h, err := readHead(again.Manifests[0])
	require.NoError(t, err)
	assert.Equal(t, texts{"gpu": "no", "rank": "01"}, h.Metadata.Labels)
	assert.Equal(t, texts{"billing-id": "87654321", "scrape": "true", "revision": "2e5"}, h.Metadata.Annotations)
}

func TestStrippingAnExportLeavesEverythingElse(t *testing.T) {
	options := Options{StripServerFields: true}
	input, warnings, _, err := checked("f", readCase(t, "exports/export.yaml"), options)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, `{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{"name":"general","namespace":"tenant-b7"},"spec":{"clusterName":"b7","replicas":2}}`,
		string(input.Manifests[0].Raw))
	assert.Empty(t, input.Work.UID)
	assert.Empty(t, input.Work.ResourceVersion)
	assert.Zero(t, input.Work.Generation)
	assert.Empty(t, input.Work.Status.Conditions)
}

// sizedWork has n ConfigMaps of so many bytes.
func sizedWork(n, bytes int) string {
	var text strings.Builder
	text.WriteString("apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: large}\nspec:\n  workload:\n    manifests:\n")
	for index := range n {
		fmt.Fprintf(&text, "      - apiVersion: v1\n        kind: ConfigMap\n        metadata: {name: large-%d, namespace: tenant-b7}\n        data: {blob: %q}\n", index, strings.Repeat("x", bytes))
	}
	return text.String()
}

func TestTheMeasuredSizeAndTheLimitAreSaid(t *testing.T) {
	_, _, _, err := checked("f", sizedWork(4, 127_000), Options{})
	require.NoError(t, err)
	for data, want := range map[string]string{
		sizedWork(6, 100_000): "f:6: spec.workload.manifests: 600690 bytes, the limit is 512000: split the work",
		sizedWork(3, 400_000): "f: 1200507 bytes, the limit is 1048576: split the work",
	} {
		_, _, problems, err := checked("f", data, Options{})
		assert.Equal(t, contract.ErrTooLarge, contract.TypeOf(err))
		assert.Equal(t, []string{want}, problems)
	}
	objects := func(n, bytes int) string {
		var list []string
		for index := range n {
			list = append(list, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d"},"data":{"blob":"%s"}}`, index, strings.Repeat("x", bytes)))
		}
		return "[" + strings.Join(list, ",\n") + "]"
	}
	_, warnings, _, err := checked("f", objects(2, 300_000), Options{})
	require.NoError(t, err, "bare objects may go into several works")
	assert.Equal(t, []string{"f: 600172 bytes, the limit is 512000 of one ManifestWork: the objects need several"}, warnings)
	_, _, problems, err := checked("f", objects(2, 512_000), Options{})
	assert.Equal(t, contract.ErrTooLarge, contract.TypeOf(err))
	assert.Len(t, problems, 2)
}
