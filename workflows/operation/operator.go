package operation

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// maxInterventions that are kept, the newest.
const maxInterventions = 20

// verb is one message of operators.
type verb struct {
	name string
	// refuse says why the message has no effect now, "" when it has one.
	refuse func(op *operation, ctx workflow.Context, argument contract.Extension) string
	// act has the effect and says what it was.
	act func(op *operation, ctx workflow.Context, argument contract.Extension) string
}

// verbs in the order in which they are registered. Their argument is an [contract.Extension], which is an Operator with
// two more fields.
var verbs = []verb{
	{contract.UpdatePoke, (*operation).refusePoke, (*operation).poke},
	{contract.UpdateExtend, (*operation).refuseExtend, (*operation).extend},
	{contract.UpdatePause, (*operation).refusePause, (*operation).pause},
	{contract.UpdateResume, (*operation).refuseResume, (*operation).resume},
	{contract.UpdateSkipWait, (*operation).refuseSkip, (*operation).skip},
}

// handleOperators registers the updates and the signals of operators.
func (op *operation) handleOperators(ctx workflow.Context) error {
	for _, v := range verbs {
		err := workflow.SetUpdateHandlerWithOptions(ctx, v.name,
			func(ctx workflow.Context, argument contract.Extension) (contract.OperatorAnswer, error) {
				return op.answer(op.intervene(ctx, v, argument)), nil
			},
			workflow.UpdateHandlerOptions{Validator: func(ctx workflow.Context, argument contract.Extension) error {
				if text := op.refuseVerb(ctx, v, argument); text != "" {
					return contract.Errorf(contract.ErrInvalidInput, "%s: %s", v.name, text).Application()
				}
				return nil
			}})
		if err != nil {
			return fmt.Errorf("register update %s: %w", v.name, err)
		}
		workflow.Go(ctx, func(ctx workflow.Context) {
			signals := workflow.GetSignalChannel(ctx, v.name)
			for {
				var argument contract.Extension
				if !signals.Receive(ctx, &argument) {
					return
				}
				if text := op.refuseVerb(ctx, v, argument); text != "" {
					op.note(ctx, v, argument, text)
					continue
				}
				op.intervene(ctx, v, argument)
			}
		})
	}
	return nil
}

// refuseVerb says why a message is refused, "" when it is not.
func (op *operation) refuseVerb(ctx workflow.Context, v verb, argument contract.Extension) string {
	if err := argument.Operator().Check(); err != nil {
		return oneLine(err)
	}
	if op.result.FinishedAt != nil || op.next != nil || op.cancelled() {
		return "the operation has ended, or is about to"
	}
	return v.refuse(op, ctx, argument)
}

func (op *operation) intervene(ctx workflow.Context, v verb, argument contract.Extension) string {
	op.note(ctx, v, argument, "")
	text := v.act(op, ctx, argument)
	op.refresh(ctx)
	return text
}

func (op *operation) note(ctx workflow.Context, v verb, argument contract.Extension, ignored string) {
	by, reason := short(argument.By), cutTo(argument.Reason, 512)
	op.interventions = append(op.interventions, contract.Intervention{At: workflow.Now(ctx), Verb: v.name, By: by, Reason: reason, Ignored: ignored})
	op.interventions = op.interventions[max(0, len(op.interventions)-maxInterventions):]
}

func (op *operation) answer(text string) contract.OperatorAnswer {
	return contract.OperatorAnswer{Phase: op.standing, Message: text, Deadline: op.until}
}

func (op *operation) refusePoke(workflow.Context, contract.Extension) string {
	switch {
	case op.paused != nil:
		return "the operation is paused: resume it"
	case op.watched == nil:
		return fmt.Sprintf("nothing is waited for in phase %s", op.standing)
	}
	return ""
}

// poke makes one look beside the parked one, which keeps what it remembers. An end that it sees ends the wait.
func (op *operation) poke(ctx workflow.Context, _ contract.Extension) string {
	params := *op.watched
	params.Until = op.until
	observed, err := op.observe(ctx, pokeOptions(op.target()), params)
	switch {
	case err != nil:
		text := typed(err).Message
		op.saw(ctx, text)
		return "not yet: " + text
	case op.watched == nil:
		return "the wait has ended meanwhile"
	case observed.Outcome == contract.ObserveTimedOut:
		return "the deadline has passed"
	}
	op.poked = &observed
	op.interrupt()
	return observed.Message
}

func (op *operation) refuseExtend(ctx workflow.Context, argument contract.Extension) string {
	deadline, err := argument.Deadline(workflow.Now(ctx))
	switch {
	case err != nil:
		return err.Error()
	case !deadline.After(op.until):
		return fmt.Sprintf("the deadline is %s already, %s is not later", stamp(op.until), stamp(deadline))
	}
	return ""
}

// changeExtend: a write under way, and a ticket, hear of the new deadline at once.
const changeExtend = "extend-under-way"

// extend moves the deadline. The look that is parked until the old one finds the new one when it comes back.
func (op *operation) extend(ctx workflow.Context, argument contract.Extension) string {
	deadline, err := argument.Deadline(workflow.Now(ctx))
	if err != nil {
		return err.Error() // the validator has refused it
	}
	op.until = deadline
	if op.watched == nil && workflow.GetVersion(ctx, changeExtend, workflow.DefaultVersion, 1) >= 1 {
		op.moved()
	}
	return "the deadline is " + stamp(deadline) + " now"
}

func (op *operation) refusePause(workflow.Context, contract.Extension) string {
	if op.paused != nil {
		return fmt.Sprintf("paused by %s since %s already", op.paused.By, stamp(op.paused.At))
	}
	return ""
}

// pause stops looking and keeps the next step from beginning. A write that is under way ends first.
func (op *operation) pause(workflow.Context, contract.Extension) string {
	paused := op.interventions[len(op.interventions)-1]
	op.paused = &paused
	op.interrupt()
	return "paused before the next step; the deadline stays " + stamp(op.until)
}

func (op *operation) refuseResume(workflow.Context, contract.Extension) string {
	if op.paused == nil {
		return "the operation is not paused"
	}
	return ""
}

func (op *operation) resume(workflow.Context, contract.Extension) string {
	op.paused = nil
	return "goes on"
}

func (op *operation) refuseSkip(workflow.Context, contract.Extension) string {
	switch {
	case op.request.Wait == "":
		return "the operation does not wait"
	case op.request.EffectiveAction() == contract.ActionWait:
		return "the operation is nothing but a wait: cancel it"
	case op.skipped != nil:
		return "the wait is skipped already"
	}
	return ""
}

func (op *operation) skip(workflow.Context, contract.Extension) string {
	skipped := op.interventions[len(op.interventions)-1]
	op.skipped = &skipped
	if op.watched != nil {
		op.interrupt()
	}
	return "the operation ends without waiting for " + op.request.Wait
}

// settleSkipped is the outcome of a wait that an operator ended. What was seen so far stays; it is no success of the
// condition.
func (op *operation) settleSkipped() {
	op.result.Reason = contract.ReasonWaitSkipped
	op.result.Message = fmt.Sprintf("the wait for %s was skipped by %s (%s)", op.request.Wait, op.skipped.By, op.skipped.Reason)
	if op.result.Version > 0 {
		op.result.Message += fmt.Sprintf("; version %d is stored, nothing is known about the cluster", op.result.Version)
	}
}

// gate holds a paused operation until it is resumed or its deadline has come.
func (op *operation) gate(ctx workflow.Context) error {
	if op.paused == nil {
		return ctx.Err()
	}
	timing, stop := workflow.WithCancel(ctx)
	defer stop()
	deadline := workflow.NewTimer(timing, max(op.until.Sub(workflow.Now(ctx)), 0))
	return workflow.Await(ctx, func() bool { return op.paused == nil || deadline.IsReady() || op.watched != nil && op.skipped != nil })
}

// interrupted: the step was stopped to let an operator's message in, and the operation goes on.
func interrupted(ctx workflow.Context, err error) bool {
	return temporal.IsCanceledError(err) && ctx.Err() == nil
}

// interruptible gives the context of a step that operators may stop.
func (op *operation) interruptible(ctx workflow.Context) workflow.Context {
	step, stop := workflow.WithCancel(ctx)
	op.interrupt = stop
	return step
}

// saw keeps what was missing at a look, or the last error.
func (op *operation) saw(ctx workflow.Context, text string) {
	op.lastSeen, op.lastSeenAt = text, workflow.Now(ctx)
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }
