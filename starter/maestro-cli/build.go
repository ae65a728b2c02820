package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// ofApply begins the text of a flag of build that is about its operation.
const ofApply = "with --apply: "

// buildFlags are the flags of build.
type buildFlags struct {
	partFlags
	output, outputFile, format string
	dryRun, apply, showSecrets bool
	wait, patience, grace      string
	onImmutable, failOn        string

	// target of output, outputFile and format, read before the program takes --output for its own.
	target    buildTarget
	targetErr error
}

func (a *app) buildCommand() *cobra.Command {
	var flags buildFlags
	var shared operationFlags
	command := &cobra.Command{
		Use:   "build --consumer NAME [--source-file FILE] [--resource-file FILE] [--nodepool-file FILE]",
		Short: "Merge manifests or nodepools into a stored ManifestWork: print, preview or apply it",
		Long: `Merge manifests or nodepools into a stored ManifestWork. At least one of the three files is required.

A manifest that the work has (by group, kind, namespace and name) is replaced in its place, the others are kept, new ones
are appended. --strategy replace also removes what the files lack: the same adapter's manifests, and those without an
adapter that are of a kind in the files. A work that does not exist is made.

Without --name, nodepools go to one work each (<cluster>-<adapter>-<nodepool>): they share nothing and are applied side by
side. A nodepool that is dropped from the file keeps its work: remove that with maestro-cli delete. --granularity adapter
or cluster, a --name, or a ManifestWork as --source-file puts them into one work. A Maestro before 2026-02-11 refuses a
change of the number, the order or an apiVersion of the manifests in a work; --dry-run says beforehand when a merge needs
one.

Without --apply and --dry-run the merged work is printed, or written to --output FILE; several works are documents of one
YAML file or a JSON List, and apply takes one work a file. On standard output the values of Secrets are masked unless
--show-secrets is given; a file holds them, and only its owner may read it then.

--dry-run shows what would change and changes nothing, beside --apply too. It prints text for people unless --output or
--format asks for a document, and exits with 0 whether something would change or not.

--apply runs the merge as an operation, which merges into the work as it is stored by then. It prints the result.`,
		Example: `  maestro-cli build --nodepool-file pools.json --consumer cluster-a1 --dry-run
  maestro-cli build --nodepool-file pools.json --consumer cluster-a1 --apply --wait
  maestro-cli build --name shared --resource-file more.yaml --consumer cluster-a1 --output merged.yaml`,
		Args: noArguments,
	}
	set := command.Flags()
	flags.add(set)
	set.StringVar(&flags.output, "output", "", "file for the merged work; or yaml or json, the form of what is printed")
	set.StringVar(&flags.outputFile, "output-file", "", "the same as --output with a file, whatever its name")
	set.StringVar(&flags.format, "format", "", "form of what is printed or written: yaml or json (default: by the file's name, else yaml)")
	set.BoolVar(&flags.dryRun, "dry-run", false, "show what would change, and change nothing, even with --apply")
	set.BoolVar(&flags.apply, "apply", false, "merge into the stored work, as an operation")
	set.BoolVar(&flags.showSecrets, "show-secrets", false, "print the values of Secrets on standard output")
	set.StringVar(&flags.wait, "wait", "", "wait for a condition; without a value: Available")
	set.Lookup("wait").NoOptDefVal = conditionAvailable
	patienceFlag(set, &flags.patience)
	graceFlag(set, &flags.grace)
	failOnFlag(set, &flags.failOn)
	onImmutableFlag(set, &flags.onImmutable)
	shared.add(command)
	for _, name := range []string{"wait", "patience", "grace", "detach", "cancel-on-interrupt", "allow-plaintext-secrets"} {
		flag := set.Lookup(name)
		flag.Usage = ofApply + flag.Usage
	}
	command.RunE = func(command *cobra.Command, _ []string) error {
		flags.target, flags.targetErr = flags.readTarget()
		if command.Flags().Changed("output") || flags.target.explicit {
			// The flag is the program's --output, too, which has a form only.
			if err := command.Flags().Set("output", flags.target.format); err != nil {
				return failed("build", contract.Errorf(contract.ErrInternal, "%w", err))
			}
		}
		if flags.apply && !flags.dryRun {
			return a.operateAll(command, shared, func(ctx context.Context, settings config.CLI) ([]contract.Request, error) {
				requests, err := a.buildRequests(ctx, command, settings, flags)
				if err == nil {
					_, err = prepare(requests)
				}
				return requests, err
			})
		}
		return a.preview(command, flags)
	}
	return command
}

// check finds what is wrong with the arguments without reading anything.
func (f *buildFlags) check(command *cobra.Command) error {
	problems := []error{f.partFlags.check(), f.targetErr}
	bad := func(format string, args ...any) {
		problems = append(problems, contract.Errorf(contract.ErrInvalidInput, format, args...))
	}
	if f.target.file != "" && (f.apply || f.dryRun) {
		bad("--output %s: a file takes the merged work, which --apply and --dry-run do not print", f.target.file)
	}
	if f.showSecrets && (f.apply || f.dryRun) {
		bad("--show-secrets: not with --apply or --dry-run, which do not print the merged work")
	}
	// The environment's path is for the other commands of a script, the flag is for this one.
	if flag := command.Flags().Lookup("results-path"); flag.Changed && flag.Value.String() != "" && (!f.apply || f.dryRun) {
		bad("--results-path: only with --apply, and without --dry-run: a preview has no outcome to write")
	}
	switch {
	case f.wait == "":
	case !f.apply:
		bad("--wait: only with --apply")
	default:
		_, err := checkWait("wait", f.wait)
		problems = append(problems, err)
	}
	problems = append(problems, checkFailOn(f.failOn, f.wait))
	// The envelope of a request, whatever the files hold.
	envelope := contract.Request{
		Source: program, Consumer: cmp.Or(f.consumer, "any"), Action: contract.ActionMerge, Name: cmp.Or(f.name, "any"), Adapter: f.adapter,
		Manifests: []json.RawMessage{json.RawMessage("{}")}, Generation: f.generation,
		Timeout: timeoutOf(command), Patience: f.patience, Grace: f.grace, OnImmutable: contract.OnImmutable(f.onImmutable),
	}
	if err := envelope.Check(); err != nil {
		bad("%w", err)
	}
	return errors.Join(problems...)
}

// buildRequests makes the operations of a build.
func (a *app) buildRequests(ctx context.Context, command *cobra.Command, settings config.CLI, flags buildFlags) ([]contract.Request, error) {
	if err := flags.check(command); err != nil {
		return nil, err
	}
	part := flags.partFlags
	part.plaintextSecrets = part.plaintextSecrets || !flags.apply || flags.dryRun // a preview goes into no history
	requests, err := a.parts(ctx, settings, part)
	if len(requests) > 1 && strings.Contains(flags.wait, ":") {
		return nil, contract.Errorf(contract.ErrInvalidInput,
			"--wait %q: the nodepools go to %d works, which cannot all hold that manifest: give a condition of the work, or apply one with --manifest-name", flags.wait, len(requests))
	}
	for index := range requests {
		requests[index].Wait, requests[index].Timeout = flags.wait, timeoutOf(command)
		requests[index].Patience, requests[index].Grace = flags.patience, flags.grace
		requests[index].FailOn = flags.failOn
		requests[index].OnImmutable = contract.OnImmutable(flags.onImmutable)
	}
	return requests, err
}

// preview prints the merged works, or what a merge would change, without an operation.
func (a *app) preview(command *cobra.Command, flags buildFlags) error {
	settings, err := settingsOf(command)
	var requests []contract.Request
	if err = errors.Join(err, flags.check(command)); err == nil {
		requests, err = a.buildRequests(command.Context(), command, settings, flags)
	}
	var merges []merged
	if err == nil {
		merges, err = prepare(requests)
	}
	if err != nil {
		return a.ended(command, "build", err)
	}
	server, err := a.lookup(command, settings)
	if err != nil {
		return a.ended(command, "build", err)
	}
	defer func() { _ = server.Close() }() // the answers are read
	for index := range merges {
		if err := a.merge(command.Context(), server, &merges[index]); err != nil {
			return a.ended(command, "build "+merges[index].target().String(), err)
		}
	}
	target := flags.target
	if !target.explicit && target.file == "" {
		target.format = settings.Output
	}
	if flags.dryRun {
		err = a.printChanges(merges, target.explicit, target.format)
	} else {
		err = a.writeWorks(merges, target, flags.showSecrets)
	}
	if err != nil {
		return a.ended(command, "build", err)
	}
	return nil
}

// ended is how a command without an operation fails.
func (a *app) ended(command *cobra.Command, where string, err error) error {
	var failure *failure
	switch {
	case command.Context().Err() != nil:
		return interrupted(where)
	case errors.As(err, &failure):
		return failure
	default:
		return failed(where, err)
	}
}

// merged is what a merge would leave.
type merged struct {
	request contract.Request
	part    manifest.Part
	stored  *manifest.Stored
	merge   manifest.Merged
}

func (m *merged) target() *target {
	return &target{name: m.request.WorkName(), consumer: m.request.Consumer}
}

// prepare checks requests as their operations do before they read the stored works.
func prepare(requests []contract.Request) ([]merged, error) {
	var merges []merged
	for _, request := range requests {
		one, err := prepared(request)
		if err != nil {
			return nil, err
		}
		merges = append(merges, one)
	}
	return merges, nil
}

func prepared(request contract.Request) (merged, error) {
	one := merged{request: request}
	if problems := request.Check(); problems != nil {
		return one, contract.Errorf(contract.ErrInvalidInput, "%w", problems)
	}
	generation, err := request.EffectiveGeneration()
	if err != nil {
		return one, contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	if one.part, err = manifest.PartOf(request.Commit(request.WorkName(), generation)); err != nil {
		return one, err
	}
	_, err = one.part.Check(request.Consumer) // its warnings are said with the files
	return one, err
}

// merge does what the operation would do, up to the write.
func (a *app) merge(ctx context.Context, server *lookup, one *merged) error {
	work := one.target()
	var err error
	one.stored, err = server.read(ctx, *work)
	if errors.Is(err, maestro.ErrNotFound) {
		one.stored, err = nil, nil
	}
	if err != nil {
		return err
	}
	if one.merge, err = manifest.Merge(one.stored, one.part); err != nil {
		return err
	}
	if err := manifest.CheckWait(one.request.Wait, one.merge.Work); err != nil {
		return err
	}
	if one.merge.Write == manifest.WriteCreate && !one.request.Force {
		if err := server.creatable(ctx, *work); err != nil {
			return err
		}
	}
	if one.stored == nil {
		a.say(fmt.Sprintf("note: %s does not exist, it would be made", work))
	}
	for _, warning := range one.merge.Warnings {
		a.say("warning: " + warning)
	}
	if one.stored != nil && !manifest.SameSet(one.stored.Work, one.merge.Work) {
		a.say(fmt.Sprintf("note: %s: %s", work, setChanges(one.request.OnImmutable)))
	}
	return nil
}

// mergedWorks are the works of merges, as documents that apply takes.
func mergedWorks(merges []merged) ([]json.RawMessage, error) {
	documents := make([]json.RawMessage, 0, len(merges))
	for _, one := range merges {
		work := one.merge.Work.DeepCopy()
		// Apply keeps the record and the generation by itself. That generation is of the work as it was last written whole:
		// with it, this one would be other content of the same generation.
		delete(work.Annotations, contract.AnnotationRemoved)
		delete(work.Annotations, contract.AnnotationGeneration)
		raw, err := manifest.Encode(work)
		if err != nil {
			return nil, err
		}
		documents = append(documents, raw)
	}
	return documents, nil
}
