package manifest

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The examples of the published page are conditions.
func TestExamplesOfTheConditionsPageAreRead(t *testing.T) {
	page, err := os.ReadFile("../../docs/conditions.md")
	require.NoError(t, err)
	examples := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
		if len(cells) != 4 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		text := strings.ReplaceAll(strings.Trim(strings.TrimSpace(cells[1]), "`"), "\x00", "|")
		_, err := ParseExpression(text)
		assert.NoError(t, err, text)
		examples++
	}
	assert.Equal(t, 10, examples)
	for _, old := range []string{"Job:status.succeeded = 1", "Pod:.status.phase = Running"} {
		require.Contains(t, string(page), old)
		_, err := ParseExpression(old)
		assert.NoError(t, err, old)
	}
}
