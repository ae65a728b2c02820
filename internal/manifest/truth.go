package manifest

import "strings"

// truth of a term or of an expression: a term that the cluster has not answered for this version is unknown, and so is
// its opposite.
type truth int

const (
	unknown truth = iota
	no
	yes
)

func truthOf(is bool) truth {
	if is {
		return yes
	}
	return no
}

func (t truth) not() truth {
	switch t {
	case yes:
		return no
	case no:
		return yes
	case unknown:
	}
	return unknown
}

// both and either are the AND and the OR of a three-valued logic: unknown where the unknown part decides.
func both(a, b truth) truth {
	switch {
	case a == no || b == no:
		return no
	case a == yes && b == yes:
		return yes
	default:
		return unknown
	}
}

func either(a, b truth) truth { return both(a.not(), b.not()).not() }

// answer is what a look says about one term.
type answer struct {
	truth truth
	// text says how it is.
	text string
	// never says why the term will not come true any more, and perhaps why not: with lasting only when it stays so, and
	// with gone it will not become false either.
	never   string
	lasting bool
	gone    bool
}

// answers are those about an expression's terms at one look.
type answers map[*node]answer

func (n *node) truth(of answers) truth {
	switch n.joint {
	case jointTerm:
		return of[n].truth
	case jointNot:
		return n.parts[0].truth(of).not()
	case jointAnd:
		result := yes
		for _, part := range n.parts {
			result = both(result, part.truth(of))
		}
		return result
	case jointOr:
		result := no
		for _, part := range n.parts {
			result = either(result, part.truth(of))
		}
		return result
	}
	return unknown
}

// can reports whether the expression can still become true, or false. With lasting it also believes the reasons that
// must last for a while.
func (n *node) can(become bool, of answers, lasting bool) bool {
	switch n.joint {
	case jointTerm:
		f := of[n]
		if f.never == "" || f.lasting && !lasting || f.truth == truthOf(become) {
			return true
		}
		return !become && !f.gone
	case jointNot:
		return n.parts[0].can(!become, of, lasting)
	case jointAnd, jointOr:
		// An AND becomes true when all its parts can, and false when one can.
		all := (n.joint == jointAnd) == become
		for _, part := range n.parts {
			if part.can(become, of, lasting) != all {
				return !all
			}
		}
		return all
	}
	return true
}

// why says what keeps the expression from being wanted, or, once it is, what makes it so.
func (n *node) why(wanted truth, of answers) string {
	switch n.joint {
	case jointTerm:
		return of[n].text
	case jointNot:
		return n.parts[0].why(wanted.not(), of)
	case jointAnd, jointOr:
	}
	is := n.truth(of) == wanted
	var texts []string
	for _, part := range n.parts {
		if (part.truth(of) == wanted) == is {
			texts = append(texts, part.why(wanted, of))
		}
	}
	// One part is enough for an OR to be true and for an AND to be false.
	if one := (n.joint == jointOr) == (wanted == yes); one && !is {
		return strings.Join(texts, ", or ")
	}
	return strings.Join(texts, "; ")
}

// nevers are the reasons why terms do not come true any more.
func (n *node) nevers(of answers) string {
	var texts []string
	n.each(func(n *node) {
		if text := of[n].never; text != "" {
			texts = append(texts, text)
		}
	})
	return strings.Join(texts, "; ")
}
