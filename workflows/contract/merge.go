package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Strategy is what a merge does with the manifests that its request does not hold.
type Strategy string

// Strategies. The empty one means merge.
const (
	// StrategyMerge replaces manifests of the same identity in their place, keeps the others and appends the new ones.
	StrategyMerge Strategy = "merge"
	// StrategyReplace also removes the manifests of the same owner that the request does not hold: those with the label
	// hyperfleet.io/adapter of the request's adapter, and those without such a label whose kind the request holds.
	// Removing all of them must be forced.
	StrategyReplace Strategy = "replace"
)

// DefaultAdapter owns nodepools, unless a request names another adapter.
const DefaultAdapter = "nodepool"

// nodepoolKind is HyperShift's NodePool, as Remove names it.
const nodepoolKind = "NodePool.hypershift.openshift.io"

// part is what a merge addresses inside a work; see [Request.Part].
var part = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,126}[a-z0-9])?$`)

// EffectiveStrategy is the strategy with its default.
func (r Request) EffectiveStrategy() Strategy {
	if r.Strategy == "" {
		return StrategyMerge
	}
	return r.Strategy
}

// Owner is the adapter that a merge or a removal writes for: Adapter, else [DefaultAdapter] for nodepools, else "".
func (r Request) Owner() string {
	if r.Adapter == "" && (len(r.Nodepools) > 0 || r.removesNodepools()) {
		return DefaultAdapter
	}
	return r.Adapter
}

// removesNodepools: nothing else is removed.
func (r Request) removesNodepools() bool {
	for _, text := range r.Remove {
		if kind, _, _ := strings.Cut(text, "/"); kind != nodepoolKind {
			return false
		}
	}
	return len(r.Remove) > 0
}

// replacer is the owner whose manifests a replace removes: Owner, else the label of the work that is merged.
func (r Request) replacer() string {
	if owner := r.Owner(); owner != "" {
		return owner
	}
	head, _ := r.head()
	return head.Metadata.Labels[LabelOwner]
}

// poolsHead is the part of a nodepool config that addresses works.
type poolsHead struct {
	Nodepools []struct {
		Name string `json:"name"`
	} `json:"nodepools"`
	Metadata struct {
		Cluster string `json:"cluster"`
	} `json:"metadata"`
}

// named: the work's name follows from nodepools and granularity.
func (r Request) named() bool { return r.Name == "" && len(r.Work) == 0 && len(r.Nodepools) > 0 }

// sharedName is the name of the work that nodepools go to when a request has no name: by granularity, which is
// [GranularityResource] unless given.
func (r Request) sharedName() (string, error) {
	var head poolsHead
	if err := json.Unmarshal(r.Nodepools, &head); err != nil {
		return "", fmt.Errorf("nodepools: not a nodepool config: %w", err)
	}
	granularity, resource := r.Granularity, ""
	if granularity == "" {
		granularity = GranularityResource
	}
	if granularity == GranularityResource {
		if len(head.Nodepools) != 1 {
			return "", fmt.Errorf("nodepools: %d nodepools and granularity %s: give one request per nodepool, or name the work that they share", len(head.Nodepools), granularity)
		}
		resource = head.Nodepools[0].Name
	}
	return WorkName(granularity, head.Metadata.Cluster, r.Owner(), resource)
}

// alone: the request writes a nodepool's own work, whether its name is given or follows from the nodepool.
func (r Request) alone() bool {
	if len(r.Work) > 0 || len(r.Nodepools) == 0 || r.Granularity != "" && r.Granularity != GranularityResource {
		return false
	}
	name, err := r.sharedName()
	return err == nil && (r.Name == "" || r.Name == name)
}

// objectHead identifies a manifest; the API version does not.
type objectHead struct {
	APIVersion, Kind, Namespace, Name string
	// Generation is the manifest's own, 0 when it has none that can be read.
	Generation int64
	list       bool // it has items
}

// isList: the parser of files takes such an object apart, see internal/manifest. In a request it would hide which
// manifests are meant.
func (h objectHead) isList() bool {
	return h.Kind == "List" && h.APIVersion == "v1" || strings.HasSuffix(h.Kind, "List") && h.Name == "" && h.list
}

func (h objectHead) identity() string {
	group, _, grouped := strings.Cut(h.APIVersion, "/")
	if !grouped {
		group = ""
	}
	return strings.Join([]string{group, h.Kind, h.Namespace, h.Name}, "/")
}

// removed reads Kind[.group]/name or Kind[.group]/namespace/name as far as it can: the removal of a manifest is an
// operation on the same part as the merge of that manifest. A pool of a nodepool config is another part, because its name
// does not tell those of its NodePools; what meets there is put in order by mutex and generations.
func removed(text string) objectHead {
	var head objectHead
	parts := strings.Split(text, "/")
	kind, group, _ := strings.Cut(parts[0], ".")
	head.APIVersion, head.Kind, head.Name = group+"/", kind, parts[len(parts)-1]
	head.Namespace = strings.Join(parts[1:max(1, len(parts)-1)], "/")
	return head
}

// Part names what a merge or a removal writes inside its work, so that requests for the same part run as one operation
// after the other, and requests for other parts beside it: <cluster>.<nodepool> of the one nodepool, <kind>.<name>.<digest>
// of the one manifest, <n>-objects.<digest> of several, replace.<digest> for everything that an adapter has, or of the kinds
// that a request without one holds, fields.<digest> of a change of the work without a manifest. It is "" for a request that
// writes a whole work, and for a nodepool that has a work of its own.
func (r Request) Part() string {
	if !r.partial() || r.alone() {
		return ""
	}
	replace := r.EffectiveStrategy() == StrategyReplace
	if owner := r.replacer(); replace && owner != "" {
		return "replace." + digest(owner)[:12]
	}
	var ids, kinds []string
	var only objectHead
	for _, raw := range r.merged() {
		if head, err := headOf(raw); err == nil {
			only = head
			ids = append(ids, head.identity())
			head.Namespace, head.Name = "", ""
			kinds = append(kinds, head.identity())
		}
	}
	if replace {
		slices.Sort(kinds)
		return "replace." + digest(slices.Compact(kinds)...)[:12]
	}
	var pools poolsHead
	if len(r.Nodepools) > 0 && json.Unmarshal(r.Nodepools, &pools) == nil {
		if len(ids) == 0 && len(pools.Nodepools) == 1 && dnsLabel.MatchString(pools.Nodepools[0].Name) {
			if name := pools.Metadata.Cluster + "." + pools.Nodepools[0].Name; part.MatchString(name) {
				return name
			}
		}
		for _, pool := range pools.Nodepools {
			ids = append(ids, "nodepool/"+pools.Metadata.Cluster+"/"+pool.Name)
		}
	}
	for _, text := range r.Remove {
		only = removed(text)
		ids = append(ids, only.identity())
	}
	if len(ids) == 0 {
		return "fields." + digest(canonical(r.Work))[:12]
	}
	slices.Sort(ids)
	sum := digest(ids...)[:12]
	if name := strings.ToLower(only.Kind + "." + only.Name); len(ids) == 1 && len(name) <= 100 && part.MatchString(name) {
		return name + "." + sum
	}
	return fmt.Sprintf("%d-objects.%s", len(ids), sum)
}

// Shared: other operations write the same work, so that the write waits its turn in the mutex of the consumer. That is so
// for every part of a work, and for a whole work whose name is that of a work per adapter or per cluster, see [WorkName].
func (r Request) Shared() bool {
	switch r.EffectiveAction() {
	case ActionWait:
		return false
	case ActionMerge, ActionRemove:
		return r.Part() != ""
	case ActionApply, ActionDelete:
	}
	return strings.HasPrefix(r.WorkName(), sharedPrefix)
}

// partial: the request writes a part of a work, see [Request.Part].
func (r Request) partial() bool {
	return r.EffectiveAction() == ActionMerge || r.EffectiveAction() == ActionRemove
}

// headOf a manifest; one that is no object has none.
func headOf(raw json.RawMessage) (objectHead, error) {
	var head objectHead
	text := bytes.TrimSpace(raw)
	switch {
	case bytes.HasPrefix(text, []byte("[")):
		return head, errors.New("a list: give its items as manifests of their own")
	case !bytes.HasPrefix(text, []byte("{")):
		return head, errors.New("not a Kubernetes object")
	}
	// Maps, because a struct takes keys in any letter case.
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return head, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	metadata := membersOf(object["metadata"])
	head.APIVersion, head.Kind = textOf(object["apiVersion"]), textOf(object["kind"])
	head.Namespace, head.Name = textOf(metadata["namespace"]), textOf(metadata["name"])
	head.list = bytes.HasPrefix(bytes.TrimSpace(object["items"]), []byte("["))
	if generation, err := ParseGeneration(textOf(membersOf(metadata["annotations"])[AnnotationGeneration])); err == nil {
		head.Generation = generation
	}
	return head, nil
}

// membersOf an object; none of anything else.
func membersOf(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members)
	return members
}

// textOf a JSON text; "" of anything else.
func textOf(raw json.RawMessage) string {
	var text string
	_ = json.Unmarshal(raw, &text)
	return text
}

// merged are the manifests of a merge, in their order: those of Work, then Manifests.
func (r Request) merged() []json.RawMessage { return append(r.inWork(), r.Manifests...) }

// inWork are the manifests of Work.
func (r Request) inWork() []json.RawMessage {
	var work struct {
		Spec struct {
			Workload struct {
				Manifests []json.RawMessage `json:"manifests"`
			} `json:"workload"`
		} `json:"spec"`
	}
	if len(r.Work) > 0 && json.Unmarshal(r.Work, &work) != nil {
		return nil
	}
	return work.Spec.Workload.Manifests
}

// manifestGeneration is the generation that all manifests of a merge carry, 0 when none carries one. Manifests that
// differ have no generation together, which is an error when the request does not give one.
func (r Request) manifestGeneration() (int64, error) {
	var all []int64
	for _, raw := range r.merged() {
		head, _ := headOf(raw)
		all = append(all, head.Generation)
	}
	slices.Sort(all)
	switch all = slices.Compact(all); len(all) {
	case 0:
		return 0, nil
	case 1:
		return all[0], nil
	}
	if others := slices.DeleteFunc(slices.Clone(all), func(one int64) bool { return one == 0 || one == r.Generation }); r.Generation != 0 && len(others) == 0 {
		return r.Generation, nil
	} else if r.Generation != 0 {
		return others[0], nil
	}
	if len(all) == 2 && all[0] == 0 {
		return 0, fmt.Errorf("manifests: some are of generation %d by their annotation %s and some of none: give generation %d for all, or merge them one by one",
			all[1], AnnotationGeneration, all[1])
	}
	texts := make([]string, len(all))
	for index, generation := range all {
		texts[index] = strconv.FormatInt(generation, 10)
	}
	return 0, fmt.Errorf("manifests: by their annotation %s they are of different generations (%s): merge them one by one",
		AnnotationGeneration, strings.Join(texts, ", "))
}

// checkMerge finds what is wrong with the fields that only a merge or a removal has.
func (r Request) checkMerge() []error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	merge, remove := r.EffectiveAction() == ActionMerge, r.EffectiveAction() == ActionRemove
	for field, given := range map[string]bool{
		"manifests": len(r.Manifests) > 0, "nodepools": len(r.Nodepools) > 0, "nodepoolTemplate": r.NodepoolTemplate != "",
		"strategy": r.Strategy != "", "granularity": r.Granularity != "",
	} {
		if given && !merge {
			bad("%s: only for action %s", field, ActionMerge)
		}
	}
	if len(r.Remove) > 0 && !remove {
		bad("remove: only for action %s", ActionRemove)
	}
	if r.Adapter != "" && !merge && !remove && r.EffectiveAction() != ActionDelete {
		bad("adapter: only for actions %s, %s and %s; a whole work has the label %s", ActionMerge, ActionRemove, ActionDelete, LabelOwner)
	}
	if r.Adapter != "" && !labelValue.MatchString(r.Adapter) {
		bad("adapter %q: give a label value (letters, digits, '-', '.' and '_', at most 63)", r.Adapter)
	}
	if merge {
		problems = append(problems, r.checkParts()...)
	}
	if remove && len(r.Remove) == 0 {
		bad("remove: give the manifests, like NodePool.hypershift.openshift.io/clusters/workers")
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return problems
}

func (r Request) checkParts() []error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(r.Work) == 0 && len(r.Manifests) == 0 && len(r.Nodepools) == 0 {
		bad("manifests: give manifests, nodepools or a work to merge")
	}
	switch r.EffectiveStrategy() {
	case StrategyMerge, StrategyReplace:
	default:
		bad("strategy %q: give merge or replace", r.Strategy)
	}
	for index, raw := range r.Manifests {
		switch head, err := headOf(raw); {
		case err != nil:
			bad("manifests[%d]: %w", index, err)
		case head.isList():
			bad("manifests[%d]: a list: give its items as manifests of their own", index)
		}
	}
	for index, raw := range r.inWork() {
		if head, err := headOf(raw); err == nil && head.isList() {
			bad("work: its manifest %d is a list: give its items as manifests of their own", index)
		}
	}
	if r.NodepoolTemplate != "" && len(r.Nodepools) == 0 {
		bad("nodepoolTemplate: only with nodepools")
	}
	if len(r.NodepoolTemplate) > MaxTemplateBytes {
		bad("nodepoolTemplate: %d bytes, the limit is %d", len(r.NodepoolTemplate), MaxTemplateBytes)
	}
	size := len(r.Work) + len(r.Nodepools)
	for _, manifest := range r.Manifests {
		size += len(manifest)
	}
	if size > MaxWorkBytes {
		bad("manifests: %d bytes with work and nodepools, the limit is %d", size, MaxWorkBytes)
	}
	if r.Granularity != "" && r.Name != "" {
		bad("granularity %q: the name %q says which work it is, leave one of them out", r.Granularity, r.Name)
	}
	if r.WorkName() == "" {
		if len(r.Nodepools) == 0 {
			bad("name: required for merge, unless a work or nodepools give it")
		} else if _, err := r.sharedName(); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}
