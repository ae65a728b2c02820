package manifest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// The reference: 1 is true, 0 is unknown, -1 is false. AND is the least, OR the greatest, NOT the opposite.
type reference struct {
	text  string
	value int
	// binds: 3 a term, 2 NOT, 1 AND, 0 OR.
	binds int
}

// world is what the reference knows of the cluster: a status per condition of the work, a number and a text of a Widget.
// A text "" and a number below 0 are not reported.
type world struct {
	conditions map[string]string
	stale      map[string]bool
	number     int
	word       string
}

func randomWorld(random *rand.Rand) world {
	w := world{conditions: map[string]string{"Applied": "True"}, stale: map[string]bool{}, number: random.IntN(4) - 1, word: []string{"", "a", "B"}[random.IntN(3)]}
	for _, name := range []string{"Degraded", "Progressing", "Complete"} {
		if status := []string{"True", "False", "Unknown", ""}[random.IntN(4)]; status != "" {
			w.conditions[name], w.stale[name] = status, random.IntN(4) == 0
		}
	}
	return w
}

// status is the world as the agent reports it for version 7.
func (w world) status() Status {
	status := Status{Reported: true, ObservedVersion: 7}
	for _, name := range []string{"Applied", "Degraded", "Progressing", "Complete"} {
		if value := w.conditions[name]; value != "" {
			condition := contract.Condition{Type: name, Status: value, ObservedGeneration: 7}
			if w.stale[name] {
				condition.ObservedGeneration = 6
			}
			status.Conditions = append(status.Conditions, condition)
		}
	}
	widget := contract.ResourceStatus{
		Group: "example.test", Version: "v1", Kind: "Widget", Namespace: "n", Name: "w", Feedback: map[string]json.RawMessage{},
		Conditions: []contract.Condition{{Type: "Applied", Status: "True"}, {Type: "Available", Status: "True"}},
	}
	if w.number >= 0 {
		widget.Feedback["number"] = json.RawMessage(fmt.Sprint(w.number))
	}
	if w.word != "" {
		widget.Feedback["word"] = json.RawMessage(fmt.Sprintf("%q", w.word))
	}
	status.Resources = []contract.ResourceStatus{widget}
	return status
}

func of(is bool) int {
	if is {
		return 1
	}
	return -1
}

func (w world) leaf(random *rand.Rand) reference {
	switch random.IntN(3) {
	case 0:
		operator, limit := []string{"==", "!=", ">=", "<=", ">", "<"}[random.IntN(6)], random.IntN(4)
		number, suffix := w.number, ""
		if random.IntN(3) == 0 {
			suffix = "|0"
			if w.word != "" { // without any feedback the agent may not have read it yet
				number = max(number, 0)
			}
		}
		text := fmt.Sprintf("Widget/w@number%s %s %d", suffix, operator, limit)
		if number < 0 {
			return reference{text, 0, 3}
		}
		return reference{text, of(map[string]bool{
			"==": number == limit, "!=": number != limit, ">=": number >= limit, "<=": number <= limit, ">": number > limit, "<": number < limit,
		}[operator]), 3}
	case 1:
		word := []string{"a", "b", "B"}[random.IntN(3)]
		text := fmt.Sprintf("Widget.example.test/n/w@word==%q", word)
		if w.word == "" {
			return reference{text, 0, 3}
		}
		return reference{text, of(w.word == word), 3}
	default:
		name, wanted := []string{"Applied", "Degraded", "Progressing", "Complete"}[random.IntN(4)], []string{"True", "False", "Unknown"}[random.IntN(3)]
		text := name + "=" + wanted
		if wanted == "True" && random.IntN(2) == 0 {
			text = name
		}
		have := w.conditions[name]
		switch {
		case have == "" || w.stale[name], have == "Unknown" && wanted != "Unknown":
			return reference{text, 0, 3}
		default:
			return reference{text, of(have == wanted), 3}
		}
	}
}

func (w world) expression(random *rand.Rand, depth int) reference {
	if depth == 0 || random.IntN(4) == 0 {
		return w.leaf(random)
	}
	inside := func(r reference, binds int) string {
		if r.binds < binds || random.IntN(5) == 0 {
			return "(" + r.text + ")"
		}
		return r.text
	}
	if random.IntN(4) == 0 {
		part := w.expression(random, depth-1)
		return reference{[]string{"NOT ", "!", "! "}[random.IntN(3)] + inside(part, 2), -part.value, 2}
	}
	binds := random.IntN(2)
	joints := [][]string{{" OR ", "||", " || "}, {" AND ", "&&", "\t&&\n"}}[binds]
	var texts strings.Builder
	value := 2*binds - 1
	for index := range 2 + random.IntN(2) {
		part := w.expression(random, depth-1)
		if index > 0 {
			texts.WriteString(joints[random.IntN(3)])
		}
		texts.WriteString(inside(part, binds+1))
		if binds == 1 {
			value = min(value, part.value)
		} else {
			value = max(value, part.value)
		}
	}
	return reference{texts.String(), value, binds}
}

func TestExpressionsAgreeWithATruthTable(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	met := 0
	for range 10_000 {
		w := randomWorld(random)
		want := w.expression(random, 4)
		expression, err := ParseExpression(want.text)
		require.NoError(t, err, "seed %d: %s", seed, want.text)
		got := Evaluate(w.status(), 7, expression)
		require.Equal(t, want.value == 1, got.Met, "seed %d: %s in %+v", seed, want.text, w)
		// False and unknown differ by what NOT makes of them.
		opposite, err := ParseExpression("NOT (" + want.text + ")")
		require.NoError(t, err)
		require.Equal(t, want.value == -1, Evaluate(w.status(), 7, opposite).Met, "seed %d: NOT (%s) in %+v", seed, want.text, w)
		if got.Met {
			met++
		}
		// With a token less or more it is another expression, or it is refused with a position.
		cut := random.IntN(len(want.text))
		for _, broken := range []string{want.text[:cut] + want.text[cut+1:], want.text[:cut] + " AND " + want.text[cut:], want.text[:cut]} {
			if _, err := ParseExpression(broken); err != nil {
				require.ErrorContains(t, err, "position ", "seed %d: %s", seed, broken)
			}
		}
	}
	assert.Greater(t, met, 1000, "not all are alike")
	assert.Less(t, met, 9000)
}
