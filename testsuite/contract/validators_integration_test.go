//go:build integration

package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
)

// asked is one question to Maestro's own validation: about one object, about the payload of a create, or about the
// payload of an update beside the stored one.
type asked struct {
	Object json.RawMessage `json:"object,omitempty"`
	New    json.RawMessage `json:"new,omitempty"`
	Old    json.RawMessage `json:"old,omitempty"`
}

// maestroSays runs Maestro's own validation. It is a program of the module that the server is built from, because in
// this module it would be built with other versions and bring its dependencies along. "" is yes.
func maestroSays(t *testing.T, questions []asked) []string {
	var in bytes.Buffer
	for _, question := range questions {
		require.NoError(t, json.NewEncoder(&in).Encode(question))
	}
	command := exec.CommandContext(t.Context(), "go", "run", "-trimpath", "./verdict")
	command.Dir, command.Stdin = "../../tools/maestro", &in
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=") // as the server, from the same build cache
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	require.NoError(t, err, complaints.String())
	answers, decoder := make([]string, len(questions)), json.NewDecoder(bytes.NewReader(out))
	for index := range answers {
		require.NoError(t, decoder.Decode(&answers[index]), "answer %d", index)
	}
	return answers
}

// TestMaestrosValidatorTables runs the inputs of Maestro's own tests of its validation through that and through ours.
func TestMaestrosValidatorTables(t *testing.T) {
	tables := maestrosTables(t)
	var names []string
	var questions []asked
	for _, table := range []struct {
		test  string
		cases int
		ask   func(inputs []string) asked
	}{
		{"TestValidateNewObject", 11, func(in []string) asked { return asked{Object: json.RawMessage(in[0])} }},
		{"TestValidateManifestBundle", 2, func(in []string) asked { return asked{New: json.RawMessage(in[0])} }},
		{"TestValidateUpdateManifestBundle", 2, func(in []string) asked { return asked{New: json.RawMessage(in[0]), Old: json.RawMessage(in[1])} }},
		{"TestValidateUpdateObject", 5, func(in []string) asked {
			return asked{New: payloadOf(in[0]), Old: payloadOf(in[1])}
		}},
	} {
		require.Len(t, tables[table.test], table.cases, "%s has other cases than were looked at", table.test)
		for index, inputs := range tables[table.test] {
			names = append(names, fmt.Sprintf("%s %d", table.test, index))
			questions = append(questions, table.ask(inputs))
		}
	}
	// Maestro means to refuse it, but looks for an integer where every decoder leaves a double.
	stricter := map[string]string{
		"TestValidateNewObject 6":            "deletionGracePeriodSeconds",
		"TestValidateManifestBundle 1":       "spec.workload.manifests: empty",
		"TestValidateUpdateManifestBundle 1": "spec.workload.manifests: empty",
	}
	for index, theirs := range maestroSays(t, questions) {
		ours := judgeAsked(t, questions[index])
		switch expected := stricter[names[index]]; {
		case expected != "":
			assert.Empty(t, theirs, names[index])
			assert.ErrorContains(t, ours, expected, names[index])
		default:
			assert.Equal(t, theirs == "", ours == nil, "%s: Maestro: %s, ours: %v", names[index], theirs, ours)
		}
	}
}

// TestMaestrosValidatorAgreesOnMutations asks Maestro's own validation about every mutated work and update.
func TestMaestrosValidatorAgreesOnMutations(t *testing.T) {
	var names []string
	var questions []asked
	add := func(name string, next, old []workv1.Manifest) {
		question := asked{New: payloadOf(texts(next)...)}
		if old != nil {
			question.Old = payloadOf(texts(old)...)
		}
		if json.Valid(question.New) { // else no client could send it
			names, questions = append(names, name), append(questions, question)
		}
	}
	for _, one := range samples(rand.New(rand.NewPCG(*seed, 0))) {
		add(one.name, one.work.Spec.Workload.Manifests, nil)
	}
	for _, before := range updatedSets {
		for _, change := range changes {
			add("update: "+change.name, newWork("", "w", change.make(before)...).Spec.Workload.Manifests, newWork("", "w", before...).Spec.Workload.Manifests)
		}
	}
	require.Greater(t, len(questions), 500)
	refused := 0
	for index, theirs := range maestroSays(t, questions) {
		if theirs == "" {
			continue
		}
		refused++
		assert.Error(t, judgeAsked(t, questions[index]), "%s: Maestro: %s", names[index], short(theirs))
	}
	t.Logf("seed %d: %d questions, %d refused", *seed, len(questions), refused)
	assert.Greater(t, refused, 100)
}

// judgeAsked is our answer to the same question.
func judgeAsked(t *testing.T, question asked) error {
	next := newWork("", "web", string(question.Object))
	if question.Object == nil {
		next = workIn(t, question.New)
	}
	if _, err := manifest.Validate(next, ""); err != nil {
		return err
	}
	if question.Old != nil && !manifest.SameSet(workIn(t, question.Old), next) {
		return fmt.Errorf("another set of manifests")
	}
	return nil
}

// workIn has the manifests that an event carries.
func workIn(t *testing.T, event json.RawMessage) *workv1.ManifestWork {
	var content struct {
		Data struct{ Manifests []json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(event, &content))
	var manifests []string
	for _, raw := range content.Data.Manifests {
		manifests = append(manifests, string(raw))
	}
	return newWork("", "web", manifests...)
}

func texts(manifests []workv1.Manifest) []string {
	out := make([]string, len(manifests))
	for index, manifest := range manifests {
		out[index] = string(manifest.Raw)
	}
	return out
}

// payloadOf is an event with these manifests, as the server keeps it.
func payloadOf(manifests ...string) json.RawMessage {
	return json.RawMessage(`{"id":"1","source":"maestro","specversion":"1.0","datacontenttype":"application/json",
"type":"io.open-cluster-management.works.v1alpha1.manifestbundles.spec.create_request","data":{"manifests":[` + strings.Join(manifests, ",") + `]}}`)
}

// maestrosTables are the JSON texts of each case by test, read from the source of Maestro's own tests: the tables are
// inside the functions, so no program can import them.
func maestrosTables(t *testing.T) map[string][][]string {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift-online/maestro").Output()
	require.NoError(t, err)
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "pkg/services/validation_test.go"))
	require.NoError(t, err)
	file, err := parser.ParseFile(token.NewFileSet(), "validation_test.go", source, 0)
	require.NoError(t, err)
	tables := map[string][][]string{}
	for _, declared := range file.Decls {
		test, ok := declared.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(test, func(node ast.Node) bool {
			row, ok := node.(*ast.CompositeLit)
			if !ok || row.Type != nil { // rows have their type from the table
				return true
			}
			if texts := payloadsIn(row); len(texts) > 0 {
				tables[test.Name.Name] = append(tables[test.Name.Name], texts)
			}
			return false
		})
	}
	return tables
}

// payloadsIn are the texts given to newPayload in a row.
func payloadsIn(row ast.Node) (texts []string) {
	ast.Inspect(row, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		literal, ok := call.Args[1].(*ast.BasicLit)
		if name, named := call.Fun.(*ast.Ident); !ok || !named || name.Name != "newPayload" {
			return true
		}
		if text, err := strconv.Unquote(literal.Value); err == nil {
			texts = append(texts, text)
		}
		return true
	})
	return texts
}
