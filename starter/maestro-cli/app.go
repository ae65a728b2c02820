package main

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// operations are the running and ended operations in Temporal.
type operations interface {
	Start(ctx context.Context, request contract.Request) (operation, error)
	// Status asks a worker how far an operation is.
	Status(ctx context.Context, workflowID string) (contract.StatusResult, error)
	// Cancel ends the operation, but not one that has taken its place.
	Cancel(ctx context.Context, started operation) error
	// Mutex is the queue of the writes to the shared works of a consumer.
	Mutex(source, consumer string) mutex
	Close()
}

// operation is one that was started, or that was found running.
type operation struct {
	WorkflowID, RunID string
	// Attached: an equal request was running already.
	Attached bool
	// Wait for the end. The result is filled too when the operation itself failed; otherwise its reason is empty.
	Wait func(ctx context.Context) (contract.StatusResult, error)

	cancel func(ctx context.Context) error
}

// works are the works that Maestro stores for the configured source, and those beside which it must not create one.
type works interface {
	Get(ctx context.Context, consumer, name string) (*manifest.Stored, error)
	// Others are works of this name that another source than the given one wrote.
	Others(ctx context.Context, source, consumer, name string) ([]*manifest.Stored, error)
	// Registered is ConsumerNotFound for a consumer that Maestro does not know.
	Registered(ctx context.Context, consumer string) error
	// Names are those of all works of a source on a consumer.
	Names(ctx context.Context, source, consumer string) ([]string, error)
	Close() error
}

// app is what the commands get from outside, so that tests run them in-process.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	build          buildInfo

	dialTemporal func(ctx context.Context, settings config.CLI, logger *slog.Logger) (operations, error)
	dialMaestro  func(settings config.CLI) (works, error)
}

// run executes one command line and gives the exit code. A cancelled ctx is an interrupt by the user.
func (a *app) run(ctx context.Context, arguments []string) int {
	root := a.rootCommand()
	root.SetArgs(arguments)
	command, err := root.ExecuteContextC(ctx)
	if line := errorLine(command, err); line != "" {
		a.say(line)
	}
	return exitCode(err)
}

// say writes lines for people on standard error; standard output belongs to the document.
func (a *app) say(lines ...string) {
	for _, line := range lines {
		_, _ = io.WriteString(a.stderr, strings.TrimRight(line, "\n")+"\n") // nobody is left to tell
	}
}

func (a *app) logger(settings config.CLI) *slog.Logger {
	level := slog.LevelWarn
	if settings.Verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
}

// settingsOf loads the configuration of a command. They are filled as far as they are right even with an error.
func settingsOf(command *cobra.Command) (config.CLI, error) {
	var settings config.CLI
	if err := config.Load(&settings, command.Flags()); err != nil {
		return settings, contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	return settings, nil
}
