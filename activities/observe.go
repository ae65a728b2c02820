package activities

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Observer looks at works that are waited for.
type Observer struct {
	Reader Reader
	// Writer asks again for deletions.
	Writer Writer
	// Now is the clock; time.Now in a worker.
	Now func() time.Time
}

// memory passes from one look to the next as heartbeat details, which outlive the worker.
type memory struct {
	// Registered: Maestro knew the consumer at an earlier look.
	Registered bool `json:"registered,omitempty"`
	// Seen: the work existed at an earlier look.
	Seen bool `json:"seen,omitempty"`
	// Held: the conditions fitted the work at an earlier look.
	Held bool `json:"held,omitempty"`
	// RefusedVersion and RefusedSince: since when this version cannot get on for a reason that does not heal.
	RefusedVersion int64     `json:"refusedVersion,omitempty"`
	RefusedSince   time.Time `json:"refusedSince,omitzero"`
	// Asked is when the deletion was asked for last, and AskNext the pause before it is asked for again.
	Asked   time.Time     `json:"asked,omitzero"`
	AskNext time.Duration `json:"askNext,omitempty"`
	// Last is what a time-out shows when the last look itself fails.
	Last *contract.ObserveResult `json:"last,omitempty"`
}

// Observe looks once. The end of a wait is its result; "not yet" is a retryable error that names what is missing and
// says when to look again, so that Temporal parks the wait without a slot and without history. It only reads, so that
// running it twice is harmless. The last look happens at the deadline and gives TimedOut with what was missing.
func (o *Observer) Observe(ctx context.Context, params contract.ObserveParams) (contract.ObserveResult, error) {
	look := &look{params: params, now: o.Now()}
	if err := look.parse(); err != nil {
		return contract.ObserveResult{}, application(contract.Errorf(contract.ErrInvalidInput, "%w", err))
	}
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &look.memory); err != nil {
			return contract.ObserveResult{}, application(contract.Errorf(contract.ErrInternal, "read what earlier looks saw: %w", err))
		}
	}
	stored, err := o.Reader.Read(ctx, params.Source, params.Consumer, params.Name)
	if errors.Is(err, maestro.ErrNotFound) {
		err = look.unknownConsumer(ctx, o.Reader, err)
	}
	result, missing := look.judge(stored, err)
	if result != nil {
		return bounded(*result), nil
	}
	if missing.Type != contract.ErrNotReady && !contract.Rules[missing.Type].Retryable {
		return contract.ObserveResult{}, application(missing)
	}
	if !look.now.Before(params.Until) {
		return bounded(look.timedOut(missing)), nil
	}
	if params.Ask && stored != nil && stored.DeletedAt != nil {
		look.ask(ctx, o.Writer, stored)
	}
	if look.changed {
		activity.RecordHeartbeat(ctx, look.memory)
	}
	info := activity.GetInfo(ctx)
	missing.Delay = max(missing.Delay, nextLook(info.Attempt, look.now.Sub(info.ScheduledTime)))
	missing.Delay = min(missing.Delay, look.untilDecision(missing.Type))
	return contract.ObserveResult{}, application(missing)
}

// nextLook doubles from [contract.PollFirst] to [contract.PollSoon] and then is an eighth of the time that is waited
// already, up to [contract.PollMax]: what a cluster did after 20 s is seen at 23 s, not at 32 s. It spreads by a fifth, so
// that waits which started together do not stay together.
func nextLook(attempt int32, waited time.Duration) time.Duration {
	delay := doubled(contract.PollFirst, contract.PollSoon, attempt)
	delay = min(max(delay, waited/8), contract.PollMax)
	return time.Duration(float64(delay) * (0.9 + 0.2*rand.Float64()))
}

// look is one look at a work.
type look struct {
	params contract.ObserveParams
	// expression is what is waited for, failOn what ends the wait; both are empty for a deletion.
	expression, failOn manifest.Expression
	now                time.Time
	memory             memory
	// changed: memory has to be kept for the next look.
	changed bool
	// current is what this look saw, with the resources.
	current *contract.ObserveResult
}

func (l *look) parse() (err error) {
	if l.params.Deleted {
		return nil
	}
	if len(l.params.Removed) > 0 {
		l.expression, err = manifest.ParseExpression("Applied")
		return err
	}
	if l.expression, err = manifest.ParseExpression(l.params.Wait); err != nil || l.params.FailOn == "" {
		return err
	}
	if l.failOn, err = manifest.ParseExpression(l.params.FailOn); err != nil {
		return fmt.Errorf("failOn: %w", err)
	}
	return nil
}

// untilDecision is the time to the deadline, or to the end of a refusal's grace period when that comes first. A Maestro
// that does not answer is not asked more often for it.
func (l *look) untilDecision(missing contract.ErrorType) time.Duration {
	decision := l.params.Until
	if since := l.memory.RefusedSince; missing == contract.ErrNotReady && !since.IsZero() {
		if end := since.Add(l.params.Grace); end.After(l.now) && end.Before(decision) {
			decision = end
		}
	}
	return max(decision.Sub(l.now), 0) + time.Millisecond
}

// judge gives the end of the wait, or what is missing.
func (l *look) judge(stored *manifest.Stored, err error) (*contract.ObserveResult, *contract.Error) {
	switch {
	case errors.Is(err, maestro.ErrNotFound):
		return l.absent()
	case err != nil:
		return nil, &contract.Error{Type: contract.TypeOf(err), Message: err.Error(), Delay: delayOf(err), Cause: err}
	}
	if !l.memory.Seen {
		l.memory.Seen, l.changed = true, true
	}
	if l.params.Deleted {
		return l.deleting(stored)
	}
	if l.params.Received {
		return l.received(stored)
	}
	if stored.Version < l.params.Version {
		return l.failed(stored, contract.ErrVanished, fmt.Sprintf(
			"version %d is gone: the work was deleted and written again, version %d is stored", l.params.Version, stored.Version)), nil
	}
	if stored.DeletedAt != nil {
		return l.failed(stored, contract.ErrUnderDeletion, fmt.Sprintf("the work is being deleted since %s", stored.DeletedAt.UTC().Format(time.RFC3339))), nil
	}
	if generation := stored.Generation(); l.params.Generation > 0 && generation > l.params.Generation {
		return l.failed(stored, contract.ErrSuperseded, fmt.Sprintf("generation %d has replaced generation %d", generation, l.params.Generation)), nil
	}
	return l.evaluate(stored)
}

// unknownConsumer tells a work that is not there from a consumer that Maestro does not know, where nothing will ever be.
func (l *look) unknownConsumer(ctx context.Context, reader Reader, notFound error) error {
	if l.memory.Registered || l.memory.Seen || l.params.MustExist {
		return notFound
	}
	if err := reader.Registered(ctx, l.params.Consumer); err != nil {
		return err
	}
	l.memory.Registered, l.changed = true, true
	return notFound
}

func (l *look) absent() (*contract.ObserveResult, *contract.Error) {
	where := fmt.Sprintf("work %s on %s", l.params.Name, l.params.Consumer)
	switch {
	case l.params.Deleted:
		return &contract.ObserveResult{Outcome: contract.ObserveGone, Status: contract.StatusDeleted, Message: where + " is gone"}, nil
	case l.params.MustExist || l.memory.Seen:
		result := l.last()
		result.Outcome, result.Failure = contract.ObserveFailed, contract.ErrVanished
		result.Message = where + " vanished" + l.lastWords()
		return &result, nil
	default:
		return nil, contract.Errorf(contract.ErrNotReady, "%s was never found", where)
	}
}

func (l *look) deleting(stored *manifest.Stored) (*contract.ObserveResult, *contract.Error) {
	// The deletion that this operation asked for is done when another work stands there.
	if stored.DeletedAt == nil && l.params.Version > 0 {
		return &contract.ObserveResult{Outcome: contract.ObserveGone, Status: contract.StatusDeleted,
			Message: fmt.Sprintf("work %s on %s is gone; somebody has written it again", l.params.Name, l.params.Consumer)}, nil
	}
	text := "deletion is not requested"
	if stored.DeletedAt != nil {
		text = fmt.Sprintf("deleting since %s, the cluster has not confirmed it", stored.DeletedAt.UTC().Format(time.RFC3339))
		if option := stored.Work.Spec.DeleteOption; option != nil && option.PropagationPolicy != "" {
			text += fmt.Sprintf(", policy %s", option.PropagationPolicy)
		}
		text += ": its agent is away, or finalizers keep objects"
		if !stored.Status.Reported {
			text = strings.Replace(text, "its agent is away", "its agent, which has never reported for this work, is away", 1)
		}
	}
	l.remember(l.snapshot(stored, manifest.EvaluateStored(stored, stored.Version, l.expression), text))
	return nil, contract.Errorf(contract.ErrNotReady, "%s", text)
}

// wanted is the version that a condition must belong to: the one that was written, or for a wait that wrote nothing the
// one that is stored now.
func (l *look) wanted(stored *manifest.Stored) int64 {
	if l.params.Version > 0 {
		return l.params.Version
	}
	return stored.Version
}

func (l *look) evaluate(stored *manifest.Stored) (*contract.ObserveResult, *contract.Error) {
	if failed := l.misfit(stored); failed != nil {
		return failed, nil
	}
	version := l.wanted(stored)
	if l.params.FailOn != "" {
		if bad := manifest.EvaluateStored(stored, version, l.failOn); bad.Met {
			return l.failed(stored, contract.ErrConditionFailed, fmt.Sprintf("failOn %s holds for version %d: %s", l.params.FailOn, version, bad.Holds)), nil
		}
	}
	evaluation := manifest.EvaluateStored(stored, version, l.expression)
	if evaluation.Met && len(l.params.Removed) > 0 {
		return l.removed(stored, evaluation)
	}
	if evaluation.Met {
		result := l.snapshot(stored, evaluation, fmt.Sprintf("%s holds for version %d", l.params.Wait, version))
		result.Outcome = contract.ObserveMet
		return &result, nil
	}
	if evaluation.Never != "" {
		return l.failed(stored, contract.ErrConditionFailed, fmt.Sprintf("%s will not be met any more: %s", l.params.Wait, evaluation.Never)), nil
	}
	if failed := l.refused(stored, version, evaluation); failed != nil {
		return failed, nil
	}
	l.remember(l.snapshot(stored, evaluation, evaluation.Missing))
	return nil, contract.Errorf(contract.ErrNotReady, "%s", evaluation.Missing)
}

// removed: the version without the manifests is applied, and the cluster reports none of them any more.
func (l *look) removed(stored *manifest.Stored, evaluation manifest.Evaluation) (*contract.ObserveResult, *contract.Error) {
	var left []string
	for _, resource := range stored.Status.Resources {
		id := manifest.Identity{Group: resource.Group, Kind: resource.Kind, Namespace: resource.Namespace, Name: resource.Name}
		if slices.ContainsFunc(l.params.Removed, func(text string) bool { given, err := manifest.ParseIdentity(text); return err == nil && given == id }) {
			left = append(left, id.String())
		}
	}
	if len(left) > 0 {
		text := fmt.Sprintf("version %d is applied, but the cluster still reports %s", l.wanted(stored), strings.Join(left, ", "))
		l.remember(l.snapshot(stored, evaluation, text))
		return nil, contract.Errorf(contract.ErrNotReady, "%s", text)
	}
	result := l.snapshot(stored, evaluation, fmt.Sprintf("%s is gone from the cluster, version %d is applied without it",
		strings.Join(l.params.Removed[:min(len(l.params.Removed), 3)], ", "), l.wanted(stored)))
	result.Outcome = contract.ObserveGone
	return &result, nil
}

// misfit refuses conditions that the work can never report. The write of an operation has checked that beforehand; a
// wait that writes nothing learns it from the first look at the work.
func (l *look) misfit(stored *manifest.Stored) *contract.ObserveResult {
	if l.memory.Held {
		return nil
	}
	if l.params.Version == 0 {
		if err := l.expression.CheckAgainst(stored.Work); err != nil {
			return l.failed(stored, contract.ErrInvalidInput, err.Error())
		}
	}
	if err := l.failOn.CheckAgainst(stored.Work); err != nil {
		return l.failed(stored, contract.ErrInvalidInput, "failOn: "+err.Error())
	}
	l.memory.Held, l.changed = true, true
	return nil
}

// refused fails the wait when the cluster has refused the version, or has been stuck with it, for the whole grace period
// for a reason that does not heal. The first Applied=False is not the last word: a CRD and its object in one work need a
// second pass.
func (l *look) refused(stored *manifest.Stored, version int64, evaluation manifest.Evaluation) *contract.ObserveResult {
	failure, reason := contract.ErrApplyFailed, evaluation.Refused
	if evaluation.Refused == "" || evaluation.Heals {
		failure, reason = contract.ErrConditionFailed, evaluation.Stuck
	}
	if reason == "" {
		if l.memory.RefusedVersion != 0 {
			l.memory.RefusedVersion, l.memory.RefusedSince, l.changed = 0, time.Time{}, true
		}
		return nil
	}
	if l.memory.RefusedVersion != version {
		l.memory.RefusedVersion, l.memory.RefusedSince, l.changed = version, l.now, true
		return nil
	}
	if l.now.Sub(l.memory.RefusedSince) < l.params.Grace {
		return nil
	}
	result := l.snapshot(stored, evaluation, reason)
	result.Outcome, result.Failure = contract.ObserveFailed, failure
	return &result
}

func (l *look) failed(stored *manifest.Stored, failure contract.ErrorType, message string) *contract.ObserveResult {
	result := l.snapshot(stored, manifest.EvaluateStored(stored, l.wanted(stored), l.expression), message)
	result.Outcome, result.Failure = contract.ObserveFailed, failure
	return &result
}

func (l *look) snapshot(stored *manifest.Stored, evaluation manifest.Evaluation, message string) contract.ObserveResult {
	return contract.ObserveResult{
		Message: message, Status: evaluation.Overall, Version: stored.Version,
		ObservedVersion: stored.Status.ObservedVersion, Conditions: stored.Status.Conditions, Resources: evaluation.Resources,
	}
}

// remember keeps what was seen when it differs from the last time, without the resources: heartbeats stay small.
func (l *look) remember(seen contract.ObserveResult) {
	whole := seen
	l.current = &whole
	seen = bounded(seen)
	seen.Resources = nil
	if l.memory.Last == nil || l.memory.Last.Message != seen.Message || l.memory.Last.Version != seen.Version {
		l.memory.Last, l.changed = &seen, true
	}
}

// last is what was seen last, by this look or an earlier one.
func (l *look) last() contract.ObserveResult {
	switch {
	case l.current != nil:
		return *l.current
	case l.memory.Last != nil:
		return *l.memory.Last
	default:
		return contract.ObserveResult{Status: contract.StatusInProgress}
	}
}

func (l *look) lastWords() string {
	if l.memory.Last == nil || l.memory.Last.Message == "" {
		return ""
	}
	return "; last seen: " + l.memory.Last.Message
}

func (l *look) timedOut(missing *contract.Error) contract.ObserveResult {
	result := l.last()
	result.Outcome, result.Failure = contract.ObserveTimedOut, contract.ErrWaitTimeout
	result.Message = fmt.Sprintf("not met by %s: %s", l.params.Until.UTC().Format(time.RFC3339), missing.Message)
	if (l.params.Deleted || len(l.params.Removed) > 0) && missing.Type == contract.ErrNotReady {
		result.Failure = contract.ErrDeletionUnconfirmed
	}
	if missing.Type != contract.ErrNotReady {
		result.Message += l.lastWords()
	}
	return result
}
