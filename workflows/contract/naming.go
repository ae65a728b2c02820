package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// Granularity says how many objects share one ManifestWork.
type Granularity string

const (
	// GranularityAdapter is one work per cluster and adapter: hyperfleet-<cluster>-<adapter>.
	GranularityAdapter Granularity = "adapter"
	// GranularityResource is one work per resource, which shares nothing: <cluster>-<adapter>-<resource>.
	GranularityResource Granularity = "resource"
	// GranularityCluster is one work per cluster: hyperfleet-<cluster>.
	GranularityCluster Granularity = "cluster"
)

// maxShown keeps a message readable whatever the input holds.
const maxShown = 80

const workPrefix = "hyperfleet"

// sharedPrefix is how the names of works begin that several writers share, see [WorkName].
const sharedPrefix = workPrefix + "-"

// maxName is the length of a DNS-1123 label, which Maestro demands of a work's name.
const maxName = 63

// namePart is a DNS-1123 label of any length.
var namePart = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// WorkName is the name of the work that holds a resource: a DNS-1123 label that depends on the parts only. The parts
// that a granularity does not use are ignored. A name of more than 63 bytes is cut and ends in a hash of its parts, so
// that ("a-b", "c") and ("a", "b-c") stay apart where both are cut. Names that need no cut are joined only: those two
// then are one name, as in every other HyperFleet adapter. The error names the part that is missing or unfit.
func WorkName(granularity Granularity, cluster, adapter, resource string) (string, error) {
	var kinds, parts []string
	switch granularity {
	case GranularityAdapter:
		kinds, parts = []string{"cluster", "adapter"}, []string{cluster, adapter}
	case GranularityResource:
		kinds, parts = []string{"cluster", "adapter", "resource"}, []string{cluster, adapter, resource}
	case GranularityCluster:
		kinds, parts = []string{"cluster"}, []string{cluster}
	default:
		return "", fmt.Errorf("name a work: granularity %q: want %s, %s or %s", granularity, GranularityAdapter, GranularityResource, GranularityCluster)
	}
	for index, part := range parts {
		if part == "" {
			return "", fmt.Errorf("name a work by %s: the %s is missing", granularity, kinds[index])
		}
		if !namePart.MatchString(part) {
			return "", fmt.Errorf("name a work by %s: %s %q: want lower-case letters, digits and '-', beginning and ending with a letter or digit",
				granularity, kinds[index], cut(part, maxShown))
		}
	}
	name := strings.Join(parts, "-")
	if granularity != GranularityResource {
		name = workPrefix + "-" + name
	}
	return ShortLabel(name, append([]string{string(granularity)}, parts...)...), nil
}

// ShortLabel cuts a name of more than 63 bytes, the most that a DNS label has, and ends it with a hash of the parts that
// it was made of.
func ShortLabel(name string, parts ...string) string {
	if len(name) <= maxName {
		return name
	}
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	suffix := "-" + hex.EncodeToString(hash.Sum(nil)[:4])
	return strings.TrimRight(name[:maxName-len(suffix)], "-") + suffix
}
