package hyperfleet_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/hyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var began = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// result of a work whose version 4 is written.
func result(status contract.Status, reason string, change ...func(*contract.StatusResult)) contract.StatusResult {
	out := contract.StatusResult{
		ManifestWorkName: "pools", Consumer: "cluster-a1", Status: status, Reason: reason, Message: "as said",
		Generation: 3, Version: 4, ObservedVersion: 4,
	}
	for _, apply := range change {
		apply(&out)
	}
	return out
}

// said adds conditions of the cluster, as "Type=Status" for the version that was written.
func said(of ...string) func(*contract.StatusResult) {
	return func(r *contract.StatusResult) {
		for _, text := range of {
			kind, status, _ := strings.Cut(text, "=")
			r.Conditions = append(r.Conditions, contract.Condition{Type: kind, Status: status, Reason: "ClusterSays", ObservedGeneration: 4})
		}
	}
}

func version(stored, observed int64) func(*contract.StatusResult) {
	return func(r *contract.StatusResult) { r.Version, r.ObservedVersion = stored, observed }
}

// rows of a body, as "Type Status Reason".
func rows(body hyperfleet.Body) []string {
	var rows []string
	for _, c := range body.Conditions {
		rows = append(rows, c.Type+" "+c.Status+" "+c.Reason)
	}
	return rows
}

func TestBodySaysWhatAResultMeans(t *testing.T) {
	failure := func(errorType contract.ErrorType) string { return string(errorType) }
	for name, sample := range map[string]struct {
		result contract.StatusResult
		want   [3]string
	}{
		"nothing written yet": {result(contract.StatusInProgress, contract.ReasonRunning, version(0, 0)),
			[3]string{"Applied False ManifestWorkPending", "Available False InProgress", "Health True Healthy"}},
		"in progress": {result(contract.StatusInProgress, contract.ReasonRunning, version(4, 0)),
			[3]string{"Applied True ManifestWorkExists", "Available False InProgress", "Health True Healthy"}},
		"published without a wait": {result(contract.StatusInProgress, contract.ReasonPublished),
			[3]string{"Applied True ManifestWorkExists", "Available False InProgress", "Health True Healthy"}},
		"available": {result(contract.StatusAvailable, contract.ReasonConditionMet, said("Applied=True", "Available=True")),
			[3]string{"Applied True AppliedManifestWorkComplete", "Available True AllResourcesAvailable", "Health True Healthy"}},
		"available but degraded": {result(contract.StatusDegraded, contract.ReasonConditionMet, said("Applied=True", "Available=True", "Degraded=True")),
			[3]string{"Applied True AppliedManifestWorkComplete", "Available True AllResourcesAvailable", "Health False ClusterSays"}},
		"only applied": {result(contract.StatusApplied, contract.ReasonConditionMet, said("Applied=True", "Available=False")),
			[3]string{"Applied True AppliedManifestWorkComplete", "Available False ResourcesNotAvailable", "Health True Healthy"}},
		"available in an older version": {result(contract.StatusApplied, contract.ReasonConditionMet, said("Applied=True", "Available=True"), version(5, 5)),
			[3]string{"Applied True ManifestWorkExists", "Available False ResourcesNotAvailable", "Health True Healthy"}},
		"Maestro away while running": {result(contract.StatusInProgress, failure(contract.ErrUnavailable), said("Applied=True", "Available=True")),
			[3]string{"Applied True AppliedManifestWorkComplete", "Available False MaestroUnavailable", "Health False MaestroUnavailable"}},
		"Maestro away, nothing written": {result(contract.StatusFailed, failure(contract.ErrUnavailable), version(0, 0)),
			[3]string{"Applied False ManifestWorkPending", "Available False MaestroUnavailable", "Health False MaestroUnavailable"}},
		"bad input": {result(contract.StatusFailed, failure(contract.ErrInvalidInput), version(0, 0)),
			[3]string{"Applied False InvalidInput", "Available False InvalidInput", "Health False InvalidInput"}},
		"consumer missing": {result(contract.StatusFailed, failure(contract.ErrConsumerNotFound), version(0, 0)),
			[3]string{"Applied False ConsumerNotFound", "Available False ConsumerNotFound", "Health False ConsumerNotFound"}},
		"refused by the cluster": {result(contract.StatusFailed, failure(contract.ErrApplyFailed), said("Applied=False")),
			[3]string{"Applied False ApplyFailed", "Available False ApplyFailed", "Health False ApplyFailed"}},
		"workload failed": {result(contract.StatusFailed, failure(contract.ErrApplyFailed), said("Applied=True")),
			[3]string{"Applied True AppliedManifestWorkComplete", "Available False WorkloadFailed", "Health True Healthy"}},
		"a Job failed": {result(contract.StatusFailed, failure(contract.ErrConditionFailed), said("Applied=True", "Available=True")),
			[3]string{"Applied True AppliedManifestWorkComplete", "Available False WorkloadFailed", "Health True Healthy"}},
		"the wait was skipped": {result(contract.StatusApplied, contract.ReasonWaitSkipped, said("Applied=True", "Available=True")),
			[3]string{"Applied True AppliedManifestWorkComplete", "Available False WaitSkipped", "Health True Healthy"}},
		"vanished": {result(contract.StatusNotFound, failure(contract.ErrVanished), said("Applied=True")),
			[3]string{"Applied False Vanished", "Available False Vanished", "Health False Vanished"}},
		"timed out": {result(contract.StatusTimedOut, failure(contract.ErrWaitTimeout), said("Applied=True", "Available=False")),
			[3]string{"Applied True AppliedManifestWorkComplete", "Available False AdapterTimeout", "Health False AdapterTimeout"}},
		"timed out, not applied": {result(contract.StatusTimedOut, failure(contract.ErrWaitTimeout), said("Applied=False")),
			[3]string{"Applied False ClusterSays", "Available False AdapterTimeout", "Health False AdapterTimeout"}},
		"cancelled": {result(contract.StatusCancelled, failure(contract.ErrCancelled), said("Applied=True")),
			[3]string{"Applied True AppliedManifestWorkComplete", "Available False Cancelled", "Health True Healthy"}},
		"superseded": {result(contract.StatusSuperseded, failure(contract.ErrSuperseded)),
			[3]string{"Applied True ManifestWorkExists", "Available False Superseded", "Health True Healthy"}},
		"a reason of nobody": {result(contract.StatusFailed, "not a reason", version(0, 0)),
			[3]string{"Applied False Internal", "Available False Internal", "Health False Internal"}},
	} {
		t.Run(name, func(t *testing.T) {
			body := hyperfleet.StatusBody(hyperfleet.Status{Adapter: "pools", Result: sample.result, Time: began})
			assert.Equal(t, sample.want[:], rows(body))
		})
	}
}

func TestBodyOfADeletionHasFinalized(t *testing.T) {
	deleted := result(contract.StatusDeleted, contract.ReasonDeleted)
	for name, sample := range map[string]struct {
		result    contract.StatusResult
		nodepools []string
		want      [4]string
	}{
		"waiting": {result(contract.StatusInProgress, contract.ReasonRunning), nil,
			[4]string{"Applied True ManifestWorkExists", "Available False CleanupInProgress", "Health True Healthy", "Finalized False CleanupInProgress"}},
		"requested": {result(contract.StatusInProgress, contract.ReasonDeletionRequested), nil,
			[4]string{"Applied True ManifestWorkExists", "Available False CleanupInProgress", "Health True Healthy", "Finalized False CleanupInProgress"}},
		"the wait was skipped": {result(contract.StatusInProgress, contract.ReasonWaitSkipped), nil,
			[4]string{"Applied True ManifestWorkExists", "Available False CleanupInProgress", "Health True Healthy", "Finalized False CleanupInProgress"}},
		"confirmed": {deleted, nil,
			[4]string{"Applied False CleanupConfirmed", "Available False CleanupConfirmed", "Health True Healthy", "Finalized True CleanupConfirmed"}},
		"node pools exist": {deleted, []string{"workers"},
			[4]string{"Applied False CleanupConfirmed", "Available False NodePoolsExist", "Health True Healthy", "Finalized False NodePoolsExist"}},
		"Maestro away": {result(contract.StatusFailed, string(contract.ErrUnavailable)), nil,
			[4]string{"Applied True ManifestWorkExists", "Available False ConnectionFailure", "Health False ConnectionFailure", "Finalized False AdapterUnhealthy"}},
		"failed": {result(contract.StatusTimedOut, string(contract.ErrWaitTimeout)), nil,
			[4]string{"Applied True ManifestWorkExists", "Available False DeletionError", "Health False DeletionError", "Finalized False AdapterUnhealthy"}},
		"cancelled": {result(contract.StatusCancelled, string(contract.ErrCancelled)), nil,
			[4]string{"Applied True ManifestWorkExists", "Available False Cancelled", "Health True Healthy", "Finalized False Cancelled"}},
	} {
		t.Run(name, func(t *testing.T) {
			body := hyperfleet.StatusBody(hyperfleet.Status{Adapter: "pools", Result: sample.result, Time: began, Finalizing: true, Nodepools: sample.nodepools})
			assert.Equal(t, sample.want[:], rows(body))
		})
	}
	kept := hyperfleet.StatusBody(hyperfleet.Status{Adapter: "pools", Result: deleted, Time: began, Finalizing: true, Kept: true})
	assert.Equal(t, []string{"Applied False CleanupConfirmed", "Available False NotDeleting", "Health True Healthy", "Finalized False NotDeleting"}, rows(kept))
}

// Whatever the outcome: the three conditions, each True or False, with a reason that is one word.
func TestBodyIsAlwaysAccepted(t *testing.T) {
	reasons := []string{"", contract.ReasonRunning, contract.ReasonPublished, contract.ReasonUnchanged, contract.ReasonConditionMet,
		contract.ReasonDeleted, contract.ReasonDeletionRequested, contract.ReasonWaitSkipped}
	for errorType := range contract.Rules {
		reasons = append(reasons, string(errorType))
	}
	for _, reason := range reasons {
		for _, finalizing := range []bool{false, true} {
			body := hyperfleet.StatusBody(hyperfleet.Status{
				Adapter: "pools", Time: began, Finalizing: finalizing,
				Result: result(contract.StatusFailed, reason, said("Applied=Unknown", "Available=Unknown"), func(r *contract.StatusResult) { r.Message = "a\x00\xff" + strings.Repeat("é", 1000) }),
			})
			types := map[string]bool{}
			for _, c := range body.Conditions {
				types[c.Type] = true
				assert.Contains(t, []string{"True", "False"}, c.Status, reason)
				assert.Regexp(t, `^[A-Z][A-Za-z0-9]{0,127}$`, c.Reason, reason)
				assert.True(t, utf8.ValidString(c.Message))
				assert.NotContains(t, c.Message, "\x00", "no database keeps it")
				assert.LessOrEqual(t, len(c.Message), 1024)
				assert.NotEmpty(t, c.Message, reason)
			}
			for _, mandatory := range []string{"Applied", "Available", "Health"} {
				assert.True(t, types[mandatory], "%s without %s", reason, mandatory)
			}
			assert.Equal(t, finalizing, types["Finalized"], reason)
		}
	}
}

func TestBodyHasMicroseconds(t *testing.T) {
	for at, want := range map[time.Time]string{
		began:                        "2026-03-02T10:00:00.000000Z",
		began.Add(1234567):           "2026-03-02T10:00:00.001234Z",
		began.Add(999 * time.Second): "2026-03-02T10:16:39.000000Z",
		began.In(time.FixedZone("east", 3600)).Add(999): "2026-03-02T10:00:00.000000Z",
	} {
		assert.Equal(t, want, hyperfleet.StatusBody(hyperfleet.Status{Time: at}).ObservedTime)
	}
}

func TestBodyOfManyResourcesStaysSmall(t *testing.T) {
	many := result(contract.StatusFailed, string(contract.ErrApplyFailed), func(r *contract.StatusResult) {
		for i := range 5000 {
			r.Resources = append(r.Resources, contract.ResourceStatus{Kind: "ConfigMap", Namespace: "default", Name: fmt.Sprintf("<%d>", i), Applied: i != 4321, Available: true})
		}
	})
	body := hyperfleet.StatusBody(hyperfleet.Status{Result: many, Time: began})
	encoded, err := json.Marshal(body.Data)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(encoded), 64*1024)
	assert.Greater(t, len(encoded), 40*1024)
	assert.Equal(t, 5000, len(body.Data.Resources)+body.Data.LeftOut)
	assert.Equal(t, "<4321>", body.Data.Resources[len(body.Data.Resources)-1].Name, "what failed is kept")
}

// Field case D26: the shape that the API and its tests expect.
func TestBodyHasTheShapeOfTheFieldCase(t *testing.T) {
	sample := result(contract.StatusApplied, contract.ReasonConditionMet, said("Applied=True", "Available=False"), func(r *contract.StatusResult) {
		r.Resources = []contract.ResourceStatus{{Kind: "NodePool", Name: "a", Applied: true}, {Kind: "NodePool", Name: "b", Applied: true}}
	})
	encoded, err := json.MarshalIndent(hyperfleet.StatusBody(hyperfleet.Status{Adapter: "nodepool", Result: sample, Time: began}), "", " ")
	require.NoError(t, err)
	const golden = "testdata/body.golden.json"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, append(encoded, '\n'), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(encoded)+"\n")
}
