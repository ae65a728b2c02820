package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
)

// maxConfigProblems bounds a message; the rest is counted.
const maxConfigProblems = 100

// nodepoolReader turns a config's tree into its types and gathers all that is wrong with it.
type nodepoolReader struct {
	file string
	// root is nil for what YAML cannot read.
	root     *goyaml.Node
	problems Problems
	// beyond counts the problems that nobody will read.
	beyond int
	// pool that is being read, for messages.
	pool string
}

func (r *nodepoolReader) line(path string) int {
	if r.root == nil {
		return 0
	}
	return lineIn(r.root, path)
}

func (r *nodepoolReader) bad(path, format string, args ...any) {
	if len(r.problems) == maxConfigProblems {
		r.beyond++
		return
	}
	text := fmt.Sprintf(format, args...)
	if r.pool != "" {
		text = r.pool + ": " + text
	}
	r.problems = append(r.problems, Problem{File: r.file, Line: r.line(path), Path: path, Text: text})
}

// found are the problems in the order of the file.
func (r *nodepoolReader) found() Problems {
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
	if r.beyond > 0 {
		r.problems = append(r.problems, Problem{File: r.file, Text: fmt.Sprintf("and %d more problems", r.beyond)})
	}
	return r.problems
}

func (r *nodepoolReader) doubled(path, key string, line, first int) {
	r.bad(path, "%q is set twice, on line %d and on line %d: keep one", shown(key), first, line)
	if r.beyond == 0 {
		r.problems[len(r.problems)-1].Line = line
	}
}

// unreadable says what the reader of YAML and JSON said.
func (r *nodepoolReader) unreadable(err error) {
	var problems Problems
	if errors.As(err, &problems) {
		for _, problem := range problems {
			problem.File = r.file
			r.problems = append(r.problems, problem)
		}
		return
	}
	for _, text := range strings.Split(err.Error(), "\n") {
		line, text := cutLine(text)
		r.problems = append(r.problems, Problem{File: r.file, Line: line, Text: text})
	}
}

var textLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// cutLine takes the line off the front of a reader's message.
func cutLine(text string) (int, string) {
	match := textLine.FindStringSubmatch(text)
	if match == nil {
		return 0, text
	}
	line, _ := strconv.Atoi(match[1])
	return line, text[len(match[0]):]
}

// mapping gives the known keys that are set.
func (r *nodepoolReader) mapping(path string, value any, keys []string) map[string]any {
	fields, ok := value.(map[string]any)
	if !ok {
		r.bad(path, "%s: want a mapping with the keys %s", described(value), strings.Join(keys, ", "))
		return nil
	}
	known := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case !slices.Contains(keys, key) && len(r.problems) == maxConfigProblems:
			r.beyond++ // a suggestion takes its time
		case !slices.Contains(keys, key):
			r.bad(under(path, key), "%s is not a known key: %s", shown(key), suggestion(key, keys))
		case fields[key] != nil:
			known[key] = fields[key]
		}
	}
	return known
}

func (r *nodepoolReader) list(path, key string, fields map[string]any) []any {
	value, found := fields[key]
	if !found {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		r.bad(under(path, key), "%s: %s: want a list", key, described(value))
	}
	return list
}

// required gives a text that must be there.
func (r *nodepoolReader) required(path, key string, fields map[string]any) (string, bool) {
	value, found := fields[key]
	if !found || value == "" {
		r.bad(under(path, key), "%s is missing", key)
		return "", false
	}
	return r.text(under(path, key), key, value)
}

func (r *nodepoolReader) text(path, what string, value any) (string, bool) {
	text, ok := value.(string)
	if !ok {
		r.bad(path, "%s: %s: write it in quotes", what, described(value))
	}
	return text, ok
}

// count reads a whole number from least to what Kubernetes holds.
func (r *nodepoolReader) count(path, what string, value any, least int64) *int64 {
	number, ok := value.(json.Number)
	if !ok {
		hint := "want a whole number"
		if text, isText := value.(string); isText {
			if _, err := strconv.ParseInt(text, 10, 64); err == nil {
				hint = "write the number without quotes"
			}
		}
		r.bad(path, "%s: %s: %s", what, described(value), hint)
		return nil
	}
	count, err := strconv.ParseInt(string(number), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		r.bad(path, "%s: %s is not a whole number", what, shown(string(number)))
	case count < least:
		r.bad(path, "%s: %s is less than %d", what, shown(string(number)), least)
	case count > math.MaxInt32:
		r.bad(path, "%s: %s is more than %d", what, shown(string(number)), math.MaxInt32)
	default:
		return &count
	}
	return nil
}

// rule reports what a check of k8s.io/apimachinery has to say.
func (r *nodepoolReader) rule(path, what, value string, problems []string) {
	for _, problem := range problems {
		r.bad(path, "%s %q: %s", what, shown(value), problem)
	}
}

// described names a value and its kind.
func described(value any) string {
	switch value := value.(type) {
	case nil:
		return "nothing is given"
	case string:
		return fmt.Sprintf("%q is a string", shown(value))
	case json.Number:
		return shown(string(value)) + " is a number"
	case bool:
		return fmt.Sprintf("%t is a boolean", value)
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}

var withoutDashes = strings.NewReplacer("-", "", "_", "")

// suggestion is the known key that was most likely meant, or all of them.
func suggestion(key string, keys []string) string {
	const far = 3
	plain := func(key string) string { return strings.ToLower(withoutDashes.Replace(key)) }
	best, nearest := far, ""
	for _, known := range keys {
		if len(key) > 2*len(known)+far {
			continue
		}
		if d := distance(plain(key), plain(known)); d < best && d < len(known) {
			best, nearest = d, known
		}
	}
	if nearest != "" {
		return "did you mean " + nearest + "?"
	}
	return "known are " + strings.Join(keys, ", ")
}

// distance is Levenshtein's, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for column := range row {
		row[column] = column
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
