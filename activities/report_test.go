package activities_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"github.com/openshift-hyperfleet/maestro-workflows/activities"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func report(t *testing.T, dir, file string) (contract.ReportResult, error) {
	t.Helper()
	env := newEnvironment()
	reporter := &activities.Reporter{Dir: dir}
	env.RegisterActivityWithOptions(reporter.Report, activity.RegisterOptions{Name: contract.ActivityReport})
	value, err := env.ExecuteActivity(contract.ActivityReport, contract.ReportParams{
		Report: contract.Report{ResultsFile: file},
		Result: contract.StatusResult{
			ManifestWorkName: name, Consumer: consumer, Status: contract.StatusAvailable, Reason: contract.ReasonConditionMet,
			Message: "holds", Timestamp: began, Resources: []contract.ResourceStatus{},
		},
	})
	if err != nil {
		return contract.ReportResult{}, err
	}
	var result contract.ReportResult
	require.NoError(t, value.Get(&result))
	return result, nil
}

func TestReportWritesTheResultsFileAsOftenAsItRuns(t *testing.T) {
	dir := t.TempDir()
	var first []byte
	for range 2 {
		result, err := report(t, dir, "web.json")
		require.NoError(t, err)
		assert.Equal(t, "web.json", result.File)
		content, err := os.ReadFile(filepath.Join(dir, "web.json"))
		require.NoError(t, err)
		if first == nil {
			first = content
		}
		assert.Equal(t, first, content, "running it twice is harmless")
	}
	var document struct{ Status, Reason, Phase string }
	require.NoError(t, json.Unmarshal(first, &document))
	assert.Equal(t, "success", document.Status)
	assert.Equal(t, contract.ReasonConditionMet, document.Reason)
}

func TestReportWithoutAFileDoesNothing(t *testing.T) {
	result, err := report(t, "", "")
	require.NoError(t, err)
	assert.Empty(t, result.File)
}

func TestReportNeedsAResultsDirectory(t *testing.T) {
	_, err := report(t, "", "web.json")
	assert.Equal(t, contract.ErrReportFailed, contract.TypeOf(err))
	assert.ErrorContains(t, err, "this worker has no results directory")
	assert.False(t, retried(t, err))
}

func TestReportStaysInsideTheResultsDirectory(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "results")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for _, file := range []string{"../web.json", "/etc/web.json", "a/../../web.json", "..", filepath.Join(parent, "web.json")} {
		_, err := report(t, dir, file)
		assert.Equal(t, contract.ErrReportFailed, contract.TypeOf(err), file)
		assert.False(t, retried(t, err), file)
	}
	entries, err := os.ReadDir(parent)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
	entries, err = os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestReportThatCannotBeWrittenSaysWhy(t *testing.T) {
	_, err := report(t, filepath.Join(t.TempDir(), "absent"), "web.json")
	assert.Equal(t, contract.ErrReportFailed, contract.TypeOf(err))
	assert.ErrorContains(t, err, "no such file")
}
