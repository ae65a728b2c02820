package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// maxNodes bounds the work that aliases and merge keys can cause without writing anything; a file has fewer nodes of its
// own than bytes.
const maxNodes = contract.MaxWorkBytes

// jsonNumber is the grammar of JSON: a number of this form keeps its text.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// booleans are those of YAML 1.1.
var booleans = map[string]bool{
	"true": true, "True": true, "TRUE": true, "yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true, "y": true, "Y": true,
	"false": false, "False": false, "FALSE": false, "no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false, "n": false, "N": false,
}

// encoder turns YAML documents into JSON with their keys in the order given. Numbers keep their text, so that none passes
// through a double; what YAML 1.1 calls a boolean is one, as for kubectl. The bounds hold for all documents together.
type encoder struct {
	out   bytes.Buffer
	nodes int
	open  map[*goyaml.Node]bool
	// place of the document, and the way from there.
	place place
	path  trail
	found *findings
}

// errUnreadable ends the reading of a document; what is wrong stands among the findings.
var errUnreadable = errors.New("unreadable")

func newEncoder(found *findings) *encoder {
	return &encoder{open: map[*goyaml.Node]bool{}, found: found}
}

// here is where the encoder stands.
func (e *encoder) here() place { return place{e.place.document, e.path.below(e.place.path)} }

func (e *encoder) bad(node *goyaml.Node, format string, args ...any) error {
	e.found.onLine(e.here(), node.Line, format, args...)
	return errUnreadable
}

// enter counts a node and refuses what has grown out of proportion.
func (e *encoder) enter(node *goyaml.Node) error {
	if e.nodes++; e.nodes > maxNodes || e.out.Len() > contract.MaxWorkBytes {
		return e.bad(node, "larger than %d bytes with its aliases expanded: use fewer aliases", contract.MaxWorkBytes)
	}
	return nil
}

func (e *encoder) value(node *goyaml.Node) error {
	if err := e.enter(node); err != nil {
		return err
	}
	switch node.Kind {
	case goyaml.DocumentNode:
		return e.value(node.Content[0])
	case goyaml.AliasNode:
		return e.alias(node, e.value)
	case goyaml.SequenceNode:
		return e.sequence(node)
	case goyaml.MappingNode:
		return e.mapping(node)
	case goyaml.ScalarNode:
		text, err := e.scalar(node)
		e.out.Write(text)
		return err
	default:
		return e.bad(node, "not a YAML value")
	}
}

func (e *encoder) alias(node *goyaml.Node, visit func(*goyaml.Node) error) error {
	if e.open[node.Alias] {
		return e.bad(node, "anchor %q contains itself", node.Value)
	}
	e.open[node.Alias] = true
	defer delete(e.open, node.Alias)
	return visit(node.Alias)
}

func (e *encoder) sequence(node *goyaml.Node) error {
	e.out.WriteByte('[')
	for index, item := range node.Content {
		if index > 0 {
			e.out.WriteByte(',')
		}
		if err := e.inside(e.path.item(index), item); err != nil {
			return err
		}
	}
	e.out.WriteByte(']')
	return nil
}

// inside writes the value that stands at a path.
func (e *encoder) inside(path trail, node *goyaml.Node) error {
	outer := e.path
	e.path = path
	err := e.value(node)
	if err == nil {
		e.path = outer
	}
	return err
}

// entry is one key of a mapping after the merge keys are resolved.
type entry struct {
	key   string
	value *goyaml.Node
}

func (e *encoder) mapping(node *goyaml.Node) error {
	fields := fields{line: map[string]int{}}
	if err := e.collect(node, &fields); err != nil {
		return err
	}
	e.out.WriteByte('{')
	for index, field := range fields.entries {
		if index > 0 {
			e.out.WriteByte(',')
		}
		e.out.Write(quoted(field.key))
		e.out.WriteByte(':')
		if err := e.inside(e.path.key(field.key), field.value); err != nil {
			return err
		}
	}
	e.out.WriteByte('}')
	return nil
}

type fields struct {
	entries []entry
	line    map[string]int
}

// collect adds a mapping's own keys first and then those it merges, of which only the missing ones count.
func (e *encoder) collect(node *goyaml.Node, into *fields) error {
	own := map[string]bool{}
	var merges []*goyaml.Node
	for index := 0; index < len(node.Content); index += 2 {
		keyNode, value := node.Content[index], node.Content[index+1]
		if err := e.enter(keyNode); err != nil {
			return err
		}
		if keyNode.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		key, err := e.key(keyNode)
		if err != nil {
			return err
		}
		if own[key] && !e.found.full() {
			e.found.list = append(e.found.list, finding{
				place: e.here().under(key), line: keyNode.Line, text: doubledText(key, into.line[key]),
			})
		}
		own[key] = true
		if _, found := into.line[key]; found {
			continue
		}
		into.line[key] = keyNode.Line
		into.entries = append(into.entries, entry{key: key, value: value})
	}
	for _, source := range merges {
		if err := e.merge(source, into); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) merge(source *goyaml.Node, into *fields) error {
	if err := e.enter(source); err != nil {
		return err
	}
	switch source.Kind {
	case goyaml.AliasNode:
		return e.alias(source, func(node *goyaml.Node) error { return e.merge(node, into) })
	case goyaml.MappingNode:
		return e.collect(source, into)
	case goyaml.SequenceNode:
		for _, item := range source.Content {
			if err := e.merge(item, into); err != nil {
				return err
			}
		}
		return nil
	default:
		return e.bad(source, "<< merges a mapping or a list of mappings")
	}
}

// key gives the text of a key; JSON has no other keys than strings.
func (e *encoder) key(node *goyaml.Node) (string, error) {
	if node.Kind == goyaml.AliasNode {
		node = node.Alias
	}
	if node.Kind != goyaml.ScalarNode || node.ShortTag() == "!!null" {
		return "", e.bad(node, "a key must be a string")
	}
	text, err := e.scalar(node)
	if err != nil || text[0] != '"' {
		if value, found := booleans[node.Value]; err == nil && found && string(text) != node.Value {
			return "", e.bad(node, "key %s means %t in YAML: write it in quotes", node.Value, value)
		}
		return string(text), err
	}
	var key string
	err = json.Unmarshal(text, &key)
	return key, err
}

// scalar gives the JSON of a scalar.
func (e *encoder) scalar(node *goyaml.Node) ([]byte, error) {
	plain := node.Style&(goyaml.DoubleQuotedStyle|goyaml.SingleQuotedStyle|goyaml.LiteralStyle|goyaml.FoldedStyle|goyaml.TaggedStyle) == 0
	switch tag := node.ShortTag(); {
	case tag == "!!null":
		return []byte("null"), nil
	case tag == "!!int" || tag == "!!float":
		return e.number(node)
	case tag == "!!binary":
		var text string
		if err := node.Decode(&text); err != nil {
			return nil, e.bad(node, "%s", plainError(err))
		}
		return quoted(text), nil
	case tag == "!!bool" || tag == "!!str" && plain:
		if value, found := booleans[node.Value]; found {
			return strconv.AppendBool(nil, value), nil
		}
	}
	return quoted(node.Value), nil
}

func (e *encoder) number(node *goyaml.Node) ([]byte, error) {
	if jsonNumber.MatchString(node.Value) {
		return []byte(node.Value), nil
	}
	text := strings.ReplaceAll(node.Value, "_", "")
	if integer, ok := new(big.Int).SetString(text, 0); ok {
		return integer.Append(nil, 10), nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value-value != 0 {
		shown := node.Value
		if e.path.inData() {
			shown = "the value"
		}
		return nil, e.bad(node, "%s is not a number that JSON knows: write it in quotes if a text is meant", shown)
	}
	return json.Marshal(value)
}

func quoted(text string) []byte {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings always encode
	}
	return raw
}
