package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
	k8sjson "sigs.k8s.io/json"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Input is what one file holds: a ManifestWork, or bare Kubernetes objects.
type Input struct {
	// Name is where the data came from, for messages.
	Name string
	// Work is nil for bare objects.
	Work *workv1.ManifestWork
	// Manifests are the work's, or the bare objects in the order given, each kind: List taken apart.
	Manifests []workv1.Manifest

	from source
	// root is where the work stands; places are where the manifests do.
	root   place
	places []place
	// problems and warnings that leave the input readable; Validate names them with its own.
	problems, warnings findings
	// mistyped are those of the problems about values that were left out.
	mistyped []finding
}

// Options of reading and checking an input.
type Options struct {
	// Consumer that the work is meant for; "" when it is not known yet.
	Consumer string
	// StripServerFields drops what only a server sets, instead of refusing it. It counts when the input is read.
	StripServerFields bool
	// AllowPlaintextSecrets takes Secrets although payloads are not encrypted.
	AllowPlaintextSecrets bool
	// Part inputs are merged into a stored work: what configs match is told by [Merge].
	Part bool
	// Offline inputs go nowhere where a Secret could be read.
	Offline bool
}

// ParseInput reads a file with one ManifestWork or with bare Kubernetes objects, YAML or JSON, in one or many documents.
// The error is typed InvalidManifest or TooLarge and names all problems, see [Problems]. Problems that leave the rest
// readable, like unknown fields, wait for [Input.Validate], which has to be called next.
func ParseInput(name string, data []byte, options Options) (*Input, error) {
	return parseInput(source{name: name, data: data}, data, options)
}

func parseInput(from source, data []byte, options Options) (*Input, error) {
	if len(data) > contract.MaxWorkBytes {
		return nil, TooLarge(from.name, int64(len(data)))
	}
	data = bytes.TrimPrefix(data, byteOrderMark)
	if from.data != nil {
		from.data = data
	}
	var found findings
	raws := documents(data, &found)
	if err := from.fail(contract.ErrInvalidManifest, found); err != nil {
		return nil, err
	}
	objects := objects(raws, &found)
	input := &Input{Name: from.name, from: from}
	if found.none() {
		input.take(objects, options, &found)
	}
	if err := from.fail(contract.ErrInvalidManifest, found); err != nil {
		return nil, err
	}
	return input, nil
}

// TooLarge is the refusal of a file of this size. Readers need not keep such a file to say how large it is.
func TooLarge(name string, size int64) error {
	return contract.Errorf(contract.ErrTooLarge, "%w", Problems{{
		File: name, Text: fmt.Sprintf("%d bytes, the limit is %d: split the work", size, contract.MaxWorkBytes),
	}})
}

// take decides what the input is: one work, or bare objects.
func (i *Input) take(objects []fileObject, options Options, found *findings) {
	var work *fileObject
	for index := range objects {
		if work == nil && objects[index].isWork() {
			work = &objects[index]
		}
	}
	switch {
	case len(objects) == 0:
		found.add(place{document: -1}, "empty: give one ManifestWork, or Kubernetes objects")
	case work == nil:
		i.takeObjects(objects, options)
	case len(objects) == 1:
		i.takeWork(*work, options, found)
	default:
		for index := range objects {
			other := &objects[index]
			switch {
			case other == work:
			case other.isWork():
				found.clash(other.place, work.place, "a second ManifestWork: give one per file; the first begins")
			default:
				found.clash(other.place, work.place, "%s beside a ManifestWork: put it among the work's manifests; the work begins", other.named())
			}
		}
	}
}

func (i *Input) takeObjects(objects []fileObject, options Options) {
	i.Manifests, i.places = make([]workv1.Manifest, 0, len(objects)), make([]place, 0, len(objects))
	for _, object := range objects {
		raw := object.raw
		if options.StripServerFields {
			raw = withoutServerFields(raw)
		}
		i.Manifests = append(i.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
		i.places = append(i.places, object.place)
	}
}

// takeWork decodes a work, also one with some values of another type than the API's.
func (i *Input) takeWork(object fileObject, options Options, found *findings) {
	i.root = object.place
	if object.apiVersion != workAPIVersion {
		i.problems.add(i.root.under("apiVersion"), "%q: want %s", object.apiVersion, workAPIVersion)
	}
	raw := i.workTexts(object.raw)
	if options.StripServerFields {
		raw = withoutServerFields(raw)
	}
	for member := range members(raw) {
		if member.key() == fieldStatus && emptyDeep(member.value) {
			i.warnings.add(i.root.under(fieldStatus), "empty: leave it out")
		}
	}
	var work workv1.ManifestWork
	unknown, err := k8sjson.UnmarshalStrict(raw, &work)
	// A decoder stops at the first value of a wrong type: without it, it finds the next.
	for wrong := 1; err != nil; wrong++ {
		var rest []byte
		if rest = i.problems.typeError(i.root, raw, err); rest == nil || wrong == maxTypeErrors {
			found.join(i.problems)
			return
		}
		i.mistyped = append(i.mistyped, i.problems.list[len(i.problems.list)-1])
		raw, work = rest, workv1.ManifestWork{}
		unknown, err = k8sjson.UnmarshalStrict(raw, &work)
	}
	for _, err := range unknown {
		var field k8sjson.FieldError
		if errors.As(err, &field) {
			path := field.FieldPath()
			i.problems.add(place{i.root.document, joined(i.root.path, path)}, "unknown field %q: correct its name or leave it out",
				path[strings.LastIndexByte(path, '.')+1:])
		}
	}
	i.Work = &work
	manifests := i.root.under("spec").under("workload").under("manifests")
	for index := range work.Spec.Workload.Manifests {
		if manifest := &work.Spec.Workload.Manifests[index]; options.StripServerFields {
			manifest.Raw = withoutServerFields(manifest.Raw)
		}
		i.places = append(i.places, manifests.at(index))
	}
	i.Manifests = work.Spec.Workload.Manifests
}

// workTexts names the labels and annotations of a work that are no texts and leaves them out, so that the rest can be
// read.
func (i *Input) workTexts(raw []byte) []byte {
	within := func(path trail) bool {
		return path.is("metadata") || path.is("metadata", "labels") || path.is("metadata", "annotations")
	}
	return pruned(raw, nil, within, func(path trail, value []byte) bool {
		if !path.isText() || kindOf(value) == "a text" {
			return false
		}
		i.problems.noText(place{i.root.document, path.below(i.root.path)}, value)
		return true
	})
}

// Validate is the check of everything that needs no server, for an input from a file: what [Validate] checks, what the
// reading found, and Secrets that would be readable in a workflow's history. The error is typed InvalidManifest or
// TooLarge and names all problems; warnings do not stop an apply.
func (i *Input) Validate(options Options) (warnings Problems, err error) {
	c := &checker{secrets: true, allowSecrets: options.AllowPlaintextSecrets, offline: options.Offline, part: options.Part}
	c.warnings.join(i.warnings)
	if i.Work != nil {
		c.work(i.root, i.Work, options.Consumer)
		c.manifests(i.Work.Spec.Workload.Manifests, i.placeOf)
		c.size(i.root.under("spec").under("workload").under("manifests"), i.Work)
		c.spec(i.root.under("spec"), i.Work)
	} else {
		c.manifests(i.Manifests, i.placeOf)
		c.bareSize(i.Manifests, i.placeOf)
	}
	c.problems.dropBelow(i.mistyped)
	own := c.problems
	c.problems = findings{list: slices.Clone(i.problems.list), more: i.problems.more}
	c.problems.join(own)
	from := i.from
	if from.name == "" {
		from.name = i.Name
	}
	return from.problems(c.warnings), from.fail(c.errorType(), c.problems)
}

// placeOf a manifest, also of an input that was not read from a file.
func (i *Input) placeOf(index int) place {
	switch {
	case index < len(i.places):
		return i.places[index]
	case i.Work != nil:
		return manifestPlace(index)
	default:
		return place{document: index}
	}
}
