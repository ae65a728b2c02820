package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	goyaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// DefaultNodepoolNamespace is where HyperFleet keeps the NodePools that no stored work places elsewhere.
	DefaultNodepoolNamespace = "clusters"

	nodepoolGroup = "hypershift.openshift.io"
	nodepoolKind  = "NodePool"
	releaseImages = "quay.io/openshift-release-dev/ocp-release"
)

// NodepoolData is what a template is given, once per object: once per pool, or once per zone of a pool in several.
type NodepoolData struct {
	// Name of the object: <cluster>-<pool>, or <cluster>-<pool>-<zone> for one of several zones, shortened to 63 bytes;
	// without the cluster where the stored work has it so.
	Name string
	// Pool is the config's entry, with the totals over all zones.
	Pool Nodepool
	// Zone of the object; "" for a pool without zones.
	Zone string
	// Replicas is the object's share; nil with autoscaling. Zero is a value.
	Replicas *int64
	// AutoScaling is the object's share; nil with replicas.
	AutoScaling *AutoScaling
	// Cluster, Region and Version are the config's metadata.
	Cluster, Region, Version string
	// Namespace of the stored NodePool of this name, else the one namespace of the work's other NodePools, else
	// [DefaultNodepoolNamespace].
	Namespace string
	// Stored is the stored NodePool of this name, with its numbers as json.Number; nil when there is none.
	Stored map[string]any

	// AutoRepair is the stored one, else true.
	AutoRepair bool
	// ClusterName, UpgradeType, Arch and Platform are the stored NodePool's immutable fields, else the
	// one cluster of the work's other NodePools or .Cluster, Replace and "".
	ClusterName, UpgradeType, Arch, Platform string
	// ReleaseImage is the stored one while its tag is of Version, or when it has a digest only, which tells no version;
	// else the public one of Version.
	ReleaseImage string
	// Subnet is the stored one. Without it, it is a filter for Zone, except for a stored pool in one zone: that would
	// move its nodes.
	Subnet any
}

// String is JSON, for a template that prints all of it: fmt would print addresses.
func (d NodepoolData) String() string { return jsonText(d) }

// String is JSON, see [NodepoolData.String].
func (p Nodepool) String() string { return jsonText(p) }

func jsonText(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// Render gives the objects of all pools, in the config's order, a pool's zones by name. stored are the manifests of the
// work that the objects are for, if there is one. The same config, template and stored manifests give the same bytes,
// in whatever order a config names zones and labels. What a stored NodePool has and the template does not say stays, see
// [storedNodepools.keep]. The error is typed InvalidManifest and names template, line and
// pool, see [Problems]; it stops at the first pool that the template cannot render.
func (c *NodepoolConfig) Render(t *NodepoolTemplate, stored []workv1.Manifest) ([]workv1.Manifest, error) {
	pools := findNodepools(stored, c.Metadata.Cluster)
	r, err := newRenderer(t)
	if err != nil {
		return nil, err
	}
	trial, err := newRenderer(t)
	if err != nil {
		return nil, err
	}
	for _, pool := range c.Nodepools {
		names := func(objects []nodepoolObject) []string { return c.names(trial, pool, objects, pools) }
		for _, object := range pools.objects(pool, c.Metadata.Cluster, names) {
			data, problems := c.data(pool, object, pools)
			before := len(r.manifests)
			if len(problems) == 0 {
				problems = r.render(data)
			}
			if len(problems) > 0 {
				return nil, contract.Errorf(contract.ErrInvalidManifest, "%w", problems)
			}
			if err := pools.keep(pool, c.Metadata.Cluster, r.manifests[before:]); err != nil {
				return nil, err
			}
		}
	}
	return r.manifests, nil
}

// names of the NodePools that a template makes of a pool's objects; the objects' own where it fails, for which the caller
// hears why.
func (c *NodepoolConfig) names(trial *renderer, pool Nodepool, objects []nodepoolObject, pools storedNodepools) []string {
	var names []string
	trial.manifests, trial.owners = nil, map[Identity]string{}
	for _, object := range objects {
		data, problems := c.data(pool, object, pools)
		if len(problems) == 0 {
			problems = trial.render(data)
		}
		if len(problems) > 0 {
			names = append(names, object.name)
		}
	}
	for id := range trial.owners {
		if id.isNodepool() {
			names = append(names, id.Name)
		}
	}
	return names
}

func (c *NodepoolConfig) data(pool Nodepool, object nodepoolObject, pools storedNodepools) (NodepoolData, Problems) {
	stored := pools.byName[object.name]
	data := NodepoolData{
		Name: object.name, Pool: pool, Zone: object.zone, Replicas: object.share.replicas, AutoScaling: object.share.autoScaling,
		Cluster: c.Metadata.Cluster, Region: c.Metadata.Region, Version: c.Metadata.Version, Namespace: DefaultNodepoolNamespace,
	}
	if len(stored) > 1 {
		var namespaces []string
		for _, other := range stored {
			namespaces = append(namespaces, other.namespace)
		}
		slices.Sort(namespaces)
		return data, Problems{{File: c.file, Text: fmt.Sprintf("%s: the stored work holds %d NodePools named %s, in the namespaces %s: which one is meant cannot be told",
			poolTitle(pool.Name), len(stored), object.name, strings.Join(namespaces, ", "))}}
	}
	if len(stored) == 1 {
		data.Stored = stored[0].object
		if stored[0].namespace != "" {
			data.Namespace = stored[0].namespace
		}
	}
	if data.Stored == nil && pools.namespace != "" {
		data.Namespace = pools.namespace
	}
	data.derive(pools.cluster)
	return data, nil
}

// derive sets what follows from the stored object.
func (d *NodepoolData) derive(cluster string) {
	text := func(fallback string, path ...string) string {
		if text, ok := dig(d.Stored, path...).(string); ok && text != "" {
			return text
		}
		return fallback
	}
	if cluster == "" {
		cluster = d.Cluster
	}
	d.ClusterName = text(cluster, "spec", "clusterName")
	d.UpgradeType = text("Replace", "spec", "management", "upgradeType")
	d.AutoRepair = true
	if repair, ok := dig(d.Stored, "spec", "management", "autoRepair").(bool); ok {
		d.AutoRepair = repair
	}
	d.Arch = text("", "spec", "arch")
	d.Platform = text("", "spec", "platform", "type")
	d.ReleaseImage = text("", "spec", "release", "image")
	if !ofVersion(d.ReleaseImage, d.Version) {
		d.ReleaseImage = releaseImages + ":" + d.Version + "-multi"
	}
	d.Subnet = dig(d.Stored, "spec", "platform", "aws", "subnet")
	if d.Subnet == nil && d.Zone != "" && (d.Stored == nil || len(d.Pool.Zones) > 1) {
		d.Subnet = map[string]any{"filters": []any{map[string]any{"name": "availability-zone", "values": []any{d.Zone}}}}
	}
}

// dig gives the value at a path, or nil.
func dig(object map[string]any, path ...string) any {
	var value any = object
	for _, key := range path {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}
	return value
}

// ofVersion reports whether an image's tag is a version or a closer one: 4.17.9-multi is of 4.17 and of 4.17.9. What an
// image with a digest alone holds cannot be told, so that it passes: putting another one in its place could take nodes
// back to an older version.
func ofVersion(image, version string) bool {
	image, _, pinned := strings.Cut(image, "@")
	_, tag, found := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if pinned && !found {
		return true
	}
	rest, begins := strings.CutPrefix(tag, version)
	return found && begins && (rest == "" || rest[0] == '.' || rest[0] == '-')
}

// renderer runs a template for one object after the other.
type renderer struct {
	file      string
	tree      *template.Template
	meter     *meter
	manifests []workv1.Manifest
	size      int
	// nodes of YAML in all of them.
	nodes int
	// owners are the pools of the objects.
	owners map[Identity]string
}

func newRenderer(t *NodepoolTemplate) (*renderer, error) {
	tree, err := t.tree.Clone()
	if err != nil {
		return nil, fmt.Errorf("copy template %s: %w", t.file, err)
	}
	m := &meter{}
	return &renderer{file: t.file, meter: m, tree: tree.Funcs(m.functions()), owners: map[Identity]string{}}, nil
}

func (r *renderer) render(data NodepoolData) Problems {
	r.meter.next()
	bad := func(line int, text string) Problem {
		return Problem{File: r.file, Line: line, Text: poolTitle(data.Pool.Name) + ": " + text}
	}
	if err := r.tree.Execute(r.meter, data); err != nil {
		return Problems{bad(r.executionProblem(err))}
	}
	var problems Problems
	decoder := goyaml.NewDecoder(bytes.NewReader(r.meter.out.Bytes()))
	for objects := 0; ; {
		var document goyaml.Node
		err := decoder.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			if objects == 0 {
				problems = append(problems, bad(0, "the template renders no object"))
			}
			return problems
		case err != nil:
			line, text := yamlError(r.meter.out.Bytes(), err)
			return append(problems, bad(r.meter.lineOf(line), notYAML+text))
		case emptyDocument(&document):
			continue
		}
		objects++
		problems = append(problems, r.add(&document, data.Pool.Name, bad)...)
		if r.nodes > maxNodes {
			return problems
		}
		if r.size > contract.MaxRenderedBytes {
			return append(problems, bad(0, errWritten.Error()))
		}
	}
}

// executionProblem gives line and text of text/template's error.
func (r *renderer) executionProblem(err error) (int, string) {
	for _, stop := range []error{errSteps, errWritten, errValues} {
		if errors.Is(err, stop) {
			return r.meter.line, stop.Error()
		}
	}
	return cutTemplateLine(err.Error())
}

const notYAML = "not YAML as rendered: "

// yamlProblems places what a reader says about the output into the template.
func (r *renderer) yamlProblems(err error, bad func(int, string) Problem) Problems {
	var problems Problems
	for _, text := range strings.Split(err.Error(), "\n") {
		line, text := cutLine(text)
		problems = append(problems, bad(r.meter.lineOf(line), notYAML+text))
	}
	return problems
}

// add takes one rendered object.
func (r *renderer) add(document *goyaml.Node, pool string, bad func(int, string) Problem) Problems {
	line := r.meter.lineOf(document.Content[0].Line)
	raw, err := renderedJSON(document, &r.nodes)
	if err != nil {
		return r.yamlProblems(err, bad)
	}
	manifest := workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}}
	h, err := readHead(manifest)
	if err != nil {
		return Problems{bad(line, "the rendered object: "+err.Error())}
	}
	var missing []string
	for _, field := range []struct{ name, value string }{{"apiVersion", h.APIVersion}, {"kind", h.Kind}, {"metadata.name", h.Metadata.Name}} {
		if field.value == "" {
			missing = append(missing, field.name)
		}
	}
	if len(missing) > 0 {
		return Problems{bad(line, "the rendered object lacks "+strings.Join(missing, " and "))}
	}
	identity := h.identity()
	if owner, found := r.owners[identity]; found {
		return Problems{bad(line, fmt.Sprintf("%s is rendered twice, for %s before: make its name of .Name", identity, poolTitle(owner)))}
	}
	r.owners[identity] = pool
	r.manifests = append(r.manifests, manifest)
	r.size += len(raw)
	return nil
}
