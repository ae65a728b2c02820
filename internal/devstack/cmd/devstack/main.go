// Command devstack runs the real components of this project on the loopback interface, together with simulated
// managed clusters. It is what `make up`, `make down` and `make demo` call.
//
//	devstack up      start everything in the background and print where it is
//	devstack down    stop it
//	devstack status  say what runs
//	devstack run -- COMMAND ARGS...
//	                 start everything in a temporary directory on free ports, run the command with the
//	                 environment of the stack, clean up, and exit with the command's exit code
//	devstack build   build the servers that up and run would build
//
// Each takes -h. Progress goes to stderr, results to stdout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: devstack up|down|status|run|build [flags]

  up      start the stack in the background
  down    stop it
  status  say what runs
  run     start a temporary stack, run a command against it, clean up: devstack run [flags] -- COMMAND ARGS...
  build   build the servers that are missing

devstack COMMAND -h lists the flags.
`

// exitCode is an error that only says how to exit; everything was printed already.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func main() { os.Exit(realMain()) }

func realMain() int {
	commands := map[string]func(context.Context, []string) error{
		"up": up, "down": down, "status": status, "run": run, "build": build, superviseCommand: supervise,
	}
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		return 2
	}
	command, known := commands[os.Args[1]]
	if !known {
		fmt.Fprint(os.Stderr, usage)
		if os.Args[1] == "help" || os.Args[1] == "-h" || os.Args[1] == "--help" {
			return 0
		}
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := command(ctx, os.Args[2:])
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, flag.ErrHelp):
		return 0
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "devstack: interrupted")
		return 130
	}
	fmt.Fprintln(os.Stderr, "devstack:", err)
	return 1
}

// progress prints a line to stderr.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "devstack: "+format+"\n", args...) }
