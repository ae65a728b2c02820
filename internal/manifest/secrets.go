package manifest

import workv1 "open-cluster-management.io/api/work/v1"

const (
	kindSecret = "Secret"
	// mask is what get and build print in place of a secret value; maskBase64 is the same under data.
	mask       = "(masked)"
	maskBase64 = "KG1hc2tlZCk="
	// lastApplied is where kubectl keeps a copy of what it applied, which is masked too.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

	plaintext = "Secrets would be readable in the workflow's history, because payloads are not encrypted yet"
)

// add takes note of a text under data or stringData.
func (d *secretData) add(path trail, value []byte) {
	if d == nil {
		return
	}
	switch text := textOf(value); {
	case text == mask || text == maskBase64:
		if len(d.masks) < maxProblems {
			d.masks = append(d.masks, path.below(""))
		}
	case text != "":
		d.content = true
	}
}

// some takes note of any other value.
func (d *secretData) some() {
	if d != nil {
		d.content = true
	}
}

// secret tells about the values of a Secret, once for all of them.
func (w *contentWalk) secret(path trail, parts []*secretData) {
	told := false
	for _, part := range parts {
		for _, masked := range part.masks {
			w.tell(maskedValue, trail{{key: masked, written: true}}, nil)
		}
		if part.content && !told {
			w.tell(secret, path.key(part.field), nil)
			told = true
		}
	}
}

// secret refuses a Secret at a place, unless the caller accepts that it can be read.
func (c *checker) secret(at place) {
	switch {
	case !c.secrets:
	case c.allowSecrets:
		c.warnings.add(at, "%s", plaintext)
	default:
		c.problems.add(at, "%s; give --allow-plaintext-secrets if you accept that", plaintext)
	}
}

// Secrets names the Secrets with content among manifests, those inside of other objects included, by the identity of the
// manifest and the path in it.
func Secrets(manifests []workv1.Manifest) []string {
	var found []string
	for index, manifest := range manifests {
		walkContent(manifest.Raw, func(what note, path trail, _ []byte) {
			if what != secret {
				return
			}
			h, _ := readHead(manifest)
			name := manifestPlace(index).path
			if identity := h.identity(); identity.Kind != "" && identity.Name != "" {
				name = identity.String()
			}
			found = append(found, name+": "+path.below(""))
		})
	}
	return found
}
