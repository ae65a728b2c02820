package contract

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func apply(change func(*Request)) Request {
	r := Request{Source: "hyperfleet", Consumer: "c1", Work: json.RawMessage(`{"metadata":{"name":"pool"}}`)}
	change(&r)
	return r
}

func TestCheckNamesEachField(t *testing.T) {
	label, long := strings.Repeat("n", 63), strings.Repeat("n", 64)
	for name, sample := range map[string]struct {
		change func(*Request)
		says   string // "" means nothing is wrong
	}{
		"nothing":             {func(*Request) {}, ""},
		"no source":           {func(r *Request) { r.Source = "" }, `source "": give 1 to 63 letters, digits, '-', '.' or '_'`},
		"source with a slash": {func(r *Request) { r.Source = "a/b" }, `source "a/b"`},
		"source with a quote": {func(r *Request) { r.Source = "a'b" }, `source "a'b"`},
		"source of a line":    {func(r *Request) { r.Source = "a\n" }, `source "a\n"`},
		"long source":         {func(r *Request) { r.Source = long }, "source "},
		"source of 63":        {func(r *Request) { r.Source = strings.ToUpper(label) }, ""},
		"odd source":          {func(r *Request) { r.Source = "Hyper-fleet.prod_1" }, ""},
		"no consumer":         {func(r *Request) { r.Consumer = "" }, `consumer "": give a DNS label`},
		"consumer in capital": {func(r *Request) { r.Consumer = "C1" }, `consumer "C1"`},
		"consumer of dots":    {func(r *Request) { r.Consumer = "a.b" }, `consumer "a.b"`},
		"long consumer":       {func(r *Request) { r.Consumer = long }, "consumer "},
		"consumer of 63":      {func(r *Request) { r.Consumer = label }, ""},
		"unknown action":      {func(r *Request) { r.Action = "replace" }, `action "replace": give apply, merge, remove, delete or wait`},
		"action in capital":   {func(r *Request) { r.Action = "Apply" }, `action "Apply"`},
		"apply spelled out":   {func(r *Request) { r.Action = ActionApply }, ""},
		"no work":             {func(r *Request) { r.Work = nil }, "work: required for apply"},
		"work is no JSON":     {func(r *Request) { r.Work = json.RawMessage(`{`) }, "work: not a ManifestWork"},
		"work is a list":      {func(r *Request) { r.Work = json.RawMessage(`[]`) }, "work: not a ManifestWork"},
		"work without a name": {func(r *Request) { r.Work = json.RawMessage(`{}`) }, `name "": a work's name is a DNS label`},
		"name beside":         {func(r *Request) { r.Work = json.RawMessage(`{}`); r.Name = "pool" }, ""},
		"same name":           {func(r *Request) { r.Name = "pool" }, ""},
		"other name":          {func(r *Request) { r.Name = "pond" }, `name "pond": the work is called "pool"`},
		"work of a bad name":  {func(r *Request) { r.Work = json.RawMessage(`{"metadata":{"name":"a.b"}}`) }, `name "a.b": a work's name is a DNS label`},
		"largest work":        {func(r *Request) { r.Work = padded(MaxWorkBytes) }, ""},
		"too large":           {func(r *Request) { r.Work = padded(MaxWorkBytes + 1) }, "work: 1048577 bytes, the limit is 1048576"},
		"negative generation": {func(r *Request) { r.Generation = -1 }, "generation -1: give a positive integer"},
		"timeout":             {func(r *Request) { r.Timeout = "5" }, `timeout "5": give a positive duration with a unit`},
		"patience":            {func(r *Request) { r.Patience = "0" }, `patience "0": give a positive duration`},
		"grace":               {func(r *Request) { r.Grace = "-1s" }, `grace "-1s": give a positive duration`},

		"delete":            {func(r *Request) { *r = Request{Source: "s", Consumer: "c", Action: ActionDelete, Name: "pool"} }, ""},
		"delete of work":    {func(r *Request) { r.Action, r.Name = ActionDelete, "pool" }, "work: not allowed for delete, give name"},
		"delete of nothing": {func(r *Request) { r.Action, r.Work = ActionDelete, nil }, "name: required for delete"},
		"delete of dots":    {func(r *Request) { r.Action, r.Work, r.Name = ActionDelete, nil, "a.b" }, `name "a.b"`},
		"wait": {func(r *Request) {
			*r = Request{Source: "s", Consumer: "c", Action: ActionWait, Name: "pool", Wait: "Applied"}
		}, ""},
		"wait for nothing": {func(r *Request) { r.Action, r.Work, r.Name, r.Wait = ActionWait, nil, "pool", " " }, "wait: give the condition to wait for"},
		"wait of no name":  {func(r *Request) { r.Action, r.Work, r.Wait = ActionWait, nil, "Applied" }, "name: required for wait"},
	} {
		t.Run(name, func(t *testing.T) {
			err := apply(sample.change).Check()
			if sample.says == "" {
				assert.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Contains(t, err.Error(), sample.says)
			assert.NotContains(t, err.Error(), "\n", "one problem, one line")
		})
	}
}

func padded(size int) json.RawMessage {
	const head, tail = `{"metadata":{"name":"pool"},"x":"`, `"}`
	return json.RawMessage(head + strings.Repeat("x", size-len(head)-len(tail)) + tail)
}

func TestCheckFindsAllProblemsAtOnce(t *testing.T) {
	err := Request{Source: "/", Consumer: "C", Work: json.RawMessage(`{"metadata":{"name":"a.b"}}`), Name: "x", Generation: -1,
		Timeout: "5", Patience: "x", Grace: "0s"}.Check()
	require.Error(t, err)
	for _, field := range []string{"source ", "consumer ", "name ", "generation ", "timeout ", "patience ", "grace "} {
		assert.Equal(t, 1, strings.Count("\n"+err.Error(), "\n"+field), "%s in\n%s", field, err)
	}
	assert.Equal(t, 6, strings.Count(err.Error(), "\n"), err)
}

func TestParseDurations(t *testing.T) {
	for name, sample := range map[string]struct {
		request Request
		want    Durations
	}{
		"defaults":               {Request{Timeout: "1h"}, Durations{time.Hour, DefaultPatience, DefaultGrace, false}},
		"nothing":                {Request{}, Durations{DefaultTimeout, min(DefaultPatience, DefaultTimeout), DefaultGrace, false}},
		"all given":              {Request{Timeout: "2h", Patience: "90s", Grace: "1m30s"}, Durations{2 * time.Hour, 90 * time.Second, 90 * time.Second, false}},
		"patience above timeout": {Request{Timeout: "10s", Patience: "1h"}, Durations{10 * time.Second, 10 * time.Second, DefaultGrace, false}},
		"fractions":              {Request{Timeout: "1.5s"}, Durations{1500 * time.Millisecond, 1500 * time.Millisecond, DefaultGrace, false}},
	} {
		have, err := sample.request.ParseDurations()
		require.NoError(t, err, name)
		assert.Equal(t, sample.want, have, name)
	}
	for _, text := range []string{"0", "0s", "0m"} {
		have, err := Request{Timeout: text}.ParseDurations()
		require.NoError(t, err)
		assert.Equal(t, Durations{Timeout: OneLookTimeout, Patience: OneLookTimeout, Grace: DefaultGrace, OneLook: true}, have)
		_, err = Request{Patience: text, Grace: text}.ParseDurations()
		assert.ErrorContains(t, err, fmt.Sprintf("patience %q: give a positive duration", text))
		assert.ErrorContains(t, err, fmt.Sprintf("grace %q: give a positive duration", text))
	}
	for _, text := range []string{"-1s", "5", "5 m", "1d", "forever", "s", "99999999999h"} {
		_, err := Request{Timeout: text, Patience: text, Grace: text}.ParseDurations()
		require.Error(t, err, text)
		for _, field := range []string{"timeout", "patience", "grace"} {
			assert.Contains(t, err.Error(), fmt.Sprintf("%s %q: give a positive duration with a unit, like 90s, 5m or 2h", field, text))
		}
	}
}

func TestEffectiveGeneration(t *testing.T) {
	annotated := func(value string) json.RawMessage {
		return json.RawMessage(`{"metadata":{"name":"pool","annotations":{"hyperfleet.io/generation":` + value + `}}}`)
	}
	for name, sample := range map[string]struct {
		request Request
		want    int64
		fails   string
	}{
		"none":             {apply(func(*Request) {}), 0, ""},
		"given":            {apply(func(r *Request) { r.Generation = 7 }), 7, ""},
		"annotated":        {apply(func(r *Request) { r.Work = annotated(`"7"`) }), 7, ""},
		"both":             {apply(func(r *Request) { r.Generation, r.Work = 7, annotated(`"7"`) }), 7, ""},
		"contradiction":    {apply(func(r *Request) { r.Generation, r.Work = 8, annotated(`"7"`) }), 0, "generation 8: the work's annotation hyperfleet.io/generation says 7"},
		"zero annotated":   {apply(func(r *Request) { r.Work = annotated(`"0"`) }), 0, "give a positive integer"},
		"empty annotation": {apply(func(r *Request) { r.Work = annotated(`""`) }), 0, "give a positive integer"},
		"a word":           {apply(func(r *Request) { r.Generation, r.Work = 7, annotated(`"seven"`) }), 0, `"seven": give a positive integer`},
		"a number":         {apply(func(r *Request) { r.Work = annotated(`7`) }), 0, "not a ManifestWork"},
		"no JSON":          {apply(func(r *Request) { r.Work = json.RawMessage(`{`) }), 0, "not a ManifestWork"},
		"no work":          {Request{Action: ActionDelete, Generation: 7}, 7, ""},
	} {
		t.Run(name, func(t *testing.T) {
			have, err := sample.request.EffectiveGeneration()
			assert.Equal(t, sample.want, have)
			if sample.fails == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, sample.fails)
			}
		})
	}
}

func TestWorkflowIDFollowsTheAction(t *testing.T) {
	assert.Equal(t, "op/hyperfleet/c1/pool", apply(func(*Request) {}).WorkflowID())
	deletion := Request{Source: "hyperfleet", Consumer: "c1", Name: "pool", Action: ActionDelete}
	assert.Equal(t, "op/hyperfleet/c1/pool", deletion.WorkflowID(), "an apply and a delete exclude each other")
	deletion.Action, deletion.Wait = ActionWait, "Applied"
	assert.Equal(t, WaitID("hyperfleet", "c1", "pool", "Applied", ""), deletion.WorkflowID())
	assert.Equal(t, "", Request{Work: json.RawMessage(`{`)}.WorkName())
}

func TestContentDigestIsBlindForWhatDoesNotCount(t *testing.T) {
	base := `{"a":1,"b":{"c":[1,2],"d":"x"}}`
	for name, sample := range map[string]struct {
		work string
		same bool
	}{
		"equal":            {base, true},
		"key order":        {`{"b":{"d":"x","c":[1,2]},"a":1}`, true},
		"white space":      {" {\n\"a\": 1, \"b\": {\"c\":[1, 2],\t\"d\":\"x\"} }\n", true},
		"escapes":          {`{"a":1,"b":{"c":[1,2],"d":"\u0078"}}`, true},
		"list order":       {`{"a":1,"b":{"c":[2,1],"d":"x"}}`, false},
		"text of a number": {`{"a":1.0,"b":{"c":[1,2],"d":"x"}}`, false},
		"number as text":   {`{"a":"1","b":{"c":[1,2],"d":"x"}}`, false},
		"null":             {`{"a":1,"b":{"c":[1,2],"d":null}}`, false},
		"absent":           {`{"a":1,"b":{"c":[1,2]}}`, false},
		"two values":       {base + base, false},
		"no JSON":          {`{"a":1,`, false},
	} {
		have := Request{Work: json.RawMessage(sample.work)}.ContentDigest()
		assert.Equal(t, sample.same, have == Request{Work: json.RawMessage(base)}.ContentDigest(), name)
	}
	assert.NotEqual(t, Request{Work: json.RawMessage(`9007199254740993`)}.ContentDigest(), Request{Work: json.RawMessage(`9007199254740992`)}.ContentDigest(), "as doubles they are one")
	assert.NotEqual(t, Request{Work: json.RawMessage(`[123456789012345678901234567890]`)}.ContentDigest(), Request{Work: json.RawMessage(`[123456789012345678901234567891]`)}.ContentDigest())
	assert.NotEqual(t, Request{Action: ActionDelete, Adapter: "a"}.Digest(), Request{Action: ActionDelete, Adapter: "b"}.Digest(), "one may be refused and the other not")
	assert.NotEqual(t, Request{Action: ActionDelete}.ContentDigest(), Request{Action: ActionApply}.ContentDigest())
	assert.Equal(t, Request{}.ContentDigest(), Request{Action: ActionApply}.ContentDigest())
	assert.NotEqual(t, digest("ab", "c"), digest("a", "bc"), "parts do not run into each other")
}

func TestDigestCoversTheOutcomeButNotTheTimes(t *testing.T) {
	base := apply(func(*Request) {})
	for name, sample := range map[string]struct {
		change func(*Request)
		same   bool
	}{
		"timeout": {func(r *Request) { r.Timeout = "1h" }, true}, "patience": {func(r *Request) { r.Patience = "1h" }, true},
		"grace": {func(r *Request) { r.Grace = "1h" }, true}, "action spelled out": {func(r *Request) { r.Action = ActionApply }, true},
		"wait": {func(r *Request) { r.Wait = "Applied" }, false}, "force": {func(r *Request) { r.Force = true }, false},
		"generation": {func(r *Request) { r.Generation = 1 }, false}, "work": {func(r *Request) { r.Work = padded(100) }, false},
		"action": {func(r *Request) { r.Action = ActionDelete }, false},
	} {
		assert.Equal(t, sample.same, base.Digest() == apply(sample.change).Digest(), name)
	}
	rapid.Check(t, func(t *rapid.T) {
		r := someRequest.Draw(t, "request")
		require.Len(t, r.Digest(), 32)
		again := r
		raw, err := json.Marshal(r)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &again))
		assert.Equal(t, r.Digest(), again.Digest(), "through Temporal")
	})
}
