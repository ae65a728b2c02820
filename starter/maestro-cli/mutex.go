package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// holdLook is the pause between two looks whether a hold has come to its turn.
const holdLook = 500 * time.Millisecond

// mutex is the queue of the writes to one consumer's shared works.
type mutex interface {
	Status(ctx context.Context) (contract.MutexStatus, error)
	Hold(ctx context.Context, request contract.HoldRequest) (contract.HoldAnswer, error)
	Release(ctx context.Context, request contract.HoldRelease) (contract.MutexAnswer, error)
	ForceRelease(ctx context.Context, operator contract.Operator) (contract.MutexAnswer, error)
	Pause(ctx context.Context, operator contract.Operator) (contract.MutexAnswer, error)
	Resume(ctx context.Context, operator contract.Operator) (contract.MutexAnswer, error)
}

// mutexFlags are those of the commands that steer a mutex.
type mutexFlags struct{ consumer, by, reason string }

func (f *mutexFlags) operator() contract.Operator {
	return contract.Operator{By: f.by, Reason: f.reason}
}

// mutexCall asks the mutex and gives the document of the command.
type mutexCall func(command *cobra.Command, settings config.CLI, server mutex) (any, error)

func (a *app) mutexCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "mutex",
		Short: "Look at the queue of the writes to a cluster's shared works, hold it or pause it",
		Long: `Look at the queue of the writes to a cluster's shared works, hold it or pause it.

Operations that write a work which others write, too, wait for their turn in one queue per cluster, which writes what waits for
one work at once. Operations on other works are not concerned.`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			command.SetOut(a.stderr)
			_ = command.Help()
			return errors.New("give a command of mutex")
		},
	}
	command.AddCommand(a.mutexStatusCommand(), a.mutexHoldCommand(), a.mutexReleaseCommand(),
		a.mutexPauseCommand(), a.mutexResumeCommand())
	return command
}

func (a *app) mutexStatusCommand() *cobra.Command {
	var flags mutexFlags
	command := &cobra.Command{
		Use: "status --consumer NAME", Short: "Print who writes, who holds, who waits, and why", Args: noArguments,
	}
	consumerFlag(command.Flags(), &flags.consumer)
	command.RunE = func(command *cobra.Command, _ []string) error {
		return a.askMutex(command, &flags, func(command *cobra.Command, settings config.CLI, server mutex) (any, error) {
			status, err := server.Status(command.Context())
			if err == nil && status.V == 0 { // none runs
				err = a.known(command, settings, flags.consumer)
			}
			return status, err
		})
	}
	return command
}

// steering makes a command that says who steers the mutex and why.
func (a *app) steering(flags *mutexFlags, verb, short string, call mutexCall) *cobra.Command {
	command := &cobra.Command{Use: verb + " --consumer NAME --reason TEXT", Short: short, Args: noArguments}
	consumerFlag(command.Flags(), &flags.consumer)
	command.Flags().StringVar(&flags.by, "by", "", "who you are, for those who meet it (default your user name)")
	command.Flags().StringVar(&flags.reason, "reason", "", "why, for those who meet it (required)")
	command.RunE = func(command *cobra.Command, _ []string) error { return a.steerMutex(command, flags, call) }
	return command
}

func (a *app) mutexHoldCommand() *cobra.Command {
	var flags mutexFlags
	var lease string
	var detach bool
	command := a.steering(&flags, "hold", "Keep everybody from writing to the cluster's shared works for a while",
		func(command *cobra.Command, settings config.CLI, server mutex) (any, error) {
			if err := a.known(command, settings, flags.consumer); err != nil {
				return nil, err
			}
			answer, err := server.Hold(command.Context(), contract.HoldRequest{By: flags.by, Reason: flags.reason, Lease: lease})
			if err != nil || answer.Held || detach {
				return answer, err
			}
			return a.turnOfHold(command, server, flags, answer)
		})
	command.Long = command.Short + `.

The command ends when nothing is written any more, after what waited before it. When that takes longer than --timeout (30s), or
the command is interrupted, the hold is taken back. It ends by itself after --lease; the same command again makes it last longer.`
	command.Example = `  maestro-cli mutex hold --consumer cluster-a1 --reason "repairing work pools by hand" --lease 15m
  maestro-cli mutex release --consumer cluster-a1 --reason "repaired"`
	command.Flags().StringVar(&lease, "lease", "", fmt.Sprintf("how long it lasts at most, from now (default %s, up to %s in all)", contract.DefaultLease, contract.MaxLease))
	command.Flags().BoolVar(&detach, "detach", false, "leave when the hold is queued, without waiting for its turn")
	return command
}

// turnOfHold waits until a hold has come to its turn, or takes it back.
func (a *app) turnOfHold(command *cobra.Command, server mutex, flags mutexFlags, answer contract.HoldAnswer) (any, error) {
	a.say(answer.Message)
	limit, _ := limitOf(command) // read before
	ctx := command.Context()
	limited, stop := context.WithTimeout(ctx, limit)
	defer stop()
	tick := time.NewTicker(holdLook)
	defer tick.Stop()
	for {
		select {
		case <-limited.Done():
			late, done := context.WithTimeout(context.WithoutCancel(ctx), dialLimit)
			defer done()
			release := contract.HoldRelease{By: flags.by, Reason: "its turn did not come in time", TicketID: answer.TicketID}
			if _, err := server.Release(late, release); err != nil {
				return nil, contract.Errorf(contract.ErrWaitTimeout, "its turn has not come, and it could not be taken back: %w", err)
			}
			return nil, contract.Errorf(contract.ErrWaitTimeout, "its turn has not come within %s: it is taken back and holds nothing", limit)
		case <-tick.C:
		}
		status, err := server.Status(limited)
		switch {
		case err != nil: // the limit ends it
		case status.Hold != nil && status.Hold.Ticket.ID == answer.TicketID:
			answer.Held, answer.Ahead, answer.Fence, answer.LeaseUntil = true, 0, status.Hold.Fence, status.Hold.LeaseUntil
			answer.Message = status.Message
			return answer, nil
		}
	}
}

func (a *app) mutexReleaseCommand() *cobra.Command {
	var flags mutexFlags
	var force bool
	command := a.steering(&flags, "release", "End your hold, or with --force anybody's",
		func(command *cobra.Command, _ config.CLI, server mutex) (any, error) {
			if force {
				return server.ForceRelease(command.Context(), flags.operator())
			}
			return server.Release(command.Context(), contract.HoldRelease{By: flags.by, Reason: flags.reason})
		})
	command.Flags().BoolVar(&force, "force", false, "take the hold from whoever has it; what that one writes by itself is not stopped")
	return command
}

func (a *app) mutexPauseCommand() *cobra.Command {
	var flags mutexFlags
	return a.steering(&flags, "pause", "Begin no write to the cluster's shared works until resume",
		func(command *cobra.Command, settings config.CLI, server mutex) (any, error) {
			if err := a.known(command, settings, flags.consumer); err != nil {
				return nil, err
			}
			return server.Pause(command.Context(), flags.operator())
		})
}

func (a *app) mutexResumeCommand() *cobra.Command {
	var flags mutexFlags
	return a.steering(&flags, "resume", "End a pause", func(command *cobra.Command, _ config.CLI, server mutex) (any, error) {
		return server.Resume(command.Context(), flags.operator())
	})
}

// steerMutex is askMutex for the commands that say who and why.
func (a *app) steerMutex(command *cobra.Command, flags *mutexFlags, call mutexCall) error {
	if err := required("--reason", flags.reason); err != nil {
		return failed("mutex "+command.Name(), err)
	}
	if flags.by == "" {
		if known, err := user.Current(); err == nil {
			flags.by = known.Username
		}
	}
	if err := required("--by", flags.by); err != nil {
		return failed("mutex "+command.Name(), err)
	}
	return a.askMutex(command, flags, call)
}

// askMutex connects, asks and prints.
func (a *app) askMutex(command *cobra.Command, flags *mutexFlags, call mutexCall) error {
	where := "mutex " + command.Name()
	settings, err := settingsOf(command)
	if err == nil {
		err = required("--consumer", flags.consumer)
	}
	if err != nil {
		return failed(where, err)
	}
	where += " " + flags.consumer
	ctx := command.Context()
	server, err := a.dialTemporal(ctx, settings, a.logger(settings))
	if err != nil {
		return unreached(where, err)
	}
	defer server.Close()
	document, err := call(command, settings, server.Mutex(settings.SourceID, flags.consumer))
	switch {
	case ctx.Err() != nil && err != nil:
		return &failure{reason: reasonInterrupted, where: where, err: errors.New("interrupted; what was asked for may still be done, mutex status tells")}
	case errors.Is(err, errNoWorker):
		return failed(where, contract.Errorf(contract.ErrWaitTimeout, "%w; what was asked for may still be done when one comes", err))
	case err != nil:
		return unreached(where, err)
	}
	if err := a.print(settings.Output, document); err != nil {
		return &failure{reason: reasonOutput, where: where, err: err}
	}
	return nil
}

// unreached gives the errors of a Temporal that does not answer their reason.
func unreached(where string, err error) *failure {
	if errors.Is(err, starter.ErrTemporalUnavailable) {
		return &failure{reason: reasonTemporalUnavailable, where: where, err: err}
	}
	return failed(where, err)
}

// known refuses a consumer that Maestro does not know: holding it would protect nothing. A Maestro that does not answer
// must not keep anybody from stopping writes.
func (a *app) known(command *cobra.Command, settings config.CLI, consumer string) error {
	look, err := a.lookup(command, settings)
	if err != nil {
		return err
	}
	defer func() { _ = look.Close() }()
	ctx, stop := context.WithTimeout(command.Context(), look.limit)
	defer stop()
	if err := look.Registered(ctx, consumer); err != nil {
		if contract.TypeOf(err) == contract.ErrConsumerNotFound {
			return err
		}
		a.say(fmt.Sprintf("warning: Maestro does not say whether it knows consumer %s: %v", consumer, err))
	}
	return nil
}
