package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v3"
)

// byteOrderMark of UTF-8, with which editors on Windows begin a file.
var byteOrderMark = []byte("\xef\xbb\xbf")

// documents gives the compact JSON of each document of a file that has content, with the characters escaped that
// Maestro's own encoder escapes: the size of a manifest is measured in that form. JSON does not go through the YAML
// reader, which knows fewer escapes.
func documents(data []byte, found *findings) [][]byte {
	if spans, ok := jsonDocuments(data); ok {
		return fromJSON(data, spans, found)
	}
	return fromYAML(data, found)
}

func fromJSON(data []byte, spans []span, found *findings) [][]byte {
	raws := make([][]byte, 0, len(spans))
	for index, span := range spans {
		doubledKeys(data, span.start, index, found)
		var compact, escaped bytes.Buffer
		if err := json.Compact(&compact, data[span.start:span.end]); err != nil {
			found.add(place{document: index}, "%s", plainError(err))
			continue
		}
		json.HTMLEscape(&escaped, compact.Bytes())
		raws = append(raws, escaped.Bytes())
	}
	return raws
}

// span is where one JSON document stands in a file.
type span struct{ start, end int }

// jsonDocuments finds the objects and lists of a file that consists of nothing else, one after the other or between
// separator lines as in YAML.
func jsonDocuments(data []byte) (spans []span, ok bool) {
	if !utf8.Valid(data) {
		return nil, false
	}
	s := &scanner{raw: data}
	for {
		switch s.peek() {
		case 0:
			return spans, len(spans) > 0 && s.pos == len(data)
		case '-':
			if !s.separator() {
				return nil, false
			}
		case '{', '[':
			start := s.pos
			if raw := s.take(); !json.Valid(raw) {
				return nil, false
			}
			spans = append(spans, span{start, s.pos})
		default:
			return nil, false
		}
	}
}

// separator steps over a line of three dashes, with or without a comment.
func (s *scanner) separator() bool {
	line, _, _ := bytes.Cut(s.raw[s.pos:], []byte("\n"))
	rest, found := bytes.CutPrefix(line, []byte("---"))
	if !found || s.pos > 0 && s.raw[s.pos-1] != '\n' {
		return false
	}
	comment := bytes.TrimLeft(rest, " \t\r")
	if len(comment) > 0 && (comment[0] != '#' || len(comment) == len(rest)) {
		return false
	}
	s.pos += len(line)
	return true
}

// fromYAML reads all documents, so that none is cut off without a word. One that cannot be converted does not hide the
// problems of the others; a syntax error ends the file.
func fromYAML(data []byte, found *findings) [][]byte {
	decoder := goyaml.NewDecoder(bytes.NewReader(data))
	encoder := newEncoder(found)
	var ends []int
	for {
		var document goyaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line, text := yamlError(data, err)
			found.onLine(place{document: len(ends)}, line, "%s", text)
			break
		}
		if emptyDocument(&document) {
			continue
		}
		encoder.place, encoder.path = place{document: len(ends)}, nil
		if err := encoder.value(&document); err != nil {
			break // what the bounds or a broken value refused; the rest could be as large
		}
		ends = append(ends, encoder.out.Len())
	}
	raws := make([][]byte, len(ends))
	start := 0
	for index, end := range ends {
		raws[index] = encoder.out.Bytes()[start:end:end]
		start = end
	}
	return raws
}

func emptyDocument(document *goyaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null"
}

var (
	yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	// yamlAnchor is the one message of the YAML reader that quotes a value, and it does not say where.
	yamlAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// yamlError takes the line out of the YAML reader's message, and a value, which may be secret.
func yamlError(data []byte, err error) (line int, text string) {
	text = plainError(err)
	if match := yamlLine.FindStringSubmatch(text); match != nil {
		line, _ = strconv.Atoi(match[1])
		text = text[len(match[0]):]
	}
	if match := yamlAnchor.FindStringSubmatch(text); match != nil {
		return lineWith(data, "*"+match[1]), "an alias (* and a name) without its anchor (& and the name): write a text that begins with * in quotes"
	}
	return line, text + ": correct the YAML"
}

// lineWith is the first line that holds a text, else 0.
func lineWith(data []byte, text string) int {
	at := bytes.Index(data, []byte(text))
	if at < 0 {
		return 0
	}
	return 1 + bytes.Count(data[:at], []byte("\n"))
}

// plainError gives a library's message in one line.
func plainError(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "json: ", "")), " ")
}
