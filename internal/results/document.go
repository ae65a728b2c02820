package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Format of the results file.
type Format string

// Formats.
const (
	// FormatStatusReporter is what the public status-reporter accepts, with the StatusResult in it: once whole, as
	// "details", and once spread beside the reporter's own keys, where its status is called "phase".
	FormatStatusReporter Format = "status-reporter"
	// FormatStatusResult is exactly the StatusResult. The status-reporter refuses it.
	FormatStatusResult Format = "statusresult"
)

// Formats lists what [ParseFormat] takes.
func Formats() []string { return []string{string(FormatStatusReporter), string(FormatStatusResult)} }

// ParseFormat reads a format's name; the empty name is the default, [FormatStatusReporter].
func ParseFormat(text string) (Format, error) {
	switch format := Format(text); format {
	case "":
		return FormatStatusReporter, nil
	case FormatStatusReporter, FormatStatusResult:
		return format, nil
	default:
		return "", fmt.Errorf("results format %q: give %s", text, strings.Join(Formats(), " or "))
	}
}

// Limits of the status-reporter, in bytes. A longer reason or message is cut there without a trace, a larger file is
// refused.
const (
	MaxReasonBytes  = 128
	MaxMessageBytes = 1024
	MaxFileBytes    = 1024*1024 - 1
)

// The two words that the status-reporter knows.
const (
	statusSuccess = "success"
	statusFailure = "failure"
)

// reporterDocument is the default format. The fields here hide those of the embedded StatusResult that have the same
// key, so a field added to StatusResult appears beside them by itself.
type reporterDocument struct {
	Status  string          `json:"status"`
	Reason  string          `json:"reason"`
	Message string          `json:"message"`
	Phase   contract.Status `json:"phase"`
	contract.StatusResult
	// ResourcesTruncated counts the resources left out to stay below the size limit, here and in Details.
	ResourcesTruncated int                   `json:"resourcesTruncated,omitempty"`
	Details            contract.StatusResult `json:"details"`
}

// Encode gives the bytes that [Write] writes.
func Encode(format Format, result contract.StatusResult) ([]byte, error) {
	if result.Reason == contract.ReasonRunning {
		return nil, errors.New("the operation is still running, and only final results are written")
	}
	result = withoutNulls(result)
	switch format {
	case FormatStatusResult:
		return encode(result)
	case FormatStatusReporter, "":
		return encodeReporter(result)
	default:
		return nil, fmt.Errorf("results format %q: give %s", format, strings.Join(Formats(), " or "))
	}
}

// encodeReporter leaves out as few resources as the size limit asks for, those without a problem first.
func encodeReporter(result contract.StatusResult) ([]byte, error) {
	document, err := encode(reporter(result, 0))
	if err != nil || len(document) <= MaxFileBytes {
		return document, err
	}
	order := worstFirst(result.Resources)
	kept := sort.Search(len(order), func(keep int) bool {
		document, err = encode(reporter(pick(result, order[:keep+1]), len(order)-keep-1))
		return err == nil && len(document) > MaxFileBytes
	})
	document, err = encode(reporter(pick(result, order[:kept]), len(order)-kept))
	if err != nil || len(document) <= MaxFileBytes {
		return document, err
	}
	return encode(reporter(shortened(result), len(order)))
}

func reporter(result contract.StatusResult, truncated int) reporterDocument {
	document := reporterDocument{
		Status:             statusFailure,
		Reason:             pascalCase(result.Reason),
		Phase:              result.Status,
		StatusResult:       result,
		ResourcesTruncated: truncated,
		Details:            result,
	}
	if result.Succeeded() {
		document.Status = statusSuccess
	}
	document.Message = message(result.Message, truncated)
	if document.Message == "" {
		document.Message = document.Reason
	}
	return document
}

// message fits the reporter's limit, the count of the resources that were left out included.
func message(text string, truncated int) string {
	suffix := ""
	if truncated > 0 {
		suffix = fmt.Sprintf(" (%d resources left out of this file)", truncated)
	}
	text = cut(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")), MaxMessageBytes-len(suffix))
	return strings.TrimSpace(text + suffix)
}

// pascalCase keeps the letters and digits of a reason that is not from the closed sets; one that has none is Internal.
func pascalCase(reason string) string {
	kept := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, reason)
	kept = strings.TrimLeft(kept, "0123456789")
	if kept == "" {
		return string(contract.ErrInternal)
	}
	return cut(strings.ToUpper(kept[:1])+kept[1:], MaxReasonBytes)
}

// cut shortens a text to at most limit bytes, between two runes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// worstFirst orders the resources' positions: what explains a failure before what is in order.
func worstFirst(resources []contract.ResourceStatus) []int {
	order := make([]int, len(resources))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return health(resources[a]) - health(resources[b]) })
	return order
}

func health(resource contract.ResourceStatus) int {
	switch {
	case !resource.Applied:
		return 0
	case !resource.Available:
		return 1
	default:
		return 2
	}
}

// pick keeps the resources at the given positions, in the order of the work.
func pick(result contract.StatusResult, positions []int) contract.StatusResult {
	positions = slices.Sorted(slices.Values(positions))
	resources := make([]contract.ResourceStatus, 0, len(positions))
	for _, position := range positions {
		resources = append(resources, result.Resources[position])
	}
	result.Resources = resources
	return result
}

// shortened is what remains of a result that is too large without any resource: every text bounded, lists left out.
func shortened(result contract.StatusResult) contract.StatusResult {
	for _, text := range []*string{
		&result.ManifestWorkName, &result.Consumer, &result.Reason, &result.Message,
		&result.WorkflowID, &result.RunID, &result.RequestDigest, (*string)(&result.Status),
	} {
		*text = cut(*text, MaxMessageBytes)
	}
	result.Resources, result.Conditions, result.Warnings = []contract.ResourceStatus{}, nil, nil
	return result
}

// withoutNulls turns missing lists into empty ones, which is what the JSON of a StatusResult promises.
func withoutNulls(result contract.StatusResult) contract.StatusResult {
	resources := make([]contract.ResourceStatus, len(result.Resources))
	copy(resources, result.Resources)
	for i := range resources {
		if resources[i].Conditions == nil {
			resources[i].Conditions = []contract.Condition{}
		}
	}
	result.Resources = resources
	return result
}

func encode(document any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	return buffer.Bytes(), nil
}
