package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Action is what an operation does to a work.
type Action string

// Actions. The empty action means apply.
const (
	// ActionApply makes the stored work equal to Request.Work.
	ActionApply Action = "apply"
	// ActionMerge puts Request.Work's manifests, Manifests and Nodepools into the stored work and keeps the rest of it. A
	// work that does not exist is created.
	ActionMerge Action = "merge"
	// ActionRemove takes the manifests in Request.Remove out of the stored work.
	ActionRemove Action = "remove"
	// ActionDelete removes the work of this source, whatever version it has; with a wait the operation ends when the
	// bundle answers 404.
	ActionDelete Action = "delete"
	// ActionWait only waits for a condition of the stored work and writes nothing.
	ActionWait Action = "wait"
)

// Request is the input of an operation. It is plain JSON that a person can type into the Temporal UI.
type Request struct {
	// Source is the Maestro source ID. It is a part of every bundle's UID, so it must be the same for all writers of a
	// deployment and never change between releases.
	Source string `json:"source"`
	// Consumer is the Maestro consumer, that is the managed cluster.
	Consumer string `json:"consumer"`
	// Action defaults to apply.
	Action Action `json:"action,omitempty"`
	// Work is a ManifestWork as JSON: the whole one for apply, what to merge for merge, refused otherwise. Its namespace is
	// empty or the consumer.
	Work json.RawMessage `json:"work,omitempty"`
	// Manifests are bare Kubernetes objects to merge, for merge only.
	Manifests []json.RawMessage `json:"manifests,omitempty"`
	// Nodepools is a nodepool config, for merge only: {"nodepools": [{"name", "instanceType", "replicas" or "autoScaling",
	// "zones", "labels", "taints"}], "metadata": {"cluster", "region", "version"}}. It becomes HyperShift NodePools.
	Nodepools json.RawMessage `json:"nodepools,omitempty"`
	// NodepoolTemplate is the template that makes a NodePool; "" means the built-in one. At most [MaxTemplateBytes].
	NodepoolTemplate string `json:"nodepoolTemplate,omitempty"`
	// Strategy of a merge, default [StrategyMerge].
	Strategy Strategy `json:"strategy,omitempty"`
	// Granularity names the work of nodepools that have no Name, default [GranularityResource].
	Granularity Granularity `json:"granularity,omitempty"`
	// Adapter owns what is merged, removed or deleted: a label value, see [LabelOwner]. A deletion without one takes the
	// work whoever owns it.
	Adapter string `json:"adapter,omitempty"`
	// Remove are the manifests to remove, for remove only: Kind[.group]/name or Kind[.group]/namespace/name.
	Remove []string `json:"remove,omitempty"`
	// Name of the work. Required for delete, remove and wait; for apply and merge it defaults to the work's own, which a
	// merge's name takes the place of, and an apply's must equal. Nodepools have a name by Granularity.
	Name string `json:"name,omitempty"`
	// Generation is the HyperFleet generation, > 0 when the caller has one. Without one the annotation
	// hyperfleet.io/generation of the work counts; without that the request is always newer.
	Generation int64 `json:"generation,omitempty"`
	// Wait is the condition to wait for; empty means do not wait. For delete any non-empty value means Deleted. With remove
	// Deleted means that the cluster has applied the work without the removed manifests and reports them no more.
	Wait string `json:"wait,omitempty"`
	// FailOn is a condition that ends the wait early, as ConditionFailed, when it holds for the version that is waited
	// for; only with a wait for another condition than Deleted.
	FailOn string `json:"failOn,omitempty"`
	// Timeout of the whole operation, a Go duration counted from its start. Default [DefaultTimeout]. With 0 nothing is waited
	// for: the condition is looked at once, and what is to be written has [OneLookTimeout].
	Timeout string `json:"timeout,omitempty"`
	// Patience with a Maestro that does not answer, or keeps conflicting, while writing. A Go duration; default
	// [DefaultPatience], and never longer than Timeout.
	Patience string `json:"patience,omitempty"`
	// Grace is how long an Applied=False that cannot heal by itself (immutable field, forbidden) may last before the
	// wait fails. A Go duration; default [DefaultGrace].
	Grace string `json:"grace,omitempty"`
	// OnImmutable says what happens when Maestro refuses a change of the set of manifests, default [OnImmutableFail].
	OnImmutable OnImmutable `json:"onImmutable,omitempty"`
	// Orphan leaves the objects on the cluster, for delete only.
	Orphan bool `json:"orphan,omitempty"`
	// Force overwrites a work with another owner's label, and content of an equal generation.
	Force bool `json:"force,omitempty"`
	// AllowPlaintextSecrets accepts that Secrets can be read in the workflow's history, because payloads are not encrypted.
	AllowPlaintextSecrets bool `json:"allowPlaintextSecrets,omitempty"`
	// Report says where the outcome goes besides the workflow's result.
	Report *Report `json:"report,omitempty"`
	// UnknownFields are the keys of a request's JSON that no field has. Nobody sets them; Check refuses them.
	UnknownFields []string `json:"unknownFields,omitempty"`
}

// OnImmutable is what happens when Maestro refuses a change of the number or order of manifests, as servers before
// 2026-02-11 do.
type OnImmutable string

const (
	// OnImmutableFail ends the operation as ManifestSetImmutable.
	OnImmutableFail OnImmutable = "fail"
	// OnImmutableRecreate deletes the work without its objects, and creates it with the new set of manifests.
	OnImmutableRecreate OnImmutable = "recreate"
)

// Submitted is the answer to a request that was accepted.
type Submitted struct {
	// Attached: the request equals the one that the run works for. Otherwise the run ends and the request becomes the
	// input of the next run of the same workflow ID.
	Attached bool `json:"attached"`
	// RunID of the run that took the request.
	RunID string `json:"runID"`
}

// AwaitsDeletion: the operation ends when the bundle is gone.
func (r Request) AwaitsDeletion() bool {
	switch r.EffectiveAction() {
	case ActionDelete:
		return r.Wait != ""
	case ActionWait:
		return strings.TrimSpace(r.Wait) == "Deleted"
	default:
		return false
	}
}

// AwaitsRemoval: the operation ends when the cluster has the work without the removed manifests.
func (r Request) AwaitsRemoval() bool {
	return r.EffectiveAction() == ActionRemove && strings.TrimSpace(r.Wait) == "Deleted"
}

// EffectiveAction is the action with its default.
func (r Request) EffectiveAction() Action {
	if r.Action == "" {
		return ActionApply
	}
	return r.Action
}

// Writes: the request leaves a work behind, so that one that is not there is gone, and not still to come.
func (r Request) Writes() bool {
	switch r.EffectiveAction() {
	case ActionApply, ActionMerge, ActionRemove:
		return true
	default:
		return false
	}
}

// WorkflowID of the operation. The request must have been checked with [Request.Check].
func (r Request) WorkflowID() string {
	if r.EffectiveAction() == ActionWait {
		condition := r.Wait
		if r.FailOn != "" {
			condition += "\x00" + r.FailOn
		}
		return WaitID(r.Source, r.Consumer, r.WorkName(), condition, r.Timeout)
	}
	id := OperationID(r.Source, r.Consumer, r.WorkName())
	if part := r.Part(); part != "" {
		id += "/" + part
	}
	return id
}

// workHead is the part of a ManifestWork that addresses it.
type workHead struct {
	Metadata struct {
		Name        string            `json:"name"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

func (r Request) head() (workHead, error) {
	var head workHead
	if len(r.Work) == 0 {
		return head, nil
	}
	if err := json.Unmarshal(r.Work, &head); err != nil {
		return head, fmt.Errorf("work: not a ManifestWork: %w", err)
	}
	return head, nil
}

// WorkName is Name, or the name inside Work, or the one that Granularity gives to Nodepools.
func (r Request) WorkName() string {
	if r.Name != "" {
		return r.Name
	}
	if r.named() {
		name, _ := r.sharedName()
		return name
	}
	head, err := r.head()
	if err != nil {
		return ""
	}
	return head.Metadata.Name
}

// Durations of a request, with their defaults filled in.
type Durations struct {
	Timeout, Patience, Grace time.Duration
	// OneLook: nothing is waited for, the condition is looked at once.
	OneLook bool
}

// ParseDurations reads Timeout, Patience and Grace. Negative and unit-less values are refused by name, and zero for
// Patience and Grace.
func (r Request) ParseDurations() (Durations, error) {
	var problems []error
	read := func(field, text string, fallback time.Duration) time.Duration {
		if text == "" {
			return fallback
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d == 0 && field != "timeout" {
			problems = append(problems, fmt.Errorf("%s %q: give a positive duration with a unit, like 90s, 5m or 2h", field, text))
			return fallback
		}
		return d
	}
	out := Durations{
		Timeout:  read("timeout", r.Timeout, DefaultTimeout),
		Patience: read("patience", r.Patience, DefaultPatience),
		Grace:    read("grace", r.Grace, DefaultGrace),
	}
	if out.Timeout == 0 {
		out.Timeout, out.OneLook = OneLookTimeout, true
	}
	out.Patience = min(out.Patience, out.Timeout)
	return out, errors.Join(problems...)
}

// Check finds everything that is wrong with a request's envelope, all at once; the content of Work is checked by the
// operation's Build step. The error is nil or names every field.
func (r Request) Check() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, field := range r.UnknownFields {
		bad("unknown field %q: correct its name or leave it out", field)
	}
	if !sourceName.MatchString(r.Source) {
		bad("source %q: give 1 to 63 letters, digits, '-', '.' or '_'", r.Source)
	}
	if !dnsLabel.MatchString(r.Consumer) {
		bad("consumer %q: give a DNS label (lower-case letters, digits and '-', at most 63)", r.Consumer)
	}
	switch action := r.EffectiveAction(); action {
	case ActionApply:
		if len(r.Work) == 0 {
			bad("work: required for apply")
		}
	case ActionMerge:
	case ActionDelete, ActionWait, ActionRemove:
		if len(r.Work) != 0 {
			bad("work: not allowed for %s, give name", action)
		}
		if r.Name == "" {
			bad("name: required for %s", action)
		}
		if action == ActionWait && strings.TrimSpace(r.Wait) == "" {
			bad("wait: give the condition to wait for, like Available")
		}
	default:
		bad("action %q: give apply, merge, remove, delete or wait", r.Action)
	}
	if r.FailOn != "" && (r.Wait == "" || r.AwaitsDeletion() || r.AwaitsRemoval()) {
		bad("failOn: only with a wait for a condition")
	}
	problems = append(problems, r.checkWork()...)
	problems = append(problems, r.checkMerge()...)
	switch r.OnImmutable {
	case "":
	case OnImmutableFail, OnImmutableRecreate:
		if !r.Writes() {
			bad("onImmutable: only for actions %s, %s and %s", ActionApply, ActionMerge, ActionRemove)
		}
	default:
		bad("onImmutable %q: give %s or %s", r.OnImmutable, OnImmutableFail, OnImmutableRecreate)
	}
	if r.Orphan && r.EffectiveAction() != ActionDelete {
		bad("orphan: only for action %s", ActionDelete)
	}
	if !r.AllowPlaintextSecrets {
		for _, secret := range r.Secrets() {
			bad("%s: %w", secret, errSecrets)
		}
	}
	if r.Generation < 0 {
		bad("generation %d: give a positive integer", r.Generation)
	}
	if _, err := r.ParseDurations(); err != nil {
		problems = append(problems, err)
	}
	problems = append(problems, r.checkReport()...)
	return errors.Join(problems...)
}

func (r Request) checkWork() []error {
	if len(r.Work) > MaxWorkBytes {
		return []error{fmt.Errorf("work: %d bytes, the limit is %d", len(r.Work), MaxWorkBytes)}
	}
	head, err := r.head()
	if err != nil {
		return []error{err}
	}
	var problems []error
	if inner := head.Metadata.Name; r.EffectiveAction() == ActionApply && r.Name != "" && inner != "" && inner != r.Name {
		problems = append(problems, fmt.Errorf("name %q: the work is called %q", r.Name, inner))
	}
	if name := r.WorkName(); (name != "" || len(r.Work) > 0) && !dnsLabel.MatchString(name) {
		problems = append(problems, fmt.Errorf("name %q: a work's name is a DNS label (lower-case letters, digits and '-', at most 63)", name))
	}
	return problems
}

// EffectiveGeneration is Generation, else the work's annotation hyperfleet.io/generation, else, of a merge, the one that
// all its manifests carry, else 0. A value that is not a positive integer, or that contradicts Generation, is an error.
func (r Request) EffectiveGeneration() (int64, error) {
	head, err := r.head()
	if err != nil {
		return 0, err
	}
	text, found := head.Metadata.Annotations[AnnotationGeneration]
	if !found {
		return r.mergeGeneration()
	}
	inner, err := ParseGeneration(text)
	if err != nil {
		return 0, err
	}
	if r.Generation != 0 && r.Generation != inner {
		return 0, fmt.Errorf("generation %d: the work's annotation %s says %d", r.Generation, AnnotationGeneration, inner)
	}
	return inner, nil
}

func (r Request) mergeGeneration() (int64, error) {
	if r.EffectiveAction() != ActionMerge {
		return r.Generation, nil
	}
	of, err := r.manifestGeneration()
	switch {
	case err != nil:
		return 0, err
	case r.Generation == 0:
		return of, nil
	case of != 0 && of != r.Generation:
		return 0, fmt.Errorf("generation %d: manifests are of generation %d by their annotation %s", r.Generation, of, AnnotationGeneration)
	}
	return r.Generation, nil
}
