package contract_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// answers are the recorded words of a generation by what was asked.
type answers struct {
	path string
	want map[string]string

	mu  sync.Mutex
	got map[string]string
}

func readAnswers(t *testing.T, generation fakemaestro.Generation) *answers {
	a := &answers{path: "testdata/answers-" + generation.String() + ".json", want: map[string]string{}, got: map[string]string{}}
	raw, err := os.ReadFile(a.path)
	if *update && os.IsNotExist(err) {
		return a
	}
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &a.want))
	return a
}

// record compares an answer with the recorded one.
func (s *scene) record(question, answer string) {
	s.Helper()
	a := s.suite.answers
	a.mu.Lock()
	a.got[question] = answer
	want, known := a.want[question]
	a.mu.Unlock()
	if *update && s.suite.backend.Authority {
		return
	}
	if assert.True(s, known, "no recorded answer to %q: %s", question, answer) {
		assert.Equal(s, want, answer, "%q is answered in other words than recorded", question)
	}
}

// close finds recorded answers that nobody asks for any more, or writes the new record.
func (a *answers) close(t *testing.T, authority bool) {
	if !*update || !authority {
		assert.Equal(t, slices.Sorted(maps.Keys(a.want)), slices.Sorted(maps.Keys(a.got)))
		return
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(a.got))
	require.NoError(t, os.WriteFile(a.path, out.Bytes(), 0o644))
}
