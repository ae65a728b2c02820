package contract

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	someSource = rapid.StringMatching(`[A-Za-z0-9]([-._A-Za-z0-9]{0,8}[A-Za-z0-9])?`)
	someLabel  = rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?`)
)

func TestIDsReadBackAsTheyWereBuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := ParsedID{Source: someSource.Draw(t, "source"), Consumer: someLabel.Draw(t, "consumer"), Work: someLabel.Draw(t, "work")}
		have, err := ParseOperationID(OperationID(want.Source, want.Consumer, want.Work))
		require.NoError(t, err)
		assert.Equal(t, want, have)

		have, err = ParseOperationID(WaitID(want.Source, want.Consumer, want.Work, rapid.String().Draw(t, "wait"), rapid.String().Draw(t, "timeout")))
		require.NoError(t, err)
		want.WaitOnly = true
		assert.Equal(t, want, have)
	})
}

// Two works never share an ID: one would be written by the other's operation. Short parts of few letters, so that
// collisions would be found.
func TestDifferentWorksHaveDifferentIDs(t *testing.T) {
	part := rapid.StringMatching(`[a0]([-a0]?[a0])?`)
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) [3]string {
			return [3]string{rapid.StringMatching(`[a0]([-._a0]?[a0])?`).Draw(t, name), part.Draw(t, name), part.Draw(t, name)}
		}
		a, b := draw("a"), draw("b")
		require.NoError(t, Request{Source: a[0], Consumer: a[1], Name: a[2], Action: ActionDelete}.Check())
		assert.Equal(t, a == b, OperationID(a[0], a[1], a[2]) == OperationID(b[0], b[1], b[2]))
		wait := rapid.SampledFrom([]string{"Applied", "Available"})
		waitA, waitB := wait.Draw(t, "wait"), wait.Draw(t, "wait")
		timeout := rapid.SampledFrom([]string{"", "5m"})
		timeoutA, timeoutB := timeout.Draw(t, "timeout"), timeout.Draw(t, "timeout")
		assert.Equal(t, a == b && waitA == waitB && timeoutA == timeoutB,
			WaitID(a[0], a[1], a[2], waitA, timeoutA) == WaitID(b[0], b[1], b[2], waitB, timeoutB))
		assert.NotEqual(t, OperationID(a[0], a[1], a[2]), WaitID(b[0], b[1], b[2], waitB, timeoutB))
	})
}

func TestIDsAreWhatPeopleType(t *testing.T) {
	assert.Equal(t, "op/hyperfleet/c1/pool", OperationID("hyperfleet", "c1", "pool"))
	assert.Equal(t, "wait/hyperfleet/c1/pool/0a757a47b951", WaitID("hyperfleet", "c1", "pool", "Available", "5m"))
}

func TestParseOperationIDRefusesAllOtherIDs(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, id := range []string{
		"", "op", "op/", "op/s", "op/s/c", "op/s/c/w/Part", "op/s/c/w/part/x", "op/s/c/w/", "op///", "op/s//w", "op/s/c/", "op//c/w", "/op/s/c/w", "OP/s/c/w", "xop/s/c/w",
		"wait/s/c/w", "wait/s/c/w/", "wait/s/c/w/0123456789ab/x", "wait////", "wait/s/c/w/short", "wait/s/c/w/0123456789aG", "cluster-mutex/s/c",
		"op/s/C/w", "op/s/c/w w", "op/s/c/W", "op/-s/c/w", "op/s/c/w\n", "op/" + long + "/c/w", "op/s/" + long + "/w", "op/s/c/" + long,
	} {
		_, err := ParseOperationID(id)
		assert.ErrorContains(t, err, "want op/<source>/<consumer>/<work>[/<part>] or wait/<source>/<consumer>/<work>/<digest>", "%q", id)
	}
}
