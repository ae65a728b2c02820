package contract_test

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestLimitsPageAgreesWithTheCode(t *testing.T) {
	want := map[string]any{
		"MaxManifestsBytes":  contract.MaxManifestsBytes,
		"MaxWorkBytes":       contract.MaxWorkBytes,
		"MaxNesting":         contract.MaxNesting,
		"MaxTombstones":      contract.MaxTombstones,
		"MaxTemplateBytes":   contract.MaxTemplateBytes,
		"MaxRenderedBytes":   contract.MaxRenderedBytes,
		"MaxAdapterBytes":    contract.MaxAdapterBytes,
		"MaxConditionBytes":  contract.MaxConditionBytes,
		"MaxInFlight":        contract.MaxInFlight,
		"CallTimeout":        contract.CallTimeout,
		"DefaultTimeout":     contract.DefaultTimeout,
		"DefaultPatience":    contract.DefaultPatience,
		"DefaultGrace":       contract.DefaultGrace,
		"PollFirst":          contract.PollFirst,
		"OneLookTimeout":     contract.OneLookTimeout,
		"PollSoon":           contract.PollSoon,
		"PollMax":            contract.PollMax,
		"AskAgainFirst":      contract.AskAgainFirst,
		"AskAgainMax":        contract.AskAgainMax,
		"MaxTicketBytes":     contract.MaxTicketBytes,
		"DefaultQueue":       contract.DefaultQueue,
		"MaxQueueLimit":      contract.MaxQueueLimit,
		"MaxQueueBytes":      contract.MaxQueueBytes,
		"MaxBatchTickets":    contract.MaxBatchTickets,
		"DefaultMutexEvents": contract.DefaultMutexEvents,
		"MaxMutexEvents":     contract.MaxMutexEvents,
		"MaxOutcomes":        contract.MaxOutcomes,
		"MaxCancelled":       contract.MaxCancelled,
		"MutexIdleFor":       contract.MutexIdleFor,
		"DefaultLease":       contract.DefaultLease,
		"MaxLease":           contract.MaxLease,
	}
	page, err := os.ReadFile("../../docs/limits.md")
	require.NoError(t, err)
	source, err := os.ReadFile("limits.go")
	require.NoError(t, err)
	constants := regexp.MustCompile(`(?m)^\t([A-Z]\w+)\s+=`).FindAllSubmatch(source, -1)
	assert.Len(t, constants, len(want), "every constant of limits.go is compared")
	rows := regexp.MustCompile(`(?m)^\| ([A-Z]\w+) \| (\S+) \|`).FindAllSubmatch(page, -1)
	assert.Len(t, rows, len(want), "one row per limit")
	for _, row := range rows {
		assert.Equal(t, fmt.Sprint(want[string(row[1])]), string(row[2]), "%s", row[1])
	}
}
