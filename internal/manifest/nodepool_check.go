package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	goyaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// maxProblems bounds a message; the rest is counted.
	maxProblems = 100
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

// nodepoolReader turns a config's tree into its types and gathers all that is wrong with it.
type nodepoolReader struct {
	file string
	// root is nil for what YAML cannot read.
	root     *goyaml.Node
	problems Problems
	// beyond counts the problems that nobody will read.
	beyond int
	// pool that is being read, for messages.
	pool string
}

func (r *nodepoolReader) line(path string) int {
	if r.root == nil {
		return 0
	}
	return lineOf(r.root, path)
}

func (r *nodepoolReader) bad(path, format string, args ...any) {
	if len(r.problems) == maxProblems {
		r.beyond++
		return
	}
	text := fmt.Sprintf(format, args...)
	if r.pool != "" {
		text = r.pool + ": " + text
	}
	r.problems = append(r.problems, Problem{File: r.file, Line: r.line(path), Path: path, Text: text})
}

// found are the problems in the order of the file.
func (r *nodepoolReader) found() Problems {
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
	if r.beyond > 0 {
		r.problems = append(r.problems, Problem{File: r.file, Text: fmt.Sprintf("and %d more problems", r.beyond)})
	}
	return r.problems
}

func (r *nodepoolReader) doubled(path, key string, line, first int) {
	r.bad(path, "%q is set twice, on line %d and on line %d: keep one", shown(key), first, line)
	if r.beyond == 0 {
		r.problems[len(r.problems)-1].Line = line
	}
}

// unreadable says what the reader of YAML and JSON said.
func (r *nodepoolReader) unreadable(err error) {
	var problems Problems
	if errors.As(err, &problems) {
		for _, problem := range problems {
			problem.File = r.file
			r.problems = append(r.problems, problem)
		}
		return
	}
	for _, text := range strings.Split(err.Error(), "\n") {
		line, text := cutLine(text)
		r.problems = append(r.problems, Problem{File: r.file, Line: line, Text: text})
	}
}

var textLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)

// cutLine takes the line off the front of a reader's message.
func cutLine(text string) (int, string) {
	match := textLine.FindStringSubmatch(text)
	if match == nil {
		return 0, text
	}
	line, _ := strconv.Atoi(match[1])
	return line, text[len(match[0]):]
}

// mapping gives the known keys that are set.
func (r *nodepoolReader) mapping(path string, value any, keys []string) map[string]any {
	fields, ok := value.(map[string]any)
	if !ok {
		r.bad(path, "%s: want a mapping with the keys %s", described(value), strings.Join(keys, ", "))
		return nil
	}
	known := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case !slices.Contains(keys, key):
			r.bad(under(path, key), "%s is not a known key: %s", shown(key), suggestion(key, keys))
		case fields[key] != nil:
			known[key] = fields[key]
		}
	}
	return known
}

func (r *nodepoolReader) list(path, key string, fields map[string]any) []any {
	value, found := fields[key]
	if !found {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		r.bad(under(path, key), "%s: %s: want a list", key, described(value))
	}
	return list
}

// required gives a text that must be there.
func (r *nodepoolReader) required(path, key string, fields map[string]any) (string, bool) {
	value, found := fields[key]
	if !found || value == "" {
		r.bad(under(path, key), "%s is missing", key)
		return "", false
	}
	return r.text(under(path, key), key, value)
}

func (r *nodepoolReader) text(path, what string, value any) (string, bool) {
	text, ok := value.(string)
	if !ok {
		r.bad(path, "%s: %s: write it in quotes", what, described(value))
	}
	return text, ok
}

// count reads a whole number from least to what Kubernetes holds.
func (r *nodepoolReader) count(path, what string, value any, least int64) *int64 {
	number, ok := value.(json.Number)
	if !ok {
		hint := "want a whole number"
		if text, isText := value.(string); isText {
			if _, err := strconv.ParseInt(text, 10, 64); err == nil {
				hint = "write the number without quotes"
			}
		}
		r.bad(path, "%s: %s: %s", what, described(value), hint)
		return nil
	}
	count, err := strconv.ParseInt(string(number), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		r.bad(path, "%s: %s is not a whole number", what, shown(string(number)))
	case count < least:
		r.bad(path, "%s: %s is less than %d", what, shown(string(number)), least)
	case count > math.MaxInt32:
		r.bad(path, "%s: %s is more than %d", what, shown(string(number)), math.MaxInt32)
	default:
		return &count
	}
	return nil
}

// rule reports what a check of k8s.io/apimachinery has to say.
func (r *nodepoolReader) rule(path, what, value string, problems []string) {
	for _, problem := range problems {
		r.bad(path, "%s %q: %s", what, shown(value), problem)
	}
}

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
		for _, object := range pool.objects() {
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
	if metadata.Cluster, ok = r.required(path, "cluster", fields); ok && (!namePart.MatchString(metadata.Cluster) || len(metadata.Cluster) > maxClusterName) {
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
	var taints []Taint
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

// described names a value and its kind.
func described(value any) string {
	switch value := value.(type) {
	case nil:
		return "nothing is given"
	case string:
		return fmt.Sprintf("%q is a string", shown(value))
	case json.Number:
		return shown(string(value)) + " is a number"
	case bool:
		return fmt.Sprintf("%t is a boolean", value)
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}

// suggestion is the known key that was most likely meant, or all of them.
func suggestion(key string, keys []string) string {
	const far = 3
	plain := func(key string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key)) }
	best, nearest := far, ""
	for _, known := range keys {
		if len(key) > 2*len(known)+far {
			continue
		}
		if d := distance(plain(key), plain(known)); d < best && d < len(known) {
			best, nearest = d, known
		}
	}
	if nearest != "" {
		return "did you mean " + nearest + "?"
	}
	return "known are " + strings.Join(keys, ", ")
}

// distance is Levenshtein's, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for column := range row {
		row[column] = column
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// namePart is a DNS-1123 label of any length.
var namePart = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// shown keeps a message readable whatever the input holds.
func shown(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
