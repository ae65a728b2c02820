package manifest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	// maxTaints is HyperShift's limit.
	maxTaints = 50
	// maxClusterName is HyperShift's limit of spec.clusterName.
	maxClusterName = 253
)

var (
	configKeys      = []string{"metadata", "nodepools"}
	metadataKeys    = []string{"cluster", "region", "version"}
	poolKeys        = []string{"autoScaling", "instanceType", "labels", "name", "replicas", "taints", "zones"}
	autoScalingKeys = []string{"max", "min"}
	taintKeys       = []string{"effect", "key", "value"}
	taintEffects    = []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}

	// imageTag leaves room for a suffix like -multi.
	imageTag    = regexp.MustCompile(`^[A-Za-z0-9_][-.A-Za-z0-9_]{0,99}$`)
	machineName = regexp.MustCompile(`^[A-Za-z0-9]([-._A-Za-z0-9]{0,254})$`)
)

func (r *nodepoolReader) config(value any) *NodepoolConfig {
	fields := r.mapping("", value, configKeys)
	if fields == nil {
		return nil
	}
	config := &NodepoolConfig{file: r.file}
	if metadata, found := fields["metadata"]; found {
		config.Metadata = r.metadata(metadata)
	} else {
		r.bad("metadata", "metadata is missing: give its cluster and version")
	}
	pools := r.list("", "nodepools", fields)
	if _, isList := fields["nodepools"].([]any); len(pools) == 0 && (isList || fields["nodepools"] == nil) {
		r.bad("nodepools", "no nodepools: give at least one")
	}
	paths := map[string]string{} // of the pools by name
	for index, pool := range pools {
		path := at("nodepools", index)
		r.pool = fmt.Sprintf("pool %d", index+1)
		read := r.nodepool(path, pool)
		if first, found := paths[read.Name]; found && read.Name != "" {
			r.bad(under(path, "name"), "the name is doubled: %s on line %d has it too; keep one or rename one", first, r.line(under(first, "name")))
		} else {
			paths[read.Name] = path
		}
		config.Nodepools = append(config.Nodepools, read)
	}
	r.pool = ""
	r.collisions(config, paths)
	return config
}

// collisions finds pools whose objects have one name, like those of pool a in zones b and c and of pool a-b.
func (r *nodepoolReader) collisions(config *NodepoolConfig, paths map[string]string) {
	owners := map[string]string{}
	for _, pool := range config.Nodepools {
		for _, object := range pool.objects("") {
			owner, found := owners[object.name]
			owners[object.name] = pool.Name
			if found && owner != pool.Name && pool.Name != "" && owner != "" {
				r.bad(paths[pool.Name], "%s and %s both become an object named %s: rename one of them", poolTitle(pool.Name), poolTitle(owner), object.name)
			}
		}
	}
}

func (r *nodepoolReader) metadata(value any) NodepoolMetadata {
	const path = "metadata"
	var metadata NodepoolMetadata
	fields := r.mapping(path, value, metadataKeys)
	if fields == nil {
		return metadata
	}
	var ok bool
	if metadata.Cluster, ok = r.required(path, "cluster", fields); ok && (!namesWorks(metadata.Cluster) || len(metadata.Cluster) > maxClusterName) {
		r.bad("metadata.cluster", "cluster %q: want at most %d lower-case letters, digits and '-', beginning and ending with a letter or digit",
			shown(metadata.Cluster), maxClusterName)
	}
	if metadata.Version, ok = r.required(path, "version", fields); ok && !imageTag.MatchString(metadata.Version) {
		r.bad("metadata.version", "version %q: want a version like 4.17 or 4.17.9", shown(metadata.Version))
	}
	if region, found := fields["region"]; found {
		if metadata.Region, ok = r.text("metadata.region", "region", region); ok {
			r.rule("metadata.region", "region", metadata.Region, validation.IsValidLabelValue(metadata.Region))
		}
	}
	return metadata
}

func (r *nodepoolReader) nodepool(path string, value any) Nodepool {
	var pool Nodepool
	if fields, ok := value.(map[string]any); ok {
		if name, ok := fields["name"].(string); ok && name != "" {
			r.pool = poolTitle(name)
		}
	}
	fields := r.mapping(path, value, poolKeys)
	if fields == nil {
		return pool
	}
	var ok bool
	if pool.Name, ok = r.required(path, "name", fields); ok {
		r.rule(under(path, "name"), "name", pool.Name, validation.IsDNS1123Label(pool.Name))
	}
	if pool.InstanceType, ok = r.required(path, "instanceType", fields); ok && !machineName.MatchString(pool.InstanceType) {
		r.bad(under(path, "instanceType"), "instanceType %q: want a name like m5.large", shown(pool.InstanceType))
	}
	r.size(path, fields, &pool)
	pool.Zones = r.zones(path, fields)
	if scaled := pool.AutoScaling; scaled != nil && scaled.Max < int64(len(pool.Zones)) {
		r.bad(under(under(path, "autoScaling"), "max"), "autoScaling.max %d is less than the %d zones, each of which has at least 1: raise it, or name fewer zones",
			scaled.Max, len(pool.Zones))
	}
	pool.Labels = r.labels(path, fields)
	pool.Taints = r.taints(path, fields)
	return pool
}

func (r *nodepoolReader) size(path string, fields map[string]any, pool *Nodepool) {
	replicas, fixed := fields["replicas"]
	bounds, scaled := fields["autoScaling"]
	switch {
	case fixed && scaled:
		r.bad(under(path, "autoScaling"), "replicas and autoScaling exclude each other: keep one")
	case !fixed && !scaled:
		r.bad(path, "neither replicas nor autoScaling: give one of them")
	}
	if fixed {
		pool.Replicas = r.count(under(path, "replicas"), "replicas", replicas, 0)
	}
	if scaled {
		pool.AutoScaling = r.autoScaling(under(path, "autoScaling"), bounds)
	}
}

func (r *nodepoolReader) autoScaling(path string, value any) *AutoScaling {
	fields := r.mapping(path, value, autoScalingKeys)
	if fields == nil {
		return nil
	}
	bound := func(key string, least int64) *int64 {
		value, found := fields[key]
		if !found {
			r.bad(under(path, key), "autoScaling.%s is missing: give min and max", key)
			return nil
		}
		return r.count(under(path, key), "autoScaling."+key, value, least)
	}
	least, most := bound("min", 0), bound("max", 1)
	if least == nil || most == nil {
		return nil
	}
	if *least > *most {
		r.bad(under(path, "min"), "autoScaling.min %d is more than autoScaling.max %d", *least, *most)
	}
	return &AutoScaling{Min: *least, Max: *most}
}

func (r *nodepoolReader) zones(path string, fields map[string]any) []string {
	var zones []string
	first := map[string]int{}
	for index, value := range r.list(path, "zones", fields) {
		path := at(under(path, "zones"), index)
		zone, ok := r.text(path, "zones", value)
		if !ok {
			continue
		}
		r.rule(path, "zones", zone, validation.IsDNS1123Label(zone))
		if other, found := first[zone]; found {
			r.bad(path, "zones: %q is doubled, see zones[%d]: keep one", shown(zone), other)
			continue
		}
		first[zone] = index
		zones = append(zones, zone)
	}
	slices.Sort(zones)
	return zones
}

func (r *nodepoolReader) labels(path string, fields map[string]any) map[string]string {
	value, found := fields["labels"]
	if !found {
		return nil
	}
	path = under(path, "labels")
	given, ok := value.(map[string]any)
	if !ok {
		r.bad(path, "labels: %s: want a mapping", described(value))
		return nil
	}
	labels := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		path := under(path, key)
		r.rule(path, "labels: key", key, validation.IsQualifiedName(key))
		label, ok := r.text(path, "labels: "+shown(key), given[key])
		if !ok {
			continue
		}
		r.rule(path, "labels: "+shown(key)+":", label, validation.IsValidLabelValue(label))
		labels[key] = label
	}
	return labels
}

func (r *nodepoolReader) taints(path string, fields map[string]any) []Taint {
	given := r.list(path, "taints", fields)
	path = under(path, "taints")
	if len(given) > maxTaints {
		r.bad(path, "taints: %d are given, HyperShift takes at most %d", len(given), maxTaints)
		return nil
	}
	if given == nil {
		return nil
	}
	taints := []Taint{}
	first := map[Taint]int{}
	for index, value := range given {
		taint, ok := r.taint(at(path, index), value)
		if !ok {
			continue
		}
		id := Taint{Key: taint.Key, Effect: taint.Effect}
		if other, found := first[id]; found {
			r.bad(at(path, index), "taints: key %s with effect %s is doubled, see taints[%d]: keep one", taint.Key, taint.Effect, other)
			continue
		}
		first[id] = index
		taints = append(taints, taint)
	}
	return taints
}

func (r *nodepoolReader) taint(path string, value any) (Taint, bool) {
	fields := r.mapping(path, value, taintKeys)
	if fields == nil {
		return Taint{}, false
	}
	var taint Taint
	var ok bool
	before := len(r.problems) + r.beyond
	if taint.Key, ok = r.required(path, "key", fields); ok {
		r.rule(under(path, "key"), "taints: key", taint.Key, validation.IsQualifiedName(taint.Key))
	}
	if value, found := fields["value"]; found {
		if taint.Value, ok = r.text(under(path, "value"), "taints: value", value); ok {
			r.rule(under(path, "value"), "taints: value", taint.Value, validation.IsValidLabelValue(taint.Value))
		}
	}
	if taint.Effect, ok = r.required(path, "effect", fields); ok && !slices.Contains(taintEffects, taint.Effect) {
		r.bad(under(path, "effect"), "taints: effect %q: want %s", shown(taint.Effect), strings.Join(taintEffects, ", "))
	}
	return taint, before == len(r.problems)+r.beyond
}

// namesWorks: the works of a cluster can have its name.
func namesWorks(cluster string) bool {
	_, err := contract.WorkName(contract.GranularityCluster, cluster, "", "")
	return err == nil
}

// shown keeps a message readable whatever the input holds.
func shown(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
