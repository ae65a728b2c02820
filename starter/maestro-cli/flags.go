package main

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	conditionAvailable = "Available"
	conditionDeleted   = "Deleted"

	flagTimeout = "timeout"
)

// operationFlags are the flags of apply, delete and wait.
type operationFlags struct {
	detach, cancelOnInterrupt bool
}

func (f *operationFlags) add(command *cobra.Command) {
	command.Flags().BoolVar(&f.detach, "detach", false, "start the operation, print its workflow ID and leave")
	command.Flags().BoolVar(&f.cancelOnInterrupt, "cancel-on-interrupt", false, "on SIGINT or SIGTERM cancel the operation and wait for its end, instead of leaving it running")
}

func consumerFlag(set *pflag.FlagSet, value *string) {
	set.StringVar(value, "consumer", "", "Maestro consumer, that is the managed cluster (required)")
}

func stripFlag(set *pflag.FlagSet, value *bool) {
	set.BoolVar(value, "strip-server-fields", false, "drop the status and the metadata of an export that only a server sets, instead of refusing them")
}

func plaintextFlag(set *pflag.FlagSet, value *bool) {
	set.BoolVar(value, "allow-plaintext-secrets", false, "take Secrets, although everyone who may read the workflow's history can read them")
}

func patienceFlag(set *pflag.FlagSet, value *string) {
	set.StringVar(value, "patience", "", "how long to try with a Maestro that does not answer (default 10m, never more than --timeout)")
}

func graceFlag(set *pflag.FlagSet, value *string) {
	set.StringVar(value, "grace", "", "how long a wait bears that the cluster cannot apply a manifest for a reason that does not heal by itself (default 30s)")
}

func failOnFlag(set *pflag.FlagSet, value *string) {
	set.StringVar(value, "fail-on", "", "condition that ends the wait early, as failed")
}

func onImmutableFlag(set *pflag.FlagSet, value *string) {
	set.StringVar(value, "on-immutable", "", "when Maestro refuses a change of the set of manifests: fail, or recreate, which deletes the work without its objects and creates it again (default fail)")
}

// target names a stored work.
type target struct{ name, consumer string }

func (t *target) add(command *cobra.Command) {
	command.Flags().StringVar(&t.name, "name", "", "name of the ManifestWork (required)")
	consumerFlag(command.Flags(), &t.consumer)
}

func (t *target) check() error { return required("--name", t.name, "--consumer", t.consumer) }

func (t *target) String() string { return t.consumer + "/" + t.name }

// required takes pairs of a flag's name and its value.
func required(pairs ...string) error {
	var missing []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			missing = append(missing, pairs[i])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return contract.Errorf(contract.ErrInvalidInput, "%s is required", strings.Join(missing, " and "))
}

// timeoutOf reads --timeout.
func timeoutOf(command *cobra.Command) string {
	text, _ := command.Flags().GetString(flagTimeout)
	return text
}

// checkFailOn refuses a condition that cannot be read, or that ends no wait.
func checkFailOn(text, wait string) error {
	if text == "" {
		return nil
	}
	if wait == "" {
		return contract.Errorf(contract.ErrInvalidInput, "--fail-on: only with a wait")
	}
	_, err := checkWait("fail-on", text)
	return err
}

// checkWait refuses a condition that cannot be read, before anything is sent.
func checkWait(flag, text string) (manifest.Expression, error) {
	expression, err := manifest.ParseExpression(text)
	if err != nil {
		return expression, contract.Errorf(contract.ErrInvalidInput, "--%s: %w", flag, err)
	}
	if flag != "for" && expression.AwaitsDeletion() {
		return expression, contract.Errorf(contract.ErrInvalidInput, "--%s %q: only with delete, and with wait --for", flag, text)
	}
	return expression, nil
}

// readManifest reads a file, or standard input for "-". Of what is larger than a work may be only the size is kept, for
// the refusal.
func (a *app) readManifest(ctx context.Context, path string) (name string, data []byte, err error) {
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return path, nil, contract.Errorf(contract.ErrInvalidInput, "read file: %w", err)
		}
		defer file.Close()
		data, err = readBounded(path, file)
		return path, data, err
	}
	const standardInput = "standard input"
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() { // ends with its input, or with the process: a read of a terminal cannot be cancelled
		data, err := readBounded(standardInput, a.stdin)
		done <- read{data, err}
	}()
	select {
	case <-ctx.Done():
		return standardInput, nil, contract.Errorf(contract.ErrInvalidInput, "interrupted while reading standard input: %w", ctx.Err())
	case got := <-done:
		return standardInput, got.data, got.err
	}
}

func readBounded(name string, input io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(input, contract.MaxWorkBytes+1))
	var more int64
	if err == nil && len(data) > contract.MaxWorkBytes {
		more, err = io.Copy(io.Discard, input)
	}
	switch {
	case err != nil:
		return nil, contract.Errorf(contract.ErrInvalidInput, "read %s: %w", name, err)
	case len(data) > contract.MaxWorkBytes:
		return nil, manifest.TooLarge(name, int64(len(data))+more)
	}
	return data, nil
}

// fileFlags are the flags of every command that reads one file.
type fileFlags struct {
	file              string
	stripServerFields bool
}

func (f *fileFlags) add(set *pflag.FlagSet, holds string) {
	set.StringVar(&f.file, "manifest-file", "", "file with "+holds+", YAML or JSON; - for standard input (required)")
	stripFlag(set, &f.stripServerFields)
}

// inputFlags are those of the commands that judge a file as an operation does, through whose history it goes.
type inputFlags struct {
	fileFlags

	plaintext bool
}

func (f *inputFlags) add(set *pflag.FlagSet, holds string) {
	f.fileFlags.add(set, holds)
	plaintextFlag(set, &f.plaintext)
}

func (f *inputFlags) options(consumer string) manifest.Options {
	return manifest.Options{Consumer: consumer, StripServerFields: f.stripServerFields, AllowPlaintextSecrets: f.plaintext}
}

// input reads and checks a file. The warnings are said already.
func (a *app) input(ctx context.Context, path string, options manifest.Options) (*manifest.Input, manifest.Problems, error) {
	name, data, err := a.readManifest(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	input, err := manifest.ParseInput(name, data, options)
	if err != nil {
		return nil, nil, err
	}
	warnings, err := input.Validate(options)
	for _, warning := range warnings {
		a.say("warning: " + warning.String())
	}
	return input, warnings, err
}
