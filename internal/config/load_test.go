package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/hyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func parsed(t *testing.T, target any, arguments ...string) *pflag.FlagSet {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.AddFlags(flags, target)
	require.NoError(t, flags.Parse(arguments))
	return flags
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestDefaults(t *testing.T) {
	var worker config.Worker
	require.NoError(t, config.Load(&worker, nil))
	assert.Equal(t, config.Worker{
		Maestro:     config.Maestro{GRPCEndpoint: "localhost:8090", HTTPEndpoint: "http://localhost:8000"},
		Temporal:    config.Temporal{TemporalAddress: "localhost:7233", TemporalNamespace: "default", TaskQueue: contract.DefaultTaskQueue},
		MaxInFlight: contract.MaxInFlight, CallTimeout: contract.CallTimeout, Activities: 200, HyperFleetTimeout: hyperfleet.DefaultTimeout, LogLevel: "info", LogFormat: "json",
	}, worker)

	var cli config.CLI
	require.NoError(t, config.Load(&cli, nil))
	assert.Equal(t, config.CLI{
		Maestro: worker.Maestro, Temporal: worker.Temporal, SourceID: "maestro-cli",
		ResultsFormat: "status-reporter", Output: "yaml",
	}, cli)
}

func TestFlagBeatsEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	t.Setenv("MAESTRO_WORKFLOWS_CONFIG", file(t, "grpc-endpoint: file:1\nhttp-endpoint: http://file:2\ntemporal-address: file:3\ngrpc-insecure: true\n"))
	t.Setenv("MAESTRO_GRPC_ENDPOINT", "env:1")
	t.Setenv("MAESTRO_HTTP_ENDPOINT", "http://env:2")
	t.Setenv("TEMPORAL_NAMESPACE", "")
	var cli config.CLI
	require.NoError(t, config.Load(&cli, parsed(t, &cli, "--grpc-endpoint", "flag:1")))
	assert.Equal(t, "flag:1", cli.GRPCEndpoint)
	assert.Equal(t, "http://env:2", cli.HTTPEndpoint)
	assert.Equal(t, "file:3", cli.TemporalAddress)
	assert.True(t, cli.GRPCInsecure)
	assert.Equal(t, "default", cli.TemporalNamespace, "an empty variable is not set")
}

func TestFileFlagBeatsItsVariable(t *testing.T) {
	t.Setenv("MAESTRO_WORKFLOWS_CONFIG", filepath.Join(t.TempDir(), "missing"))
	var worker config.Worker
	require.NoError(t, config.Load(&worker, parsed(t, &worker, "--config", file(t, `{"maestro-call-timeout": "3s", "max-activities": 7}`))))
	assert.Equal(t, 3*time.Second, worker.CallTimeout)
	assert.Equal(t, 7, worker.Activities)
}

func TestOldToolsSpellingsOfTrue(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "1": true, "yes": true, "YES": true, "false": false, "0": false, "no": false} {
		t.Setenv("MAESTRO_GRPC_INSECURE", text)
		var cli config.CLI
		require.NoError(t, config.Load(&cli, nil), text)
		assert.Equal(t, want, cli.GRPCInsecure, text)
	}
	t.Setenv("MAESTRO_GRPC_INSECURE", "sure")
	var cli config.CLI
	assert.EqualError(t, config.Load(&cli, nil), `grpc-insecure (--grpc-insecure, MAESTRO_GRPC_INSECURE) "sure": give true or false`)
}

func TestEveryProblemIsFoundAtOnceAndTheRestIsFilled(t *testing.T) {
	t.Setenv("MAESTRO_HTTP_ENDPOINT", "localhost:8000")
	t.Setenv("RESULTS_PATH", "/results/adapter-result.json")
	var cli config.CLI
	err := config.Load(&cli, parsed(t, &cli, "--grpc-endpoint=http://x:1", "--output=table", "--source-id=a/b", "--task-queue="))
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 5)
	for i, key := range []string{"grpc-endpoint", "http-endpoint", "task-queue", "source-id", "output"} {
		assert.Contains(t, lines[i], key+" (--"+key)
	}
	assert.Equal(t, "/results/adapter-result.json", cli.ResultsPath)
	assert.Equal(t, "yaml", cli.Output)
}

func TestBadValuesNameTheirKey(t *testing.T) {
	for argument, want := range map[string]string{
		"--grpc-endpoint=host":                                  "host:port",
		"--grpc-endpoint=host:0":                                "port from 1 to 65535",
		"--http-endpoint=ftp://host":                            "http://host:port",
		"--http-endpoint=http://u:p@host":                       "leave user name and password out",
		"--http-endpoint=http://host/?a=b":                      "query",
		"--maestro-max-in-flight=33":                            "1 to 32",
		"--maestro-max-in-flight=many":                          "1 to 32",
		"--maestro-call-timeout=10":                             "with a unit",
		"--maestro-call-timeout=-1s":                            "positive",
		"--results-dir=/nowhere":                                "folder that exists",
		"--results-dir=" + os.Args[0]:                           "this is a file",
		"--hyperfleet-url=host:8000":                            "http://host:port",
		"--hyperfleet-url=http://u:p@host":                      "leave user name and password out",
		"--hyperfleet-timeout=10":                               "with a unit",
		"--log-level=loud":                                      "debug, info, warn, error",
		"--temporal-namespace= ":                                "must not be empty",
		"--config=/nowhere":                                     "read configuration file /nowhere",
		"--config=" + file(t, "a: [1"):                          "read configuration file",
		"--config=" + file(t, "x: 1\nx: 2"):                     "read configuration file",
		"--config=" + file(t, "log-levl: x"):                    `unknown key "log-levl"`,
		"--config=" + file(t, "maestro:\n  grpc-endpoint: x:1"): `unknown key "maestro.grpc-endpoint"`,
		"--config=" + file(t, "log-level: [info]"):              "single value",
	} {
		var worker config.Worker
		err := config.Load(&worker, parsed(t, &worker, argument))
		if assert.ErrorContains(t, err, want, argument) {
			assert.NotContains(t, err.Error(), "\n", argument)
		}
	}
}

func TestHelpShowsDefaultsAndNotTheEnvironment(t *testing.T) {
	t.Setenv("MAESTRO_GRPC_ENDPOINT", "private:1")
	var cli config.CLI
	usage := parsed(t, &cli).FlagUsages()
	assert.NotContains(t, usage, "private")
	assert.Contains(t, usage, "[MAESTRO_GRPC_ENDPOINT]")
}
