// Command maestro-cli delivers ManifestWorks through Maestro as durable operations: apply, delete and wait run as
// Temporal workflows that survive this process; get, validate and version need no Temporal.
//
// Guarantees: standard output carries the document and nothing else; the results file, when asked for, holds a final
// result or does not exist; the exit code is one of the table in exitcode.go; interrupting a command leaves its operation
// running unless it was told otherwise.
//
// Start reading at root.go for the commands and at operate.go for what apply, delete and wait have in common.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Set by the linker.
var (
	version = "dev"
	commit  = "none"
	date    = "unknown"
)

func main() {
	// The results file is written also when nobody reads what is said on standard error any more.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	cli := &app{
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: os.Stderr,
		build:  buildInfo{Version: version, Commit: commit, Date: date},

		dialTemporal: dialTemporal,
		dialMaestro:  dialMaestro,
	}
	os.Exit(cli.run(ctx, os.Args[1:]))
}
