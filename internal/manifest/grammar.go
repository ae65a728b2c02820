package manifest

// parser reads an expression by recursive descent, one token ahead.
type parser struct {
	text  string
	here  token
	depth int
	// deleted is where Deleted stands, plus one.
	deleted int
}

func (p *parser) advance() token {
	taken := p.here
	p.here = tokenAt(p.text, p.here.end)
	return taken
}

// wrong gives the error about a token.
func (p *parser) wrong(t token, format string, args ...any) error {
	if t.kind == tokenBad {
		return pointAt(p.text, t.at, "%s", t.value)
	}
	return pointAt(p.text, t.at, format, args...)
}

func (p *parser) whole() (*node, error) {
	p.here = tokenAt(p.text, 0)
	root, err := p.either()
	if err != nil {
		return nil, err
	}
	switch p.here.kind {
	case tokenEnd:
	case tokenClose:
		return nil, p.wrong(p.here, ") has no (")
	case tokenCompare, tokenPipe:
		return nil, p.wrong(p.here, "%s has nothing to compare before it", p.here.text)
	default:
		return nil, p.wrong(p.here, "join conditions with AND or OR")
	}
	if p.deleted > 0 && (root.joint != jointTerm || root.term.text != "Deleted") {
		return nil, pointAt(p.text, p.deleted-1, "Deleted stands alone")
	}
	return root, nil
}

// either: all { OR all }
func (p *parser) either() (*node, error) { return p.joined(jointOr, tokenOr, p.all) }

// all: one { AND one }
func (p *parser) all() (*node, error) { return p.joined(jointAnd, tokenAnd, p.one) }

func (p *parser) joined(joint joint, by tokenKind, part func() (*node, error)) (*node, error) {
	first, err := part()
	if err != nil || p.here.kind != by {
		return first, err
	}
	n := &node{joint: joint, parts: []*node{first}}
	for p.here.kind == by {
		p.advance()
		next, err := part()
		if err != nil {
			return nil, err
		}
		n.parts = append(n.parts, next)
	}
	return n, nil
}

// one: NOT one | "(" either ")" | term
func (p *parser) one() (*node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxBrackets {
		return nil, p.wrong(p.here, "more than %d parentheses and NOTs in each other", maxBrackets)
	}
	switch p.here.kind {
	case tokenNot:
		p.advance()
		part, err := p.one()
		if err != nil {
			return nil, err
		}
		return &node{joint: jointNot, parts: []*node{part}}, nil
	case tokenOpen:
		open := p.advance()
		inner, err := p.either()
		if err != nil {
			return nil, err
		}
		return inner, p.close(open)
	case tokenWord:
		term, err := p.quantified()
		if err != nil {
			return nil, err
		}
		return &node{term: term}, nil
	case tokenEnd:
		return nil, p.wrong(p.here, "a condition is missing here")
	default:
		return nil, p.wrong(p.here, "a condition is missing before %s", p.here.text)
	}
}

func (p *parser) close(open token) error {
	switch p.here.kind {
	case tokenClose:
		p.advance()
		return nil
	case tokenEnd:
		return p.wrong(p.here, ") is missing for the ( at position %d", open.at+1)
	default:
		return p.wrong(p.here, "join conditions with AND or OR, or close the ( at position %d", open.at+1)
	}
}

// quantified: ( "any" | "all" ) "(" term ")" | term
func (p *parser) quantified() (Term, error) {
	word := p.advance()
	if word.text != "any" && word.text != "all" || p.here.kind != tokenOpen {
		return p.term(word)
	}
	open := p.advance()
	if p.here.kind != tokenWord {
		return Term{}, p.wrong(p.here, "%s( takes one condition of manifests, like %s(Deployment:Available)", word.text, word.text)
	}
	inner := p.advance()
	term, err := p.term(inner)
	switch {
	case err != nil:
		return term, err
	case term.Kind == "":
		return term, p.wrong(inner, "%s( takes a condition of manifests, like %s(Deployment:Available)", word.text, word.text)
	case p.here.kind != tokenClose && p.here.kind != tokenEnd:
		return term, p.wrong(p.here, "%s( takes one condition: close it here", word.text)
	}
	end := p.here.end
	if err := p.close(open); err != nil {
		return term, err
	}
	term.Any, term.text = word.text == "any", p.text[word.at:end]
	return term, nil
}
