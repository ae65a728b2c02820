package contract

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// filled gives a value in which no field is zero, so that no field is missing in its JSON.
func filled(t *testing.T, value reflect.Value) {
	t.Helper()
	switch target := value.Addr().Interface().(type) {
	case *time.Time:
		*target = time.Date(2026, 3, 1, 9, 0, 0, 5000, time.UTC)
		return
	case *json.RawMessage:
		*target = json.RawMessage(`{"b":1e3,"a":12345678901234567890}`)
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString("text")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		value.SetInt(7)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		filled(t, value.Elem())
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		filled(t, value.Index(0))
	case reflect.Map:
		key, item := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		filled(t, key)
		filled(t, item)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(key, item)
	case reflect.Struct:
		for index := range value.NumField() {
			filled(t, value.Field(index))
		}
	default:
		require.Fail(t, "no rule to fill", "%s", value.Type())
	}
}

// The JSON of what crosses Temporal is a wire format: a field may be added, and then it is added to the golden file;
// one that changes or goes breaks histories, callers and results files.
func TestWireFormatIsPinned(t *testing.T) {
	for name, value := range map[string]any{
		"request": &Request{}, "result": &StatusResult{}, "submitted": &Submitted{},
		"build": &struct {
			Params BuildParams
			Result BuildResult
		}{},
		"commit": &struct {
			Params CommitParams
			Result CommitResult
		}{},
		"observe": &struct {
			Params ObserveParams
			Result ObserveResult
		}{},
		"report": &struct {
			Params ReportParams
			Result ReportResult
		}{},
		"reportstatus": &struct {
			Params ReportStatusParams
			Result ReportStatusResult
		}{},
	} {
		t.Run(name, func(t *testing.T) {
			filled(t, reflect.ValueOf(value).Elem())
			raw, err := json.MarshalIndent(value, "", "  ")
			require.NoError(t, err)
			path := filepath.Join("testdata", name+".golden.json")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(path, append(raw, '\n'), 0o644))
			}
			golden, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(golden), string(raw)+"\n")

			again := reflect.New(reflect.TypeOf(value).Elem()).Interface()
			decoder := json.NewDecoder(bytes.NewReader(golden))
			decoder.DisallowUnknownFields()
			require.NoError(t, decoder.Decode(again))
			repeated, err := json.MarshalIndent(again, "", "  ")
			require.NoError(t, err)
			assert.Equal(t, string(golden), string(repeated)+"\n", "it reads back")
		})
	}
}

// What a person types at least, and what an empty result shows at least.
func TestWireFormatLeavesOutWhatIsNotThere(t *testing.T) {
	raw, err := json.Marshal(Request{Source: "s", Consumer: "c", Name: "w", Action: ActionDelete})
	require.NoError(t, err)
	assert.Equal(t, `{"source":"s","consumer":"c","action":"delete","name":"w"}`, string(raw))
	raw, err = json.Marshal(StatusResult{Resources: []ResourceStatus{{Kind: "Namespace", Conditions: []Condition{{Type: "Applied", Status: "True"}}}}})
	require.NoError(t, err)
	assert.Equal(t, `{"manifestWorkName":"","consumer":"","status":"","reason":"","message":"","timestamp":"0001-01-01T00:00:00Z",`+
		`"resources":[{"group":"","version":"","kind":"Namespace","name":"","applied":false,"available":false,"conditions":[{"type":"Applied","status":"True"}]}]}`, string(raw))
}

// Names under which histories, schedules and callers find the product.
func TestRegisteredNamesNeverChange(t *testing.T) {
	assert.Equal(t, []string{"ManifestWorkOperation", "maestro-workflows", "Build", "Commit", "Observe", "Report", "ReportStatus", "submit", "status"},
		[]string{WorkflowOperation, DefaultTaskQueue, ActivityBuild, ActivityCommit, ActivityObserve, ActivityReport, ActivityReportStatus, UpdateSubmit, QueryStatus})
	assert.Equal(t, []string{"MaestroConsumer", "MaestroWork", "MaestroPhase", "MaestroGeneration"},
		[]string{SearchConsumer.GetName(), SearchWork.GetName(), SearchPhase.GetName(), SearchGeneration.GetName()})
	assert.Equal(t, []string{"hyperfleet.io/generation", "hyperfleet.io/executor", "hyperfleet.io/adapter"},
		[]string{AnnotationGeneration, AnnotationExecutor, LabelOwner})
}

func TestSucceededKnowsEveryReason(t *testing.T) {
	for _, reason := range []string{ReasonConditionMet, ReasonPublished, ReasonUnchanged, ReasonDeleted, ReasonDeletionRequested} {
		assert.True(t, StatusResult{Reason: reason}.Succeeded(), reason)
	}
	assert.False(t, StatusResult{Reason: ReasonRunning}.Succeeded())
	assert.False(t, StatusResult{}.Succeeded())
	for errorType := range Rules {
		assert.False(t, StatusResult{Reason: string(errorType), Status: StatusAvailable}.Succeeded(), errorType)
	}
}
