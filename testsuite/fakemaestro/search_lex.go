package fakemaestro

import "strings"

// tokenKind classifies the pieces of a search text.
type tokenKind int

const (
	tokenWord   tokenKind = iota // column, keyword, number or unquoted value
	tokenString                  // quoted with '
	tokenSymbol                  // operator, bracket or comma
	tokenEnd
)

type token struct {
	kind tokenKind
	text string // without quotes
	at   int    // byte offset
}

// lexer holds what the two grammars split differently: the plain one knows its operators and doubles a quote inside
// a string, the one for JSON paths takes any run of operator characters and escapes with a backslash.
type lexer struct {
	operators string
	known     []string // nil: any run of operators is one
	unquote   func(text string) (value string, length int)
}

var (
	plainLexer = lexer{
		operators: "=<>!~",
		known:     []string{"<=", ">=", "<>", "!=", "~=", "~!", "=", "<", ">"},
		unquote:   unquoteDoubled,
	}
	pathLexer = lexer{operators: "@-=<>", unquote: unquoteEscaped}
)

// lex splits a search text. A string that is never closed becomes one symbol, which no grammar takes.
func (l lexer) lex(text string) []token {
	var tokens []token
	for i := 0; i < len(text); {
		t := token{at: i}
		length := 1
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case c == '\'':
			t.kind = tokenString
			if t.text, length = l.unquote(text[i:]); length == 0 {
				t.kind, t.text, length = tokenSymbol, text[i:], len(text)-i
			}
		case c == '(' || c == ')' || c == ',':
			t.kind, t.text = tokenSymbol, text[i:i+1]
		case strings.IndexByte(l.operators, c) >= 0:
			t.kind, t.text = tokenSymbol, l.operator(text[i:])
			length = len(t.text)
		default:
			t.kind, t.text = tokenWord, l.word(text[i:])
			length = len(t.text)
		}
		tokens = append(tokens, t)
		i += length
	}
	return tokens
}

func (l lexer) operator(text string) string {
	for _, known := range l.known {
		if strings.HasPrefix(text, known) {
			return known
		}
	}
	if l.known != nil {
		return text[:1]
	}
	return text[:len(text)-len(strings.TrimLeft(text, l.operators))]
}

func (l lexer) word(text string) string {
	if end := strings.IndexAny(text, " \t\r\n'(),"+l.operators); end >= 0 {
		return text[:end]
	}
	return text
}

// unquoteDoubled returns length 0 when the string is not closed.
func unquoteDoubled(text string) (string, int) {
	for i := 1; i < len(text); i++ {
		if text[i] != '\'' {
			continue
		}
		if i+1 < len(text) && text[i+1] == '\'' {
			i++
			continue
		}
		return strings.ReplaceAll(text[1:i], "''", "'"), i + 1
	}
	return "", 0
}

func unquoteEscaped(text string) (string, int) {
	for i := 1; i < len(text); i++ {
		if text[i] == '\'' && text[i-1] != '\\' {
			return strings.ReplaceAll(text[1:i], `\'`, "'"), i + 1
		}
	}
	return "", 0
}
