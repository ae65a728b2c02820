package manifest

import (
	"fmt"
	"strings"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Expression is a wait condition, or one that ends a wait early. docs/conditions.md is its grammar. The empty one always
// holds.
type Expression struct {
	root *node
}

// node is a term, or an operator over nodes.
type node struct {
	joint joint
	term  Term
	parts []*node
}

type joint int

const (
	jointTerm joint = iota
	jointNot
	jointAnd
	jointOr
)

// Term asks the work or some of its manifests for one condition, or manifests for one feedback value.
type Term struct {
	// Kind, Group, Namespace and Name select manifests; Kind is empty for a condition of the work itself. An empty
	// Group, Namespace or Name matches any.
	Kind, Group, Namespace, Name string
	// Any: one of the selected manifests is enough. Otherwise all must comply.
	Any bool
	// Type of the condition and the Status it must have: True unless given. Type is empty for a feedback value.
	Type, Status string
	// Field of the feedback, with the path into it; see [Term.sources]. Exact: it is a name as a whole. Old: it is
	// written as the old tool had it, behind a colon.
	Field      string
	Exact, Old bool
	// Absent is what a value that is not reported counts as; nil means that nothing is known then.
	Absent *Literal
	// Operator compares the value with Value: == != >= <= > or <.
	Operator string
	Value    Literal
	text     string
}

// Literal is a value in an expression. Without quotes it is a number, a boolean or a text, as the value that it is
// compared with is.
type Literal struct {
	Text   string
	Quoted bool
}

func (t Term) String() string { return t.text }

// Terms of the expression, from left to right.
func (e Expression) Terms() []Term {
	var terms []Term
	e.root.each(func(n *node) { terms = append(terms, n.term) })
	return terms
}

// AwaitsDeletion: the expression is Deleted, which is no condition that a status could have.
func (e Expression) AwaitsDeletion() bool {
	return e.root != nil && e.root.joint == jointTerm && e.root.term.Kind == "" && e.root.term.Type == "Deleted"
}

// String writes the expression down with all its parentheses.
func (e Expression) String() string {
	if e.root == nil {
		return ""
	}
	return e.root.String()
}

func (n *node) String() string {
	switch n.joint {
	case jointTerm:
		return n.term.text
	case jointNot:
		return "NOT " + n.parts[0].String()
	case jointAnd, jointOr:
		word := " AND "
		if n.joint == jointOr {
			word = " OR "
		}
		texts := make([]string, len(n.parts))
		for index, part := range n.parts {
			texts[index] = part.String()
		}
		return "(" + strings.Join(texts, word) + ")"
	}
	return ""
}

// each calls visit for the terms, from left to right.
func (n *node) each(visit func(*node)) {
	if n == nil {
		return
	}
	if n.joint == jointTerm {
		visit(n)
	}
	for _, part := range n.parts {
		part.each(visit)
	}
}

// maxBrackets bounds parentheses and NOTs in each other.
const maxBrackets = 100

// ParseExpression reads a wait condition; docs/conditions.md is the grammar. Names are exact. An error shows the
// expression and the position in it, counted in bytes from 1.
func ParseExpression(text string) (Expression, error) {
	if len(text) > contract.MaxConditionBytes {
		return Expression{}, fmt.Errorf("wait condition of %d bytes, position %d: the limit is %d",
			len(text), contract.MaxConditionBytes+1, contract.MaxConditionBytes)
	}
	p := parser{text: text}
	root, err := p.whole()
	if err != nil {
		return Expression{}, err
	}
	return Expression{root: root}, nil
}

func pointAt(text string, at int, format string, args ...any) error {
	return fmt.Errorf("wait condition %q, position %d: %s", text, at+1, fmt.Sprintf(format, args...))
}

func (t Term) selects(id Identity) bool {
	return t.Kind == id.Kind && (t.Group == "" || t.Group == id.Group) &&
		(t.Namespace == "" || t.Namespace == id.Namespace) && (t.Name == "" || t.Name == id.Name)
}
