package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// partFlags say what is merged into which work.
type partFlags struct {
	name, consumer                             string
	sourceFile, resourceFile, nodepoolFile     string
	template, granularity, adapter, strategy   string
	manifestName                               string
	generation                                 int64
	force, stripServerFields, plaintextSecrets bool
}

func (f *partFlags) add(set *pflag.FlagSet) {
	consumerFlag(set, &f.consumer)
	set.StringVar(&f.name, "name", "", "name of the work (default: that of a ManifestWork in --source-file; of nodepools: by --granularity)")
	set.StringVar(&f.sourceFile, "source-file", "", "ManifestWork or Kubernetes objects to merge, YAML or JSON; - for standard input")
	set.StringVar(&f.resourceFile, "resource-file", "", "Kubernetes objects to merge into the work of --name or --source-file, YAML or JSON; - for standard input")
	set.StringVar(&f.nodepoolFile, "nodepool-file", "", "nodepool config to merge, YAML or JSON; - for standard input")
	set.StringVar(&f.template, "nodepool-template", "", "file with the template of a NodePool (default: the built-in one)")
	set.StringVar(&f.granularity, "granularity", "", "works of nodepools without a --name: resource (one each), adapter (hyperfleet-<cluster>-<adapter>) or cluster (hyperfleet-<cluster>) (default resource)")
	set.StringVar(&f.adapter, "adapter", "", "adapter that owns what is merged: its label hyperfleet.io/adapter (default for nodepools: nodepool)")
	set.StringVar(&f.strategy, "strategy", "merge", "merge, or replace: also remove what the files lack")
	set.StringVar(&f.manifestName, "manifest-name", "", "merge only this one of the files' manifests or nodepools: name, Kind/name or Kind/namespace/name")
	set.Int64Var(&f.generation, "generation", 0, "HyperFleet generation of each manifest; an older one never replaces a newer one (default: the manifests' annotations)")
	set.BoolVar(&f.force, "force", false, "overwrite what another adapter has, or other content of the same generation; create beside another source's work; let replace remove everything")
	stripFlag(set, &f.stripServerFields)
	plaintextFlag(set, &f.plaintextSecrets)
}

// check finds what is wrong without reading anything.
func (f *partFlags) check() error {
	problems := []error{required("--consumer", f.consumer)}
	bad := func(format string, args ...any) {
		problems = append(problems, contract.Errorf(contract.ErrInvalidInput, format, args...))
	}
	files := []string{f.sourceFile, f.resourceFile, f.nodepoolFile}
	if slices.Equal(files, []string{"", "", ""}) {
		bad("give --source-file, --resource-file or --nodepool-file")
	}
	if slices.Index(files, "-") >= 0 && slices.Index(files[slices.Index(files, "-")+1:], "-") >= 0 {
		bad("standard input can be one file only")
	}
	switch contract.Strategy(f.strategy) {
	case contract.StrategyMerge, contract.StrategyReplace:
	default:
		bad("--strategy %q: give merge or replace", f.strategy)
	}
	switch contract.Granularity(f.granularity) {
	case "", contract.GranularityResource, contract.GranularityAdapter, contract.GranularityCluster:
	default:
		bad("--granularity %q: give resource, adapter or cluster", f.granularity)
	}
	if f.granularity != "" && (f.name != "" || f.nodepoolFile == "") {
		bad("--granularity: only with --nodepool-file and without --name")
	}
	if f.template != "" && f.nodepoolFile == "" {
		bad("--nodepool-template: only with --nodepool-file")
	}
	if f.name == "" && f.sourceFile == "" && f.resourceFile != "" {
		bad("--resource-file: give the --name of the work that it goes into")
	}
	if f.strategy == string(contract.StrategyReplace) && f.manifestName != "" {
		bad("--manifest-name: not with --strategy replace, which is about everything that the adapter has")
	}
	return errors.Join(problems...)
}

// parts reads the files and makes the request of each work that they go to.
func (a *app) parts(ctx context.Context, settings config.CLI, f partFlags) ([]contract.Request, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	request := contract.Request{
		Source: settings.SourceID, Consumer: f.consumer, Action: contract.ActionMerge, Name: f.name,
		Generation: f.generation, Force: f.force, Adapter: f.adapter, AllowPlaintextSecrets: f.plaintextSecrets,
		Granularity: contract.Granularity(f.granularity),
	}
	if f.strategy != string(contract.StrategyMerge) {
		request.Strategy = contract.Strategy(f.strategy)
	}
	if err := a.readObjects(ctx, f, &request); err != nil {
		return nil, err
	}
	pools, err := a.readNodepools(ctx, f, &request)
	if err != nil {
		return nil, err
	}
	if f.manifestName != "" {
		if pools, err = choose(f.manifestName, &request, pools); err != nil {
			return nil, err
		}
	}
	if pools == nil {
		return []contract.Request{request}, nil
	}
	if f.granularity != "" && len(request.Work) > 0 {
		return nil, contract.Errorf(contract.ErrInvalidInput, "--granularity: the nodepools go into the work %s of --source-file", request.WorkName())
	}
	apart := request.Name == "" && len(request.Work) == 0 && (request.Granularity == "" || request.Granularity == contract.GranularityResource)
	if !apart {
		request.Nodepools = pools.JSON()
		return []contract.Request{request}, nil
	}
	if len(pools.Nodepools) > 1 && len(request.Manifests) > 0 {
		return nil, contract.Errorf(contract.ErrInvalidInput, "--source-file: its objects would go into each of the %d works that the nodepools get: give --name or --granularity for one work, or build them without --nodepool-file", len(pools.Nodepools))
	}
	var requests []contract.Request
	for _, pool := range pools.Nodepools {
		one := *pools
		one.Nodepools = []manifest.Nodepool{pool}
		request.Nodepools = one.JSON()
		requests = append(requests, request)
	}
	return requests, nil
}

// readObjects puts the manifests of source file and resource file into the request.
func (a *app) readObjects(ctx context.Context, f partFlags, request *contract.Request) error {
	options := manifest.Options{Consumer: f.consumer, StripServerFields: f.stripServerFields, AllowPlaintextSecrets: f.plaintextSecrets, Part: true}
	var problems []error
	for _, path := range []string{f.sourceFile, f.resourceFile} {
		if path == "" {
			continue
		}
		input, _, err := a.input(ctx, path, options)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if input.Work == nil {
			for _, object := range input.Manifests {
				request.Manifests = append(request.Manifests, object.Raw)
			}
			continue
		}
		if path == f.resourceFile {
			problems = append(problems, contract.Errorf(contract.ErrInvalidInput, "--resource-file %s holds a ManifestWork: give it as --source-file", path))
			continue
		}
		if request.Work, err = manifest.Encode(input.Work); err != nil {
			problems = append(problems, err)
		}
	}
	return firstType(problems)
}

// firstType keeps the type of the first error for all.
func firstType(problems []error) error {
	if len(problems) == 0 {
		return nil
	}
	return contract.Errorf(contract.TypeOf(problems[0]), "%w", errors.Join(problems...))
}

func (a *app) readNodepools(ctx context.Context, f partFlags, request *contract.Request) (*manifest.NodepoolConfig, error) {
	if f.nodepoolFile == "" {
		return nil, nil
	}
	name, data, err := a.readManifest(ctx, f.nodepoolFile)
	if err != nil {
		return nil, err
	}
	pools, err := manifest.ParseNodepools(name, data)
	if err != nil {
		return nil, err
	}
	if f.template == "" {
		return pools, nil
	}
	name, data, err = a.readManifest(ctx, f.template)
	if err != nil {
		return nil, err
	}
	template, err := manifest.ParseNodepoolTemplate(name, data)
	if err != nil {
		return nil, err
	}
	if _, err := pools.Render(template, nil); err != nil {
		return nil, err
	}
	request.NodepoolTemplate = string(data)
	return pools, nil
}

// choose keeps the one manifest or nodepool that is meant.
func choose(name string, request *contract.Request, pools *manifest.NodepoolConfig) (*manifest.NodepoolConfig, error) {
	whole := contract.Request{Work: request.Work, Generation: request.Generation} // the choice has the whole work's generation
	generation, err := whole.EffectiveGeneration()
	if err != nil {
		return nil, contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	request.Generation = generation
	work, err := chosenWork(name, request)
	if err != nil {
		return nil, err
	}
	var known []string
	var kept []json.RawMessage
	for _, raw := range request.Manifests {
		id, err := manifest.IdentifyRaw(raw)
		if err != nil {
			return nil, contract.Errorf(contract.ErrInvalidManifest, "%w", err)
		}
		known = append(known, id.String())
		if id.Is(name) {
			kept = append(kept, raw)
		}
	}
	var chosen *manifest.NodepoolConfig
	if pools != nil {
		for _, pool := range pools.Nodepools {
			known = append(known, "nodepool "+pool.Name)
			if pool.Name == name {
				one := *pools
				one.Nodepools = []manifest.Nodepool{pool}
				chosen = &one
			}
		}
	}
	known = append(known, work.known...)
	found := len(kept) + work.found
	if chosen != nil {
		found++
	}
	if found != 1 {
		return nil, contract.Errorf(contract.ErrInvalidInput, "--manifest-name %q: %d manifests are called that, the files hold %s", name, found, strings.Join(known, ", "))
	}
	request.Manifests = kept
	request.Work = work.raw
	if request.Name == "" {
		request.Name = work.name
	}
	return chosen, nil
}

// workChoice is what a choice leaves of a work.
type workChoice struct {
	raw   json.RawMessage
	name  string
	known []string
	found int
}

// chosenWork takes one manifest of a work and the configs that are for it; the rest of the work is not meant.
func chosenWork(name string, request *contract.Request) (workChoice, error) {
	var choice workChoice
	if len(request.Work) == 0 {
		return choice, nil
	}
	work, err := manifest.ParseJSON(request.Work)
	if err != nil {
		return choice, err
	}
	choice.name = work.Name
	part, ids, err := manifest.Only(work, func(id manifest.Identity) bool { return id.Is(name) })
	if err != nil {
		return choice, contract.Errorf(contract.ErrInvalidManifest, "%w", err)
	}
	for _, id := range ids {
		choice.known = append(choice.known, id.String())
	}
	choice.found = len(part.Spec.Workload.Manifests)
	if choice.found == 0 {
		return choice, nil
	}
	choice.raw, err = manifest.Encode(part)
	if err != nil {
		return choice, fmt.Errorf("choose a manifest: %w", err)
	}
	return choice, nil
}
