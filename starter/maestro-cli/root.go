package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
)

const program = "maestro-cli"

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   program,
		Short: "Deliver ManifestWorks to managed clusters through Maestro",
		Long: `Deliver ManifestWorks to managed clusters through Maestro.

apply, build --apply, delete and wait run as operations in Temporal: they survive this command, and the same command again
attaches to them. mutex steers the queue of the writes to a cluster's shared works. get, validate, diff, build without --apply and
version need no Temporal.

Exit codes: 0 done, 1 failed, 2 usage or invalid input, 3 timed out, 4 superseded or refused as stale, 5 cannot reach a
server, 130 interrupted. diff: 0 same, 1 differs, 2 any error but 5 and 130.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(command *cobra.Command, _ []string) error {
			command.SetOut(a.stderr)
			_ = command.Help()
			return fmt.Errorf("give a command")
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	config.AddFlags(root.PersistentFlags(), &config.CLI{})
	root.PersistentFlags().String(flagTimeout, "", "deadline of an operation, counted from its start, or of each request of a command that only reads, like 90s or 5m (default 5m, requests 30s); 0 looks once at what a wait asks for")
	root.AddCommand(
		a.applyCommand(),
		a.deleteCommand(),
		a.waitCommand(),
		a.getCommand(),
		a.diffCommand(),
		a.buildCommand(),
		a.validateCommand(),
		a.mutexCommand(),
		a.versionCommand(),
	)
	return root
}

// noArguments refuses positional arguments; the usual cause is a value behind a flag whose value is optional.
func noArguments(command *cobra.Command, arguments []string) error {
	switch {
	case len(arguments) == 0:
		return nil
	case command.Flags().Changed("wait"):
		return fmt.Errorf("unexpected argument %q (a condition is given with the equals sign: --wait=%s)", arguments[0], arguments[0])
	case command.Flags().Lookup("manifest-file") != nil:
		return fmt.Errorf("unexpected argument %q: a file is given as --manifest-file %s", arguments[0], arguments[0])
	case command.Flags().Lookup("name") != nil:
		return fmt.Errorf("unexpected argument %q: a work is given as --name %s", arguments[0], arguments[0])
	default:
		return fmt.Errorf("unexpected argument %q", arguments[0])
	}
}
