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
	matched := c.identifier(at.under("resourceIdentifier"), config.ResourceIdentifier, m, true)
	c.feedback(at.under("feedbackRules"), config.FeedbackRules, matched)
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

// identifier checks that a resource identifier names an object of the work, and gives those that it names.
func (c *checker) identifier(at place, id workv1.ResourceIdentifier, m *matcher, wildcards bool) []checkedHead {
	if id.Resource == "" {
		c.problems.add(at.under("resource"), "required: give the plural, like configmaps")
	}
	if id.Name == "" {
		c.problems.add(at.under("name"), "required")
	}
	if id.Resource == "" || id.Name == "" {
		return nil
	}
	named := m.named(id, wildcards)
	matched := slices.DeleteFunc(slices.Clone(named), func(h checkedHead) bool { return !h.isResource(id.Resource) })
	switch {
	case len(matched) > 0:
	case len(named) > 0:
		c.warnings.add(at.under("resource"), "%q matches no manifest of the work: the resource of %s is written %q",
			id.Resource, named[0].identity(), named[0].resource())
	default:
		field, text := m.difference(id)
		if field != "" {
			at = at.under(field)
		}
		c.warnings.add(at, "%s matches no manifest of the work%s", identified(id), text)
	}
	return matched
}

// matcher finds manifests by their names.
type matcher struct {
	heads []checkedHead
	exact map[[3]string][]checkedHead
}

func newMatcher(heads []checkedHead) *matcher {
	m := &matcher{heads: heads, exact: map[[3]string][]checkedHead{}}
	for _, h := range heads {
		key := [3]string{h.group(), h.Metadata.Namespace, h.Metadata.Name}
		m.exact[key] = append(m.exact[key], h)
	}
	return m
}

// named gives the manifests with an identifier's group, namespace and name. Agents take * in the last two of a
// manifestConfig for any text, but not in an orphaningRule.
func (m *matcher) named(id workv1.ResourceIdentifier, wildcards bool) []checkedHead {
	if !wildcards || !strings.Contains(id.Namespace+id.Name, "*") {
		return m.exact[[3]string{id.Group, id.Namespace, id.Name}]
	}
	var found []checkedHead
	for _, h := range m.heads {
		if h.group() == id.Group && glob(id.Namespace, h.Metadata.Namespace) && glob(id.Name, h.Metadata.Name) {
			found = append(found, h)
		}
	}
	return found
}

// difference names the field that keeps an identifier from matching the manifest that is nearest to it.
func (m *matcher) difference(id workv1.ResourceIdentifier) (field, text string) {
	nearest, score := checkedHead{}, 0
	for _, h := range m.heads {
		sameName, sameSpace, sameGroup := glob(id.Name, h.Metadata.Name), glob(id.Namespace, h.Metadata.Namespace), h.group() == id.Group
		points := 0
		if sameGroup && h.isResource(id.Resource) {
			points += 2
		}
		if sameName {
			points += 2
		}
		if sameSpace {
			points++
		}
		if points < 3 || points <= score {
			continue
		}
		nearest, score = h, points
		switch {
		case !sameSpace:
			field, text = "namespace", fmt.Sprintf("namespace %q", id.Namespace)
		case !sameGroup:
			field, text = "group", fmt.Sprintf("group %q", id.Group)
		case !sameName:
			field, text = "name", fmt.Sprintf("name %q", id.Name)
		}
	}
	if score == 0 {
		return "", ""
	}
	return field, fmt.Sprintf(": %s matches nothing, the work has %s %s", text, nearest.resource(), nearest.where())
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

// glob matches as agents do: * stands for any text.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
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

// resource guesses the plural of the kind, as the servers' own code does where nobody tells; it corrects the guess for
// words like Gateway.
func (h head) resource() string {
	if h.Kind == "" {
		return ""
	}
	singular := strings.ToLower(h.Kind)
	if stem, found := strings.CutSuffix(singular, "y"); found && stem != "" && strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return singular + "s"
	}
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: h.Kind})
	return plural.Resource
}

// isResource leaves room for the plurals that a guess misses: of a kind that is a plural itself, and with a mere s.
func (h head) isResource(resource string) bool {
	singular := strings.ToLower(h.Kind)
	if resource == singular {
		return resource == h.resource() || strings.HasSuffix(singular, "s") && !strings.HasSuffix(singular, "ss")
	}
	return resource == h.resource() || resource == singular+"s"
}
