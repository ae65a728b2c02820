package results_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/results"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func success(resources int) contract.StatusResult {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	result := contract.StatusResult{
		ManifestWorkName: "web", Consumer: "cluster-a", Status: contract.StatusAvailable, Reason: contract.ReasonConditionMet,
		Message: "Available is True for version 3", Timestamp: at, Generation: 7, Version: 3, ObservedVersion: 3,
		WorkflowID: "op/maestro-cli/cluster-a/web", RunID: "run", Attempts: 1, StartedAt: &at, FinishedAt: &at,
		Warnings: []string{"w"}, RequestDigest: "d", Conditions: []contract.Condition{{Type: "Available", Status: "True"}},
	}
	for i := range resources {
		result.Resources = append(result.Resources, contract.ResourceStatus{
			Version: "v1", Kind: "ConfigMap", Namespace: "demo", Name: fmt.Sprintf("config-%04d", i), Applied: true, Available: true,
			Conditions: []contract.Condition{{Type: "Applied", Status: "True", Reason: "AppliedManifestComplete", Message: "Apply manifest complete"}},
			Feedback:   map[string]json.RawMessage{"big": json.RawMessage("9007199254740993")},
		})
	}
	return result
}

func failure(reason contract.ErrorType, message string) contract.StatusResult {
	result := success(1)
	result.Status, result.Reason, result.Message = contract.StatusFailed, string(reason), message
	return result
}

func TestReporterAcceptsEveryOutcome(t *testing.T) {
	outcomes := map[string]contract.StatusResult{
		"zero value":         {},
		"empty reason":       failure("", "x"),
		"odd reason":         failure("12 not pascal-case: 7é", "x"),
		"reason of no ASCII": failure("éé", "x"),
		"long reason":        failure(contract.ErrorType(strings.Repeat("Abc", 100)), "x"),
		"empty message":      failure(contract.ErrInternal, " \n\t"),
		"long message":       failure(contract.ErrApplyFailed, strings.Repeat("ü", 2000)),
		"broken UTF-8":       failure(contract.ErrApplyFailed, "cluster said \xff\xfe"),
		"spaces at the cut":  failure(contract.ErrApplyFailed, strings.Repeat("a", 1000)+strings.Repeat(" ", 100)+"b"),
		"markup":             failure(contract.ErrApplyFailed, "<b>&</b>\u2028\x00"),
		"500 resources":      success(500),
		"2000 resources":     success(2000),
	}
	for errorType := range contract.Rules {
		outcomes[string(errorType)] = failure(errorType, "message")
	}
	for _, reason := range []string{contract.ReasonConditionMet, contract.ReasonPublished, contract.ReasonUnchanged, contract.ReasonDeleted, contract.ReasonDeletionRequested} {
		result := success(2)
		result.Reason = reason
		outcomes[reason] = result
	}
	for name, result := range outcomes {
		t.Run(name, func(t *testing.T) {
			document, err := results.Encode("", result)
			require.NoError(t, err)
			got, err := acceptedByReporter(document)
			require.NoError(t, err)
			assert.Less(t, len(document), 1024*1024)
			assert.Regexp(t, regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`), got.Reason)
			assert.Equal(t, result.Succeeded(), got.Status == "success")
			var details contract.StatusResult
			require.NoError(t, json.Unmarshal(got.Details, &details))
			assert.Equal(t, result.Status, details.Status)
			assert.NotContains(t, string(document), "null", "lists are empty, not missing")
		})
	}
}

func TestReporterDocumentSpreadsTheStatusResultBesideItsOwnKeys(t *testing.T) {
	document, err := results.Encode(results.FormatStatusReporter, success(1))
	require.NoError(t, err)
	var whole, details map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(document, &whole))
	require.NoError(t, json.Unmarshal(whole["details"], &details))

	assert.JSONEq(t, `"success"`, string(whole["status"]))
	assert.JSONEq(t, `"Available"`, string(whole["phase"]))
	assert.JSONEq(t, `"Available"`, string(details["status"]))
	for key, value := range details {
		if key != "status" {
			assert.JSONEq(t, string(value), string(whole[key]), key)
		}
	}
	assert.Len(t, whole, len(details)+2, "phase and details are all that is added")
	assert.Contains(t, string(whole["resources"]), "9007199254740993", "numbers are exact")
}

// The reporter matches keys without regard to case, and the last one wins.
func TestNoKeyCollidesWithTheReportersIgnoringCase(t *testing.T) {
	document, err := results.Encode(results.FormatStatusReporter, success(2000))
	require.NoError(t, err)
	decoder := json.NewDecoder(strings.NewReader(string(document)))
	seen := map[string]int{}
	_, err = decoder.Token()
	require.NoError(t, err)
	for decoder.More() {
		key, err := decoder.Token()
		require.NoError(t, err)
		seen[strings.ToLower(key.(string))]++
		var value json.RawMessage
		require.NoError(t, decoder.Decode(&value))
	}
	for key, count := range seen {
		assert.Equal(t, 1, count, key)
	}
	assert.Contains(t, seen, "details")
}

func TestStatusResultFormatIsExactlyTheStatusResult(t *testing.T) {
	want := success(3)
	document, err := results.Encode(results.FormatStatusResult, want)
	require.NoError(t, err)
	var got contract.StatusResult
	require.NoError(t, json.Unmarshal(document, &got))
	assert.Equal(t, want, got)
	plain, err := json.Marshal(want)
	require.NoError(t, err)
	assert.JSONEq(t, string(plain), string(document))
	_, err = acceptedByReporter(document)
	assert.Error(t, err, "which is why it is not the default")
}

func TestMessageIsCutBetweenRunes(t *testing.T) {
	for _, prefix := range []string{"", "a", "ab", "abc"} {
		document, err := results.Encode("", failure(contract.ErrApplyFailed, prefix+strings.Repeat("𝄞", 400)))
		require.NoError(t, err)
		got, err := acceptedByReporter(document)
		require.NoError(t, err)
		assert.NotContains(t, got.Message, "\uFFFD")
		assert.Greater(t, len(got.Message), results.MaxMessageBytes-4)
	}
}

func TestTooManyResourcesKeepTheBrokenOnesAndSayHowManyAreMissing(t *testing.T) {
	result := success(2000)
	result.Reason, result.Message = string(contract.ErrApplyFailed), strings.Repeat("x", 2000)
	result.Resources[1999].Applied = false
	document, err := results.Encode("", result)
	require.NoError(t, err)
	got, err := acceptedByReporter(document)
	require.NoError(t, err)

	var whole struct {
		ResourcesTruncated int                       `json:"resourcesTruncated"`
		Resources          []contract.ResourceStatus `json:"resources"`
		Details            contract.StatusResult     `json:"details"`
	}
	require.NoError(t, json.Unmarshal(document, &whole))
	assert.Equal(t, whole.Resources, whole.Details.Resources)
	assert.Equal(t, 2000, len(whole.Resources)+whole.ResourcesTruncated)
	assert.Greater(t, len(document), 1024*1024-2000, "no more is left out than needed")
	assert.Contains(t, got.Message, fmt.Sprintf("%d resources left out", whole.ResourcesTruncated))
	assert.Equal(t, "config-1999", whole.Resources[len(whole.Resources)-1].Name, "the broken one is kept, in the work's order")
}

func TestOneHugeTextDoesNotLoseTheOutcome(t *testing.T) {
	result := failure(contract.ErrApplyFailed, strings.Repeat("m", 3<<20))
	result.Conditions[0].Message = strings.Repeat("c", 3<<20)
	document, err := results.Encode("", result)
	require.NoError(t, err)
	got, err := acceptedByReporter(document)
	require.NoError(t, err)
	assert.Equal(t, "ApplyFailed", got.Reason)
}

func TestOnlyFinalResultsAreEncoded(t *testing.T) {
	_, err := results.Encode("", contract.StatusResult{Reason: contract.ReasonRunning})
	assert.ErrorContains(t, err, "still running")
}

func TestUnknownFormatIsRefusedByName(t *testing.T) {
	_, err := results.ParseFormat("junit")
	assert.EqualError(t, err, `results format "junit": give status-reporter or statusresult`)
	_, err = results.Encode("junit", success(0))
	assert.Error(t, err)
	format, err := results.ParseFormat("")
	require.NoError(t, err)
	assert.Equal(t, results.FormatStatusReporter, format)
}
