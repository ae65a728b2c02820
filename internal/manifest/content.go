package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	workv1 "open-cluster-management.io/api/work/v1"
)

// validateContent finds the values of a manifest that are JSON, but that Maestro cannot keep: its server reads numbers
// as doubles, and its database takes no NUL.
func validateContent(manifest workv1.Manifest) []error {
	value, err := decodeExact(manifest.Raw)
	if err != nil {
		return nil // said already, see readHead
	}
	var problems []error
	unkeepable(value, nil, func(path []string, what string) {
		problems = append(problems, fmt.Errorf("%q: %s", strings.Join(path, "."), what))
	})
	return problems
}

func unkeepable(value any, path []string, bad func(path []string, what string)) {
	const nul = "holds a NUL character, which Maestro's database cannot keep"
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			inner := append(path, key) // nobody keeps a path
			if strings.Contains(key, "\x00") {
				bad(inner, nul)
			}
			unkeepable(value[key], inner, bad)
		}
	case []any:
		for index, item := range value {
			unkeepable(item, append(path, strconv.Itoa(index)), bad)
		}
	case string:
		if strings.Contains(value, "\x00") {
			bad(path, nul)
		}
	case json.Number:
		if _, err := strconv.ParseFloat(string(value), 64); errors.Is(err, strconv.ErrRange) {
			bad(path, string(value)+" is beyond the numbers that Maestro can keep")
		}
	}
}
