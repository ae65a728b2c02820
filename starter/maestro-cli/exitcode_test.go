package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/results"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestExitCodes(t *testing.T) {
	for reason, want := range map[contract.ErrorType]int{
		contract.ErrInvalidInput: 2, contract.ErrInvalidManifest: 2, contract.ErrTooLarge: 2,
		contract.ErrWaitTimeout:        3,
		contract.ErrSuperseded:         4,
		contract.ErrGenerationConflict: 4,
		reasonTemporalUnavailable:      5,
		contract.ErrUnavailable:        5,
		reasonInterrupted:              130,
		contract.ErrApplyFailed:        1, contract.ErrVanished: 1, contract.ErrCancelled: 1, contract.ErrConsumerNotFound: 1,
		contract.ErrInternal: 1, reasonNotFound: 1, reasonOutput: 1, "ReasonOfANewerWorker": 1,
	} {
		assert.Equal(t, want, exitCode(fmt.Errorf("wrapped: %w", &failure{reason: reason, err: errors.New("x")})), reason)
	}
	assert.Equal(t, 0, exitCode(nil))
	assert.Equal(t, 2, exitCode(errors.New("unknown flag: --x")), "what is no failure comes from the command line's parser")
}

func TestEveryErrorTypeHasAnExitCodeAndEveryReasonAnAct(t *testing.T) {
	for reason := range contract.Rules {
		assert.Contains(t, exits, reason)
	}
	for reason := range exits {
		assert.NotEmpty(t, act(reason), reason)
	}
}

func TestErrorIsOneLineWithWhatWhereAndWhatToDo(t *testing.T) {
	err := failed("apply cluster-a/web", contract.Errorf(contract.ErrInvalidManifest, "first\n  second"))
	assert.Equal(t, "maestro-cli: apply cluster-a/web: InvalidManifest: first; second; correct what is named and run it again", errorLine(&cobra.Command{}, err))
}

func TestConfigurationKnowsTheFormatsOfTheResultsFile(t *testing.T) {
	for _, format := range results.Formats() {
		b := &bench{}
		assert.Equal(t, 0, b.run("version", "--results-format", format), b.stderr.String())
	}
}
