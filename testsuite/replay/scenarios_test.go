package replay

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// histories is the folder of the fixtures: <workflow>/<scenario>.json.gz.
const histories = "../histories"

const suffix = ".json.gz"

const (
	completed = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED
	failed    = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED
	canceled  = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED
	continued = enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW
)

// end is how a recorded run closed. A run that continued as new has no result and so no reason.
type end struct {
	event  enumspb.EventType
	phase  contract.Phase
	reason string
}

// scenarios of each workflow. A new scenario is added here and in the recorder; none is ever removed.
var scenarios = map[string]map[string]end{
	contract.WorkflowOperation: {
		"applied":                    {completed, contract.PhaseSucceeded, contract.ReasonPublished},
		"applied-and-waited":         {completed, contract.PhaseSucceeded, contract.ReasonConditionMet},
		"updated-and-waited":         {completed, contract.PhaseSucceeded, contract.ReasonConditionMet},
		"unchanged":                  {completed, contract.PhaseSucceeded, contract.ReasonUnchanged},
		"attached":                   {completed, contract.PhaseSucceeded, contract.ReasonConditionMet},
		"waited-only":                {completed, contract.PhaseSucceeded, contract.ReasonConditionMet},
		"report-written":             {completed, contract.PhaseSucceeded, contract.ReasonPublished},
		"report-failed":              {completed, contract.PhaseSucceeded, contract.ReasonPublished},
		"deletion-requested":         {completed, contract.PhaseSucceeded, contract.ReasonDeletionRequested},
		"deleted-and-waited":         {completed, contract.PhaseDeleted, contract.ReasonDeleted},
		"deleted-absent":             {completed, contract.PhaseDeleted, contract.ReasonDeleted},
		"invalid-input":              {failed, contract.PhaseFailed, string(contract.ErrInvalidInput)},
		"refused":                    {failed, contract.PhaseFailed, string(contract.ErrManifestRefused)},
		"patience-exhausted":         {failed, contract.PhaseFailed, string(contract.ErrUnavailable)},
		"apply-failed":               {failed, contract.PhaseFailed, string(contract.ErrApplyFailed)},
		"apply-failed-reported":      {failed, contract.PhaseFailed, string(contract.ErrApplyFailed)},
		"vanished":                   {failed, contract.PhaseFailed, string(contract.ErrVanished)},
		"wait-timed-out":             {failed, contract.PhaseTimedOut, string(contract.ErrWaitTimeout)},
		"older-than-stored":          {failed, contract.PhaseSuperseded, string(contract.ErrSuperseded)},
		"cancelled-in-build":         {canceled, contract.PhaseCancelled, string(contract.ErrCancelled)},
		"cancelled-in-apply":         {canceled, contract.PhaseCancelled, string(contract.ErrCancelled)},
		"cancelled-in-failing-apply": {canceled, contract.PhaseCancelled, string(contract.ErrCancelled)},
		"cancelled-in-wait":          {canceled, contract.PhaseCancelled, string(contract.ErrCancelled)},
		"cancelled-in-wait-reported": {canceled, contract.PhaseCancelled, string(contract.ErrCancelled)},
		"superseded-at-start":        {continued, contract.PhaseSuperseded, ""},
		"superseded-in-build":        {continued, contract.PhaseSuperseded, ""},
		"superseded-in-apply":        {continued, contract.PhaseSuperseded, ""},
		"superseded-in-wait":         {continued, contract.PhaseSuperseded, ""},
		"superseded-in-report":       {continued, contract.PhaseSucceeded, ""},
		"cancelled-with-the-newer":   {canceled, contract.PhaseCancelled, string(contract.ErrCancelled)},
		"merged":                     {completed, contract.PhaseSucceeded, contract.ReasonPublished},
		"merged-and-waited":          {completed, contract.PhaseSucceeded, contract.ReasonConditionMet},
		"merge-refused":              {failed, contract.PhaseFailed, string(contract.ErrInvalidInput)},
		"merge-superseded-in-wait":   {continued, contract.PhaseSuperseded, ""},
		"removed":                    {completed, contract.PhaseSucceeded, contract.ReasonPublished},
		"removed-absent":             {completed, contract.PhaseDeleted, contract.ReasonDeleted},
		"added-too-late":             {failed, contract.PhaseSuperseded, string(contract.ErrSuperseded)},
		"poked":                      {completed, contract.PhaseSucceeded, contract.ReasonConditionMet},
		"extended":                   {completed, contract.PhaseSucceeded, contract.ReasonConditionMet},
		"paused-and-resumed":         {completed, contract.PhaseSucceeded, contract.ReasonConditionMet},
		"signalled":                  {completed, contract.PhaseSucceeded, contract.ReasonConditionMet},
		"wait-skipped":               {completed, contract.PhaseSucceeded, contract.ReasonWaitSkipped},
		"recreated":                  {completed, contract.PhaseSucceeded, contract.ReasonConditionMet},
		"recreated-cancelled":        {canceled, contract.PhaseCancelled, string(contract.ErrCancelled)},
		"recreated-in-vain":          {failed, contract.PhaseTimedOut, string(contract.ErrWaitTimeout)},
		"deleted-without-objects":    {completed, contract.PhaseDeleted, contract.ReasonDeleted},
		"superseding":                {completed, contract.PhaseSucceeded, contract.ReasonPublished},
		"queued":                     {completed, contract.PhaseSucceeded, contract.ReasonConditionMet},
		"queued-by-reference":        {completed, contract.PhaseSucceeded, contract.ReasonPublished},
		"queued-in-vain":             {failed, contract.PhaseSuperseded, string(contract.ErrSuperseded)},
		"queued-too-long":            {failed, contract.PhaseTimedOut, string(contract.ErrExpired)},
		"queued-and-cancelled":       {canceled, contract.PhaseCancelled, string(contract.ErrCancelled)},
		"queued-and-superseded":      {continued, contract.PhaseSuperseded, ""},
		"queued-and-paused":          {completed, contract.PhaseSucceeded, contract.ReasonPublished},
	},
	contract.WorkflowClusterMutex: {
		"batch":              {canceled, "", ""},
		"poisoned":           {canceled, "", ""},
		"blocked":            {canceled, "", ""},
		"held":               {canceled, "", ""},
		"lease-ended":        {canceled, "", ""},
		"continued":          {continued, "", ""},
		"continuing":         {canceled, "", ""},
		"recreated-by-batch": {canceled, "", ""},
	},
}

// terminal phases, each of which needs a fixture.
var terminal = []contract.Phase{
	contract.PhaseSucceeded, contract.PhaseFailed, contract.PhaseTimedOut,
	contract.PhaseCancelled, contract.PhaseSuperseded, contract.PhaseDeleted,
}

func fixture(workflow, scenario string) string {
	return filepath.Join(histories, workflow, scenario+suffix)
}

// recorded lists the scenarios of a workflow that have a fixture.
func recorded(t *testing.T, workflow string) []string {
	t.Helper()
	files, err := filepath.Glob(fixture(workflow, "*"))
	require.NoError(t, err)
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), suffix)
	}
	return files
}

func load(t *testing.T, workflow, scenario string) *historypb.History {
	t.Helper()
	file, err := os.Open(fixture(workflow, scenario))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	plain, err := gzip.NewReader(file)
	require.NoError(t, err)
	history, err := client.HistoryFromJSON(plain, client.HistoryJSONOptions{})
	require.NoError(t, err)
	return history
}
