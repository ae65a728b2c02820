package manifest

import (
	"bytes"
	_ "embed" // the default template
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// maxRenderSteps bounds the nodes of a template that are run for all objects together, with or without output.
	maxRenderSteps = 500_000
	// maxRenderValues bounds the bytes that the functions of a template give back, which variables can double.
	maxRenderValues = 16 * 1024 * 1024
)

//go:embed nodepool.yaml.tmpl
var defaultNodepoolTemplate []byte

// templateName stands in text/template's messages, in place of a file's name, which may hold colons.
const templateName = "nodepool"

// NodepoolTemplate turns a pool, or a zone of it, into objects. It has no effects and ends in bounded time.
type NodepoolTemplate struct {
	// file is where it came from, for messages.
	file string
	tree *template.Template
}

// DefaultNodepoolTemplate renders HyperShift's NodePool, hypershift.openshift.io/v1beta1, for AWS.
func DefaultNodepoolTemplate() *NodepoolTemplate {
	t, err := ParseNodepoolTemplate("nodepool.yaml.tmpl", defaultNodepoolTemplate)
	if err != nil {
		panic(err) // a part of the program
	}
	return t
}

// ParseNodepoolTemplate reads a template: text/template that renders YAML from [NodepoolData], with the functions
//
//	json VALUE             the value as JSON, which is YAML on one line
//	quote VALUE            the value as a quoted string
//	default DEFAULT VALUE  DEFAULT when VALUE is empty; a pointer to 0 is not
//	fail TEXT              ends the rendering with TEXT
//
// A key that a map lacks is an error. name is where the text came from, for messages. The error is typed InvalidManifest
// or TooLarge.
func ParseNodepoolTemplate(name string, text []byte) (*NodepoolTemplate, error) {
	if len(text) > contract.MaxTemplateBytes {
		return nil, contract.Errorf(contract.ErrTooLarge, "%s: %d bytes, the limit is %d", name, len(text), contract.MaxTemplateBytes)
	}
	source := string(bytes.TrimPrefix(text, byteOrderMark))
	tree, err := template.New(templateName).Option("missingkey=error").Funcs((&meter{}).functions()).Parse(source)
	if err != nil {
		line, text := cutTemplateLine(err.Error())
		return nil, contract.Errorf(contract.ErrInvalidManifest, "%w", Problems{{File: name, Line: line, Text: text}})
	}
	for _, part := range tree.Templates() {
		if part.Tree != nil && part.Root != nil {
			countSteps(part.Root, source)
		}
	}
	return &NodepoolTemplate{file: name, tree: tree}, nil
}

var templateLine = regexp.MustCompile(`^template: ` + templateName + `:(\d+):(?:\d+:)? `)

// cutTemplateLine takes text/template's own place off the front of its message.
func cutTemplateLine(text string) (int, string) {
	match := templateLine.FindStringSubmatch(text)
	if match == nil {
		return 0, text
	}
	line, _ := strconv.Atoi(match[1])
	return line, text[len(match[0]):]
}

// stepFunction is the function that [countSteps] calls; a user's template has no reason to.
const stepFunction = "countStep"

// countSteps puts a call before every node: text/template has no bound of its own on range over a number, nor on
// templates that call each other. The calls also tell which line is being run.
func countSteps(list *parse.ListNode, source string) {
	if list == nil {
		return
	}
	nodes := []parse.Node{stepNode(list, source, 1)} // for a body without a node
	for _, node := range list.Nodes {
		cost := 1
		switch node := node.(type) {
		case *parse.ActionNode:
			cost += len(node.Pipe.String()) / 64
		case *parse.TemplateNode:
			if node.Pipe != nil {
				cost += len(node.Pipe.String()) / 64
			}
		case *parse.IfNode:
			cost += countBranch(&node.BranchNode, source)
		case *parse.RangeNode:
			cost += countBranch(&node.BranchNode, source)
		case *parse.WithNode:
			cost += countBranch(&node.BranchNode, source)
		}
		nodes = append(nodes, stepNode(node, source, cost), node)
	}
	list.Nodes = nodes
}

func countBranch(branch *parse.BranchNode, source string) int {
	countSteps(branch.List, source)
	countSteps(branch.ElseList, source)
	return len(branch.Pipe.String()) / 64
}

func stepNode(node parse.Node, source string, cost int) parse.Node {
	line := 1 + strings.Count(source[:min(int(node.Position()), len(source))], "\n")
	trees, err := parse.Parse("step", fmt.Sprintf("{{%s %d %d}}", stepFunction, line, cost), "", "", (&meter{}).functions())
	if err != nil {
		panic(err) // the text is ours
	}
	return trees["step"].Root.Nodes[0]
}

// meter takes the output of a template and stops it when it takes too long or too much. It knows which line of the
// template each line of the output began on.
type meter struct {
	out   bytes.Buffer
	lines []int
	// line of the template that is being run.
	line int

	steps, written, values int
}

var (
	errSteps   = fmt.Errorf("stopped after %d steps: the template does not end, or loops too often", maxRenderSteps)
	errWritten = fmt.Errorf("stopped: the objects are more than %d bytes together", contract.MaxRenderedBytes)
	errValues  = fmt.Errorf("stopped: its functions made more than %d bytes", maxRenderValues)
)

// next begins another object.
func (m *meter) next() {
	m.out.Reset()
	m.lines, m.line = nil, 0
}

func (m *meter) step(line, cost int) (string, error) {
	m.line = line
	if m.steps += cost; m.steps > maxRenderSteps {
		return "", errSteps
	}
	return "", nil
}

func (m *meter) Write(text []byte) (int, error) {
	if m.written += len(text); m.written > contract.MaxRenderedBytes {
		return 0, errWritten
	}
	for index, char := range text {
		if index == 0 && len(m.lines) == 0 || index > 0 && text[index-1] == '\n' || index == 0 && bytes.HasSuffix(m.out.Bytes(), []byte("\n")) {
			m.lines = append(m.lines, m.line)
		}
		if char == '\n' {
			m.line++
		}
	}
	return m.out.Write(text)
}

// lineOf gives the template's line for one of the output's.
func (m *meter) lineOf(line int) int {
	if line < 1 || len(m.lines) == 0 {
		return 0
	}
	return m.lines[min(line, len(m.lines))-1]
}

// functions are text/template's own that make text, metered, and ours.
func (m *meter) functions() template.FuncMap {
	return template.FuncMap{
		stepFunction: m.step,
		"json":       m.json,
		"quote": func(value any) (string, error) {
			if err := m.charge(1, value); err != nil {
				return "", err
			}
			return m.json(fmt.Sprint(plain(value)))
		},
		"default": func(fallback, value any) any {
			if truth, ok := template.IsTrue(value); ok && truth {
				return value
			}
			return fallback
		},
		"fail":     func(text string) (string, error) { return "", errors.New(text) },
		"print":    m.metered(fmt.Sprint),
		"println":  m.metered(fmt.Sprintln),
		"html":     m.metered(template.HTMLEscaper),
		"js":       m.metered(template.JSEscaper),
		"urlquery": m.metered(template.URLQueryEscaper),
		"printf":   m.printf,
	}
}

func (m *meter) metered(function func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		if err := m.charge(1, args...); err != nil {
			return "", err
		}
		for index := range args {
			args[index] = plain(args[index])
		}
		return function(args...), nil
	}
}

// plain is a number for a pointer to one: fmt would print where it lies, which is different each time.
func plain(value any) any {
	if number, ok := value.(*int64); ok && number != nil {
		return *number
	}
	return value
}

// charge counts values before text is made of them.
func (m *meter) charge(times int, args ...any) error {
	for _, arg := range args {
		text, ok := arg.(string)
		if !ok {
			text = fmt.Sprint(arg)
		}
		if m.values += times * (len(text) + 1); m.values > maxRenderValues {
			return errValues
		}
	}
	return nil
}

// wide finds the widths and precisions that make a long text of a short one.
var wide = regexp.MustCompile(`%[^%a-zA-Z]*(?:\*|[0-9]{3})`)

func (m *meter) printf(format string, args ...any) (string, error) {
	if wide.MatchString(format) {
		return "", errors.New("printf: widths and precisions have at most two digits here")
	}
	verbs := strings.Count(format, "%")
	if m.values += len(format) + 100*verbs; m.values > maxRenderValues {
		return "", errValues
	}
	if err := m.charge(max(1, verbs), args...); err != nil {
		return "", err
	}
	for index := range args {
		args[index] = plain(args[index])
	}
	return fmt.Sprintf(format, args...), nil
}

// json writes a value in the part of JSON that YAML reads as the same value.
func (m *meter) json(value any) (string, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	if m.values += len(raw); m.values > maxRenderValues {
		return "", errValues
	}
	var text strings.Builder
	for _, char := range string(raw) {
		// YAML refuses these even in quotes; in JSON they stand in strings only.
		if char >= 0x7f && char < 0xa0 || char == 0xfeff || char == 0xfffe || char == 0xffff {
			fmt.Fprintf(&text, `\u%04x`, char)
		} else {
			text.WriteRune(char)
		}
	}
	return text.String(), nil
}
