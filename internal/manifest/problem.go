package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Problem is one thing that is wrong with an input.
type Problem struct {
	// File is where the input came from; "" for one that no file holds.
	File string
	// Line in File, from 1; 0 when it is not known.
	Line int
	// Path of the field in its document, like spec.workload.manifests[0].metadata.labels[hyperfleet.io/gpu]; "" for
	// the document as a whole.
	Path string
	// Text says what is wrong and what to do.
	Text string
}

// String is one line: file:line: path: text.
func (p Problem) String() string {
	var parts []string
	switch {
	case p.File != "" && p.Line > 0:
		parts = append(parts, fmt.Sprintf("%s:%d", p.File, p.Line))
	case p.File != "":
		parts = append(parts, p.File)
	case p.Line > 0:
		parts = append(parts, fmt.Sprintf("line %d", p.Line))
	}
	if p.Path != "" {
		parts = append(parts, p.Path)
	}
	return strings.Join(append(parts, p.Text), ": ")
}

// Problems are all that is wrong with an input, as one error with one line each.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for index, problem := range p {
		lines[index] = problem.String()
	}
	return strings.Join(lines, "\n")
}

var plainKey = regexp.MustCompile(`^[A-Za-z_$][-A-Za-z0-9_$]*$`)

// under is the path of a key below path. Keys that are no plain word stand in brackets, as in k8s.io/apimachinery's
// field.Path.
func under(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + key + "]"
	case path == "":
		return key
	default:
		return path + "." + key
	}
}

// at is the path of an item of a list.
func at(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

// joined is a path below another one.
func joined(path, inner string) string {
	if path == "" || inner == "" || inner[0] == '[' {
		return path + inner
	}
	return path + "." + inner
}
