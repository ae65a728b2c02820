package devstack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNamedBinaryWins(t *testing.T) {
	t.Setenv("TEMPORAL_BIN", "/bin/sh")
	path, err := temporalBinary.find(t.Context(), Options{Logf: t.Logf})
	require.NoError(t, err)
	assert.Equal(t, "/bin/sh", path)

	t.Setenv("TEMPORAL_BIN", "/nonexistent")
	_, err = temporalBinary.find(t.Context(), Options{Logf: t.Logf})
	require.ErrorContains(t, err, "TEMPORAL_BIN")
}

func TestStrangerOnPathIsNotUsed(t *testing.T) {
	dir := t.TempDir()
	stranger := filepath.Join(dir, "maestro")
	require.NoError(t, os.WriteFile(stranger, []byte("#!/bin/sh\necho tests mobile apps\n"), 0o755))
	assert.False(t, maestroBinary.proven(t.Context(), stranger))

	proven := filepath.Join(dir, "real")
	require.NoError(t, os.WriteFile(proven, []byte("#!/bin/sh\necho '  --grpc-broker-bindport string'\n"), 0o755))
	assert.True(t, maestroBinary.proven(t.Context(), proven))
}

func TestPinnedVersionIsReadFromTheToolsModule(t *testing.T) {
	root, err := RepoRoot()
	require.NoError(t, err)
	opts := Options{ToolsDir: filepath.Join(root, "tools")}
	assert.Regexp(t, `^v1\.`, temporalBinary.pinned(opts))
	assert.Regexp(t, `^v0\.0\.0-`, maestroBinary.pinned(opts))
}

func TestBuildWithoutItsModuleNamesTheProblem(t *testing.T) {
	opts := Options{BinDir: t.TempDir(), ToolsDir: t.TempDir(), Logf: t.Logf}
	_, err := temporalBinary.build(t.Context(), opts)
	require.ErrorContains(t, err, "build temporal")
	require.ErrorContains(t, err, opts.ToolsDir)
}

func TestNewestPostgresIsKnownByItsDirectory(t *testing.T) {
	for dir, version := range map[string]int{
		"/usr/lib/postgresql/15/bin": 15, "/usr/pgsql-16/bin": 16, "/usr/lib/postgresql/9.6/bin": 9, "/usr/local/bin": 0,
	} {
		assert.Equal(t, version, majorVersion(dir), dir)
	}
}

func TestPostgresIsReadyByItsOwnWordOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "postmaster.pid")
	require.Error(t, postmasterReady(file, 42))
	require.NoError(t, os.WriteFile(file, []byte("42\n/data\n1\n5432\n\n127.0.0.1\n1 2\nstarting\n"), 0o600))
	require.Error(t, postmasterReady(file, 42))
	require.NoError(t, os.WriteFile(file, []byte("42\n/data\n1\n5432\n\n127.0.0.1\n1 2\nready   \n"), 0o600))
	require.NoError(t, postmasterReady(file, 42))
	require.Error(t, postmasterReady(file, 43), "the file of a killed predecessor")
}
