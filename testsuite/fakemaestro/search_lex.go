package fakemaestro

import (
	"strings"
	"unicode"
)

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

// symbols of both grammars, longest first.
var symbols = []string{"->>", "->", "@>", "<=", ">=", "<>", "!=", "~=", "~!", "=", "<", ">", "(", ")", ","}

// lex splits a search text. A quote that is never closed ends at the end of the text, which makes the parser fail.
func lex(text string) []token {
	var tokens []token
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case unicode.IsSpace(rune(c)):
			i++
		case c == '\'':
			end := strings.IndexByte(text[i+1:], '\'')
			if end < 0 {
				return append(tokens, token{tokenSymbol, text[i:], i})
			}
			tokens = append(tokens, token{tokenString, text[i+1 : i+1+end], i})
			i += end + 2
		default:
			next := lexSymbol(text[i:])
			kind := tokenSymbol
			if next == "" {
				next, kind = lexWord(text[i:]), tokenWord
			}
			tokens = append(tokens, token{kind, next, i})
			i += len(next)
		}
	}
	return tokens
}

func lexSymbol(text string) string {
	for _, symbol := range symbols {
		if strings.HasPrefix(text, symbol) {
			return symbol
		}
	}
	return ""
}

func lexWord(text string) string {
	for i, c := range text {
		if unicode.IsSpace(c) || c == '\'' || (i > 0 && lexSymbol(text[i:]) != "") {
			return text[:i]
		}
	}
	return text
}
