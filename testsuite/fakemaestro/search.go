package fakemaestro

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// truth is SQL's third-valued logic: a comparison with NULL is neither true nor false.
type truth int

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// condition decides about one row.
type condition func(columns) truth

// columns gives the searchable values of a row; ok is false for a column that does not exist.
type columns func(name string) (value any, ok bool)

// parseSearch understands both grammars of the server: the plain one, and the one for JSON paths, which is chosen by
// the mere presence of ->> or @> in the text and has other operators and other errors.
func parseSearch(text string, in table) (condition, *serviceError) {
	jsonPaths := strings.Contains(text, "->>") || strings.Contains(text, "@>")
	p := &searchParser{tokens: plainLexer.lex(text), jsonPaths: jsonPaths, table: in}
	if jsonPaths {
		p.tokens = pathLexer.lex(text)
	}
	found, err := p.or()
	if err == nil && p.peek().kind != tokenEnd {
		err = p.unexpected()
	}
	switch {
	case err != nil && jsonPaths:
		return nil, failf(codeBadRequest, "failed to parse the search query: %v", err)
	case err != nil:
		return nil, failf(codeBadRequest, "Failed to parse search query: %s", text)
	case p.failure != nil:
		return nil, p.failure
	}
	return found, nil
}

// maxJoins is the number of ands and ors that the grammar for JSON paths takes.
const maxJoins = 10

type searchParser struct {
	tokens    []token
	pos       int
	jsonPaths bool
	table     table
	joins     int
	open      int           // brackets
	failure   *serviceError // found behind the grammar: by the server's other checks or by the database
}

// table is what a search has to know of the table it is for.
type table struct {
	name, model string
	columns     columns // of an empty row
}

func (p *searchParser) fail(code errorCode, format string, args ...any) {
	if p.failure == nil {
		p.failure = failf(code, format, args...)
	}
}

func (p *searchParser) peek() token {
	if p.pos < len(p.tokens) {
		return p.tokens[p.pos]
	}
	return token{kind: tokenEnd}
}

func (p *searchParser) unexpected() error {
	t := p.peek()
	switch {
	case t.kind == tokenEnd:
		return fmt.Errorf("EOF encountered while parsing string")
	case t.kind == tokenSymbol && t.text == ")" && p.open == 0:
		return fmt.Errorf("[%d] error parsing the filter: unexpected ')'", t.at+1)
	}
	return fmt.Errorf("[%d] error parsing the filter: unexpected token `%s`", t.at+1, t.text)
}

// keyword consumes a word if it is the given one in any case.
func (p *searchParser) keyword(word string) bool {
	t := p.peek()
	if t.kind != tokenWord || !strings.EqualFold(t.text, word) {
		return false
	}
	p.pos++
	return true
}

func (p *searchParser) symbol(text string) bool {
	t := p.peek()
	if t.kind != tokenSymbol || t.text != text {
		return false
	}
	p.pos++
	return true
}

func (p *searchParser) join() error {
	p.joins++
	if p.jsonPaths && p.joins > maxJoins {
		return fmt.Errorf("[%d] error parsing the filter: maximum number of permitted joins (%d) exceeded",
			p.tokens[p.pos-1].at+1, maxJoins)
	}
	return nil
}

func (p *searchParser) or() (condition, error) {
	left, err := p.and()
	for err == nil && p.keyword("or") {
		if err = p.join(); err != nil {
			break
		}
		var right condition
		if right, err = p.and(); err == nil {
			a, b := left, right
			left = func(c columns) truth { return max(a(c), b(c)) }
		}
	}
	return left, err
}

func (p *searchParser) and() (condition, error) {
	left, err := p.term()
	for err == nil && p.keyword("and") {
		if err = p.join(); err != nil {
			break
		}
		var right condition
		if right, err = p.term(); err == nil {
			a, b := left, right
			left = func(c columns) truth { return min(a(c), b(c)) }
		}
	}
	return left, err
}

func (p *searchParser) term() (condition, error) {
	if p.symbol("(") {
		return p.bracket()
	}
	if !p.jsonPaths && p.keyword("not") {
		inner, err := p.term()
		if err != nil {
			return nil, err
		}
		return func(c columns) truth { return yes - inner(c) }, nil
	}
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	return p.comparison(left)
}

func (p *searchParser) bracket() (condition, error) {
	p.open++
	inner, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.peek().kind == tokenEnd {
		return nil, fmt.Errorf("EOF while searching for closing brace ')'")
	}
	if !p.symbol(")") {
		return nil, p.unexpected()
	}
	p.open--
	return inner, nil
}

// operand is a column or, in the grammar for JSON paths, a path below one.
func (p *searchParser) operand() (operand, error) {
	t := p.peek()
	if t.kind != tokenWord || !isColumnName(t.text) || (!p.jsonPaths && keywords[strings.ToLower(t.text)]) {
		return operand{}, p.unexpected()
	}
	p.pos++
	left := operand{column: strings.ToLower(t.text)}
	if value, ok := p.table.columns(left.column); ok {
		left.sample = value
	} else {
		p.missing(left.column)
	}
	for p.jsonPaths && p.symbol("->") || (len(left.path) > 0 && p.symbol("->>")) {
		left.asText = p.tokens[p.pos-1].text == "->>"
		key := p.peek()
		if key.kind != tokenString {
			return operand{}, p.unexpected()
		}
		p.pos++
		left.path = append(left.path, key.text)
		if left.asText {
			break
		}
	}
	return left, nil
}

// keywords cannot be columns in the plain grammar.
var keywords = map[string]bool{
	"and": true, "or": true, "not": true, "in": true, "is": true, "null": true, "like": true, "ilike": true, "between": true,
}

func (p *searchParser) missing(column string) {
	prefix, _, qualified := strings.Cut(column, ".")
	if qualified && prefix != p.table.name && !p.jsonPaths {
		p.fail(codeBadRequest, "%s is not a related resource of %s", prefix, p.table.model)
		return
	}
	p.fail(codeGeneral, "Unable to list resources: %s", missingColumn(p.table.name, column, p.jsonPaths))
}

func missingColumn(table, column string, bare bool) string {
	if bare {
		return fmt.Sprintf(`ERROR: column "%s" does not exist (SQLSTATE 42703)`, column)
	}
	return fmt.Sprintf(`ERROR: column %s.%s does not exist (SQLSTATE 42703)`, table, column)
}

func isColumnName(text string) bool {
	for i, c := range text {
		letter := c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
		if !letter && (i == 0 || (c != '.' && (c < '0' || c > '9'))) {
			return false
		}
	}
	return text != ""
}

// operand is the left side of a comparison.
type operand struct {
	column string
	sample any // the column's value in an empty row, for its type
	path   []string
	asText bool
}

// value is nil for NULL.
func (o operand) value(c columns) any {
	current, ok := c(o.column)
	if !ok {
		return nil
	}
	for _, key := range o.path {
		object, ok := current.(map[string]any)
		if !ok {
			return nil
		}
		current = object[key]
	}
	if !o.asText || current == nil {
		return current
	}
	return asText(current)
}

// asText is what the database makes of a JSON value with ->>.
func asText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	default:
		data, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(data)
	}
}
