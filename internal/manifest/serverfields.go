package manifest

import (
	"slices"

	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	fieldStatus   = "status"
	fieldMetadata = "metadata"
	// fieldGrace is the one that Maestro refuses with any value.
	fieldGrace = "deletionGracePeriodSeconds"

	setByServer = "set by a server: leave it out, or give --strip-server-fields"
)

// serverFields of an object's metadata are only ever set by a server. They come with what was exported from one.
var serverFields = []string{
	"resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink", "deletionTimestamp", fieldGrace,
}

// withoutServerFields drops what only a server sets from an object; every other byte stays.
func withoutServerFields(raw []byte) []byte {
	if kindOf(raw) != "an object" {
		return raw
	}
	return pruned(raw, nil, func(path trail) bool { return path.is(fieldMetadata) }, func(path trail, _ []byte) bool {
		return path.is(fieldStatus) || path.is(fieldMetadata, "*") && slices.Contains(serverFields, path[1].key)
	})
}

// serverFields refuses what only a server sets. Empty values, as tools print them, do no harm; an empty status does with
// server-side apply, which would take it over from its controller.
func (c *checker) serverFields(at place, raw []byte) {
	for member := range members(raw) {
		switch member.key() {
		case fieldStatus:
			if emptyDeep(member.value) {
				c.warnings.add(at.under(fieldStatus), "empty: leave it out, so that server-side apply does not take it from its controller")
			} else {
				c.problems.add(at.under(fieldStatus), setByServer)
			}
		case fieldMetadata:
			for field := range members(member.value) {
				name := field.key()
				if !slices.Contains(serverFields, name) || kindOf(field.value) == "null" {
					continue
				}
				if name == fieldGrace || !emptyDeep(field.value) && string(field.value) != "0" {
					c.problems.add(at.under(fieldMetadata).under(name), setByServer)
				}
			}
		}
	}
}

// workServerFields is the same for a work that is decoded already.
func (c *checker) workServerFields(at place, work *workv1.ManifestWork) {
	meta := &work.ObjectMeta
	isSet := map[string]bool{
		"resourceVersion": meta.ResourceVersion != "", "uid": meta.UID != "", "creationTimestamp": !meta.CreationTimestamp.IsZero(),
		"generation": meta.Generation != 0, "managedFields": len(meta.ManagedFields) > 0, "selfLink": meta.GetSelfLink() != "",
		"deletionTimestamp": meta.DeletionTimestamp != nil, fieldGrace: meta.DeletionGracePeriodSeconds != nil,
	}
	if len(meta.Finalizers) > 0 {
		c.problems.add(at.under(fieldMetadata).under("finalizers"), "a work's are not delivered, only its manifests' are: leave it out")
	}
	for _, name := range serverFields {
		if isSet[name] {
			c.problems.add(at.under(fieldMetadata).under(name), setByServer)
		}
	}
	if len(work.Status.Conditions) > 0 || len(work.Status.ResourceStatus.Manifests) > 0 {
		c.problems.add(at.under(fieldStatus), setByServer)
	}
}

// emptyDeep reports whether a value says nothing: null, an empty text, and objects and lists of nothing else.
func emptyDeep(raw []byte) bool {
	s := &scanner{raw: raw}
	for s.peek() != 0 {
		switch raw[s.pos] {
		case '{', '}', '[', ']', ',', ':':
			s.pos++
			continue
		}
		token := s.take()
		if s.peek() != ':' && string(token) != `null` && string(token) != `""` {
			return false
		}
		if len(token) == 0 {
			return true // not JSON
		}
	}
	return true
}
