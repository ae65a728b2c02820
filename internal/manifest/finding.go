package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// maxProblems bounds how many problems, and how many warnings, of one input are listed.
const maxProblems = 50

// maxText bounds one part of a message, which may quote what is wrong.
const maxText = 600

// place is where something stands: the document, counted without the empty ones, and the path in it.
type place struct {
	document int
	path     string
}

func (p place) under(key string) place { return place{p.document, under(p.path, key)} }
func (p place) at(index int) place     { return place{p.document, at(p.path, index)} }

// finding is a problem whose line is not looked up yet.
type finding struct {
	place
	// line when it is known already.
	line int
	text string
	// other is a second place, which the text ends with.
	other *place
	// scalar has to be written in quotes.
	scalar []byte
}

// findings collect what is wrong. Beyond the bound they are counted only.
type findings struct {
	list []finding
	more int
}

func (f *findings) add(at place, format string, args ...any) {
	if f.full() {
		return
	}
	f.list = append(f.list, finding{place: at, text: fmt.Sprintf(format, args...)})
}

// clash is a problem at one place with what stands at another.
func (f *findings) clash(at, other place, format string, args ...any) {
	if f.full() {
		return
	}
	f.list = append(f.list, finding{place: at, other: &other, text: fmt.Sprintf(format, args...)})
}

// onLine adds a problem whose line the reader knows.
func (f *findings) onLine(at place, line int, format string, args ...any) {
	if f.full() {
		return
	}
	f.list = append(f.list, finding{place: at, line: line, text: fmt.Sprintf(format, args...)})
}

// full counts what has no room any more.
func (f *findings) full() bool {
	if len(f.list) < maxProblems {
		return false
	}
	f.more++
	return true
}

func (f *findings) join(others findings) {
	for _, one := range others.list {
		if !f.full() {
			f.list = append(f.list, one)
		}
	}
	f.more += others.more
}

// dropBelow forgets findings about what stands at or below the places of others: they follow from those.
func (f *findings) dropBelow(others []finding) {
	f.list = slices.DeleteFunc(f.list, func(one finding) bool {
		return slices.ContainsFunc(others, func(other finding) bool {
			rest, below := strings.CutPrefix(one.path, other.path)
			return below && one.document == other.document && (rest == "" || rest[0] == '.' || rest[0] == '[')
		})
	})
}

func (f *findings) none() bool { return len(f.list) == 0 }

// source is the text that findings are about; without data, as for a request's work, no line is known.
type source struct {
	name string
	data []byte
}

// problems looks the lines up, all at once.
func (s source) problems(found findings) Problems {
	if found.none() {
		return nil
	}
	var wanted []place
	for _, one := range found.list {
		wanted = append(wanted, one.place)
		if one.other != nil {
			wanted = append(wanted, *one.other)
		}
	}
	spots := make([]spot, len(wanted))
	if s.data != nil {
		spots = locateAll(s.data, wanted)
	}
	problems := make(Problems, 0, len(found.list)+1)
	for _, one := range found.list {
		here := spots[0]
		spots = spots[1:]
		problem := Problem{File: s.name, Line: here.line, Path: shortened(one.path), Text: shortened(one.text)}
		if one.line > 0 {
			problem.Line = one.line
		}
		if one.scalar != nil {
			problem.Text += ": write it in quotes: " + shortened(quotedHint(one.scalar, here))
		}
		if one.other != nil {
			problem.Text += one.other.words(spots[0].line)
			spots = spots[1:]
		}
		problems = append(problems, problem)
	}
	if found.more > 0 {
		problems = append(problems, Problem{File: s.name, Text: fmt.Sprintf("and %d more", found.more)})
	}
	return problems
}

func shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// quotedHint writes a scalar as a text, as it stands in the file if it is found there: no stands for false, 01 for 1.
func quotedHint(scalar []byte, here spot) string {
	switch {
	case string(scalar) == "null":
		return `""`
	case here.scalar == "":
		return strconv.Quote(string(scalar))
	default:
		return strconv.Quote(here.scalar)
	}
}

// words for a second place.
func (p place) words(line int) string {
	text := ""
	if p.path != "" {
		text = " " + shortened(p.path)
	}
	if line > 0 {
		text += fmt.Sprintf(" on line %d", line)
	}
	return text
}

// fail makes the typed error of problems; nil when there are none.
func (s source) fail(errorType contract.ErrorType, found findings) error {
	problems := s.problems(found)
	if len(problems) == 0 {
		return nil
	}
	return contract.Errorf(errorType, "%w", problems)
}
