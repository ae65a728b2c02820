package contract

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Messages of operators to a running operation. Each is an update, which answers with [OperatorAnswer] or says why not,
// and a signal of the same name for those who need no answer.
const (
	// UpdatePoke looks at the work at once. Its argument is an [Operator].
	UpdatePoke = "poke"
	// UpdateExtend sets a later deadline. Its argument is an [Extension].
	UpdateExtend = "extend"
	// UpdatePause holds the operation before its next step: nothing is written and nobody looks until UpdateResume. It
	// does not move the deadline. Its argument is an [Operator].
	UpdatePause = "pause"
	// UpdateResume ends a pause. Its argument is an [Operator].
	UpdateResume = "resume"
	// UpdateSkipWait ends the wait without its condition: the operation ends as one that did not wait, with the reason
	// WaitSkipped. Its argument is an [Operator].
	UpdateSkipWait = "skip-wait"
	// QueryExplain answers with an [Explanation].
	QueryExplain = "explain"
)

// OperatorMessages are the updates of operators, each of which is a signal, too.
var OperatorMessages = []string{UpdatePoke, UpdateExtend, UpdatePause, UpdateResume, UpdateSkipWait}

// Operator says who intervenes in an operation, and why. Both stand in the history and in [Explanation].
type Operator struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// Extension is the argument of extend: the new deadline as a time, or as a Go duration from now.
type Extension struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
	// Until is the new deadline.
	Until time.Time `json:"until,omitzero"`
	// For is the new deadline from now, like 30m.
	For string `json:"for,omitempty"`
}

// OperatorAnswer is what an operator's message led to.
type OperatorAnswer struct {
	Phase Phase `json:"phase"`
	// Message for people.
	Message string `json:"message"`
	// Deadline of the operation as it is now.
	Deadline time.Time `json:"deadline"`
}

const (
	maxBy     = 128
	maxReason = 512
)

// Check finds what is wrong with the argument of an operator's message.
func (o Operator) Check() error {
	var problems []error
	for _, field := range []struct {
		name, text string
		most       int
	}{{"by", o.By, maxBy}, {"reason", o.Reason, maxReason}} {
		switch {
		case strings.TrimSpace(field.text) == "":
			problems = append(problems, fmt.Errorf("%s: required, it stands in the history", field.name))
		case len(field.text) > field.most:
			problems = append(problems, fmt.Errorf("%s: %d bytes, the limit is %d", field.name, len(field.text), field.most))
		}
	}
	return errors.Join(problems...)
}

// Operator who extends.
func (e Extension) Operator() Operator { return Operator{By: e.By, Reason: e.Reason} }

// Deadline that is asked for at a time.
func (e Extension) Deadline(now time.Time) (time.Time, error) {
	switch {
	case e.For != "" && !e.Until.IsZero():
		return time.Time{}, errors.New("give until or for, not both")
	case e.For != "":
		length, err := time.ParseDuration(e.For)
		if err != nil || length <= 0 {
			return time.Time{}, fmt.Errorf("for %q: give a positive duration with a unit, like 90s, 5m or 2h", e.For)
		}
		return now.Add(length), nil
	case e.Until.IsZero():
		return time.Time{}, errors.New("give the new deadline: until as a time like 2026-03-01T10:00:00Z, or for as a duration from now like 30m")
	}
	return e.Until.UTC(), nil
}

// Intervention is one message of an operator.
type Intervention struct {
	At     time.Time `json:"at"`
	Verb   string    `json:"verb"`
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	// Ignored says why a signal had no effect.
	Ignored string `json:"ignored,omitempty"`
}

// Explanation answers why an operation is not done.
type Explanation struct {
	Phase Phase `json:"phase"`
	// Step is what is being done, and since when.
	Step  string    `json:"step"`
	Since time.Time `json:"since"`
	// WaitsFor is what the operation cannot do itself.
	WaitsFor string `json:"waitsFor,omitempty"`
	// LastSeen is what is missing, or the last error, as far as the workflow knows it; LastSeenAt is when. The failure of
	// the latest attempt of the step that runs is Temporal's: the UI shows it as pending activity, and
	// starter.Client.Explain puts it here.
	LastSeen   string    `json:"lastSeen,omitempty"`
	LastSeenAt time.Time `json:"lastSeenAt,omitzero"`
	// NextWake is when the operation does something by itself at the latest: its deadline, as far as the workflow knows;
	// the next attempt of the pending step from starter.Client.Explain.
	NextWake time.Time `json:"nextWake,omitzero"`
	// Deadline of the operation.
	Deadline time.Time `json:"deadline"`
	// Paused is the message that paused the operation, nil when it is not.
	Paused *Intervention `json:"paused,omitempty"`
	// Can are the things that an operator can do, one line each.
	Can []string `json:"can,omitempty"`
	// Interventions are the last messages of operators, the newest last.
	Interventions []Intervention `json:"interventions,omitempty"`
	// Result so far.
	Result StatusResult `json:"result"`
}
