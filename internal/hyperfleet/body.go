package hyperfleet

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// What a report carries at most. The API itself has no such limits; its readers do.
const (
	maxReason  = 128
	maxMessage = 1024
	maxData    = 64 * 1024
)

// Body is the whole of a status report.
type Body struct {
	Adapter            string      `json:"adapter"`
	ObservedGeneration int64       `json:"observed_generation"`
	ObservedTime       string      `json:"observed_time"`
	Conditions         []Condition `json:"conditions"`
	Data               Data        `json:"data"`
}

// Condition of a report; its status is True or False and never Unknown, which the API drops.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Data is what a report says beside its conditions, at most 64 KiB.
type Data struct {
	ManifestWork ManifestWork `json:"manifestwork"`
	Resources    []Resource   `json:"resources,omitempty"`
	// LeftOut counts the resources that had no room, those in order before the others.
	LeftOut int `json:"resources_left_out,omitempty"`
}

// ManifestWork names the work that a report is about.
type ManifestWork struct {
	Name     string `json:"name"`
	Consumer string `json:"consumer"`
	Version  int64  `json:"version,omitempty"`
}

// Resource is one manifest of the work.
type Resource struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Applied   bool   `json:"applied"`
	Available bool   `json:"available"`
}

// Status is what a report is made of.
type Status struct {
	Adapter string
	Result  contract.StatusResult
	// Finalizing: the operation deletes. The report then has the condition Finalized.
	Finalizing bool
	// Kept: the resource itself is not being deleted, so that it cannot be finalized.
	Kept bool
	// Nodepools that keep a cluster from being finalized.
	Nodepools []string
	// Time of the report; it is cut to whole microseconds, as the API keeps it.
	Time time.Time
}

// timeFormat always has six digits: the API rounds more, and with fewer two reports of one second would collide.
const timeFormat = "2006-01-02T15:04:05.000000Z07:00"

// Truncate cuts a time to what the API can keep.
func Truncate(at time.Time) time.Time { return at.UTC().Truncate(time.Microsecond) }

// StatusBody says what a result means as a report.
func StatusBody(status Status) Body {
	conditions := living(status.Result)
	if status.Finalizing {
		conditions = finalizing(status)
	}
	for i := range conditions {
		conditions[i].Message = text(conditions[i].Message)
	}
	return Body{
		Adapter:            status.Adapter,
		ObservedGeneration: status.Result.Generation,
		ObservedTime:       Truncate(status.Time).Format(timeFormat),
		Conditions:         conditions,
		Data:               data(status.Result),
	}
}

func condition(kind string, holds bool, reason, message string) Condition {
	status := "False"
	if holds {
		status = "True"
	}
	return Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// living are the conditions of a resource that is not being deleted.
func living(result contract.StatusResult) []Condition {
	available := func(holds bool, reason, message string) []Condition {
		health := condition("Health", true, "Healthy", "the adapter works")
		if degraded, found := fresh(result, "Degraded"); found && degraded.Status == "True" {
			health = condition("Health", false, reasonOf(degraded, "Degraded"), because(degraded, "the work is degraded"))
		}
		return []Condition{applied(result), condition("Available", holds, reason, message), health}
	}
	switch result.Reason {
	case contract.ReasonRunning:
		return available(false, "InProgress", result.Message)
	case contract.ReasonPublished, contract.ReasonUnchanged:
		return available(false, "InProgress", result.Message)
	case contract.ReasonConditionMet:
		if holds(result, "Available", "True") {
			return available(true, "AllResourcesAvailable", result.Message)
		}
		return available(false, "ResourcesNotAvailable", "the condition of the operation holds, but the work is not Available: "+result.Message)
	case contract.ReasonDeleted, contract.ReasonDeletionRequested, contract.ReasonWaitSkipped:
		return available(false, result.Reason, result.Message)
	}
	return failed(result)
}

// failed are the conditions of an operation that did not do what it was asked to, and of one that Maestro holds up.
func failed(result contract.StatusResult) []Condition {
	reason, healthy, written := reasonText(result.Reason), false, applied(result)
	switch contract.ErrorType(result.Reason) {
	case contract.ErrCancelled, contract.ErrSuperseded:
		healthy = true
	case contract.ErrConditionFailed:
		reason, healthy = "WorkloadFailed", true
	case contract.ErrWaitTimeout:
		reason = "AdapterTimeout"
	case contract.ErrApplyFailed:
		if holds(result, "Applied", "True") {
			reason, healthy = "WorkloadFailed", true
		} else {
			written = condition("Applied", false, reason, result.Message)
		}
	case contract.ErrUnavailable:
	default:
		// What was refused was not written by this operation, whatever the cluster has from before.
		written = condition("Applied", false, reason, result.Message)
	}
	health := condition("Health", healthy, reason, result.Message)
	if healthy {
		health = condition("Health", true, "Healthy", "the adapter works")
	}
	return []Condition{written, condition("Available", false, reason, result.Message), health}
}

// finalizing are the conditions of a resource that is being deleted.
func finalizing(status Status) []Condition {
	result := status.Result
	healthy := condition("Health", true, "Healthy", "the adapter works")
	row := func(applied Condition, reason, message string) []Condition {
		return []Condition{applied, condition("Available", false, reason, message), healthy, condition("Finalized", false, reason, message)}
	}
	switch {
	case Confirmed(result) && status.Kept:
		return row(condition("Applied", false, "CleanupConfirmed", result.Message), "NotDeleting", "the work is gone, but the resource is not being deleted: "+result.Message)
	case Confirmed(result) && len(status.Nodepools) > 0:
		message := "node pools still exist: " + strings.Join(status.Nodepools, ", ")
		return row(condition("Applied", false, "CleanupConfirmed", result.Message), "NodePoolsExist", message)
	case Confirmed(result):
		return []Condition{
			condition("Applied", false, "CleanupConfirmed", result.Message),
			condition("Available", false, "CleanupConfirmed", result.Message),
			healthy,
			condition("Finalized", true, "CleanupConfirmed", result.Message),
		}
	case result.Reason == contract.ReasonRunning, result.Reason == contract.ReasonDeletionRequested, result.Reason == contract.ReasonWaitSkipped:
		return row(applied(result), "CleanupInProgress", result.Message)
	case result.Reason == string(contract.ErrCancelled), result.Reason == string(contract.ErrSuperseded):
		return row(applied(result), reasonText(result.Reason), result.Message)
	}
	reason := "DeletionError"
	if contract.ErrorType(result.Reason) == contract.ErrUnavailable {
		reason = "ConnectionFailure"
	}
	return []Condition{
		applied(result),
		condition("Available", false, reason, result.Message),
		condition("Health", false, reason, result.Message),
		condition("Finalized", false, "AdapterUnhealthy", result.Message),
	}
}

// Confirmed: the work is known to be gone from the cluster.
func Confirmed(result contract.StatusResult) bool {
	return result.Reason == contract.ReasonDeleted && result.Status == contract.StatusDeleted
}

// applied is what is known: what the cluster said about the version that was written, or that it is written.
func applied(result contract.StatusResult) Condition {
	said, found := fresh(result, "Applied")
	switch {
	case result.Status == contract.StatusDeleted:
		return condition("Applied", false, "Deleted", "the work is gone")
	case found && said.Status == "True":
		return condition("Applied", true, "AppliedManifestWorkComplete", because(said, count(result)))
	case found && said.Status == "False":
		return condition("Applied", false, reasonOf(said, "NotApplied"), because(said, count(result)))
	case result.Version > 0:
		return condition("Applied", true, "ManifestWorkExists", fmt.Sprintf("version %d is stored; the cluster has not reported on it", result.Version))
	default:
		return condition("Applied", false, "ManifestWorkPending", "nothing is written yet")
	}
}

// fresh is a condition of the work for the version that was written.
func fresh(result contract.StatusResult, kind string) (contract.Condition, bool) {
	at := slices.IndexFunc(result.Conditions, func(c contract.Condition) bool { return c.Type == kind })
	if at < 0 {
		return contract.Condition{}, false
	}
	version := result.Conditions[at].ObservedGeneration
	if version == 0 {
		version = result.ObservedVersion
	}
	return result.Conditions[at], version >= result.Version
}

func holds(result contract.StatusResult, kind, status string) bool {
	condition, found := fresh(result, kind)
	return found && condition.Status == status
}

func count(result contract.StatusResult) string {
	done := 0
	for _, resource := range result.Resources {
		if resource.Applied {
			done++
		}
	}
	return fmt.Sprintf("%d of %d manifests applied", done, len(result.Resources))
}

func because(said contract.Condition, otherwise string) string {
	if said.Message != "" {
		return said.Message
	}
	return otherwise
}

var pascalCase = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// reasonOf a cluster's condition, if it can stand in a report.
func reasonOf(said contract.Condition, otherwise string) string {
	if len(said.Reason) <= maxReason && pascalCase.MatchString(said.Reason) {
		return said.Reason
	}
	return otherwise
}

func reasonText(reason string) string {
	return reasonOf(contract.Condition{Reason: reason}, string(contract.ErrInternal))
}

// text is a message that the API's database can keep.
func text(message string) string {
	message = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(message, "\uFFFD"), "\x00", ""))
	if len(message) <= maxMessage {
		return message
	}
	limit := maxMessage
	for limit > 0 && !utf8.RuneStart(message[limit]) {
		limit--
	}
	return message[:limit]
}

// data names the work and its resources, those with a problem first as long as there is room.
func data(result contract.StatusResult) Data {
	out := Data{ManifestWork: ManifestWork{Name: text(result.ManifestWorkName), Consumer: text(result.Consumer), Version: result.Version}}
	resources := make([]Resource, 0, len(result.Resources))
	for _, r := range result.Resources {
		resources = append(resources, Resource{
			Group: text(r.Group), Kind: text(r.Kind), Namespace: text(r.Namespace), Name: text(r.Name),
			Applied: r.Applied, Available: r.Available,
		})
	}
	// Besides the names of the work, of which a byte may take six, and the count.
	room := maxData - 13*maxMessage
	kept := make([]bool, len(resources))
	for _, healthy := range []bool{false, true} {
		for i, resource := range resources {
			if (resource.Applied && resource.Available) != healthy {
				continue
			}
			// The encoding of strings and booleans cannot fail.
			encoded, _ := json.Marshal(resource)
			if room -= len(encoded) + 1; room < 0 {
				out.LeftOut++
				continue
			}
			kept[i] = true
		}
	}
	for i, resource := range resources {
		if kept[i] {
			out.Resources = append(out.Resources, resource)
		}
	}
	return out
}
