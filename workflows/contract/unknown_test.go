package contract

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const misspelled = `{"source":"hyperfleet","consumer":"c1","action":"delete","name":"pool","wiat":"Deleted","Timeout":"1m","report":{"resultFile":"a","hyperfleet":{"adaptor":"x"}}}`

// A misspelled key would lose a wait or a guard without a word.
func TestUnknownKeysOfARequestAreRefusedByName(t *testing.T) {
	var request Request
	require.NoError(t, json.Unmarshal([]byte(misspelled), &request))
	assert.Equal(t, "1m", request.Timeout, "case does not count, as everywhere in Go's JSON")
	err := request.Check()
	assert.ErrorContains(t, err, `unknown field "wiat"`)
	assert.ErrorContains(t, err, `unknown field "report.resultFile"`)
	assert.ErrorContains(t, err, `unknown field "report.hyperfleet.adaptor"`)
}

// The workflow passes its request on to the build step, which refuses it.
func TestUnknownKeysSurviveBeingPassedOn(t *testing.T) {
	var first, second BuildParams
	require.NoError(t, json.Unmarshal([]byte(`{"request":`+misspelled+`}`), &first))
	passed, err := json.Marshal(first)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(passed, &second))
	assert.Equal(t, []string{"report.hyperfleet.adaptor", "report.resultFile", "wiat"}, second.Request.UnknownFields)
}

func TestKnownKeysAreNotUnknown(t *testing.T) {
	whole := Request{
		Source: "s", Consumer: "c", Action: ActionApply, Work: json.RawMessage(`{"any":{"key":1}}`), Name: "n", Generation: 1, Wait: "Applied",
		Timeout: "1m", Patience: "1m", Grace: "1m", Force: true, Report: &Report{ResultsFile: "f", HyperFleet: &HyperFleetReport{Kind: "Cluster", ID: "i", Href: "/h", Adapter: "a"}},
	}
	raw, err := json.Marshal(whole)
	require.NoError(t, err)
	var read Request
	require.NoError(t, json.Unmarshal(raw, &read))
	assert.Equal(t, whole, read)
}
