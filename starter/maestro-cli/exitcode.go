package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitDiffers     = 1
	exitUsage       = 2
	exitTimedOut    = 3
	exitSuperseded  = 4
	exitUnreachable = 5
	exitInterrupted = 130
)

// Reasons of this program's own failures, beside the error types of the contract.
const (
	// reasonTemporalUnavailable: Temporal does not answer.
	reasonTemporalUnavailable contract.ErrorType = "TemporalUnavailable"
	// reasonNotFound: get was asked for a work that Maestro does not have.
	reasonNotFound contract.ErrorType = "NotFound"
	// reasonInterrupted: a signal ended the command.
	reasonInterrupted contract.ErrorType = "Interrupted"
	// reasonOutput: the document or the results file could not be written.
	reasonOutput contract.ErrorType = "OutputFailed"
	// reasonDiffers: diff found something, which is an answer and no error.
	reasonDiffers contract.ErrorType = "Differs"
)

// exits says for each reason how the program ends; acts what to do about the reasons that the contract does not know.
var (
	exits = map[contract.ErrorType]int{
		contract.ErrInvalidInput:          exitUsage,
		contract.ErrInvalidManifest:       exitUsage,
		contract.ErrTooLarge:              exitUsage,
		contract.ErrManifestSetImmutable:  exitFailed,
		contract.ErrManifestRefused:       exitFailed,
		contract.ErrOwnershipConflict:     exitFailed,
		contract.ErrGenerationConflict:    exitSuperseded,
		contract.ErrSuperseded:            exitSuperseded,
		contract.ErrVersionConflict:       exitFailed,
		contract.ErrUnderDeletion:         exitFailed,
		contract.ErrConsumerNotFound:      exitFailed,
		contract.ErrUnavailable:           exitUnreachable,
		contract.ErrUnauthorized:          exitFailed,
		contract.ErrNotReady:              exitFailed,
		contract.ErrApplyFailed:           exitFailed,
		contract.ErrConditionFailed:       exitFailed,
		contract.ErrVanished:              exitFailed,
		contract.ErrHyperFleetUnavailable: exitFailed,
		contract.ErrHyperFleetRefused:     exitFailed,
		contract.ErrReportDropped:         exitFailed,
		contract.ErrNodePoolsExist:        exitFailed,
		contract.ErrClosing:               exitFailed,
		contract.ErrQueueFull:             exitFailed,
		contract.ErrTicketConflict:        exitFailed,
		contract.ErrFenceLost:             exitFailed,
		contract.ErrExpired:               exitTimedOut,
		contract.ErrWaitTimeout:           exitTimedOut,
		contract.ErrDeletionUnconfirmed:   exitTimedOut,
		contract.ErrCancelled:             exitFailed,
		contract.ErrReportFailed:          exitFailed,
		contract.ErrInternal:              exitFailed,
		reasonTemporalUnavailable:         exitUnreachable,
		reasonNotFound:                    exitFailed,
		reasonInterrupted:                 exitInterrupted,
		reasonOutput:                      exitFailed,
		reasonDiffers:                     exitDiffers,
	}
	acts = map[contract.ErrorType]string{
		reasonTemporalUnavailable: "start Temporal, or give its address with --temporal-address or TEMPORAL_ADDRESS",
		reasonNotFound:            "correct --name, --consumer or --source-id",
		reasonInterrupted:         "run the same command again to go on",
		reasonOutput:              "correct the path or the disk and run the same command again",
		reasonDiffers:             "apply the file to make the stored work equal",
	}
)

// failure is how a command ends when it does not succeed. Every error of a command is one: any other error comes from
// the parsing of the command line.
type failure struct {
	reason contract.ErrorType
	// where it happened: "apply cluster-a/web".
	where string
	err   error
	// said: everything about it is on standard error already.
	said bool
	// unanswered: the command answers with its exit code, of which this must not look like one.
	unanswered bool
}

func (f *failure) Error() string { return fmt.Sprintf("%s: %s: %v", f.where, f.reason, f.err) }
func (f *failure) Unwrap() error { return f.err }

// failed makes a failure of an error whose type is the contract's.
func failed(where string, err error) *failure {
	return &failure{reason: contract.TypeOf(err), where: where, err: err}
}

// interrupted makes the failure of a command that a signal ended.
func interrupted(where string) *failure {
	return &failure{reason: reasonInterrupted, where: where, err: errors.New("interrupted")}
}

// difference is how a command ends that found one. The document says which; no line is added.
func difference(where string) *failure {
	return &failure{reason: reasonDiffers, where: where, err: errors.New("the stored work differs"), said: true}
}

// unanswered marks the failure of a command whose exit code 1 is an answer: see exitDiffers.
func unanswered(failure *failure) *failure {
	failure.unanswered = true
	return failure
}

func exitCode(err error) int {
	var failure *failure
	switch {
	case err == nil:
		return exitDone
	case !errors.As(err, &failure):
		return exitUsage
	}
	code, known := exits[failure.reason]
	if !known {
		code = exitFailed // a reason of a newer worker
	}
	if failure.unanswered && code != exitUnreachable && code != exitInterrupted {
		return exitUsage
	}
	return code
}

// errorLine is one line that says what, where and what to do; "" when there is nothing left to say. Several problems of
// an input have a line each before it.
func errorLine(command *cobra.Command, err error) string {
	var failure *failure
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &failure):
		return fmt.Sprintf("%s: %s; see %s --help", program, oneLine(err), command.CommandPath())
	case failure.said:
		return ""
	}
	text, before := oneLine(failure.err), ""
	var problems manifest.Problems
	if errors.As(failure.err, &problems) && len(problems) > 1 {
		before, text = problems.Error()+"\n", fmt.Sprintf("%d problems", len(problems))
	}
	line := fmt.Sprintf("%s%s: %s: %s: %s", before, program, failure.where, failure.reason, text)
	if act := act(failure.reason); act != "" {
		line += "; " + act
	}
	return line
}

func act(reason contract.ErrorType) string {
	if own, found := acts[reason]; found {
		return own
	}
	return contract.Rules[reason].Act
}

// oneLine joins the lines of an error that found several problems.
func oneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "; ")
}
