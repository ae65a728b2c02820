package manifest

import (
	"bytes"
	"strconv"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
)

// spot is where something was found, with the text of a scalar as it is written there.
type spot struct {
	line   int
	scalar string
}

// locate gives the line on which the field at a path stands in one document of a file, the documents without content
// not counted, or the line of the nearest field around it; 0 when the file cannot be read. It parses the file anew: lines
// are only needed when there is something wrong.
func locate(data []byte, document int, path string) int {
	return locateAll(data, []place{{document, path}})[0].line
}

// locateAll is the same for many places at the cost of one.
func locateAll(data []byte, wanted []place) []spot {
	spots := make([]spot, len(wanted))
	inDocument := map[int][]int{}
	last := -1
	for index, place := range wanted {
		inDocument[place.document] = append(inDocument[place.document], index)
		last = max(last, place.document)
	}
	if spans, ok := jsonDocuments(data); ok {
		for index, place := range wanted {
			if place.document >= 0 && place.document < len(spans) {
				spots[index] = spotInJSON(data, spans[place.document], place.path)
			}
		}
		return spots
	}
	decoder := goyaml.NewDecoder(bytes.NewReader(data))
	for document := 0; document <= last; {
		var root goyaml.Node
		if err := decoder.Decode(&root); err != nil {
			return spots
		}
		if emptyDocument(&root) {
			continue
		}
		for _, index := range inDocument[document] {
			spots[index] = spotOf(root.Content[0], wanted[index].path)
		}
		document++
	}
	return spots
}

// spotInJSON goes down the path by the offsets of a document.
func spotInJSON(data []byte, document span, path string) spot {
	s := &scanner{raw: data[:document.end], pos: document.start}
	s.peek()
	offset := s.pos
	for path != "" {
		rest, start, found := s.step(path)
		if !found {
			return spot{line: lineAt(data, offset)}
		}
		path, offset = rest, start
	}
	value := (&scanner{raw: s.raw, pos: s.pos}).take()
	if value[0] == '"' {
		return spot{line: lineAt(data, offset), scalar: textOf(value)}
	}
	return spot{line: lineAt(data, offset), scalar: string(value)}
}

// step moves to the value that the path begins with; start is where its key stands.
func (s *scanner) step(path string) (rest string, start int, found bool) {
	open := s.peek()
	if open != '{' && open != '[' {
		return "", 0, false
	}
	for index := 0; s.next(); index++ {
		start = s.pos
		if open == '[' {
			rest, found = strings.CutPrefix(path, at("", index))
		} else {
			rest, found = cutKey(path, textOf(s.key()))
		}
		if s.peek(); found {
			return rest, start, true
		}
		s.take()
	}
	return "", 0, false
}

func spotOf(node *goyaml.Node, path string) spot {
	line := node.Line
	for steps := 0; path != "" && steps < maxDepth; steps++ {
		node = target(node)
		var next *goyaml.Node
		var at int
		if next, at, path = step(node, path); next == nil {
			return spot{line: line}
		}
		node, line = next, at
	}
	return spot{line: line, scalar: target(node).Value}
}

// target of an alias.
func target(node *goyaml.Node) *goyaml.Node {
	for node.Kind == goyaml.AliasNode {
		node = node.Alias
	}
	return node
}

// maxDepth of a path; YAML and JSON readers refuse deeper documents long before.
const maxDepth = 20000

// step goes down by the first part of a path and gives the rest.
func step(node *goyaml.Node, path string) (next *goyaml.Node, line int, rest string) {
	switch node.Kind {
	case goyaml.SequenceNode:
		inner, rest, found := strings.Cut(strings.TrimPrefix(path, "["), "]")
		index, err := strconv.Atoi(inner)
		if !found || err != nil || index < 0 || index >= len(node.Content) {
			return nil, 0, ""
		}
		return node.Content[index], node.Content[index].Line, rest
	case goyaml.MappingNode:
		return stepInto(node, path, 0)
	default:
		return nil, 0, ""
	}
}

// stepInto finds the key that the path begins with; the keys that a mapping merges come after its own.
func stepInto(node *goyaml.Node, path string, merges int) (next *goyaml.Node, line int, rest string) {
	var merged []*goyaml.Node
	for index := 0; index+1 < len(node.Content); index += 2 {
		key, value := node.Content[index], node.Content[index+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if rest, found := cutKey(path, key.Value); found {
			return value, key.Line, rest
		}
	}
	for len(merged) > 0 && merges < 100 {
		source := merged[0]
		merged = merged[1:]
		merges++
		switch source.Kind {
		case goyaml.AliasNode:
			merged = append([]*goyaml.Node{source.Alias}, merged...)
		case goyaml.SequenceNode:
			merged = append(append([]*goyaml.Node{}, source.Content...), merged...)
		case goyaml.MappingNode:
			if next, line, rest := stepInto(source, path, merges); next != nil {
				return next, line, rest
			}
		}
	}
	return nil, 0, ""
}

// cutKey takes a key from the front of a path, in the form that [under] wrote it.
func cutKey(path, key string) (rest string, found bool) {
	if rest, found := strings.CutPrefix(path, "["+key+"]"); found {
		return rest, true
	}
	rest, found = strings.CutPrefix(strings.TrimPrefix(path, "."), key)
	if !found || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return "", false
	}
	return rest, true
}
