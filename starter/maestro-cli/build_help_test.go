package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// helpOfBuild is its text with single spaces.
func helpOfBuild(t *testing.T) string {
	t.Helper()
	b := &bench{}
	require.Equal(t, 0, b.run("build", "--help"), b.stderr.String())
	return strings.Join(strings.Fields(b.stdout.String()), " ")
}

func TestBuildHelpSaysWhatBecomesOfADroppedNodepool(t *testing.T) {
	assert.Contains(t, helpOfBuild(t), "A nodepool that is dropped from the file keeps its work: remove that with maestro-cli delete.")
}

func TestBuildHelpSaysWhichFlagsAreForItsOperation(t *testing.T) {
	help := helpOfBuild(t)
	for _, flag := range []string{`--wait string[="Available"]`, "--patience string", "--grace string", "--detach", "--cancel-on-interrupt", "--allow-plaintext-secrets"} {
		assert.Contains(t, help, flag+" with --apply: ")
	}
	assert.Equal(t, 6, strings.Count(help, ofApply))
}
