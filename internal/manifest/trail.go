package manifest

// trail is the way from the top of a document to a value. Its text is only made for what is reported.
type trail []crumb

// crumb is one key, or one index when list is set.
type crumb struct {
	key   string
	index int
	list  bool
	// written: the key is the text of a whole trail.
	written bool
}

func (t trail) key(key string) trail { return append(t, crumb{key: key}) }
func (t trail) item(index int) trail { return append(t, crumb{index: index, list: true}) }

// maxPath bounds the text of a path, which aliases can make larger than any input.
const maxPath = 4096

// below gives the trail's path under another path.
func (t trail) below(path string) string {
	out := []byte(path)
	for _, crumb := range t {
		if len(out)+len(crumb.key) > maxPath {
			return string(out) + "…"
		}
		switch {
		case crumb.written:
			out = append(out[:0], joined(string(out), crumb.key)...)
		case crumb.list:
			out = append(out, at("", crumb.index)...)
		case len(out) > 0 && plainKey.MatchString(crumb.key):
			out = append(append(out, '.'), crumb.key...)
		default:
			out = append(out, under("", crumb.key)...)
		}
	}
	return string(out)
}

// is reports whether the trail consists of these keys; * stands for any key or index.
func (t trail) is(keys ...string) bool {
	if len(t) != len(keys) {
		return false
	}
	for index, key := range keys {
		if key != "*" && (t[index].list || t[index].key != key) {
			return false
		}
	}
	return true
}

// isText reports whether the value at the trail is a label or an annotation, of the object or of the pods it makes.
func (t trail) isText() bool {
	if len(t) < 3 || t[len(t)-2].key != "labels" && t[len(t)-2].key != "annotations" {
		return false
	}
	switch owner := t[:len(t)-2]; len(owner) {
	case 1:
		return owner.is("metadata")
	case 3:
		return owner.is("spec", "template", "metadata") || owner.is("spec", "jobTemplate", "metadata")
	default:
		return owner.is("spec", "jobTemplate", "spec", "template", "metadata")
	}
}

// inData: the value stands where a Secret has its content, so that no message shows it.
func (t trail) inData() bool {
	for _, step := range t {
		if step.key == "data" || step.key == "stringData" {
			return true
		}
	}
	return false
}
