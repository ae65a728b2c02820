package manifest

import "strings"

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenQuoted
	tokenOpen
	tokenClose
	tokenAnd
	tokenOr
	tokenNot
	tokenCompare
	tokenPipe
	// tokenBad holds what is wrong in its value.
	tokenBad
)

// token of an expression. text is as written, value what a quoted text stands for.
type token struct {
	kind        tokenKind
	text, value string
	at, end     int
}

const (
	spaces = " \t\r\n"
	// wordEnds cannot stand in a word.
	wordEnds = spaces + `()&|!=<>"'`
)

// signs are the tokens that need no space around them, the longer ones first.
var signs = []struct {
	text string
	kind tokenKind
}{
	{"&&", tokenAnd}, {"||", tokenOr}, {"==", tokenCompare}, {"!=", tokenCompare}, {">=", tokenCompare}, {"<=", tokenCompare},
	{"(", tokenOpen}, {")", tokenClose}, {"!", tokenNot}, {"|", tokenPipe}, {"=", tokenCompare}, {">", tokenCompare}, {"<", tokenCompare},
}

var keywords = map[string]tokenKind{"AND": tokenAnd, "OR": tokenOr, "NOT": tokenNot}

// tokenAt reads the token that begins at or behind a position.
func tokenAt(text string, at int) token {
	at += len(text[at:]) - len(strings.TrimLeft(text[at:], spaces))
	rest := text[at:]
	if rest == "" {
		return token{kind: tokenEnd, at: at, end: at}
	}
	if rest[0] == '"' || rest[0] == '\'' {
		return quotedAt(text, at)
	}
	for _, sign := range signs {
		if strings.HasPrefix(rest, sign.text) {
			return token{kind: sign.kind, text: sign.text, at: at, end: at + len(sign.text)}
		}
	}
	if rest[0] == '&' {
		return token{kind: tokenBad, value: "write && or AND", at: at, end: at + 1}
	}
	length := strings.IndexAny(rest, wordEnds)
	if length < 0 {
		length = len(rest)
	}
	word := token{kind: tokenWord, text: rest[:length], at: at, end: at + length}
	if kind, found := keywords[word.text]; found {
		word.kind = kind
	}
	return word
}

// quotedAt reads a text in quotes, in which a backslash takes the next character as it is.
func quotedAt(text string, at int) token {
	var value strings.Builder
	for index := at + 1; index < len(text); index++ {
		switch text[index] {
		case text[at]:
			return token{kind: tokenQuoted, text: text[at : index+1], value: value.String(), at: at, end: index + 1}
		case '\\':
			if index++; index == len(text) {
				continue
			}
		}
		value.WriteByte(text[index])
	}
	return token{kind: tokenBad, value: "the text that begins here has no closing " + text[at:at+1], at: at, end: len(text)}
}
