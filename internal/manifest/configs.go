package manifest

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	workv1 "open-cluster-management.io/api/work/v1"
)

// spec checks what a work's spec asks of the agents beside its manifests. What an agent could never do is a problem; what
// it would leave undone without a word is a warning.
func (c *checker) spec(at place, work *workv1.ManifestWork) {
	m := newMatcher(c.heads)
	for index := range work.Spec.ManifestConfigs {
		c.config(at.under("manifestConfigs").at(index), &work.Spec.ManifestConfigs[index], m)
	}
	if work.Spec.DeleteOption != nil {
		c.deleteOption(at.under("deleteOption"), work.Spec.DeleteOption, m)
	}
	if work.Spec.Executor != nil {
		c.executor(at.under("executor").under("subject"), work.Spec.Executor.Subject)
	}
}

func (c *checker) config(at place, config *workv1.ManifestConfigOption, m *matcher) {
	found := c.identifier(at.under("resourceIdentifier"), config.ResourceIdentifier, m, true)
	c.feedback(at.under("feedbackRules"), config.FeedbackRules, found)
	c.conditionRules(at.under("conditionRules"), config.ConditionRules)
	if config.UpdateStrategy != nil {
		c.updateStrategy(at.under("updateStrategy"), config.UpdateStrategy)
	}
	oneOf(c, at.under("feedbackScrapeType"), config.FeedbackScrapeType, "", workv1.FeedbackPollType, workv1.FeedbackWatchType)
}

// oneOf refuses a word that the API does not know. Where "" is among the known ones, the API has a default.
func oneOf[T ~string](c *checker, at place, have T, known ...T) {
	if slices.Contains(known, have) {
		return
	}
	var words []string
	for _, word := range known {
		if word != "" {
			words = append(words, string(word))
		}
	}
	what := fmt.Sprintf("unknown %q", string(have))
	if have == "" {
		what = "required"
	}
	c.problems.add(at, "%s: give %s", what, strings.Join(words, " or "))
}

// identifier checks that a resource identifier names an object of the work.
func (c *checker) identifier(at place, id workv1.ResourceIdentifier, m *matcher, wildcards bool) match {
	if id.Resource == "" {
		c.problems.add(at.under("resource"), "required: give the plural, like configmaps")
	}
	if id.Name == "" {
		c.problems.add(at.under("name"), "required")
	}
	if id.Resource == "" || id.Name == "" {
		return match{}
	}
	found := m.find(id, wildcards)
	switch {
	case found.matched != nil || found.unknown || c.part:
	case c.warnings.full():
	case found.named != nil:
		c.warnings.add(at.under("resource"), "%q matches no manifest of the work: the resource of %s is written %q",
			id.Resource, found.named.identity(), found.named.plural)
	default:
		field, text := m.difference(id, wildcards)
		if field != "" {
			at = at.under(field)
		}
		c.warnings.add(at, "%s matches no manifest of the work%s", identified(id), text)
	}
	return found
}

// maxMatches bounds how many manifests are compared with wildcards; whoever needs more is not warned any more.
const maxMatches = 5_000_000

// matcher finds manifests by their names.
type matcher struct {
	heads   []checkedHead
	exact   map[[3]string]*checkedHead
	matches int
}

// match is what an identifier names.
type match struct {
	// named has the group, namespace and name, matched the resource, too; statusless is matched and has no well-known
	// status. Each is the first of its sort.
	named, matched, statusless *checkedHead
	// unknown: nobody looked.
	unknown bool
}

func (m *match) add(h *checkedHead, resource string) {
	if m.named == nil {
		m.named = h
	}
	if (m.matched == nil || m.statusless == nil) && isResource(h.Kind, h.plural, resource) {
		if m.matched == nil {
			m.matched = h
		}
		if !wellKnown[h.APIVersion+"/"+h.Kind] {
			m.statusless = h
		}
	}
}

func newMatcher(heads []checkedHead) *matcher {
	m := &matcher{heads: heads, exact: map[[3]string]*checkedHead{}}
	for index := range heads {
		h := &heads[index]
		h.inGroup, h.plural = h.group(), pluralOf(h.Kind)
		key := [3]string{h.inGroup, h.Metadata.Namespace, h.Metadata.Name}
		h.next = m.exact[key]
		m.exact[key] = h
	}
	return m
}

// find the manifests with an identifier's group, namespace and name. Agents take * in the last two of a manifestConfig
// for any text, but not in an orphaningRule.
func (m *matcher) find(id workv1.ResourceIdentifier, wildcards bool) match {
	var found match
	if !wildcards || !strings.Contains(id.Namespace+id.Name, "*") {
		for h := m.exact[[3]string{id.Group, id.Namespace, id.Name}]; h != nil && !m.exhausted(1); h = h.next {
			found.add(h, id.Resource)
		}
		return found
	}
	if m.exhausted(len(m.heads)) {
		return match{unknown: true}
	}
	namespace, name := strings.Split(id.Namespace, "*"), strings.Split(id.Name, "*")
	for index := range m.heads {
		h := &m.heads[index]
		if h.inGroup == id.Group && globbed(namespace, h.Metadata.Namespace) && globbed(name, h.Metadata.Name) {
			found.add(h, id.Resource)
		}
	}
	return found
}

// exhausted counts comparisons.
func (m *matcher) exhausted(more int) bool {
	m.matches += more
	return m.matches > maxMatches
}

// difference names the field that keeps an identifier from matching the manifest that is nearest to it.
func (m *matcher) difference(id workv1.ResourceIdentifier, wildcards bool) (field, text string) {
	var nearest *checkedHead
	score := 2
	namespace, name := []string{id.Namespace}, []string{id.Name}
	if wildcards {
		namespace, name = strings.Split(id.Namespace, "*"), strings.Split(id.Name, "*")
	}
	for index := range m.heads {
		h := &m.heads[index]
		sameName, sameSpace, sameGroup := globbed(name, h.Metadata.Name), globbed(namespace, h.Metadata.Namespace), h.inGroup == id.Group
		points := 0
		if sameGroup && isResource(h.Kind, h.plural, id.Resource) {
			points += 2
		}
		if sameName {
			points += 2
		}
		if sameSpace {
			points++
		}
		if points <= score {
			continue
		}
		nearest, score = h, points
		switch {
		case !sameSpace:
			field, text = "namespace", fmt.Sprintf("namespace %q", id.Namespace)
		case !sameGroup:
			field, text = "group", fmt.Sprintf("group %q", id.Group)
		default:
			field, text = "name", fmt.Sprintf("name %q", id.Name)
		}
	}
	if nearest == nil {
		return "", ""
	}
	resource := nearest.plural
	if isResource(nearest.Kind, nearest.plural, id.Resource) {
		resource = id.Resource
	}
	return field, fmt.Sprintf(": %s matches nothing, the work has %s %s", text, resource, nearest.where())
}

func identified(id workv1.ResourceIdentifier) string {
	return strings.TrimSuffix(id.Resource+"."+id.Group, ".") + " " + strings.TrimPrefix(id.Namespace+"/"+id.Name, "/")
}

// where is the namespace and name of an object.
func (h head) where() string {
	if h.Metadata.Namespace == "" {
		return h.Metadata.Name
	}
	return h.Metadata.Namespace + "/" + h.Metadata.Name
}

// globbed matches a text with the parts of a pattern around its stars, each of which stands for any text, as for agents.
func globbed(parts []string, text string) bool {
	if len(parts) == 1 {
		return parts[0] == text
	}
	rest, found := strings.CutPrefix(text, parts[0])
	if !found {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// pluralOf guesses the plural of a kind, as the servers' own code does where nobody tells; it corrects the guess for
// words like Gateway.
func pluralOf(kind string) string {
	if kind == "" {
		return ""
	}
	singular := strings.ToLower(kind)
	if stem, found := strings.CutSuffix(singular, "y"); found && stem != "" && strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return singular + "s"
	}
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	return plural.Resource
}

// isResource leaves room for the plurals that a guess misses: of a kind that is a plural itself, and with a mere s.
func isResource(kind, plural, resource string) bool {
	if resource == plural {
		return true
	}
	singular := strings.ToLower(kind)
	if resource == singular {
		return strings.HasSuffix(singular, "s") && !strings.HasSuffix(singular, "ss")
	}
	return resource == singular+"s"
}

// configures: the agent finds the manifest by the identifier of a manifestConfig.
func configures(config workv1.ResourceIdentifier, id Identity) bool {
	return config.Group == id.Group && globbed(strings.Split(config.Namespace, "*"), id.Namespace) &&
		globbed(strings.Split(config.Name, "*"), id.Name) && isResource(id.Kind, pluralOf(id.Kind), config.Resource)
}
