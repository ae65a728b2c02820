//go:build integration

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack/simcluster"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
)

// source of all works of these tests.
const source = "e2e"

// The servers and binaries that the tests share.
var (
	stack     *devstack.Stack
	clusters  *simcluster.Cluster
	temporal  client.Client
	server    *maestro.Client
	spawner   *devstack.Spawner
	workerBin string
	cliBin    string
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if workerBin, err = build(dir, "maestro-worker", "worker"); err != nil {
		return failed(err)
	}
	if cliBin, err = build(dir, "maestro-cli", "starter/maestro-cli"); err != nil {
		return failed(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	logf := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	if stack, err = devstack.Start(ctx, devstack.Options{Logf: logf}); err != nil {
		return failed(err)
	}
	defer stack.Stop()
	if clusters, err = simcluster.Start(ctx, simcluster.Options{BrokerAddress: stack.BrokerAddress()}); err != nil {
		return failed(err)
	}
	defer clusters.Stop()
	if temporal, err = client.Dial(client.Options{HostPort: stack.TemporalAddress(), Namespace: stack.Namespace(), Logger: quiet()}); err != nil {
		return failed(err)
	}
	defer temporal.Close()
	if server, err = maestro.New(maestroConfig()); err != nil {
		return failed(err)
	}
	defer func() { _ = server.Close() }()
	spawner = devstack.NewSpawner(logf)
	defer spawner.Close()
	return m.Run()
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, "e2e: set-up failed:", err)
	return 1
}

func build(dir, name, pkg string) (string, error) {
	root, err := devstack.RepoRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-o", path, "./"+pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, output)
	}
	return path, nil
}

func maestroConfig() maestro.Config {
	return maestro.Config{GRPCEndpoint: stack.MaestroGRPCAddress(), HTTPEndpoint: stack.MaestroURL(), Insecure: true, Source: source}
}

// quiet drops the SDK's log lines: these tests make every error on purpose.
func quiet() log.Logger { return nothing{} }

type nothing struct{}

func (nothing) Debug(string, ...any) {}
func (nothing) Info(string, ...any)  {}
func (nothing) Warn(string, ...any)  {}
func (nothing) Error(string, ...any) {}
