package contract

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseGenerationTakesPositiveIntegers(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "42": 42, "+7": 7, "007": 7, "9223372036854775807": 1<<63 - 1} {
		have, err := ParseGeneration(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, have)
	}
	for _, text := range []string{"", "0", "-1", "1.0", "1e3", " 1", "1 ", "0x10", "9223372036854775808", "one"} {
		_, err := ParseGeneration(text)
		assert.ErrorContains(t, err, "annotation hyperfleet.io/generation", "%q", text)
	}
}

func TestCompare(t *testing.T) {
	type offer struct {
		replicas   int
		generation int64
		wait       string
		force      bool
		action     Action
	}
	request := func(o offer) Request {
		r := Request{Source: "s", Consumer: "c", Generation: o.generation, Wait: o.wait, Force: o.force, Action: o.action, Name: "w"}
		if o.action == "" || o.action == ActionApply {
			r.Work = json.RawMessage(fmt.Sprintf(`{"metadata":{"name":"w"},"spec":{"replicas":%d}}`, o.replicas))
		}
		return r
	}
	for name, sample := range map[string]struct {
		current, offered offer
		want             Standing
	}{
		"same":                                 {offer{replicas: 2, generation: 7}, offer{replicas: 2, generation: 7}, StandingAttach},
		"same, action spelled out":             {offer{replicas: 2, generation: 7}, offer{replicas: 2, generation: 7, action: ActionApply}, StandingAttach},
		"same without generations":             {offer{replicas: 2}, offer{replicas: 2}, StandingAttach},
		"newer":                                {offer{replicas: 2, generation: 7}, offer{replicas: 2, generation: 8}, StandingNewer},
		"older":                                {offer{replicas: 2, generation: 7}, offer{replicas: 2, generation: 6}, StandingOlder},
		"older, forced":                        {offer{replicas: 2, generation: 7}, offer{replicas: 2, generation: 6, force: true}, StandingOlder},
		"older delete":                         {offer{replicas: 2, generation: 7}, offer{generation: 6, action: ActionDelete}, StandingOlder},
		"newer delete":                         {offer{replicas: 2, generation: 7}, offer{generation: 8, action: ActionDelete}, StandingNewer},
		"equal, other content":                 {offer{replicas: 2, generation: 7}, offer{replicas: 3, generation: 7}, StandingConflict},
		"equal, other content, forced":         {offer{replicas: 2, generation: 7}, offer{replicas: 3, generation: 7, force: true}, StandingNewer},
		"equal, forced before":                 {offer{replicas: 2, generation: 7, force: true}, offer{replicas: 3, generation: 7}, StandingConflict},
		"equal, other wait":                    {offer{replicas: 2, generation: 7, wait: "Applied"}, offer{replicas: 2, generation: 7, wait: "Available"}, StandingNewer},
		"equal, delete for an apply":           {offer{replicas: 2, generation: 7}, offer{generation: 7, action: ActionDelete}, StandingConflict},
		"none offered":                         {offer{replicas: 2, generation: 7}, offer{replicas: 3}, StandingNewer},
		"none offered, same content":           {offer{replicas: 2, generation: 7}, offer{replicas: 2}, StandingNewer},
		"none running":                         {offer{replicas: 2}, offer{replicas: 3, generation: 1}, StandingNewer},
		"none at all, other content":           {offer{replicas: 2}, offer{replicas: 3}, StandingNewer},
		"delete and delete":                    {offer{action: ActionDelete}, offer{action: ActionDelete}, StandingAttach},
		"delete and delete with a wait for it": {offer{action: ActionDelete}, offer{action: ActionDelete, wait: "Deleted"}, StandingNewer},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, sample.want, Compare(request(sample.current), request(sample.offered)))
		})
	}
}

var someRequest = rapid.Custom(func(t *rapid.T) Request {
	r := Request{
		Source: "s", Consumer: "c", Name: "w",
		Action:     rapid.SampledFrom([]Action{"", ActionApply, ActionDelete}).Draw(t, "action"),
		Generation: rapid.SampledFrom([]int64{0, 1, 2, 3}).Draw(t, "generation"),
		Wait:       rapid.SampledFrom([]string{"", "Applied", "Available"}).Draw(t, "wait"),
		Timeout:    rapid.SampledFrom([]string{"", "1m"}).Draw(t, "timeout"),
		Force:      rapid.Bool().Draw(t, "force"),
	}
	if r.Action != ActionDelete {
		annotations := ""
		if inner := rapid.SampledFrom([]int64{0, 0, 1, 2, 3}).Draw(t, "annotation"); inner > 0 {
			annotations = fmt.Sprintf(`,"annotations":{"%s":"%d"}`, AnnotationGeneration, inner)
			r.Generation = rapid.SampledFrom([]int64{0, inner}).Draw(t, "generation")
		}
		r.Work = json.RawMessage(fmt.Sprintf(`{"metadata":{"name":"w"%s},"spec":%d}`, annotations, rapid.IntRange(0, 2).Draw(t, "content")))
	}
	return r
})

// What must hold whatever the requests: an older generation never takes over, nothing is dropped without a reason, and
// of two generations one wins whoever comes first.
func TestCompareProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		current, offered := someRequest.Draw(t, "current"), someRequest.Draw(t, "offered")
		have, err := current.EffectiveGeneration()
		require.NoError(t, err)
		want, err := offered.EffectiveGeneration()
		require.NoError(t, err)
		standing, reverse := Compare(current, offered), Compare(offered, current)

		assert.Equal(t, StandingAttach, Compare(current, current))
		assert.Equal(t, standing == StandingAttach, reverse == StandingAttach)
		assert.Equal(t, current.Digest() == offered.Digest(), standing == StandingAttach)
		switch {
		case have > 0 && want > have:
			assert.Equal(t, StandingNewer, standing)
			assert.Equal(t, StandingOlder, reverse)
		case want > 0 && want < have:
			assert.Equal(t, StandingOlder, standing)
			assert.Equal(t, StandingNewer, reverse)
		case standing != StandingAttach && (have == 0 || want == 0):
			assert.Equal(t, StandingNewer, standing, "no generation is always newer")
		case standing == StandingConflict:
			assert.NotEqual(t, current.ContentDigest(), offered.ContentDigest())
			assert.False(t, offered.Force)
		}
		if standing == StandingAttach {
			assert.Equal(t, current.ContentDigest(), offered.ContentDigest())
			assert.Equal(t, current.Wait, offered.Wait)
			assert.Equal(t, have, want)
		}
	})
}
