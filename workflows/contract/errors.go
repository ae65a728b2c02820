package contract

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
)

// ErrorType is the contract of a failure: callers switch on it, never on a text. It is the type of the Temporal
// ApplicationError and the reason of the StatusResult.
type ErrorType string

// The closed set of error types.
const (
	// ErrInvalidInput: the request itself is wrong. The caller corrects it.
	ErrInvalidInput ErrorType = "InvalidInput"
	// ErrInvalidManifest: the ManifestWork is wrong. The caller corrects it.
	ErrInvalidManifest ErrorType = "InvalidManifest"
	// ErrTooLarge: the manifests exceed the limit of 500 KiB. The caller splits the work.
	ErrTooLarge ErrorType = "TooLarge"
	// ErrManifestSetImmutable: this Maestro only takes updates with the same manifests in the same order.
	ErrManifestSetImmutable ErrorType = "ManifestSetImmutable"
	// ErrManifestRefused: Maestro refuses the work although nobody else wrote it meanwhile.
	ErrManifestRefused ErrorType = "ManifestRefused"
	// ErrOwnershipConflict: a work of this name belongs to another source or owner.
	ErrOwnershipConflict ErrorType = "OwnershipConflict"
	// ErrGenerationConflict: the same generation was already written with other content.
	ErrGenerationConflict ErrorType = "GenerationConflict"
	// ErrSuperseded: a newer generation has taken the place of this one.
	ErrSuperseded ErrorType = "Superseded"
	// ErrVersionConflict: other writers kept winning for the whole patience.
	ErrVersionConflict ErrorType = "VersionConflict"
	// ErrUnderDeletion: the work is being deleted.
	ErrUnderDeletion ErrorType = "UnderDeletion"
	// ErrConsumerNotFound: Maestro knows no such consumer.
	ErrConsumerNotFound ErrorType = "ConsumerNotFound"
	// ErrUnavailable: Maestro does not answer, or answers that it cannot.
	ErrUnavailable ErrorType = "MaestroUnavailable"
	// ErrUnauthorized: Maestro refuses the credentials, or the source.
	ErrUnauthorized ErrorType = "Unauthorized"
	// ErrNotReady: the condition is not met yet. Benign: it only drives the next look.
	ErrNotReady ErrorType = "NotReady"
	// ErrApplyFailed: the cluster could not apply the work, for a reason that does not heal.
	ErrApplyFailed ErrorType = "ApplyFailed"
	// ErrConditionFailed: the condition of a wait will not be met any more, or the one that ends it early holds.
	ErrConditionFailed ErrorType = "ConditionFailed"
	// ErrVanished: the work was there and is gone.
	ErrVanished ErrorType = "Vanished"
	// ErrWaitTimeout: the deadline passed before the condition was met.
	ErrWaitTimeout ErrorType = "WaitTimeout"
	// ErrDeletionUnconfirmed: the deadline passed before the cluster confirmed a deletion. Its agent is away, or a finalizer
	// keeps an object: Maestro cannot tell which, because an agent reports nothing until all objects are gone.
	ErrDeletionUnconfirmed ErrorType = "DeletionUnconfirmed"
	// ErrCancelled: somebody cancelled the operation.
	ErrCancelled ErrorType = "Cancelled"
	// ErrReportFailed: the outcome could not be delivered.
	ErrReportFailed ErrorType = "ReportFailed"
	// ErrHyperFleetUnavailable: the HyperFleet API does not answer, or answers that it cannot.
	ErrHyperFleetUnavailable ErrorType = "HyperFleetUnavailable"
	// ErrHyperFleetRefused: the HyperFleet API refuses the report, the credentials or the address.
	ErrHyperFleetRefused ErrorType = "HyperFleetRefused"
	// ErrReportDropped: the HyperFleet API has a report with the same or a later time and did not store this one.
	ErrReportDropped ErrorType = "ReportDropped"
	// ErrNodePoolsExist: a cluster is not finalized before its node pools are gone.
	ErrNodePoolsExist ErrorType = "NodePoolsExist"
	// ErrClosing: the run that was offered a request is about to close. The caller offers it again.
	ErrClosing ErrorType = "Closing"
	// ErrQueueFull: too many tickets wait for the mutex of the consumer.
	ErrQueueFull ErrorType = "QueueFull"
	// ErrExpired: the operation's deadline passed while its write waited behind the mutex of the consumer.
	ErrExpired ErrorType = "Expired"
	// ErrTicketConflict: a ticket ID was used for two different things.
	ErrTicketConflict ErrorType = "TicketConflict"
	// ErrFenceLost: another run of the mutex has written since.
	ErrFenceLost ErrorType = "FenceLost"
	// ErrInternal: a defect of the product.
	ErrInternal ErrorType = "Internal"
)

// Rule says how a failure of one type is treated.
type Rule struct {
	// Retryable within the step's patience.
	Retryable bool
	// Delay before the next attempt; 0 means the step's own backoff.
	Delay time.Duration
	// Benign failures are expected and counted as no error.
	Benign bool
	// Act says who can do what about it, in one sentence.
	Act string
}

// Rules holds one rule per error type; a type without a rule is a defect.
var Rules = map[ErrorType]Rule{
	ErrInvalidInput:          {Act: "correct the request and send it again"},
	ErrInvalidManifest:       {Act: "correct what is named and run it again"},
	ErrTooLarge:              {Act: "Maestro and its agents take at most 500 KiB of manifests in one work"},
	ErrManifestSetImmutable:  {Act: "use one ManifestWork per nodepool, keep the same manifests in the same order, let the operation recreate the work (--on-immutable recreate), or upgrade Maestro to 2026-02-11 or later"},
	ErrManifestRefused:       {Act: "correct what the message names and apply again"},
	ErrOwnershipConflict:     {Act: "name that owner (--adapter) if you merge for it, use another name, or force the write if it has given the work up"},
	ErrGenerationConflict:    {Act: "raise the generation, or force the write"},
	ErrSuperseded:            {Act: "nothing to do: what is stored or running is newer"},
	ErrVersionConflict:       {Retryable: true, Act: "find the other writers of this work and apply again"},
	ErrUnderDeletion:         {Retryable: true, Delay: 2 * time.Second, Act: "wait until the cluster's agent has confirmed the deletion, then apply again"},
	ErrConsumerNotFound:      {Act: "register the consumer in Maestro, or correct its name"},
	ErrUnavailable:           {Retryable: true, Act: "look at Maestro's health and log"},
	ErrUnauthorized:          {Act: "give the worker credentials that may publish for this source"},
	ErrNotReady:              {Retryable: true, Benign: true, Act: "wait"},
	ErrApplyFailed:           {Act: "correct the manifest that the message names and apply again"},
	ErrConditionFailed:       {Act: "look at the object that the message names, correct it and apply again"},
	ErrVanished:              {Act: "find out who deleted the work and apply again"},
	ErrWaitTimeout:           {Act: "read the message for what was missing; wait again, or look at the cluster's agent"},
	ErrDeletionUnconfirmed:   {Act: "look at the cluster's agent and at the finalizers of the work's objects; the deletion stays requested, wait for Deleted again"},
	ErrCancelled:             {Act: "start the operation again if it is still wanted"},
	ErrReportFailed:          {Act: "correct the report's target; the operation itself has ended as the message says"},
	ErrHyperFleetUnavailable: {Retryable: true, Act: "look at the HyperFleet API's health and log; the report is tried again for 24 hours"},
	ErrHyperFleetRefused:     {Act: "correct the report's target, or the worker's hyperfleet-url or token"},
	ErrReportDropped:         {Retryable: true, Act: "nothing to do: the report is sent again with a later time"},
	ErrNodePoolsExist:        {Retryable: true, Act: "delete the cluster's node pools, or find out what holds them"},
	ErrClosing:               {Retryable: true, Delay: 200 * time.Millisecond, Act: "submit the request again"},
	ErrQueueFull:             {Retryable: true, Delay: 5 * time.Second, Act: "look at the mutex's status for what holds it up"},
	ErrExpired:               {Act: "look at the mutex's status for what holds it up, then start the operation again"},
	ErrTicketConflict:        {Act: "give each request its own ticket ID"},
	ErrFenceLost:             {Act: "nothing to do: the present run of the mutex writes"},
	ErrInternal:              {Act: "report the message as a defect of maestro-workflows"},
}

// Error is a failure with its type. It crosses Temporal as an ApplicationError, see [Error.Application].
type Error struct {
	Type    ErrorType
	Message string
	// Delay before the next attempt when the failure is retryable; 0 means the rule's.
	Delay time.Duration
	Cause error
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause, so that errors.Is and errors.As see through.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes a typed error. A %w in the format becomes the cause.
func Errorf(errorType ErrorType, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Type: errorType, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// Application turns a typed error into the ApplicationError that Temporal stores and retries by. The cause's text is
// already in the message, so that the stored failure stays below Temporal's 4 KiB.
func (e *Error) Application(details ...any) error {
	rule := Rules[e.Type]
	delay := e.Delay
	if delay == 0 {
		delay = rule.Delay
	}
	category := temporal.ApplicationErrorCategoryUnspecified
	if rule.Benign {
		category = temporal.ApplicationErrorCategoryBenign
	}
	return temporal.NewApplicationErrorWithOptions(cut(e.Message, maxFailureText), string(e.Type), temporal.ApplicationErrorOptions{
		NonRetryable:   !rule.Retryable,
		NextRetryDelay: delay,
		Category:       category,
		Details:        details,
	})
}

// Final is [Error.Application] for the end of an operation: never retried, whatever the type.
func (e *Error) Final(details ...any) error {
	return temporal.NewNonRetryableApplicationError(cut(e.Message, maxFailureText), string(e.Type), nil, details...)
}

// maxFailureText leaves room in Temporal's 4 KiB of a stored activity failure.
const maxFailureText = 3000

// cut also makes a text of what is none, because Temporal cannot store anything else.
func cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xC0 == 0x80 {
		limit--
	}
	return text[:limit] + "…"
}

// TypeOf gives the type of an error that came from this product, through any number of wraps and through Temporal;
// [ErrInternal] for everything else, "" for nil.
func TypeOf(err error) ErrorType {
	if err == nil {
		return ""
	}
	var typed *Error
	if errors.As(err, &typed) {
		return typed.Type
	}
	// Temporal stores a wrap as an ApplicationError of its own, whose type is the wrap's.
	var application *temporal.ApplicationError
	for errors.As(err, &application) {
		if _, known := Rules[ErrorType(application.Type())]; known {
			return ErrorType(application.Type())
		}
		err = application.Unwrap()
	}
	return ErrInternal
}
