package devstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Namespace is the Temporal namespace of the stack. The dev server creates it together with the search
// attributes.
const Namespace = "default"

// modulePath is what makes a go.mod file the one of this repository.
const modulePath = "github.com/openshift-hyperfleet/maestro-workflows"

// Options say what Start runs and where. The zero value is valid: everything, on free ports, in a temporary
// directory that Stop removes.
type Options struct {
	// Dir holds logs and data. Empty: a temporary directory, removed by Stop. Data in a named directory is
	// kept and found again by the next Start.
	Dir string
	// BinDir is where built binaries are kept. Empty: .build/bin of the repository.
	BinDir string
	// ToolsDir holds one module per binary to build. Empty: tools of the repository.
	ToolsDir string
	// Consumers are created in Maestro before Start returns.
	Consumers []string
	// UI serves Temporal's web interface.
	UI bool
	// Ports fixes ports; a zero port is a free one.
	Ports Ports

	// WithoutTemporal and WithoutMaestro leave the component out. PostgreSQL and PgBouncer run for Maestro only.
	WithoutTemporal bool
	WithoutMaestro  bool
	// DirectPostgres connects Maestro to PostgreSQL without PgBouncer even where that is installed.
	DirectPostgres bool

	// Logf receives one line per step. Nil: silence.
	Logf func(format string, args ...any)
}

// Ports are TCP ports on 127.0.0.1. Zero means: choose a free one.
type Ports struct {
	Temporal        int `json:"temporal,omitempty"`
	TemporalHTTP    int `json:"temporalHTTP,omitempty"`
	TemporalMetrics int `json:"temporalMetrics,omitempty"`
	UI              int `json:"ui,omitempty"`
	MaestroHTTP     int `json:"maestroHTTP,omitempty"`
	MaestroGRPC     int `json:"maestroGRPC,omitempty"`
	MaestroBroker   int `json:"maestroBroker,omitempty"`
	MaestroHealth   int `json:"maestroHealth,omitempty"`
	MaestroMetrics  int `json:"maestroMetrics,omitempty"`
	Postgres        int `json:"postgres,omitempty"`
	PgBouncer       int `json:"pgbouncer,omitempty"`
}

// all lists the ports in a fixed order, to fill and to check them.
func (p *Ports) all() []*int {
	return []*int{
		&p.Temporal, &p.TemporalHTTP, &p.TemporalMetrics, &p.UI,
		&p.MaestroHTTP, &p.MaestroGRPC, &p.MaestroBroker, &p.MaestroHealth, &p.MaestroMetrics,
		&p.Postgres, &p.PgBouncer,
	}
}

// complete fills in the defaults that need the file system.
func (o Options) complete() (Options, error) {
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if o.WithoutTemporal && o.WithoutMaestro {
		return o, errors.New("nothing to start: both Temporal and Maestro are left out")
	}
	if len(o.Consumers) > 0 && o.WithoutMaestro {
		return o, errors.New("consumers need Maestro, which is left out")
	}
	if o.BinDir == "" || o.ToolsDir == "" {
		root, err := RepoRoot()
		if err != nil {
			return o, err
		}
		if o.BinDir == "" {
			o.BinDir = filepath.Join(root, ".build", "bin")
		}
		if o.ToolsDir == "" {
			o.ToolsDir = filepath.Join(root, "tools")
		}
	}
	for _, dir := range []*string{&o.Dir, &o.BinDir, &o.ToolsDir} {
		if *dir == "" {
			continue
		}
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return o, fmt.Errorf("resolve %s: %w", *dir, err)
		}
		*dir = abs
	}
	return o, nil
}

// RepoRoot finds the directory of this repository's go.mod, from the working directory upwards.
func RepoRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("read the working directory: %w", err)
	}
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && firstLine(string(data)) == "module "+modulePath {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not inside a checkout of " + modulePath + ": name the directories of binaries and tools")
		}
		dir = parent
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line)
}
