package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestDeleteWaitsForTheConfirmationOnlyWhenAsked(t *testing.T) {
	for argument, want := range map[string]string{"": "", "--wait=false": "", "--wait": "Deleted", "--wait=true": "Deleted", "--wait=Deleted": "Deleted"} {
		path := stale(t)
		synctest.Test(t, func(t *testing.T) {
			deleted := contract.StatusResult{Status: contract.StatusDeleted, Reason: contract.ReasonDeleted, Message: "gone"}
			b := &bench{temporal: &fakeTemporal{start: ending(0, deleted)}}
			arguments := []string{"delete", "--name", "web", "--consumer", "cluster-a", "--generation=3", "--timeout=0", "--results-path", path}
			if argument != "" {
				arguments = append(arguments, argument)
			}
			require.Equal(t, 0, b.run(arguments...), b.stderr.String())
			assert.Equal(t, contract.Request{
				Source: "maestro-cli", Consumer: "cluster-a", Action: contract.ActionDelete, Name: "web", Generation: 3, Wait: want, Timeout: "0",
			}, b.temporal.requests[0])
			assert.Equal(t, "success", readResults(t, path).Status)
		})
	}
}

func TestDeleteRefusesOtherConditions(t *testing.T) {
	path := stale(t)
	b := &bench{}
	assert.Equal(t, 2, b.run("delete", "--name", "web", "--consumer", "cluster-a", "--wait=Available", "--results-path", path))
	assert.Equal(t, "InvalidInput", readResults(t, path).Reason)
}

func TestDeleteDryRunLooksAndChangesNothing(t *testing.T) {
	deleting := storedWork(t)
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	deleting.DeletedAt = &at
	for name, test := range map[string]struct {
		maestro *fakeMaestro
		code    int
		message string
		status  string
	}{
		"stored":      {&fakeMaestro{stored: storedWork(t)}, 0, "dry run: version 7 with 3 manifests would be deleted", "success"},
		"deleting":    {&fakeMaestro{stored: deleting}, 0, "dry run: the work is being deleted already, since 2026-03-01T00:00:00Z", "success"},
		"absent":      {&fakeMaestro{err: maestro.ErrNotFound}, 0, "dry run: there is no such work", "success"},
		"unreachable": {&fakeMaestro{err: contract.Errorf(contract.ErrUnavailable, "connection refused")}, 5, "connection refused", "failure"},
	} {
		t.Run(name, func(t *testing.T) {
			path := stale(t)
			b := &bench{maestro: test.maestro}
			assert.Equal(t, test.code, b.run("delete", "--name", "web", "--consumer", "cluster-a", "--dry-run", "--output=json", "--results-path", path))
			got := readResults(t, path)
			assert.Equal(t, test.message, got.Message)
			assert.Equal(t, test.status, got.Status)
			if test.code == 0 {
				assert.Equal(t, test.message, b.document(t)["message"])
			}
		})
	}
}

func TestWaitDefaults(t *testing.T) {
	path := stale(t)
	synctest.Test(t, func(t *testing.T) {
		b := &bench{temporal: &fakeTemporal{start: ending(0, available())}}
		require.Equal(t, 0, b.run("--source-id", "hyperfleet", "--timeout", "90s", "wait", "--name", "web", "--consumer", "cluster-a", "--results-path", path))
		assert.Equal(t, contract.Request{
			Source: "hyperfleet", Consumer: "cluster-a", Action: contract.ActionWait, Name: "web", Wait: "Available", Timeout: "90s",
		}, b.temporal.requests[0], "global flags may stand before the command, as in the old tool")
		assert.Equal(t, "success", readResults(t, path).Status)
	})
}

func TestWaitRefusesBadInput(t *testing.T) {
	for _, arguments := range [][]string{{}, {"--name", "web"}, {"--name", "web", "--consumer", "c", "--for", ""}, {"--name", "web", "--consumer", "c", "--for", "(A"}, {"--name", "W", "--consumer", "c"}} {
		path := stale(t)
		b := &bench{}
		assert.Equal(t, 2, b.run(append([]string{"wait", "--results-path", path}, arguments...)...), arguments)
		assert.Equal(t, "InvalidInput", readResults(t, path).Reason, arguments)
	}
}

func TestValidate(t *testing.T) {
	b := &bench{stdin: workYAML}
	require.Equal(t, 0, b.run("validate", "--manifest-file", "-", "--consumer", "cluster-a", "--output=json"), b.stderr.String())
	document := b.document(t)
	assert.Equal(t, true, document["valid"])
	assert.Equal(t, []any{"ConfigMap/demo/web"}, document["manifests"])

	two := strings.Replace(workYAML, "name: web\n", "name: Web_1\n  namespace: other\n", 1)
	b = &bench{stdin: two}
	assert.Equal(t, 2, b.run("validate", "--manifest-file", "-", "--consumer", "cluster-a"))
	assert.Empty(t, b.stdout.String())
	require.Len(t, b.said(), 2, "one line per problem")
	assert.Contains(t, b.said()[0], "metadata.name")
	assert.Contains(t, b.said()[1], "metadata.namespace")

	for _, arguments := range [][]string{{}, {"--manifest-file", "/none"}, {"--manifest-file", "-", "--consumer", "A_b"}} {
		b = &bench{stdin: workYAML}
		assert.Equal(t, 2, b.run(append([]string{"validate"}, arguments...)...), arguments)
		assert.Len(t, b.said(), 1, arguments)
	}
}

const secretYAML = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: demo, uid: u}\nstringData: {a: b}\n"

func TestValidateTakesBareObjects(t *testing.T) {
	b := &bench{stdin: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, big: 9007199254740993}\n"}
	require.Equal(t, 0, b.run("validate", "--manifest-file", "-", "--output=json"), b.stderr.String())
	const warning = "standard input:4: items[0].big: 9007199254740993 becomes 9007199254740992"
	document := b.document(t)
	assert.Equal(t, "objects", document["kind"])
	assert.NotContains(t, document, "name")
	assert.Equal(t, []any{"ConfigMap/a"}, document["manifests"])
	require.Len(t, document["warnings"], 1)
	assert.Contains(t, document["warnings"].([]any)[0], warning)
	require.Len(t, b.said(), 1)
	assert.Contains(t, b.said()[0], "warning: "+warning)
}

func TestValidateSaysEverythingAndEndsWithTwo(t *testing.T) {
	b := &bench{stdin: secretYAML}
	assert.Equal(t, 2, b.run("validate", "--manifest-file", "-"))
	assert.Empty(t, b.stdout.String())
	require.Len(t, b.said(), 2)
	assert.Contains(t, b.said()[0], "standard input:4: stringData: Secrets would be readable")
	assert.Contains(t, b.said()[1], "standard input:3: metadata.uid: set by a server")

	b = &bench{stdin: secretYAML}
	assert.Equal(t, 0, b.run("validate", "--manifest-file", "-", "--strip-server-fields", "--allow-plaintext-secrets"))
	require.Len(t, b.said(), 1)
	assert.Contains(t, b.said()[0], "warning: standard input:4: stringData: Secrets would be readable")
}

func TestValidateMeasuresWhatIsTooLargeToKeep(t *testing.T) {
	large := strings.Repeat("x", 3*contract.MaxWorkBytes)
	for _, path := range []string{"-", manifestFile(t, large)} {
		b := &bench{stdin: large}
		assert.Equal(t, 2, b.run("validate", "--manifest-file", path))
		require.Len(t, b.said(), 1)
		assert.Contains(t, b.said()[0], ": 3145728 bytes, the limit is 1048576: split the work")
	}
}

func TestVersion(t *testing.T) {
	b := &bench{}
	require.Equal(t, 0, b.run("version"))
	assert.Equal(t, "version: v1.2.3\ncommit: abc\ndate: 2026-03-01\n", b.stdout.String())
	b = &bench{}
	require.Equal(t, 0, b.run("version", "--output", "json"))
	assert.Equal(t, map[string]any{"version": "v1.2.3", "commit": "abc", "date": "2026-03-01"}, b.document(t))
}

func TestUsageErrorsAreOneLineAndExitTwo(t *testing.T) {
	for line, want := range map[string]string{
		"":                                "maestro-cli: give a command; see maestro-cli --help",
		"aply":                            `maestro-cli: unknown command "aply" for "maestro-cli"; Did you mean this?; apply; see maestro-cli --help`,
		"apply --nope":                    "maestro-cli: unknown flag: --nope; see maestro-cli apply --help",
		"apply --generation x":            "maestro-cli: invalid argument",
		"apply --wait Available":          `--wait=Available`,
		"get web":                         `maestro-cli: unexpected argument "web": a work is given as --name web; see maestro-cli get --help`,
		"version --output table":          "output (--output)",
		"get --config /none":              "read configuration file /none",
		"get --name a":                    "--consumer is required",
		"get --name a --consumer b":       "TLS is not supported yet",
		"version --grpc-insecure=perhaps": "grpc-insecure",
	} {
		b := &bench{}
		assert.Equal(t, 2, b.run(strings.Fields(line)...), line)
		assert.Empty(t, b.stdout.String(), line)
		said := b.said()
		assert.Contains(t, said[len(said)-1], want, line)
		if line != "" {
			assert.Len(t, said, 1, line)
		}
	}
}

func TestHelpNeedsNoServerAndShowsNothingOfTheEnvironment(t *testing.T) {
	t.Setenv("MAESTRO_GRPC_ENDPOINT", "private.example:1")
	t.Setenv("RESULTS_PATH", "/private/result.json")
	for _, command := range []string{"apply", "delete", "wait", "get", "validate", "version", ""} {
		b := &bench{}
		assert.Equal(t, 0, b.run(strings.Fields(command+" --help")...), command)
		assert.NotContains(t, b.stdout.String(), "private")
		assert.Contains(t, b.stdout.String(), "--temporal-address")
		assert.Empty(t, b.stderr.String())
	}
}

func TestGetErrors(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		code int
		say  string
	}{
		"absent":       {maestro.ErrNotFound, 1, "maestro-cli: get cluster-a/web: NotFound: source maestro-cli has no such work in Maestro http://localhost:8000; correct --name"},
		"unreachable":  {contract.Errorf(contract.ErrUnavailable, "connection refused"), 5, "MaestroUnavailable: connection refused"},
		"unauthorized": {contract.Errorf(contract.ErrUnauthorized, "no"), 1, "Unauthorized"},
		"other":        {errors.New("odd"), 1, "Internal"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{maestro: &fakeMaestro{err: test.err}}
			assert.Equal(t, test.code, b.run("get", "--name", "web", "--consumer", "cluster-a"))
			assert.Empty(t, b.stdout.String())
			require.Len(t, b.said(), 1)
			assert.Contains(t, b.said()[0], test.say)
			assert.Equal(t, []string{"cluster-a/web"}, b.maestro.asked)
		})
	}
}

func TestTemporalThatIsNotThereIsExitFive(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	_, err = dialTemporal(t.Context(), config.CLI{Temporal: config.Temporal{TemporalAddress: address, TemporalNamespace: "default"}}, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, starter.ErrTemporalUnavailable)

	path := stale(t)
	b := &bench{temporal: &fakeTemporal{dialErr: err}}
	assert.Equal(t, 5, b.run("wait", "--name", "web", "--consumer", "cluster-a", "--results-path", path))
	assert.Equal(t, "TemporalUnavailable", readResults(t, path).Reason)
	assert.Len(t, b.said(), 1)
	assert.Contains(t, b.said()[0], address)
}

func TestFailOnAndAddFeedback(t *testing.T) {
	deployment := manifestFile(t, `apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: web}
spec: {workload: {manifests: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: demo}, spec: {replicas: 2}}]}}
`)
	apply := func(more ...string) []string {
		return append([]string{"apply", "--manifest-file", deployment, "--consumer", "cluster-a1"}, more...)
	}
	request := requested(t, apply("--wait", "--wait=Deployment/web@readyReplicas >= 2", "--fail-on=Deployment/web@unavailableReplicas > 1", "--add-feedback")...)[0]
	assert.Equal(t, "Deployment/web@unavailableReplicas > 1", request.FailOn)
	assert.Contains(t, string(request.Work), `{"name":"readyReplicas","path":".status.readyReplicas"},{"name":"unavailableReplicas","path":".status.unavailableReplicas"}`)
	assert.Equal(t, "Degraded", requested(t, "wait", "--name", "web", "--consumer", "cluster-a1", "--for=Available", "--fail-on=Degraded")[0].FailOn)

	for says, arguments := range map[string][]string{
		"which maestro-cli apply adds with --add-feedback": apply("--wait=Deployment/web@readyReplicas >= 2"),
		"--fail-on: only with a wait":                      apply("--fail-on=Degraded"),
		"--fail-on: wait condition":                        apply("--wait", "--fail-on=Degraded OR"),
		"nothing reports field x":                          apply("--wait", "--fail-on=Deployment@x == 1"),
	} {
		b := &bench{}
		assert.Equal(t, 2, b.run(arguments...), arguments)
		assert.Contains(t, b.stderr.String(), says)
	}
}

func TestDeleteAll(t *testing.T) {
	all := []string{"delete", "--all", "--consumer", "cluster-a1", "--wait", "--generation=3"}
	var deleted sync.Map
	b := &bench{maestro: &fakeMaestro{names: []string{"a", "b", "c"}}, temporal: &fakeTemporal{start: func(ctx context.Context, request contract.Request) (operation, error) {
		deleted.Store(request.Name, request)
		result := available()
		if request.Name == "b" {
			result.Status, result.Reason, result.Message = contract.StatusFailed, string(contract.ErrOwnershipConflict), "not ours"
		}
		return ending(0, result)(ctx, request)
	}}}
	assert.Equal(t, 1, b.run(all...), "one failure does not stop the others, and is reported")
	assert.Contains(t, b.stderr.String(), "1 of 3 works failed")
	for _, name := range []string{"a", "b", "c"} {
		value, found := deleted.Load(name)
		require.True(t, found, name)
		request := value.(contract.Request)
		assert.Equal(t, []any{contract.ActionDelete, "cluster-a1", "Deleted", int64(3)}, []any{request.Action, request.Consumer, request.Wait, request.Generation})
	}
	assert.Equal(t, []string{"maestro-cli cluster-a1"}, b.maestro.searched, "of this source alone")

	b = &bench{maestro: &fakeMaestro{}}
	assert.Equal(t, 0, b.run(all...), b.stderr.String())
	for says, arguments := range map[string][]string{
		"--all: not with --name":   {"delete", "--all", "--name", "web", "--consumer", "cluster-a1"},
		"--consumer is required":   {"delete", "--all"},
		`consumer "a1' or '1'='1"`: {"delete", "--all", "--consumer", "a1' or '1'='1"},
	} {
		b := &bench{maestro: &fakeMaestro{}}
		assert.Equal(t, 2, b.run(arguments...), arguments)
		assert.Contains(t, b.stderr.String(), says)
		assert.Empty(t, b.maestro.searched, "before anything is asked")
	}
}

func TestDeleteOfOneManifestIsARemoval(t *testing.T) {
	arguments := []string{"delete", "--name", "web", "--consumer", "cluster-a", "--wait", "--generation", "5", "--adapter", "demo"}
	run := func(server *fakeMaestro, more ...string) (*bench, int) {
		b := &bench{maestro: server, temporal: &fakeTemporal{start: ending(0, available())}}
		return b, b.run(append(arguments[:len(arguments):len(arguments)], more...)...)
	}
	stored := &fakeMaestro{stored: storedWork(t)}
	for text, want := range map[string]string{"numbers": "ConfigMap/demo/numbers", "ConfigMap/numbers": "ConfigMap/demo/numbers", "NodePool.h.io/x/gone": "NodePool.h.io/x/gone"} {
		b, code := run(stored, "--manifest-name", text, "--on-immutable", "recreate")
		require.Equal(t, 0, code, b.stderr.String())
		assert.Equal(t, contract.Request{
			Source: "maestro-cli", Consumer: "cluster-a", Action: contract.ActionRemove, Name: "web", Generation: 5, Adapter: "demo",
			Wait: "Deleted", OnImmutable: contract.OnImmutableRecreate, Remove: []string{want},
		}, b.temporal.requests[0], text)
	}
	_, code := run(&fakeMaestro{err: maestro.ErrNotFound}, "--manifest-name", "ConfigMap/demo/numbers")
	assert.Equal(t, 0, code, "the operation finds out")
	for more, says := range map[string]string{
		"--manifest-name=nobody":                   "0 manifests are called that, the work holds",
		"--manifest-name=numbers --dry-run":        "--manifest-name: not with --dry-run",
		"--manifest-name=numbers --orphan":         "--manifest-name: not with --dry-run or --orphan",
		"--on-immutable=recreate":                  "onImmutable: only for actions",
		"--manifest-name=a --all":                  "--all: not with --name, --manifest-name",
		"--manifest-name=numbers --wait=Available": "a deletion waits for Deleted only",
	} {
		b, code := run(stored, strings.Fields(more)...)
		assert.Equal(t, 2, code, more)
		assert.Contains(t, b.stderr.String(), says, more)
		assert.Empty(t, b.temporal.requests)
	}
}
