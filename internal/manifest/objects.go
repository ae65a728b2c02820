package manifest

import "strings"

// maxLists bounds how deep lists of objects may stand in each other.
const maxLists = 10

// fileObject is one Kubernetes object of a file.
type fileObject struct {
	place
	raw []byte
	// kind and apiVersion as far as they are texts.
	kind, apiVersion string
}

func (o fileObject) isWork() bool { return o.kind == workKind && isWorkGroup(o.apiVersion) }

// isWorkGroup takes every version, and none: whoever writes kind: ManifestWork means one.
func isWorkGroup(apiVersion string) bool {
	group, _, found := strings.Cut(apiVersion, "/")
	return apiVersion == "" || found && group == workGroup
}

// named says what an object is, for messages.
func (o fileObject) named() string {
	if o.kind == "" {
		return "an object without a kind"
	}
	h, _ := headOf(o.raw)
	return h.identity().String()
}

// objects takes the lists among the documents apart.
func objects(documents [][]byte, found *findings) []fileObject {
	o := &opener{found: found, objects: make([]fileObject, 0, len(documents))}
	for index, raw := range documents {
		if at := (place{document: index}); kindOf(raw) == "a list" {
			o.list(at, raw, fileObject{}, 0)
		} else {
			o.open(at, raw, fileObject{}, 0)
		}
	}
	return o.objects
}

type opener struct {
	objects []fileObject
	found   *findings
}

// open adds an object, or the items of a list. As in kubectl, an item without a kind gets its list's: the servers leave
// it out in lists of one kind.
func (o *opener) open(at place, raw []byte, list fileObject, depth int) {
	if kind := kindOf(raw); kind != "an object" {
		o.found.add(at, "not a Kubernetes object, but %s: correct or remove it", kind)
		return
	}
	one := fileObject{place: at, raw: raw}
	var inner []byte
	var name string
	for member := range members(raw) {
		switch member.key() {
		case "kind":
			one.kind = textOf(member.value)
		case "apiVersion":
			one.apiVersion = textOf(member.value)
		case "items":
			inner = member.value
		case "metadata":
			name = memberText(member.value, "name")
		}
	}
	if one.kind == "" && one.apiVersion == "" && list.kind != "" {
		one = one.as(list)
	}
	if !one.isList(inner, name) {
		o.objects = append(o.objects, one)
		return
	}
	if depth >= maxLists {
		o.found.add(at, "lists in lists, more than %d deep: give the objects themselves", maxLists)
		return
	}
	o.list(at.under("items"), inner, fileObject{kind: strings.TrimSuffix(one.kind, "List"), apiVersion: one.apiVersion}, depth+1)
}

func (o *opener) list(at place, raw []byte, kind fileObject, depth int) {
	for index, item := range items(raw) {
		o.open(at.at(index), item, kind, depth)
	}
}

// isList: a List of any objects, or a list of one kind. An object with a name is none, whatever its kind is called.
func (o fileObject) isList(inner []byte, name string) bool {
	if o.kind == "List" && o.apiVersion == "v1" {
		return true
	}
	return strings.HasSuffix(o.kind, "List") && name == "" && inner != nil && kindOf(inner) == "a list"
}

// as gives the object the kind of its list, in front of what it has.
func (o fileObject) as(list fileObject) fileObject {
	o.kind, o.apiVersion = list.kind, list.apiVersion
	head := `{"apiVersion":` + string(quoted(list.apiVersion)) + `,"kind":` + string(quoted(list.kind))
	rest := pruned(o.raw, nil, func(trail) bool { return false }, func(path trail, _ []byte) bool { return path.is("apiVersion") || path.is("kind") })
	if len(rest) > len("{}") {
		head += ","
	}
	o.raw = append([]byte(head), rest[1:]...)
	return o
}

// memberText gives a member of an object that is a text, else "".
func memberText(raw []byte, key string) string {
	for member := range members(raw) {
		if member.key() == key {
			return textOf(member.value)
		}
	}
	return ""
}
