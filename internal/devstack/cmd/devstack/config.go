package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
)

// config is what the flags say.
type config struct {
	dir       string
	consumers string
	worker    string
	noUI      bool
	freePorts bool
	ports     devstack.Ports
	wipe      bool
}

// portFlag ties a flag to a port.
type portFlag struct {
	name, what string
	value      int // of `up`
	port       func(*devstack.Ports) *int
}

// portFlags are the ports that people type; the others are free ones.
var portFlags = []portFlag{
	{"temporal-port", "Temporal's gRPC API", 7233, func(p *devstack.Ports) *int { return &p.Temporal }},
	{"temporal-http-port", "Temporal's HTTP API", 7243, func(p *devstack.Ports) *int { return &p.TemporalHTTP }},
	{"ui-port", "Temporal's web interface", 8233, func(p *devstack.Ports) *int { return &p.UI }},
	{"maestro-http-port", "Maestro's HTTP API", 8000, func(p *devstack.Ports) *int { return &p.MaestroHTTP }},
	{"maestro-grpc-port", "Maestro's gRPC API for sources", 8090, func(p *devstack.Ports) *int { return &p.MaestroGRPC }},
	{"maestro-broker-port", "Maestro's gRPC broker for agents", 8091, func(p *devstack.Ports) *int { return &p.MaestroBroker }},
}

// newFlags makes the flag set of a command with the flags that all have.
func newFlags(command string, c *config) *flag.FlagSet {
	flags := flag.NewFlagSet("devstack "+command, flag.ContinueOnError)
	if command != "run" && command != "build" {
		flags.StringVar(&c.dir, "dir", "", "directory of logs, data and state (default .build/stack of the repository)")
	}
	return flags
}

// stackFlags adds the flags of the commands that start a stack.
func stackFlags(flags *flag.FlagSet, c *config) {
	flags.StringVar(&c.consumers, "consumers", "cluster-a1,cluster-b2", "comma-separated names of the simulated clusters")
	flags.StringVar(&c.worker, "worker", "", "worker binary to run beside the stack")
	flags.BoolVar(&c.noUI, "no-ui", false, "leave out Temporal's web interface")
}

// portsFlags adds the flags of the fixed ports.
func portsFlags(flags *flag.FlagSet, c *config) {
	flags.BoolVar(&c.freePorts, "free-ports", false, "use free ports instead of the defaults")
	for _, f := range portFlags {
		flags.IntVar(f.port(&c.ports), f.name, f.value, "port of "+f.what+", 0 for a free one")
	}
}

// complete checks the flags and fills in what depends on the repository.
func (c *config) complete(flags *flag.FlagSet) error {
	if c.freePorts {
		// A port that was given beside --free-ports keeps its value.
		given := map[string]bool{}
		flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
		for _, f := range portFlags {
			if !given[f.name] {
				*f.port(&c.ports) = 0
			}
		}
	}
	if c.worker != "" {
		abs, err := filepath.Abs(c.worker)
		if err != nil {
			return fmt.Errorf("resolve the worker: %w", err)
		}
		c.worker = abs
	}
	if c.dir == "" {
		root, err := devstack.RepoRoot()
		if err != nil {
			return fmt.Errorf("%w, or name a directory with --dir", err)
		}
		c.dir = filepath.Join(root, ".build", "stack")
	}
	abs, err := filepath.Abs(c.dir)
	if err != nil {
		return fmt.Errorf("resolve --dir: %w", err)
	}
	c.dir = abs
	return nil
}

// parse reads the arguments; a wrong one exits with 2.
func parse(flags *flag.FlagSet, c *config, args []string) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return exitCode(2)
	}
	return c.complete(flags)
}

// checkPorts says which fixed port is taken, and what to do about it.
func (c *config) checkPorts() error {
	var taken []string
	for _, f := range portFlags {
		if port := *f.port(&c.ports); port != 0 && !devstack.PortFree(port) {
			taken = append(taken, fmt.Sprintf("port %d (%s) is taken: choose another with --%s", port, f.what, f.name))
		}
	}
	if len(taken) == 0 {
		return nil
	}
	return fmt.Errorf("%s; or use --free-ports", strings.Join(taken, "; "))
}

// names splits --consumers.
func (c *config) names() []string {
	return strings.FieldsFunc(c.consumers, func(r rune) bool { return r == ',' || r == ' ' })
}

// describe prints where everything is.
func describe(to io.Writer, s devstack.State) {
	for _, line := range [][2]string{
		{"Temporal", address(s.Ports.Temporal)},
		{"Temporal HTTP API", address(s.Ports.TemporalHTTP)},
		{"Temporal UI", s.UIURL},
		{"Maestro HTTP", "http://" + address(s.Ports.MaestroHTTP)},
		{"Maestro gRPC", address(s.Ports.MaestroGRPC)},
		{"Maestro broker", address(s.Ports.MaestroBroker)},
		{"PostgreSQL", s.Database},
		{"clusters", strings.Join(s.Consumers, ", ")},
		{"environment", ". " + s.EnvFile},
	} {
		if line[1] != "" {
			fmt.Fprintf(to, "%-18s %s\n", line[0], line[1])
		}
	}
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
