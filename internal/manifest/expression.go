package manifest

import (
	"fmt"
	"regexp"
	"strings"
)

// Term is one condition that a wait needs.
type Term struct {
	// Kind, Group, Namespace and Name select manifests; Kind is empty for a condition of the work itself. An empty
	// Group, Namespace or Name matches any.
	Kind, Group, Namespace, Name string
	// Type of the condition and the Status it must have: True unless given.
	Type, Status string
	text         string
}

func (t Term) String() string { return t.text }

// Expression is a wait condition: terms that must all hold.
type Expression struct {
	Terms []Term
}

var (
	conditionName = regexp.MustCompile(`^[A-Za-z]([-A-Za-z0-9_./]*[A-Za-z0-9])?$`)
	kindName      = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*(\.[a-z0-9][-a-z0-9.]*)?$`)
	objectName    = regexp.MustCompile(`^[A-Za-z0-9]([-.:_A-Za-z0-9]*[A-Za-z0-9])?$`)
)

// workConditions are the conditions that Maestro and OCM report for a whole work.
var workConditions = []string{"Applied", "Available", "Progressing", "Degraded", "Complete", "Deleted"}

// ParseExpression reads a wait condition in the plain language:
//
//	expression = term { ("AND" | "&&") term }
//	term       = Condition [ "=" ( "True" | "False" | "Unknown" ) ]
//	           | Kind [ "." group ] [ "/" name | "/" namespace "/" name ] ":" Condition [ "=" status ]
//
// Names are exact. An error shows the expression and points at the place.
func ParseExpression(text string) (Expression, error) {
	var expression Expression
	wantTerm := true
	for _, word := range splitWords(text) {
		if word.text == "AND" || word.text == "&&" {
			if wantTerm {
				return Expression{}, pointAt(text, word.at, "a condition is missing before "+word.text)
			}
			wantTerm = true
			continue
		}
		if !wantTerm {
			return Expression{}, pointAt(text, word.at, "join conditions with AND")
		}
		term, err := parseTerm(word.text)
		if err != nil {
			return Expression{}, pointAt(text, word.at, err.Error())
		}
		expression.Terms = append(expression.Terms, term)
		wantTerm = false
	}
	if wantTerm {
		return Expression{}, pointAt(text, len(text), "a condition is missing here")
	}
	return expression, nil
}

type word struct {
	text string
	at   int
}

func splitWords(text string) []word {
	var words []word
	rest, at := text, 0
	for {
		trimmed := strings.TrimLeft(rest, " \t\r\n")
		at += len(rest) - len(trimmed)
		if trimmed == "" {
			return words
		}
		end := strings.IndexAny(trimmed, " \t\r\n")
		if end < 0 {
			end = len(trimmed)
		}
		words = append(words, word{text: trimmed[:end], at: at})
		rest, at = trimmed[end:], at+end
	}
}

func parseTerm(text string) (Term, error) {
	switch text {
	case "OR", "||", "NOT", "!", "(", ")":
		return Term{}, fmt.Errorf("%s is not supported, conditions are joined by AND", text)
	}
	term := Term{Status: "True", text: text}
	// The last colon, because names of RBAC objects have colons and condition types have none.
	colon := strings.LastIndexByte(text, ':')
	onManifest := colon >= 0
	selector, condition := text[:max(colon, 0)], text[colon+1:]
	name, status, given := strings.Cut(condition, "=")
	if given {
		switch status {
		case "True", "False", "Unknown":
			term.Status = status
		default:
			return Term{}, fmt.Errorf("status %q: give True, False or Unknown", status)
		}
	}
	term.Type = name
	if !onManifest {
		return term, checkWorkCondition(name)
	}
	if !conditionName.MatchString(name) {
		return Term{}, fmt.Errorf("condition %q: not a condition type", name)
	}
	return term, term.selectManifests(selector)
}

func checkWorkCondition(name string) error {
	for _, known := range workConditions {
		if name == known {
			return nil
		}
	}
	return fmt.Errorf("condition %q of the work: give one of %s, or Kind/name:Condition for a manifest",
		name, strings.Join(workConditions, ", "))
}

func (t *Term) selectManifests(selector string) error {
	parts := strings.Split(selector, "/")
	if !kindName.MatchString(parts[0]) {
		return fmt.Errorf("kind %q: give Kind, Kind/name or Kind/namespace/name, Kind with a capital", parts[0])
	}
	t.Kind, t.Group, _ = strings.Cut(parts[0], ".")
	for _, part := range parts[1:] {
		if !objectName.MatchString(part) {
			return fmt.Errorf("name %q in %q: not an object's name", part, selector)
		}
	}
	switch len(parts) {
	case 1:
	case 2:
		t.Name = parts[1]
	case 3:
		t.Namespace, t.Name = parts[1], parts[2]
	default:
		return fmt.Errorf("%q: give Kind, Kind/name or Kind/namespace/name", selector)
	}
	return nil
}

func pointAt(text string, at int, problem string) error {
	return fmt.Errorf("wait condition %q, position %d: %s", text, at+1, problem)
}

func (t Term) selects(id Identity) bool {
	return t.Kind == id.Kind && (t.Group == "" || t.Group == id.Group) &&
		(t.Namespace == "" || t.Namespace == id.Namespace) && (t.Name == "" || t.Name == id.Name)
}
