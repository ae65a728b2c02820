package manifest

const (
	kindSecret = "Secret"
	// maskBase64 is [Masked] as it would stand under data.
	maskBase64 = "KG1hc2tlZCk="

	plaintext = "Secrets would be readable in the workflow's history, because payloads are not encrypted yet"
)

// add takes note of a text under data or stringData.
func (d *secretData) add(path trail, value []byte) {
	if d == nil {
		return
	}
	switch text := textOf(value); {
	case text == Masked || text == maskBase64:
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
	case !c.secrets || c.offline:
	case c.allowSecrets:
		c.warnings.add(at, "%s", plaintext)
	default:
		c.problems.add(at, "%s; give --allow-plaintext-secrets if you accept that", plaintext)
	}
}
