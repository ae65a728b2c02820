package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// valueSource is where the value of a term may be: a feedback value, and the path in it when that is JSON.
type valueSource struct{ name, path string }

// sources are the places of a term's value, the first that is reported counts. A field is a name as a whole, or a name
// and a path in it. The old tool's paths begin at the object or at its status, and mean the last word of theirs, too.
func (t Term) sources(kind kindIn) []valueSource {
	if t.Exact {
		return []valueSource{{name: t.Field}}
	}
	if !t.Old {
		return splits(t.Field)
	}
	path := strings.TrimPrefix(t.Field, ".")
	inner := strings.TrimPrefix(path, "status.")
	sources := []valueSource{{name: t.Field}, {name: path}}
	if known := wellKnownField(kind, ".status."+inner); known != "" {
		sources = append(sources, valueSource{name: known})
	}
	sources = append(append(sources, splits(inner)...), splits(path)...)
	return append(sources, valueSource{name: inner[strings.LastIndexByte(inner, '.')+1:]})
}

// splits takes a field apart into a name and the path behind it, the longest name first.
func splits(field string) []valueSource {
	sources := []valueSource{{name: field}}
	for index := len(field) - 1; index > 0; index-- {
		if field[index] == '.' || field[index] == '[' {
			sources = append(sources, valueSource{name: field[:index], path: field[index:]})
		}
	}
	return sources
}

// valueIn finds the value of a term in a manifest's feedback.
func (t Term) valueIn(resource contract.ResourceStatus) (value any, found bool) {
	for _, source := range t.sources(kindIn{resource.Group, resource.Kind}) {
		raw, reported := resource.Feedback[source.name]
		if !reported {
			continue
		}
		value, err := decodeExact(raw)
		if err != nil {
			continue
		}
		if value = inside(value, source.path); value != nil {
			return value, true
		}
	}
	return nil, false
}

// inside follows a path like .items[0].name; nil when there is nothing.
func inside(value any, path string) any {
	for path != "" && value != nil {
		end := strings.IndexAny(path[1:], ".[") + 1
		if end == 0 {
			end = len(path)
		}
		step := path[:end]
		path = path[end:]
		if key, found := strings.CutPrefix(step, "."); found {
			object, _ := value.(map[string]any)
			value = object[key]
			continue
		}
		index, err := strconv.Atoi(strings.Trim(step, "[]"))
		list, _ := value.([]any)
		if err != nil || index >= len(list) {
			return nil
		}
		value = list[index]
	}
	return value
}

// objectConditions are the conditions of the object itself that a manifest's feedback holds: in the value conditions, or
// in another one that is a list of conditions. Their observedGeneration is the object's, and says nothing about the
// version of the work.
func objectConditions(resource contract.ResourceStatus) []contract.Condition {
	names := make([]string, 0, len(resource.Feedback))
	for name := range resource.Feedback {
		if name != conditionsField {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range append([]string{conditionsField}, names...) {
		if conditions := conditionList(resource.Feedback[name]); len(conditions) > 0 {
			return conditions
		}
	}
	return nil
}

func conditionList(raw json.RawMessage) []contract.Condition {
	if kindOf(raw) != "a list" {
		return nil
	}
	var items []struct {
		Type, Status, Reason, Message string
	}
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	var conditions []contract.Condition
	for _, item := range items {
		if item.Type == "" || item.Status == "" {
			return nil
		}
		conditions = append(conditions, contract.Condition{Type: item.Type, Status: item.Status, Reason: item.Reason, Message: item.Message})
	}
	return conditions
}

// conditionsField is the name, and the last word of the path, of a value that holds an object's conditions.
const conditionsField = "conditions"

// statusFields are the names of feedback values that hold the status of one condition of the object.
func statusFields(kind kindIn, condition string) []string {
	fields := []string{condition}
	if known := wellKnownField(kind, statusPath(condition)); known != "" {
		fields = append(fields, known)
	}
	return fields
}

// statusIn finds a condition of the object in the feedback value that holds its status.
func statusIn(resource contract.ResourceStatus, condition string) (contract.Condition, bool) {
	for _, name := range statusFields(kindIn{resource.Group, resource.Kind}, condition) {
		switch value := string(resource.Feedback[name]); value {
		case `"True"`, `"False"`, `"Unknown"`:
			return contract.Condition{Type: condition, Status: value[1 : len(value)-1]}, true
		case "true":
			return contract.Condition{Type: condition, Status: "True"}, true
		case "false":
			return contract.Condition{Type: condition, Status: "False"}, true
		}
	}
	return contract.Condition{}, false
}

// compared is whether a value is as a literal wants it; the problem says why they cannot be compared.
func compared(have any, operator string, want Literal) (is bool, problem string) {
	order := 0
	switch value := have.(type) {
	case json.Number:
		if want.Quoted || !isNumber(want.Text) {
			return false, fmt.Sprintf("is the number %s, which is no text like %q", value, want.Text)
		}
		var known bool
		if order, known = compareDecimals(string(value), want.Text); !known {
			return false, fmt.Sprintf("is %s, which is beyond all numbers", abbreviated([]byte(value)))
		}
	case string:
		if ordered(operator) && !want.Quoted {
			return false, fmt.Sprintf("is the text %s, which is no number", valueText(value))
		}
		order = strings.Compare(value, want.Text)
	case bool:
		if ordered(operator) || want.Quoted || !strings.EqualFold(want.Text, "true") && !strings.EqualFold(want.Text, "false") {
			return false, fmt.Sprintf("is %t, which can only be compared with true and false, by == and !=", value)
		}
		if !strings.EqualFold(want.Text, strconv.FormatBool(value)) {
			order = 1
		}
	case []any:
		return false, "is a list: give the path of a value in it, like [0].name"
	default:
		return false, "is an object: give the path of a value in it"
	}
	switch operator {
	case "==":
		return order == 0, ""
	case "!=":
		return order != 0, ""
	case ">=":
		return order >= 0, ""
	case "<=":
		return order <= 0, ""
	case ">":
		return order > 0, ""
	default:
		return order < 0, ""
	}
}

// value of a literal that stands for one that is not reported.
func (l Literal) value() any {
	switch {
	case l.Quoted:
		return l.Text
	case isNumber(l.Text):
		return json.Number(l.Text)
	case l.Text == "true", l.Text == "false":
		return l.Text == "true"
	default:
		return l.Text
	}
}

// valueText gives a feedback value for a message.
func valueText(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return abbreviated(raw)
}
