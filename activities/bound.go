package activities

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// What a cluster reports has no limit below several MiB, and Temporal refuses a result of 2 MiB.
const (
	// maxFeedback bytes of one feedback value.
	maxFeedback = 16 * 1024
	// maxConditionText bytes of one condition's message.
	maxConditionText = 2 * 1024
	// maxReported bytes of all resources together.
	maxReported = 512 * 1024
)

// bounded cuts what a cluster reported to what a result can carry: long values and messages first, then whole
// resources, the healthy ones before those that somebody has to look at. The message says what was left out.
func bounded(result contract.ObserveResult) contract.ObserveResult {
	result.Conditions = shortConditions(result.Conditions)
	result.Message = shortText(result.Message)
	if len(result.Resources) == 0 {
		return result
	}
	resources := make([]contract.ResourceStatus, len(result.Resources))
	sizes := make([]int, len(result.Resources))
	total := 0
	for index, resource := range result.Resources {
		resource.Conditions = shortConditions(resource.Conditions)
		resource.Feedback = shortFeedback(resource.Feedback)
		resources[index] = resource
		encoded, _ := json.Marshal(resource)
		sizes[index] = len(encoded)
		total += len(encoded)
	}
	dropped := 0
	for _, healthy := range []bool{true, false} {
		for index := len(resources) - 1; index >= 0 && total > maxReported; index-- {
			if sizes[index] > 0 && (resources[index].Applied && resources[index].Available) == healthy {
				total -= sizes[index]
				sizes[index] = 0
				dropped++
			}
		}
	}
	result.Resources = make([]contract.ResourceStatus, 0, len(resources)-dropped)
	for index, resource := range resources {
		if sizes[index] > 0 {
			result.Resources = append(result.Resources, resource)
		}
	}
	if dropped > 0 {
		result.Message += fmt.Sprintf(" (%d of %d resources are left out here, the status is too large)", dropped, len(resources))
	}
	return result
}

func shortConditions(conditions []contract.Condition) []contract.Condition {
	if conditions == nil {
		return nil
	}
	out := make([]contract.Condition, len(conditions))
	for index, condition := range conditions {
		condition.Message = shortText(condition.Message)
		out[index] = condition
	}
	return out
}

func shortText(text string) string {
	if len(text) <= maxConditionText {
		return text
	}
	return strings.ToValidUTF8(text[:maxConditionText], "") + "…"
}

func shortFeedback(values map[string]json.RawMessage) map[string]json.RawMessage {
	if values == nil {
		return nil
	}
	out := make(map[string]json.RawMessage, len(values))
	for name, value := range values {
		if len(value) > maxFeedback {
			// The encoding of a string cannot fail.
			value, _ = json.Marshal(fmt.Sprintf("left out: %d bytes", len(value)))
		}
		out[name] = value
	}
	return out
}
