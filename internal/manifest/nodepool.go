package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v3"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// NodepoolConfig is what a user writes to get node pools. One from [ParseNodepools] is sound.
type NodepoolConfig struct {
	Nodepools []Nodepool       `json:"nodepools"`
	Metadata  NodepoolMetadata `json:"metadata"`

	// file is where the config came from, for messages.
	file string
}

// NodepoolMetadata holds for all pools of a config.
type NodepoolMetadata struct {
	Cluster string `json:"cluster"`
	Region  string `json:"region,omitempty"`
	// Version of the nodes, like 4.17 or 4.17.9.
	Version string `json:"version"`
}

// Nodepool is one pool. Its sizes are totals over its zones.
type Nodepool struct {
	Name         string `json:"name"`
	InstanceType string `json:"instanceType"`
	// Replicas or AutoScaling is set, never both. Zero replicas are a value.
	Replicas    *int64       `json:"replicas,omitempty"`
	AutoScaling *AutoScaling `json:"autoScaling,omitempty"`
	// Zones are sorted: their order in a config means nothing.
	Zones []string `json:"zones,omitempty"`
	// Labels and Taints of the nodes. Absent, a stored NodePool keeps its own; empty, it loses them.
	Labels map[string]string `json:"labels,omitzero"`
	Taints []Taint           `json:"taints,omitzero"`
}

// AutoScaling bounds the size of a pool.
type AutoScaling struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

// Taint of the nodes of a pool.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// ParseNodepools reads a config from YAML or JSON. name is where the data came from, for messages. A null counts as
// absent. The error is typed InvalidManifest or TooLarge and names all problems, see [Problems].
func ParseNodepools(name string, data []byte) (*NodepoolConfig, error) {
	if len(data) > contract.MaxWorkBytes {
		return nil, contract.Errorf(contract.ErrTooLarge, "%s: %d bytes, the limit is %d", name, len(data), contract.MaxWorkBytes)
	}
	data = bytes.TrimPrefix(data, byteOrderMark)
	r := &nodepoolReader{file: name}
	config := r.read(data)
	if problems := r.found(); len(problems) > 0 {
		return nil, contract.Errorf(contract.ErrInvalidManifest, "%w", problems)
	}
	return config, nil
}

// read finds the doubled keys first, of which a decoder would only see the last, and goes on with the others.
func (r *nodepoolReader) read(data []byte) *NodepoolConfig {
	root, documents, err := documentsOf(data)
	r.root = root
	isJSON := json.Valid(data)
	switch {
	case !isJSON && err == nil && documents == 0:
		r.bad("", "empty: give nodepools and metadata")
		return nil
	case !isJSON && err == nil && documents > 1:
		r.bad("", "%d documents: give one config per file", documents)
		return nil
	}
	raw, err := configJSON(data)
	if err != nil {
		if r.root != nil {
			doubledNodes(r.root, "", r.doubled)
		}
		if len(r.problems) == 0 {
			r.unreadable(err)
			return nil
		}
		if isJSON {
			raw = data
		}
	}
	value, err := decodeExact(raw)
	if err != nil {
		if len(r.problems) == 0 {
			r.bad("", "%s", readerError(err))
		}
		return nil
	}
	return r.config(value)
}

// documentsOf gives the first document with content and counts all of them, as YAML.
func documentsOf(data []byte) (root *goyaml.Node, documents int, err error) {
	decoder := goyaml.NewDecoder(bytes.NewReader(data))
	for {
		var document goyaml.Node
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return root, documents, nil
		case err != nil:
			return root, documents, err
		case emptyDocument(&document):
			continue
		}
		if documents++; documents == 1 {
			root = document.Content[0]
		}
	}
}

// doubledNodes names the keys that a mapping holds twice, where they stand.
func doubledNodes(node *goyaml.Node, path string, bad func(path, key string, line, first int)) {
	switch node.Kind {
	case goyaml.SequenceNode:
		for index, item := range node.Content {
			doubledNodes(item, at(path, index), bad)
		}
	case goyaml.MappingNode:
		lines := map[string]int{}
		for index := 0; index+1 < len(node.Content); index += 2 {
			key, value := node.Content[index], node.Content[index+1]
			if key.ShortTag() == "!!merge" {
				continue
			}
			inner := under(path, key.Value)
			if first, found := lines[key.Value]; found {
				bad(inner, key.Value, key.Line, first)
			} else {
				lines[key.Value] = key.Line
			}
			doubledNodes(value, inner, bad)
		}
	}
}

// JSON is the config's canonical form for a request: the same config gives the same bytes, and [ParseNodepools] takes
// them.
func (c *NodepoolConfig) JSON() json.RawMessage {
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings, numbers and lists of them always encode
	}
	return raw
}

// nodepoolObject is one Kubernetes object that a pool becomes.
type nodepoolObject struct {
	name, zone string
	share      nodepoolShare
}

// nodepoolShare is what one object has of a pool's size.
type nodepoolShare struct {
	replicas    *int64
	autoScaling *AutoScaling
}

// objects of a pool: one per zone, or one for a pool that names no zone. The name depends on cluster, pool and zone only:
// with an empty cluster it is the plain one, without the cluster.
func (p *Nodepool) objects(cluster string) []nodepoolObject {
	parts := []string{p.Name}
	if cluster != "" {
		parts = []string{cluster, p.Name}
	}
	name := func(parts ...string) string {
		return contract.ShortLabel(strings.Join(parts, "-"), append([]string{"nodepool"}, parts...)...)
	}
	if len(p.Zones) < 2 {
		return []nodepoolObject{{name: name(parts...), zone: strings.Join(p.Zones, ""), share: p.share(0, 1)}}
	}
	objects := make([]nodepoolObject, 0, len(p.Zones))
	for index, zone := range slices.Sorted(slices.Values(p.Zones)) {
		objects = append(objects, nodepoolObject{name: name(append(parts[:len(parts):len(parts)], zone)...), zone: zone, share: p.share(index, len(p.Zones))})
	}
	return objects
}

// share splits a pool's size evenly; the first of the zones take the remainder.
func (p *Nodepool) share(index, of int) nodepoolShare {
	split := func(total int64) int64 {
		part := total / int64(of)
		if int64(index) < total%int64(of) {
			part++
		}
		return part
	}
	var s nodepoolShare
	if p.Replicas != nil {
		replicas := split(*p.Replicas)
		s.replicas = &replicas
	}
	if p.AutoScaling != nil {
		s.autoScaling = &AutoScaling{Min: split(p.AutoScaling.Min), Max: split(p.AutoScaling.Max)}
	}
	return s
}

// poolTitle names a pool in a message.
func poolTitle(pool string) string { return fmt.Sprintf("pool %q", shown(pool)) }
