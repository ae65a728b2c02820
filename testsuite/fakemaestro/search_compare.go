package fakemaestro

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// comparison parses what follows an operand.
func (p *searchParser) comparison(left operand) (condition, error) {
	if p.jsonPaths && len(left.path) > 0 && !left.asText {
		return p.contains(left)
	}
	if !p.jsonPaths && p.keyword("is") {
		return p.is(left)
	}
	negated := p.keyword("not")
	switch {
	case p.keyword("in"):
		return p.in(left, negated)
	case !p.jsonPaths && p.keyword("between"):
		return p.between(left, negated)
	case (!negated || !p.jsonPaths) && p.keyword("like"):
		return p.like(left, negated, "")
	case (!negated || !p.jsonPaths) && p.keyword("ilike"):
		return p.like(left, negated, "(?i)")
	case negated:
		return nil, p.unexpected()
	}
	return p.operator(left)
}

func (p *searchParser) operator(left operand) (condition, error) {
	t := p.peek()
	allowed := map[string]bool{"=": true, "<>": true}
	if !p.jsonPaths || len(left.path) == 0 {
		allowed["<"], allowed["<="], allowed[">"], allowed[">="] = true, true, true, true
	}
	if !p.jsonPaths {
		allowed["!="], allowed["~="], allowed["~!"] = true, true, true
	}
	if t.kind != tokenSymbol || !allowed[t.text] {
		return nil, p.unexpected()
	}
	p.pos++
	right, err := p.literal()
	if err != nil {
		return nil, err
	}
	switch t.text {
	case "~=":
		p.fail(codeBadRequest, "unexpected literal: $regex") // parsed, but never translated
	case "~!":
		p.fail(codeBadRequest, "unexpected literal: $nregex")
	}
	p.checkType(left, right)
	return func(c columns) truth { return compare(left.value(c), t.text, right) }, nil
}

// literal is a quoted string, or a number; the grammar for JSON paths takes any word.
func (p *searchParser) literal() (string, error) {
	t := p.peek()
	if t.kind == tokenWord && !p.jsonPaths {
		if _, err := strconv.ParseFloat(t.text, 64); err != nil {
			return "", p.unexpected()
		}
	}
	if t.kind != tokenString && t.kind != tokenWord {
		return "", p.unexpected()
	}
	p.pos++
	return t.text, nil
}

// checkType fails as the database does when a literal cannot be read in the column's type.
func (p *searchParser) checkType(left operand, literal string) {
	if len(left.path) > 0 {
		return
	}
	switch left.sample.(type) {
	case int32:
		if _, err := strconv.ParseFloat(literal, 64); err != nil {
			p.fail(codeGeneral, "Unable to list resources: ERROR: invalid input syntax for type bigint: %q (SQLSTATE 22P02)", literal)
		}
	case time.Time:
		if _, err := parseTime(literal); err != nil {
			p.fail(codeGeneral,
				"Unable to list resources: ERROR: invalid input syntax for type timestamp with time zone: %q (SQLSTATE 22007)", literal)
		}
	}
}

// parseTime knows the usual ones of the many forms that the database takes.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Parse(time.RFC3339Nano, text)
}

func (p *searchParser) is(left operand) (condition, error) {
	negated := p.keyword("not")
	if !p.keyword("null") {
		return p.isLiteral(left, negated)
	}
	return func(c columns) truth { return truthOf((left.value(c) == nil) != negated) }, nil
}

func (p *searchParser) isLiteral(left operand, negated bool) (condition, error) {
	right, err := p.literal()
	if err != nil {
		return nil, err
	}
	p.checkType(left, right)
	operator := "="
	if negated {
		operator = "<>"
	}
	return func(c columns) truth { return compare(left.value(c), operator, right) }, nil
}

func (p *searchParser) in(left operand, negated bool) (condition, error) {
	if !p.symbol("(") {
		return nil, p.unexpected()
	}
	var list []string
	for p.jsonPaths || len(list) > 0 || !p.symbol(")") {
		value, err := p.literal()
		if err != nil {
			return nil, err
		}
		p.checkType(left, value)
		list = append(list, value)
		if p.symbol(")") {
			break
		}
		if !p.symbol(",") {
			return nil, p.unexpected()
		}
	}
	return func(c columns) truth {
		value := left.value(c)
		found := no
		for _, candidate := range list {
			found = max(found, compare(value, "=", candidate))
		}
		if negated {
			return yes - found
		}
		return found
	}, nil
}

func (p *searchParser) between(left operand, negated bool) (condition, error) {
	low, err := p.literal()
	if err != nil {
		return nil, err
	}
	if !p.keyword("and") {
		return nil, p.unexpected()
	}
	high, err := p.literal()
	if err != nil {
		return nil, err
	}
	return func(c columns) truth {
		value := left.value(c)
		found := min(compare(value, ">=", low), compare(value, "<=", high))
		if negated {
			return yes - found
		}
		return found
	}, nil
}

func (p *searchParser) like(left operand, negated bool, flags string) (condition, error) {
	pattern, err := p.literal()
	if err != nil {
		return nil, err
	}
	quoted := regexp.QuoteMeta(pattern)
	quoted = strings.ReplaceAll(strings.ReplaceAll(quoted, "%", ".*"), "_", ".")
	return matches(left, flags+"(?s)^"+quoted+"$", negated)
}

func matches(left operand, pattern string, negated bool) (condition, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return func(c columns) truth {
		value := left.value(c)
		if value == nil {
			return unknown
		}
		return truthOf(compiled.MatchString(asText(value)) != negated)
	}, nil
}

// contains is @>: every entry on the right must be on the left.
func (p *searchParser) contains(left operand) (condition, error) {
	if !p.symbol("@>") {
		return nil, p.unexpected()
	}
	t := p.peek()
	if t.kind != tokenString {
		return nil, p.unexpected()
	}
	p.pos++
	var want any
	if err := json.Unmarshal([]byte(t.text), &want); err != nil {
		p.fail(codeGeneral, "Unable to list resources: ERROR: invalid input syntax for type json (SQLSTATE 22P02)")
	}
	return func(c columns) truth {
		value := left.value(c)
		if value == nil {
			return unknown
		}
		return truthOf(jsonContains(value, want))
	}, nil
}

func jsonContains(value, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		object, ok := value.(map[string]any)
		if !ok {
			return false
		}
		for key, entry := range w {
			have, exists := object[key]
			if !exists || !jsonContains(have, entry) {
				return false
			}
		}
		return true
	case []any:
		list, ok := value.([]any)
		for _, entry := range w {
			ok = ok && slices.ContainsFunc(list, func(have any) bool { return jsonContains(have, entry) })
		}
		return ok
	case float64:
		number, ok := value.(json.Number)
		if !ok {
			return false
		}
		have, err := number.Float64()
		return err == nil && have == w
	default:
		return reflect.DeepEqual(value, want)
	}
}

// compare applies an operator to a column and a literal in the column's type.
func compare(value any, operator, literal string) truth {
	var order int
	switch v := value.(type) {
	case nil:
		return unknown
	case anySource:
		return truthOf(operator == "=")
	case int32:
		number, err := strconv.ParseFloat(literal, 64)
		if err != nil {
			return no
		}
		order = sign(float64(v) - number)
	case time.Time:
		at, err := parseTime(literal)
		if err != nil {
			return no
		}
		order = v.Compare(at)
	default:
		order = strings.Compare(asText(v), literal)
	}
	switch operator {
	case "=":
		return truthOf(order == 0)
	case "<>", "!=":
		return truthOf(order != 0)
	case "<":
		return truthOf(order < 0)
	case "<=":
		return truthOf(order <= 0)
	case ">":
		return truthOf(order > 0)
	case ">=":
		return truthOf(order >= 0)
	}
	panic("fakemaestro: comparison " + operator + " passed the parser")
}

func sign(f float64) int {
	switch {
	case f < 0:
		return -1
	case f > 0:
		return 1
	default:
		return 0
	}
}
