package simcluster

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"
)

// manifest is one object of a work, with its script.
type manifest struct {
	meta   workv1.ManifestResourceMeta
	raw    json.RawMessage
	script script
}

// parseManifests reads the manifests of a work. The errors say what was ignored; a manifest that is no object
// is kept with what is known of it.
func parseManifests(from []workv1.Manifest) ([]manifest, []error) {
	var all []manifest
	var ignored []error
	for i, m := range from {
		parsed, errs := parseManifest(i, m.Raw)
		all = append(all, parsed)
		for _, err := range errs {
			ignored = append(ignored, fmt.Errorf("manifest %d (%s %s): %w", i, parsed.meta.Kind, parsed.meta.Name, err))
		}
	}
	return all, ignored
}

func parseManifest(ordinal int, raw []byte) (manifest, []error) {
	m := manifest{raw: raw, meta: workv1.ManifestResourceMeta{Ordinal: int32(ordinal)}, script: defaultScript()}
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &object); err != nil {
		return m, []error{fmt.Errorf("read the object: %w", err)}
	}
	kind := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind)
	m.meta.Group, m.meta.Version, m.meta.Kind = kind.Group, kind.Version, kind.Kind
	m.meta.Resource = plural(kind.Kind)
	m.meta.Namespace, m.meta.Name = object.Namespace, object.Name
	var ignored []error
	m.script, ignored = parseScript(object.Annotations)
	return m, ignored
}

// plural guesses the resource name of a kind, as there is no API server to ask.
func plural(kind string) string {
	singular := strings.ToLower(kind)
	switch {
	case singular == "":
		return ""
	case singular == "endpoints":
		return singular
	case strings.HasSuffix(singular, "s"), strings.HasSuffix(singular, "x"), strings.HasSuffix(singular, "ch"):
		return singular + "es"
	case strings.HasSuffix(singular, "y") && !strings.HasSuffix(singular, "ay") && !strings.HasSuffix(singular, "ey"):
		return strings.TrimSuffix(singular, "y") + "ies"
	default:
		return singular + "s"
	}
}

// identity is what makes two manifests the same object.
type identity struct {
	group, kind, namespace, name string
}

func (m manifest) identity() identity { return identityOf(m.meta) }

func identityOf(meta workv1.ManifestResourceMeta) identity {
	return identity{meta.Group, meta.Kind, meta.Namespace, meta.Name}
}
