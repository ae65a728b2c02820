package operation

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// explain answers why the operation is not done.
func (op *operation) explain() contract.Explanation {
	e := contract.Explanation{
		Phase: op.standing, Step: op.doing, Since: op.since, Deadline: op.until,
		LastSeen: op.lastSeen, LastSeenAt: op.lastSeenAt, Paused: op.paused,
		Interventions: op.interventions, Result: op.result,
	}
	if op.result.FinishedAt != nil {
		e.Step = op.result.Message
		return e
	}
	e.NextWake = op.until
	switch {
	case op.bound:
		e.WaitsFor, e.NextWake = op.blocker, time.Time{}
		e.Can = []string{"nothing: it has to end by itself; who terminates the workflow now leaves no work"}
		return e
	case op.paused != nil:
		e.WaitsFor = fmt.Sprintf("resume: paused by %s (%s)", op.paused.By, op.paused.Reason)
		e.Can = []string{can(contract.UpdateResume, "go on")}
	case op.standing == contract.PhaseBuilding:
		e.WaitsFor = "a worker that checks the request"
	case op.standing == contract.PhaseApplying:
		e.WaitsFor = "Maestro's acceptance of the write"
		if op.blocker != "" {
			e.WaitsFor = op.blocker
		}
		e.Can = []string{can(contract.UpdatePause, "hold the next attempt")}
	case op.standing == contract.PhaseQueued:
		e.WaitsFor = op.blocker
		e.Can = []string{can(contract.UpdatePause, "withdraw the write until it is resumed")}
	case op.watched != nil:
		e.WaitsFor = fmt.Sprintf("%s on %s, as the cluster's agent reports it to Maestro; looked for at least every %s",
			op.watched.Wait, op.request.Consumer, contract.PollMax)
		e.Can = []string{can(contract.UpdatePoke, "look now"), can(contract.UpdatePause, "stop looking")}
		if op.request.EffectiveAction() != contract.ActionWait {
			e.Can = append(e.Can, can(contract.UpdateSkipWait, "end without the condition"))
		}
	}
	e.Can = append(e.Can, can(contract.UpdateExtend, "move the deadline"), "cancel: end as cancelled; what is written stays")
	return e
}

func can(verb, what string) string { return verb + ": " + what }

// details is the explanation as Markdown, for the UI's current details. It has no time that passes: the UI shows it as it
// was when the operation came here.
func (op *operation) details(text string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "**%s** %s `%s` on `%s`\n\n%s",
		op.standing, short(string(op.request.EffectiveAction())), short(op.result.ManifestWorkName), short(op.request.Consumer), strings.ReplaceAll(text, "\n", "\n\n"))
	if op.result.FinishedAt != nil {
		return out.String()
	}
	e := op.explain()
	for _, line := range []struct{ name, text string }{
		{"waits for", e.WaitsFor}, {"since", stamp(e.Since)}, {"last seen", e.LastSeen}, {"deadline", stamp(e.Deadline)},
	} {
		if line.text != "" {
			fmt.Fprintf(&out, "\n\n- %s: %s", line.name, cutTo(strings.ReplaceAll(line.text, "\n", " "), 1000))
		}
	}
	if op.watched != nil && op.paused == nil {
		out.WriteString("\n- what is missing at each look: the last failure of the pending activity; the next look is its next attempt")
	}
	for _, line := range e.Can {
		fmt.Fprintf(&out, "\n- you can %s", line)
	}
	for _, one := range e.Interventions {
		fmt.Fprintf(&out, "\n- %s %s by %s: %s", stamp(one.At), one.Verb, one.By, cutTo(one.Reason, 200))
		if one.Ignored != "" {
			fmt.Fprintf(&out, " (ignored: %s)", cutTo(one.Ignored, 200))
		}
	}
	return cutTo(out.String(), maxDetails)
}

// maxDetails is below Temporal's limit of 20,000 bytes.
const maxDetails = 16_000

// refresh shows the present explanation in the UI.
func (op *operation) refresh(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, op.details(op.doing))
}

func cutTo(text string, limit int) string {
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// enter a phase: for the queries, the search attributes and the UI.
func (op *operation) enter(ctx workflow.Context, phase contract.Phase, doing string) {
	now := workflow.Now(ctx)
	if op.standing != phase || op.since.IsZero() {
		op.since = now
	}
	op.doing = doing
	op.result.Timestamp = now
	// A write that is followed by a wait is not an outcome yet.
	op.result.Reason, op.result.Message = contract.ReasonRunning, doing
	op.show(ctx, phase, doing)
}
