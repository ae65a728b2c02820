package devstack

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// binary is a server that is used as installed or built from its module below tools.
type binary struct {
	name   string   // of the file, and of the directory below tools
	env    string   // variable that names an installed one
	pkg    string   // main package
	module string   // module of the main package, whose version is pinned in the tool's go.mod
	probe  []string // arguments that print proof, so that a stranger of the same name on PATH is not taken
	proof  string
}

var (
	temporalBinary = binary{
		name: "temporal", env: "TEMPORAL_BIN",
		pkg: "github.com/temporalio/cli/cmd/temporal", module: "github.com/temporalio/cli",
		probe: []string{"server", "start-dev", "--help"}, proof: "--search-attribute",
	}
	maestroBinary = binary{
		name: "maestro", env: "MAESTRO_BIN",
		pkg: "github.com/openshift-online/maestro/cmd/maestro", module: "github.com/openshift-online/maestro",
		probe: []string{"server", "--help"}, proof: "--grpc-broker-bindport",
	}
)

// Build builds Temporal and Maestro into the options' BinDir where they are missing or of another version than
// the one pinned below tools. Installed binaries are not looked at.
func Build(ctx context.Context, opts Options) error {
	opts, err := opts.complete()
	if err != nil {
		return err
	}
	for _, b := range []binary{temporalBinary, maestroBinary} {
		path, err := b.build(ctx, opts)
		if err != nil {
			return err
		}
		opts.Logf("%s is ready: %s", b.name, path)
	}
	return nil
}

// TemporalBinary is the path of the temporal command that [Start] runs; it is built where it is missing.
func TemporalBinary(ctx context.Context) (string, error) {
	opts, err := (Options{}).complete()
	if err != nil {
		return "", err
	}
	return temporalBinary.find(ctx, opts)
}

// find returns the binary's path: the one named by the variable, else the one on PATH, else the built one.
func (b binary) find(ctx context.Context, opts Options) (string, error) {
	if named := os.Getenv(b.env); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("%s names no program: %w", b.env, err)
		}
		return filepath.Abs(path)
	}
	if path, err := exec.LookPath(b.name); err == nil {
		if b.proven(ctx, path) {
			return filepath.Abs(path)
		}
		opts.Logf("%s is another program of that name, it is not used", path)
	}
	return b.build(ctx, opts)
}

// proven reports whether the program is what its name says.
func (b binary) proven(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, b.probe...).CombinedOutput()
	return err == nil && strings.Contains(string(out), b.proof)
}

// build returns the binary in BinDir, after building it where that is needed.
func (b binary) build(ctx context.Context, opts Options) (string, error) {
	path := filepath.Join(opts.BinDir, b.name)
	if b.current(path, opts) {
		return path, nil
	}
	if err := os.MkdirAll(opts.BinDir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory of binaries: %w", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(opts.BinDir, "."+b.name+".lock"), func() {
		opts.Logf("another process is building %s, waiting for it", b.name)
	})
	if err != nil {
		return "", fmt.Errorf("wait for another build of %s: %w", b.name, err)
	}
	defer unlock()
	if b.current(path, opts) {
		return path, nil
	}
	return path, b.compile(ctx, opts, path)
}

// current reports whether the file exists and is of the pinned version.
func (b binary) current(path string, opts Options) bool {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return false
	}
	pinned := b.pinned(opts)
	return pinned == "" || info.Main.Version == pinned
}

// pinned is the version in the tool's go.mod, empty when that cannot be read.
func (b binary) pinned(opts Options) string {
	data, err := os.ReadFile(filepath.Join(opts.ToolsDir, b.name, "go.mod"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == b.module {
			return fields[1]
		}
	}
	return ""
}

// compile builds under another name first: an interrupted build must not look like a binary.
func (b binary) compile(ctx context.Context, opts Options, path string) error {
	dir := filepath.Join(opts.ToolsDir, b.name)
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return fmt.Errorf("build %s: %w", b.name, err)
	}
	opts.Logf("building %s %s from %s: this happens once and takes several minutes on a cold cache", b.name, b.pinned(opts), dir)
	partial := fmt.Sprintf("%s.%d.partial", path, os.Getpid())
	defer os.Remove(partial)
	// Stripped, and without cgo, which nothing here needs: the settings are part of the key of Go's build
	// cache, so every build of these modules should use the same.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", partial, b.pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second

	started := time.Now()
	done := make(chan struct{})
	defer close(done)
	go announce(done, func() {
		opts.Logf("still building %s (%s)", b.name, time.Since(started).Round(time.Second))
	})
	out, err := cmd.CombinedOutput()
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return fmt.Errorf("build %s: %w", b.name, ctx.Err())
		}
		return fmt.Errorf("build %s in %s: %w\n%s", b.name, dir, err, lastBytes(out, 4000))
	}
	if err := os.Rename(partial, path); err != nil {
		return fmt.Errorf("keep the built %s: %w", b.name, err)
	}
	opts.Logf("built %s in %s", b.name, time.Since(started).Round(time.Second))
	return nil
}

// announce calls f every half minute until done.
func announce(done <-chan struct{}, f func()) {
	ticker := time.NewTicker(30 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			f()
		}
	}
}

func lastBytes(b []byte, n int) []byte {
	if len(b) > n {
		b = b[len(b)-n:]
	}
	return b
}
