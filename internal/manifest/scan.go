package manifest

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// scanner steps through JSON that is known to be valid, without a copy of it; on other input it ends somewhere, but it
// ends.
type scanner struct {
	raw []byte
	pos int
}

// peek gives the next byte that is no space, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.pos < len(s.raw); s.pos++ {
		switch s.raw[s.pos] {
		case ' ', '\t', '\r', '\n':
		default:
			return s.raw[s.pos]
		}
	}
	return 0
}

// take steps over one value, key or bracket-free text and gives its bytes.
func (s *scanner) take() []byte {
	first := s.peek()
	start := s.pos
	switch first {
	case '"':
		s.text()
	case '{', '[':
		s.composite()
	default:
		for s.pos < len(s.raw) && strings.IndexByte(",:]} \t\r\n", s.raw[s.pos]) < 0 {
			s.pos++
		}
	}
	return s.raw[start:s.pos]
}

func (s *scanner) text() {
	for s.pos++; s.pos < len(s.raw); s.pos++ {
		switch s.raw[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			return
		}
	}
	s.pos = len(s.raw)
}

func (s *scanner) composite() {
	for depth := 0; s.pos < len(s.raw); {
		switch s.raw[s.pos] {
		case '"':
			s.text()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if s.pos++; depth == 0 {
			return
		}
	}
}

// next steps over the separators up to the next member or item; false at the end of the object or list.
func (s *scanner) next() bool {
	switch s.peek() {
	case ',', '{', '[':
		s.pos++
	}
	switch s.peek() {
	case '}', ']':
		s.pos++
		return false
	case 0:
		return false
	}
	return true
}

// key steps over a member's key and its colon.
func (s *scanner) key() []byte {
	key := s.take()
	if s.peek() == ':' {
		s.pos++
	}
	return key
}

// member is one key of an object, with the bytes of both.
type member struct {
	rawKey, value []byte
}

func (m member) key() string { return textOf(m.rawKey) }

// members of an object; none of any other value.
func members(raw []byte) iter.Seq[member] {
	return func(yield func(member) bool) {
		s := &scanner{raw: raw}
		if s.peek() != '{' {
			return
		}
		for s.next() {
			before := s.pos
			if !yield(member{rawKey: s.key(), value: s.take()}) || s.pos == before {
				return
			}
		}
	}
}

// items of a list; none of any other value.
func items(raw []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		s := &scanner{raw: raw}
		if s.peek() != '[' {
			return
		}
		for index := 0; s.next(); index++ {
			before := s.pos
			if !yield(index, s.take()) || s.pos == before {
				return
			}
		}
	}
}

// textOf gives the text of a JSON string; "" for any other value.
func textOf(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var text string
	_ = json.Unmarshal(raw, &text)
	return text
}

// kindOf names a JSON value in words.
func kindOf(raw []byte) string {
	switch (&scanner{raw: raw}).peek() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// pruned gives an object without the members that drop names, and goes into those within; every other byte stays.
func pruned(raw []byte, path trail, within func(trail) bool, drop func(path trail, value []byte) bool) []byte {
	out := make([]byte, 0, len(raw))
	out = append(out, '{')
	for member := range members(raw) {
		inner := path.key(member.key())
		if drop(inner, member.value) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, member.rawKey...), ':')
		if within(inner) && kindOf(member.value) == "an object" {
			out = append(out, pruned(member.value, inner, within, drop)...)
		} else {
			out = append(out, member.value...)
		}
	}
	return append(out, '}')
}

// trailTo is the way to the innermost value around an offset.
func trailTo(raw []byte, offset int) (path trail, value []byte) {
	s := &scanner{raw: raw}
	for {
		open := s.peek()
		value = (&scanner{raw: raw, pos: s.pos}).take()
		if open != '{' && open != '[' {
			return path, value
		}
		if !s.into(open, offset, &path) {
			return path, value
		}
	}
}

// into moves to the member or item around an offset; false when there is none.
func (s *scanner) into(open byte, offset int, path *trail) bool {
	for index := 0; s.next(); index++ {
		var key []byte
		if open == '{' {
			key = s.key()
		}
		s.peek()
		start := s.pos
		s.take()
		if start <= offset && offset < s.pos {
			s.pos = start
			if open == '{' {
				*path = path.key(textOf(key))
			} else {
				*path = path.item(index)
			}
			return true
		}
		if start > offset || s.pos == start {
			return false
		}
	}
	return false
}
