package config

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

const pagePath = "../../docs/configuration.md"

func TestConfigurationPageIsUpToDate(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile(pagePath, []byte(Page()), 0o644))
	}
	stored, err := os.ReadFile(pagePath)
	require.NoError(t, err)
	assert.Equal(t, Page(), string(stored), "stale: run go generate ./internal/config")
}

func TestEveryKeyHasANameADefaultThatPassesItsCheckAndADocLine(t *testing.T) {
	for program, target := range map[string]any{"worker": &Worker{}, "cli": &CLI{}} {
		names, variables := map[string]bool{}, map[string]bool{}
		for _, key := range keysOf(target) {
			assert.Regexp(t, `^[a-z]+(-[a-z]+)*$`, key.name, program)
			assert.NotEmpty(t, key.doc, key.name)
			assert.False(t, names[key.name], key.name)
			assert.False(t, key.env != "" && variables[key.env], key.env)
			names[key.name], variables[key.env] = true, true
			assert.NoError(t, key.store(key.fallback), key.name)
			if key.fallback != "" {
				assert.NoError(t, runCheck(key.check, key.fallback), key.name)
			}
		}
	}
}
