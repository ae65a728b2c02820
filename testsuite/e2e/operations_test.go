//go:build integration

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
)

// recipe is a command of the cookbook, and what a part of its output is.
type recipe struct {
	command string
	shows   []string
}

// recipes of a page: the lines of its sh blocks up to the lines that say what they print.
func recipes(page string) []recipe {
	var all []recipe
	inside, lines, shows := false, []string{}, []string{}
	flush := func() {
		if len(lines) > 0 {
			all = append(all, recipe{strings.Join(lines, "\n"), shows})
		}
		lines, shows = nil, nil
	}
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		text, expected := strings.CutPrefix(line, "#>")
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			inside = line == "```sh"
		case inside && expected:
			shows = append(shows, strings.TrimSpace(text))
		case inside:
			if len(shows) > 0 {
				flush()
			}
			lines = append(lines, line)
		}
	}
	return all
}

func TestCookbookOfOperations(t *testing.T) { cook(t, "operations.md", 15) }

func TestCookbookOfTheMutex(t *testing.T) { cook(t, "mutex.md", 15) }

// cook runs a page's commands, which do what the page says, on the names and ports of the tests.
func cook(t *testing.T, name string, least int) {
	t.Helper()
	consumer, queue := newConsumer(t), unique("queue")
	startWorker(t, queue, maestroConfig())
	root, err := devstack.RepoRoot()
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs", name))
	require.NoError(t, err)
	ours := strings.NewReplacer("cluster-a1", consumer, "--task-queue maestro-workflows", "--task-queue "+queue,
		`"name": "maestro-workflows"`, `"name": "`+queue+`"`, "localhost:7243", stack.TemporalHTTPAddress())
	temporalBin, err := devstack.TemporalBinary(t.Context())
	require.NoError(t, err)
	folder, programs := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(temporalBin, filepath.Join(programs, "temporal")))
	require.NoError(t, os.Symlink(cliBin, filepath.Join(programs, "maestro-cli")))
	all := recipes(string(page))
	require.GreaterOrEqual(t, len(all), least)
	for _, one := range all {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", ours.Replace(one.command))
		command.Dir = folder
		command.Env = append(envOf(queue), "PATH="+programs+":"+os.Getenv("PATH"), "MAESTRO_SOURCE_ID=hyperfleet")
		output, err := command.CombinedOutput()
		cancel()
		require.NoError(t, err, "%s\n%s", one.command, output)
		for _, text := range one.shows {
			require.Contains(t, flat(string(output)), flat(ours.Replace(text)), "%s\n%s", one.command, output)
		}
	}
}

// flat ignores how a command aligns and wraps its output.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }
