package manifest

import (
	"bytes"
	"strconv"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
)

// locate gives the line on which the field at a path stands in one document of a file, the documents without content
// not counted, or the line of the nearest field around it; 0 when the file cannot be read as YAML, which JSON nearly
// always can. It parses the file anew: lines are only needed when there is something wrong.
func locate(data []byte, document int, path string) int {
	decoder := goyaml.NewDecoder(bytes.NewReader(data))
	for {
		var root goyaml.Node
		if err := decoder.Decode(&root); err != nil {
			return 0
		}
		if emptyDocument(&root) {
			continue
		}
		if document--; document < 0 {
			return lineOf(root.Content[0], path)
		}
	}
}

func lineOf(node *goyaml.Node, path string) int {
	line := node.Line
	for steps := 0; path != "" && steps < maxDepth; steps++ {
		for node.Kind == goyaml.AliasNode {
			node = node.Alias
		}
		var next *goyaml.Node
		var at int
		if next, at, path = step(node, path); next == nil {
			return line
		}
		node, line = next, at
	}
	return line
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
