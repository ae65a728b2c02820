package manifest

import (
	workv1 "open-cluster-management.io/api/work/v1"
)

// Input is what one file holds: a ManifestWork, or bare Kubernetes objects.
type Input struct {
	// Name is where the data came from, for messages.
	Name string
	// Work is nil for bare objects.
	Work *workv1.ManifestWork
	// Manifests are the work's, or the bare objects in the order given, each kind: List taken apart.
	Manifests []workv1.Manifest
}

// Options of reading and checking an input.
type Options struct {
	// Consumer that the work is meant for; "" when it is not known yet.
	Consumer string
	// StripServerFields drops what only a server sets, instead of refusing it.
	StripServerFields bool
	// AllowPlaintextSecrets takes Secrets although payloads are not encrypted.
	AllowPlaintextSecrets bool
}

// ParseInput reads a file with one ManifestWork or with bare Kubernetes objects, YAML or JSON, in one or many documents.
// The error is typed InvalidManifest or TooLarge and names all problems, see [Problems].
func ParseInput(name string, data []byte, options Options) (*Input, error) {
	work, err := Parse(name, data)
	if err != nil {
		return nil, err
	}
	return &Input{Name: name, Work: work, Manifests: work.Spec.Workload.Manifests}, nil
}

// Validate is the check of everything that needs no server, for an input from a file: what [Validate] checks, the
// fields that only a server sets, and Secrets that would be readable in a workflow's history. The error is typed
// InvalidManifest or TooLarge and names all problems; warnings do not stop an apply.
func (i *Input) Validate(options Options) (warnings Problems, err error) {
	texts, err := Validate(i.Work, options.Consumer)
	for _, text := range texts {
		warnings = append(warnings, Problem{File: i.Name, Text: text})
	}
	return warnings, err
}
