package manifest

import (
	"encoding/json"
	"maps"
	"slices"
)

// maxDiffPath of a value whose inside is compared field by field, in bytes: thousands of fields below a path of many
// kilobytes would need more memory than any reader of them has.
const maxDiffPath = 1000

// value compares two values that are both there.
func (d *differ) value(path string, have, want any, s shade) {
	s = s.sharpened(have, want) // what was or becomes a Secret is one on both sides
	deep := len(path) > maxDiffPath
	switch desired := want.(type) {
	case map[string]any:
		if stored, ok := have.(map[string]any); ok && !deep && s != shadeHidden {
			d.objects(path, stored, desired, s)
			return
		}
	case []any:
		if stored, ok := have.([]any); ok && !deep && (s == shadeOpen || s == shadeSecretItems) {
			d.lists(path, stored, desired, s)
			return
		}
	}
	if !d.equal(have, want) {
		d.changes = append(d.changes, Change{Manifest: d.manifest, Path: path, Op: Changed, Old: encodeMasked(have, s), New: encodeMasked(want, s)})
	}
}

// equal compares values of which nothing inside is told apart.
func (d *differ) equal(have, want any) bool {
	stored, isNumber := have.(json.Number)
	if desired, both := want.(json.Number); isNumber && both {
		return d.same(string(stored), string(desired))
	}
	return sameValue(have, want)
}

func (d *differ) objects(path string, have, want map[string]any, s shade) {
	names := slices.Collect(maps.Keys(want))
	for name := range have {
		if _, both := want[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		d.member(under(path, name), have, want, name, s.under(name))
	}
}

// member compares what two maps hold under a key, if anything: null is something.
func (d *differ) member(path string, have, want map[string]any, key string, s shade) {
	stored, was := have[key]
	desired, is := want[key]
	switch {
	case was && is:
		d.value(path, stored, desired, s)
	case was:
		d.one(Removed, path, stored, s)
	case is:
		d.one(Added, path, desired, s)
	}
}

func (d *differ) lists(path string, have, want []any, s shade) {
	for _, key := range []string{"name", "type", "key"} {
		old, unique := itemNames(have, key)
		latest, uniqueToo := itemNames(want, key)
		if unique && uniqueToo {
			d.items(path, have, want, old, latest, s)
			return
		}
	}
	for index := range max(len(have), len(want)) {
		switch {
		case index >= len(want):
			d.one(Removed, at(path, index), have[index], s.item())
		case index >= len(have):
			d.one(Added, at(path, index), want[index], s.item())
		default:
			d.value(at(path, index), have[index], want[index], s.item())
		}
	}
}

// itemNames are the values of a key that tells the items of a list apart, in the form key=value.
func itemNames(list []any, key string) (names []string, unique bool) {
	seen := make(map[string]bool, len(list))
	for _, item := range list {
		object, _ := item.(map[string]any)
		name, _ := object[key].(string)
		if name == "" || seen[name] {
			return nil, false
		}
		seen[name] = true
		names = append(names, key+"="+name)
	}
	return names, true
}

// items compares two lists whose items have names.
func (d *differ) items(path string, have, want []any, old, latest []string, s shade) {
	pairs, gone, moved := pairUp(old, latest)
	if moved {
		d.moved(path, old, latest)
	}
	for index, partner := range pairs {
		inner := path + "[" + latest[index] + "]"
		if partner < 0 {
			d.one(Added, inner, want[index], s.item())
		} else {
			d.value(inner, have[partner], want[index], s.item())
		}
	}
	for _, index := range gone {
		d.one(Removed, path+"["+old[index]+"]", have[index], s.item())
	}
}

// pairUp gives for each wanted name the index of the stored one, or -1, the stored ones that nothing matches, and
// whether those that match stand in another order. Equal names are matched in their order.
func pairUp[K comparable](have, want []K) (pairs, gone []int, moved bool) {
	places := make(map[K][]int, len(have))
	for index, name := range have {
		places[name] = append(places[name], index)
	}
	matched := make([]bool, len(have))
	last := -1
	for _, name := range want {
		place := places[name]
		if len(place) == 0 {
			pairs = append(pairs, -1)
			continue
		}
		pairs, places[name], matched[place[0]] = append(pairs, place[0]), place[1:], true
		moved = moved || place[0] < last
		last = place[0]
	}
	for index := range have {
		if !matched[index] {
			gone = append(gone, index)
		}
	}
	return pairs, gone, moved
}

// one records a value that is there on one side only.
func (d *differ) one(op ChangeOp, path string, value any, s shade) {
	change := Change{Manifest: d.manifest, Path: path, Op: op}
	if op == Added {
		change.New = encodeMasked(value, s)
	} else {
		change.Old = encodeMasked(value, s)
	}
	d.changes = append(d.changes, change)
}

func (d *differ) moved(path string, old, latest []string) {
	names := func(list []string) json.RawMessage {
		values := make([]any, len(list))
		for index, name := range list {
			values[index] = name
		}
		return encodeMasked(values, shadeOpen)
	}
	d.changes = append(d.changes, Change{Manifest: d.manifest, Path: path, Op: Moved, Old: names(old), New: names(latest)})
}
