package maestro

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return data
}

// changed is the sample with the fields at its top replaced; nil takes one away.
func changed(t testing.TB, fields map[string]any) []byte {
	t.Helper()
	var body map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(sample(t, "refused-update.json"), &body))
	for key, value := range fields {
		if value == nil {
			delete(body, key)
			continue
		}
		raw, err := json.Marshal(value)
		require.NoError(t, err)
		body[key] = raw
	}
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	return raw
}

func decoded(t testing.TB, body []byte) *manifest.Stored {
	t.Helper()
	stored, err := decodeBundle(body)
	require.NoError(t, err)
	return stored
}

func TestDecodeBundleRestoresTheWork(t *testing.T) {
	stored := decoded(t, sample(t, "refused-update.json"))
	assert.Equal(t, "11111111-2222-5333-8444-555555555555", stored.ID)
	assert.Equal(t, "west", stored.Consumer)
	assert.EqualValues(t, 7, stored.Version)
	assert.EqualValues(t, 12, stored.Generation())
	assert.Equal(t, time.Date(2026, 3, 1, 9, 0, 0, 500_000_000, time.UTC), stored.CreatedAt)
	assert.Equal(t, time.Date(2026, 3, 2, 9, 59, 0, 0, time.UTC), stored.UpdatedAt)
	assert.Nil(t, stored.DeletedAt)

	work := stored.Work
	assert.Equal(t, "pool", work.Name)
	assert.Equal(t, "west", work.Namespace)
	assert.Equal(t, metav1.TypeMeta{APIVersion: "work.open-cluster-management.io/v1", Kind: "ManifestWork"}, work.TypeMeta)
	assert.Equal(t, map[string]string{"hyperfleet.io/adapter": "pools"}, work.Labels)
	assert.Equal(t, map[string]string{contract.AnnotationGeneration: "12"}, work.Annotations, "the product's own bookkeeping is gone")
	require.NotNil(t, work.Spec.Executor)
	assert.Equal(t, &workv1.ManifestWorkSubjectServiceAccount{Namespace: "team", Name: "applier"}, work.Spec.Executor.Subject.ServiceAccount)
	assert.Equal(t, &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeOrphan}, work.Spec.DeleteOption)
	require.Len(t, work.OwnerReferences, 1)
	require.Len(t, work.Spec.ManifestConfigs, 1)
	assert.Equal(t, "nodepools", work.Spec.ManifestConfigs[0].ResourceIdentifier.Resource)
	require.Len(t, work.Spec.Workload.Manifests, 2)
	assert.Contains(t, string(work.Spec.Workload.Manifests[1].Raw), `"replicas": 9007199254740993, "share": 1.50, "taints": null`, "byte for byte")
}

func TestDecodeBundleReadsTheStatus(t *testing.T) {
	status := decoded(t, sample(t, "refused-update.json")).Status
	assert.True(t, status.Reported)
	assert.EqualValues(t, 7, status.ObservedVersion)
	require.Len(t, status.Conditions, 3)
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	have := status.Conditions[0]
	require.NotNil(t, have.LastTransitionTime)
	assert.True(t, at.Equal(*have.LastTransitionTime))
	have.LastTransitionTime = nil
	assert.Equal(t, contract.Condition{Type: "Applied", Status: "False", Reason: "AppliedManifestWorkFailed", Message: "1 of 2 manifests failed", ObservedGeneration: 7}, have)
	assert.Equal(t, contract.Condition{Type: "Progressing", Status: "Unknown"}, status.Conditions[2], "no time is none, not the year 1")

	require.Len(t, status.Resources, 2)
	pool := status.Resources[1]
	assert.Equal(t, []string{"hypershift.openshift.io", "v1beta1", "NodePool", "team", "workers"}, []string{pool.Group, pool.Version, pool.Kind, pool.Namespace, pool.Name})
	assert.Nil(t, status.Resources[0].Feedback)
	assert.Equal(t, map[string]json.RawMessage{
		"ready": json.RawMessage(`9007199254740993`), "none": json.RawMessage(`0`), "paused": json.RawMessage(`false`),
		"phase":      json.RawMessage(`"\"quoted\" \u003cé\u003e"`),
		"conditions": json.RawMessage(`[{"type":"Ready","status":"False","count":12345678901234567890}]`),
		"broken":     json.RawMessage(`"{\"cut\":"`),
	}, pool.Feedback)
}

func TestDecodeBundleTakesWhatServersLeaveOut(t *testing.T) {
	for name, sample := range map[string]struct {
		fields map[string]any
		check  func(*testing.T, *manifest.Stored)
	}{
		"no status":   {map[string]any{"status": nil}, func(t *testing.T, s *manifest.Stored) { assert.Equal(t, manifest.Status{}, s.Status) }},
		"null status": {map[string]any{"status": json.RawMessage("null")}, func(t *testing.T, s *manifest.Stored) { assert.False(t, s.Status.Reported) }},
		"empty status": {map[string]any{"status": map[string]any{}}, func(t *testing.T, s *manifest.Stored) {
			assert.True(t, s.Status.Reported)
			assert.Zero(t, s.Status.ObservedVersion)
		}},
		"empty delete option":  {map[string]any{"delete_option": map[string]any{}}, func(t *testing.T, s *manifest.Stored) { assert.Nil(t, s.Work.Spec.DeleteOption) }},
		"spaced delete option": {map[string]any{"delete_option": json.RawMessage(" { } ")}, func(t *testing.T, s *manifest.Stored) { assert.Nil(t, s.Work.Spec.DeleteOption) }},
		"null delete option":   {map[string]any{"delete_option": json.RawMessage("null")}, func(t *testing.T, s *manifest.Stored) { assert.Nil(t, s.Work.Spec.DeleteOption) }},
		"no delete option":     {map[string]any{"delete_option": nil}, func(t *testing.T, s *manifest.Stored) { assert.Nil(t, s.Work.Spec.DeleteOption) }},
		"no configs":           {map[string]any{"manifest_configs": nil}, func(t *testing.T, s *manifest.Stored) { assert.Empty(t, s.Work.Spec.ManifestConfigs) }},
		"no executor": {map[string]any{"metadata": map[string]any{"name": "pool"}}, func(t *testing.T, s *manifest.Stored) {
			assert.Nil(t, s.Work.Spec.Executor)
			assert.Nil(t, s.Work.Annotations)
		}},
		"executor only": {map[string]any{"metadata": map[string]any{"name": "pool", "annotations": map[string]string{contract.AnnotationExecutor: `{"subject":{"type":"ServiceAccount"}}`}}}, func(t *testing.T, s *manifest.Stored) {
			assert.NotNil(t, s.Work.Spec.Executor)
			assert.Nil(t, s.Work.Annotations, "as if there had never been any")
		}},
		"deleted_at": {map[string]any{"deleted_at": "2026-03-03T10:00:00Z"}, func(t *testing.T, s *manifest.Stored) {
			require.NotNil(t, s.DeletedAt)
			assert.Equal(t, "2026-03-03T10:00:00Z", s.DeletedAt.Format(time.RFC3339))
		}},
		"deletionTimestamp": {map[string]any{"metadata": map[string]any{"name": "pool", "deletionTimestamp": "2026-03-04T10:00:00Z"}}, func(t *testing.T, s *manifest.Stored) {
			require.NotNil(t, s.DeletedAt)
			assert.Equal(t, "2026-03-04T10:00:00Z", s.DeletedAt.UTC().Format(time.RFC3339))
		}},
		"zero deleted_at": {map[string]any{"deleted_at": "0001-01-01T00:00:00Z"}, func(t *testing.T, s *manifest.Stored) { assert.Nil(t, s.DeletedAt) }},
		"null deleted_at": {map[string]any{"deleted_at": json.RawMessage("null")}, func(t *testing.T, s *manifest.Stored) { assert.Nil(t, s.DeletedAt) }},
	} {
		t.Run(name, func(t *testing.T) { sample.check(t, decoded(t, changed(t, sample.fields))) })
	}
}

func TestDecodeBundleRefusesWhatIsNone(t *testing.T) {
	for name, body := range map[string][]byte{
		"nothing": nil, "no JSON": []byte("<html>"), "a list": []byte("[]"), "another object": []byte(`{"kind":"Error","code":"maestro-9"}`),
		"no id": changed(t, map[string]any{"id": nil}), "version 0": changed(t, map[string]any{"version": 0}), "no version": changed(t, map[string]any{"version": nil}),
		"unreadable executor": changed(t, map[string]any{"metadata": map[string]any{"annotations": map[string]string{contract.AnnotationExecutor: "{"}}}),
		"bad delete option":   changed(t, map[string]any{"delete_option": "now"}),
	} {
		_, err := decodeBundle(body)
		assert.ErrorContains(t, err, "resource bundle", name)
	}
}

func TestExecutorIsKeptAndRestored(t *testing.T) {
	for _, annotations := range []map[string]string{nil, {"a": "b"}} {
		work := &workv1.ManifestWork{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
		work.Spec.Executor = decoded(t, sample(t, "refused-update.json")).Work.Spec.Executor
		want := work.DeepCopy()
		require.NoError(t, keepExecutor(work))
		assert.Contains(t, work.Annotations, contract.AnnotationExecutor)
		work.Spec.Executor = nil // as Maestro gives it back
		require.NoError(t, restoreExecutor(work))
		assert.Equal(t, want, work)
	}
}

// What the field sees after an update that the cluster refuses: the objects of the old version still exist.
func TestARefusedUpdateIsNoSuccess(t *testing.T) {
	stored := decoded(t, sample(t, "refused-update.json"))
	for _, wait := range []string{"Applied", "Available", "NodePool/workers:Applied", "NodePool/team/workers:Available"} {
		expression, err := manifest.ParseExpression(wait)
		require.NoError(t, err)
		evaluation := manifest.Evaluate(stored.Status, stored.Version, expression)
		assert.False(t, evaluation.Met, wait)
		assert.Contains(t, evaluation.Missing, "spec.clusterName: field is immutable", wait)
		assert.Equal(t, "NodePool.hypershift.openshift.io/team/workers is not applied (AppliedManifestFailed: spec.clusterName: field is immutable)", evaluation.Refused)
		assert.False(t, evaluation.Heals)
		assert.Equal(t, contract.StatusDegraded, evaluation.Overall)
		assert.True(t, evaluation.Resources[0].Applied)
		assert.False(t, evaluation.Resources[1].Applied)
	}
	expression, err := manifest.ParseExpression("Namespace/team:Available")
	require.NoError(t, err)
	assert.True(t, manifest.Evaluate(stored.Status, 7, expression).Met)
	assert.False(t, manifest.Evaluate(stored.Status, 8, expression).Met, "not for the next version")
}
