package manifest

import (
	"regexp"
	"slices"
	"strings"
)

var (
	conditionName = regexp.MustCompile(`^[A-Za-z]([-A-Za-z0-9_./]*[A-Za-z0-9])?$`)
	kindName      = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*(\.[a-z0-9][-a-z0-9.]*)?$`)
	objectName    = regexp.MustCompile(`^[A-Za-z0-9]([-.:_A-Za-z0-9]*[A-Za-z0-9])?$`)
	fieldName     = regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9_]*(\.[-A-Za-z0-9_]+|\[[0-9]{1,9}\])*$`)
)

// workConditions are the conditions that Maestro and OCM report for a whole work.
var workConditions = []string{"Applied", "Available", "Progressing", "Degraded", "Complete", "Deleted"}

var statuses = []string{"True", "False", "Unknown"}

// term reads the rest of a term that begins with a word.
func (p *parser) term(word token) (Term, error) {
	var term Term
	var err error
	at, colon := strings.IndexByte(word.text, '@'), strings.LastIndexByte(word.text, ':')
	switch {
	case at >= 0:
		term, err = p.feedback(word, at)
	case colon >= 0:
		term, err = p.manifestTerm(word, colon)
	default:
		term, err = p.workTerm(word)
	}
	return term, err
}

// workTerm: Condition [ ( "=" | "==" ) status ]
func (p *parser) workTerm(word token) (Term, error) {
	term := Term{Type: word.text, Status: "True", text: word.text}
	if !slices.Contains(workConditions, word.text) {
		return term, p.wrong(word, "condition %q of the work: give one of %s, or Kind/name:Condition for a manifest%s",
			word.text, strings.Join(workConditions, ", "), meant(word.text, workConditions))
	}
	if word.text == "Deleted" {
		p.deleted = word.at + 1
	}
	if p.here.kind != tokenCompare && p.here.kind != tokenPipe {
		return term, nil
	}
	operator := p.advance()
	if operator.text != "=" && operator.text != "==" {
		return term, p.wrong(operator, "a condition has a status and no order: give =True, =False or =Unknown")
	}
	status := p.advance()
	if status.kind != tokenWord || !slices.Contains(statuses, status.text) {
		return term, p.wrong(status, "status %q: give True, False or Unknown", status.text)
	}
	term.Status, term.text = status.text, p.text[word.at:status.end]
	return term, nil
}

// manifestTerm: selector ":" Condition [ ( "=" | "==" ) status ]
//
// What compares something else than a status is a feedback value, as the old tool had it: selector ":" path operator value.
// The colon is the last one, because names of RBAC objects have colons and condition types have none.
func (p *parser) manifestTerm(word token, colon int) (Term, error) {
	term := Term{Status: "True", Type: word.text[colon+1:], text: word.text}
	if err := p.selector(&term, word, word.text[:colon]); err != nil {
		return term, err
	}
	named := token{kind: tokenWord, text: term.Type, at: word.at + colon + 1, end: word.end}
	if p.here.kind == tokenPipe {
		return term, p.wrong(p.here, "a default needs a feedback value: %s@%s|…", word.text[:colon], term.Type)
	}
	if p.here.kind != tokenCompare {
		if !conditionName.MatchString(term.Type) {
			return term, p.wrong(named, "condition %q: not a condition type", term.Type)
		}
		return term, nil
	}
	equal := p.here.text == "=" || p.here.text == "=="
	value := tokenAt(p.text, p.here.end)
	status := value.kind == tokenWord && slices.ContainsFunc(statuses, func(s string) bool { return strings.EqualFold(s, value.text) })
	if !equal || !status || !conditionName.MatchString(term.Type) || strings.HasPrefix(term.Type, "status.") {
		term.Type, term.Status, term.Field, term.Old = "", "", term.Type, true
		return p.comparison(term, word, named)
	}
	p.advance()
	p.advance()
	if !slices.Contains(statuses, value.text) {
		return term, p.wrong(value, "status %q: give True, False or Unknown", value.text)
	}
	term.Status, term.text = value.text, p.text[word.at:value.end]
	return term, nil
}

// feedback: selector "@" field [ "|" default ] operator value
func (p *parser) feedback(word token, at int) (Term, error) {
	term := Term{Field: word.text[at+1:], text: word.text}
	if err := p.selector(&term, word, word.text[:at]); err != nil {
		return term, err
	}
	named := token{kind: tokenWord, text: term.Field, at: word.at + at + 1, end: word.end}
	if term.Field == "" && p.here.kind == tokenQuoted && p.here.at == word.end {
		named = p.advance()
		term.Field, term.Exact = named.value, true
	}
	return p.comparison(term, word, named)
}

// comparison reads what follows a field.
func (p *parser) comparison(term Term, word, named token) (Term, error) {
	path := term.Field
	if term.Old {
		path = strings.TrimPrefix(path, ".")
	}
	if !fieldName.MatchString(path) && (!term.Exact || term.Field == "") {
		return term, p.wrong(named, "%q: give the name of a feedback value, and the path in it, like replicas or status.items[0].name", term.Field)
	}
	if p.here.kind == tokenPipe {
		p.advance()
		value, _, err := p.literal("a default")
		if err != nil {
			return term, err
		}
		term.Absent = &value
	}
	if p.here.kind != tokenCompare {
		return term, p.wrong(p.here, "compare %s with ==, !=, >=, <=, > or < and a value", term.Field)
	}
	operator := p.advance()
	term.Operator = operator.text
	if term.Operator == "=" {
		term.Operator = "=="
	}
	value, end, err := p.literal("a value")
	if err != nil {
		return term, err
	}
	term.Value, term.text = value, p.text[word.at:end]
	if ordered(term.Operator) && !value.Quoted && !isNumber(value.Text) {
		return term, p.wrong(operator, "%s needs a number, or a text in quotes", operator.text)
	}
	return term, nil
}

func (p *parser) literal(what string) (value Literal, end int, err error) {
	switch p.here.kind {
	case tokenWord:
		t := p.advance()
		return Literal{Text: t.text}, t.end, nil
	case tokenQuoted:
		t := p.advance()
		return Literal{Text: t.value, Quoted: true}, t.end, nil
	case tokenEnd:
		return value, 0, p.wrong(p.here, "%s is missing here", what)
	default:
		return value, 0, p.wrong(p.here, "%s is missing before %s", what, p.here.text)
	}
}

func ordered(operator string) bool { return operator != "==" && operator != "!=" }

// selector: Kind [ "." group ] [ "/" name | "/" namespace "/" name ]
func (p *parser) selector(term *Term, word token, selector string) error {
	parts := strings.Split(selector, "/")
	if !kindName.MatchString(parts[0]) {
		return p.wrong(word, "kind %q: give Kind, Kind/name or Kind/namespace/name, Kind with a capital", parts[0])
	}
	term.Kind, term.Group, _ = strings.Cut(parts[0], ".")
	for _, part := range parts[1:] {
		if !objectName.MatchString(part) {
			return p.wrong(word, "name %q in %q: not an object's name", part, selector)
		}
	}
	switch len(parts) {
	case 1:
	case 2:
		term.Name = parts[1]
	case 3:
		term.Namespace, term.Name = parts[1], parts[2]
	default:
		return p.wrong(word, "%q: give Kind, Kind/name or Kind/namespace/name", selector)
	}
	return nil
}

// meant is a hint at the known name that somebody may have meant.
func meant(name string, known []string) string {
	for _, other := range known {
		if strings.EqualFold(name, other) || slips(name, other) <= 2 {
			return "; did you mean " + other + "?"
		}
	}
	return ""
}

// slips counts the letters by which two short words differ.
func slips(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
