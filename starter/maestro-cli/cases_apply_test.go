package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// largeWork has n ConfigMaps of so many bytes.
func largeWork(n, bytes int) string {
	var text strings.Builder
	text.WriteString("apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: tenant-c3-large}\nspec:\n  workload:\n    manifests:\n")
	for index := range n {
		fmt.Fprintf(&text, "      - {apiVersion: v1, kind: ConfigMap, metadata: {name: large-%d, namespace: pools-c3}, data: {blob: %q}}\n", index, strings.Repeat("x", bytes))
	}
	return text.String()
}

// What is too large is measured and refused before any workflow could hang on it.
func TestCaseOfLargeWorksStopsBeforeAWorkflow(t *testing.T) {
	for name, sample := range map[string]struct {
		text string
		says []string
	}{
		"499k": {largeWork(4, 127_000), nil},
		"600k": {largeWork(6, 100_000), []string{": 6006", " bytes, the limit is 512000"}},
		"3m":   {largeWork(3, 1_000_000), []string{": 3000", " bytes, the limit is 1048576"}},
	} {
		t.Run(name, func(t *testing.T) {
			file, path := manifestFile(t, sample.text), stale(t)
			validate := &bench{}
			code := validate.run("validate", "--manifest-file", file)
			apply := &bench{temporal: &fakeTemporal{start: func(ctx context.Context, request contract.Request) (operation, error) {
				return ending(0, available())(ctx, request)
			}}}
			applied := apply.run("apply", "--manifest-file", file, "--consumer", "cluster-a1", "--results-path", path)
			got := readResults(t, path)
			if sample.says == nil {
				assert.Equal(t, []int{0, 0}, []int{code, applied}, apply.stderr.String())
				assert.Equal(t, "success", got.Status)
				assert.Len(t, apply.temporal.requests, 1)
				return
			}
			assert.Equal(t, []int{2, 2}, []int{code, applied})
			assert.Equal(t, []string{"failure", "TooLarge"}, []string{got.Status, got.Reason})
			assert.Empty(t, apply.temporal.requests, "nothing is started")
			for _, text := range sample.says {
				assert.Contains(t, validate.stderr.String(), text)
				assert.Contains(t, apply.stderr.String(), text)
				assert.Contains(t, got.Message, text)
			}
		})
	}
}

// A wait for what nobody reports ends before it begins.
func TestCaseOfAWaitWithoutARuleIsRefused(t *testing.T) {
	file := caseFile("unruled-wait", "work.yaml")
	path := stale(t)
	b := &bench{}
	assert.Equal(t, 2, b.run("apply", "--manifest-file", file, "--consumer", "cluster-a1", "--wait=Job/setup:Complete", "--timeout=60s", "--results-path", path))
	const says = "nothing reports Complete for Job.batch/pools-c3/setup: agents report [Applied Available StatusFeedbackSynced], and what the conditionRules"
	assert.Contains(t, b.stderr.String(), says)
	got := readResults(t, path)
	assert.Equal(t, "InvalidInput", got.Reason)
	assert.Contains(t, got.Message, says)

	ruled := readCase(t, "unruled-wait", "work.yaml") + "  manifestConfigs:\n    - resourceIdentifier: {group: batch, resource: jobs, namespace: pools-c3, name: setup}\n" +
		"      conditionRules: [{type: WellKnownConditions}]\n"
	b = &bench{temporal: &fakeTemporal{start: ending(0, available())}}
	assert.Equal(t, 0, b.run("apply", "--manifest-file", manifestFile(t, ruled), "--consumer", "cluster-a1", "--wait=Job/setup:Complete"), b.stderr.String())
}

// No value of a Secret is said or written by an apply, however talkative.
func TestCaseOfSecretChangesStaysSilentInApply(t *testing.T) {
	file, path := caseFile("secret-changes", "work.yaml"), stale(t)
	for _, more := range [][]string{nil, {"--allow-plaintext-secrets"}} {
		b := &bench{temporal: &fakeTemporal{start: ending(0, available())}}
		code := b.run(append([]string{"apply", "--manifest-file", file, "--consumer", "cluster-a1", "--verbose", "--wait", "--results-path", path}, more...)...)
		assert.Equal(t, more == nil, code == 2, b.stderr.String())
		results, err := os.ReadFile(path)
		require.NoError(t, err)
		all := b.stdout.String() + b.stderr.String() + string(results)
		for _, sentinel := range []string{"SENTINEL-BEFORE-1717", "SENTINEL-AFTER-1818", "SENTINEL-TOKEN-1919"} {
			assert.NotContains(t, all, sentinel)
			assert.NotContains(t, all, base64.StdEncoding.EncodeToString([]byte(sentinel)))
		}
	}
}
