package manifest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// apiVersionProblems re-states Maestro's own rule: [group/]version, the group a DNS subdomain, the version a DNS-1035
// label.
func apiVersionProblems(apiVersion string) []string {
	if apiVersion == "" {
		return []string{"required"}
	}
	parts := strings.Split(apiVersion, "/")
	if len(parts) > 2 {
		return []string{fmt.Sprintf("%q: want version or group/version", apiVersion)}
	}
	var problems []string
	version := parts[len(parts)-1]
	if len(parts) == 2 {
		for _, text := range validation.IsDNS1123Subdomain(parts[0]) {
			problems = append(problems, fmt.Sprintf("%q: group: %s", apiVersion, text))
		}
	}
	for _, text := range validation.IsDNS1035Label(version) {
		problems = append(problems, fmt.Sprintf("%q: version: %s", apiVersion, text))
	}
	return problems
}
