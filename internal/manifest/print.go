package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
)

// YAML prints JSON as YAML. Keys keep their order and numbers their text, and a text that any reader, of YAML 1.1 or 1.2,
// could take for something else stands in quotes: what [ParseInput] reads again is the same JSON.
func YAML(raw []byte) ([]byte, error) {
	if !json.Valid(raw) {
		return nil, errors.New("print as YAML: not JSON")
	}
	p := &printer{scanner: scanner{raw: raw}}
	var out bytes.Buffer
	encoder := goyaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(p.value()); err != nil {
		return nil, fmt.Errorf("print as YAML: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("print as YAML: %w", err)
	}
	return out.Bytes(), nil
}

// maxIndented bounds the depth that indentation shows; deeper values stand in one line, or the text would grow with the
// square of the depth.
const maxIndented = 50

type printer struct {
	scanner
	depth int
}

func (p *printer) value() *goyaml.Node {
	switch p.peek() {
	case '{':
		return p.mapping()
	case '[':
		return p.list()
	case '"':
		return textNode(textOf(p.take()))
	case 't', 'f':
		return &goyaml.Node{Kind: goyaml.ScalarNode, Tag: "!!bool", Value: string(p.take())}
	case 'n':
		return &goyaml.Node{Kind: goyaml.ScalarNode, Tag: "!!null", Value: string(p.take())}
	default:
		return numberNode(string(p.take()))
	}
}

func (p *printer) list() *goyaml.Node {
	list := &goyaml.Node{Kind: goyaml.SequenceNode, Tag: "!!seq"}
	p.depth++
	for p.next() {
		list.Content = append(list.Content, p.value())
	}
	p.depth--
	p.style(list)
	return list
}

func (p *printer) mapping() *goyaml.Node {
	mapping := &goyaml.Node{Kind: goyaml.MappingNode, Tag: "!!map"}
	p.depth++
	for p.next() {
		key := textNode(textOf(p.key()))
		if key.Style == goyaml.LiteralStyle {
			key.Style = goyaml.DoubleQuotedStyle
		}
		mapping.Content = append(mapping.Content, key, p.value())
	}
	p.depth--
	p.style(mapping)
	return mapping
}

func (p *printer) style(node *goyaml.Node) {
	if len(node.Content) == 0 || p.depth > maxIndented {
		node.Style = goyaml.FlowStyle
	}
}

// numberNode says of a number what the reader will find in its text, or the encoder would quote it. What is too large for
// the reader's doubles needs a tag to stay a number.
func numberNode(text string) *goyaml.Node {
	node := &goyaml.Node{Kind: goyaml.ScalarNode, Value: text}
	if node.Tag = node.ShortTag(); node.Tag != "!!int" && node.Tag != "!!float" {
		node.Tag, node.Style = "!!float", goyaml.TaggedStyle
	}
	return node
}

// plainText is what no reader takes for anything else: words that begin with a letter and hold nothing that YAML or its
// schemas give a meaning.
var plainText = regexp.MustCompile(`^[A-Za-z/][-A-Za-z0-9_./]*( [-A-Za-z0-9_./]+)*$`)

// meaningful are the words of letters that some reader takes for a boolean, null or a number, in any case of theirs.
var meaningful = map[string]bool{
	"true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true,
	"null": true, "nan": true, "inf": true, "infinity": true,
}

func textNode(text string) *goyaml.Node {
	node := &goyaml.Node{Kind: goyaml.ScalarNode, Tag: "!!str", Value: text, Style: goyaml.DoubleQuotedStyle}
	switch {
	case plainText.MatchString(text) && !meaningful[strings.ToLower(text)]:
		node.Style = 0
	case isBlock(text):
		node.Style = goyaml.LiteralStyle
	}
	return node
}

// isBlock: lines of printable ASCII, that a block shows as they are.
func isBlock(text string) bool {
	if !strings.HasSuffix(text, "\n") || strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") {
		return false
	}
	for index := range len(text) {
		if char := text[index]; char != '\n' && (char < ' ' || char > '~') {
			return false
		}
	}
	return !strings.Contains(text, " \n")
}
