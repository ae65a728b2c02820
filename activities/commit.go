package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Reader reads works; see [maestro.Client].
type Reader interface {
	Read(ctx context.Context, source, consumer, name string) (*manifest.Stored, error)
	Others(ctx context.Context, source, consumer, name string) ([]*manifest.Stored, error)
	Registered(ctx context.Context, consumer string) error
}

// Writer publishes works; see [maestro.Client].
type Writer interface {
	Create(ctx context.Context, source string, work *workv1.ManifestWork) error
	Update(ctx context.Context, source string, stored *manifest.Stored, work *workv1.ManifestWork) error
	Delete(ctx context.Context, source string, stored *manifest.Stored) error
}

// Committer writes works.
type Committer struct {
	Reader Reader
	Writer Writer
	// Requests gives what a ticket of the mutex says that is too large to say it itself.
	Requests Requests
}

const (
	// rounds of read, decide, publish that one attempt makes while the version moves under it.
	rounds = 4
	// refusals of the same kind, with nobody else writing, before a refusal is final. The first may be an accident
	// of the server, because it answers everything with one code.
	refusals = 2
	// refusalPause between them.
	refusalPause = time.Second
	// ownedFor is how long after its start no other attempt can run beside this one: less than the heartbeat timeout
	// of 8 s.
	ownedFor = 5 * time.Second
)

// Commit makes the stored work what the request wants, in one attempt: read, decide, publish on top of the version just
// read. Running it twice is harmless: the second run reads what the first one stored and finds nothing to do.
func (c *Committer) Commit(ctx context.Context, params contract.CommitParams) (contract.CommitResult, error) {
	defer heartbeat(ctx, heartbeatEvery)()
	attempt, done := uncancelled(ctx)
	defer done()
	result, err := c.commit(attempt, params, ctx.Err)
	result.Attempt = int(activity.GetInfo(ctx).Attempt)
	return result, patient(activity.GetInfo(ctx), time.Now(), err)
}

// commit is a batch of one, see [Committer.CommitBatch].
func (c *Committer) commit(ctx context.Context, params contract.CommitParams, stopped func() error) (contract.CommitResult, error) {
	b := batch{writes: []write{{params: &params}}, results: make([]contract.TicketResult, 1)}
	err := c.rounds(ctx, params.Name, params.Consumer, stopped, func(ctx context.Context) error { return c.commitOnce(ctx, &b) })
	one := b.results[0]
	if err == nil && one.Type != "" {
		err = &contract.Error{Type: one.Type, Message: one.Message}
	}
	result := contract.CommitResult{Outcome: one.Outcome, Version: b.version, Warnings: one.Warnings}
	return result, err
}

// rounds repeats a step while the version moves under it, but only as long as Temporal cannot have given the attempt up:
// a lost one that went on could write an older request over a newer one which was published meanwhile. The first publish
// of a lost attempt is harmless, because its base version is then no longer the stored one.
func (c *Committer) rounds(ctx context.Context, work, consumer string, stopped func() error, step func(context.Context) error) error {
	began := time.Now()
	refused := 0
	for round := 1; ; round++ {
		err := step(ctx)
		switch contract.TypeOf(err) {
		case "":
			return nil
		case contract.ErrVersionConflict:
			if round >= rounds || stopped() != nil || time.Since(began) > ownedFor {
				return err
			}
			activity.GetLogger(ctx).Info("version moved, reading again", "work", work, "consumer", consumer)
		case contract.ErrManifestRefused:
			if refused++; refused >= refusals || stopped() != nil || time.Since(began) > ownedFor {
				return err
			}
			if err := pause(ctx, refusalPause); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return contract.Errorf(contract.ErrUnavailable, "stopped between two attempts: %w", ctx.Err())
	}
}

// decide says what a whole write or a merge publishes on a stored work.
func decide(params contract.CommitParams, stored *manifest.Stored) (manifest.Merged, error) {
	if params.Action != contract.ActionApply {
		part, err := manifest.PartOf(params)
		if err != nil {
			return manifest.Merged{}, err
		}
		merged, err := manifest.Merge(stored, part)
		if err != nil {
			return manifest.Merged{}, err
		}
		return merged, manifest.CheckWait(params.Wait, merged.Work)
	}
	parsed, err := manifest.ParseJSON(params.Work)
	if err != nil {
		return manifest.Merged{}, err
	}
	write, work, err := manifest.Decide(stored, manifest.Desired(parsed, params.Consumer, params.Generation), params.Force)
	return manifest.Merged{Write: write, Work: work}, err
}

// read gives nil for a work that does not exist.
func (c *Committer) read(ctx context.Context, params contract.CommitParams) (*manifest.Stored, error) {
	stored, err := c.Reader.Read(ctx, params.Source, params.Consumer, params.Name)
	if errors.Is(err, maestro.ErrNotFound) {
		return nil, nil
	}
	return stored, err
}

// refuseForeign stops a create beside another source's work of the same name, unless it is forced.
func (c *Committer) refuseForeign(ctx context.Context, params contract.CommitParams) error {
	if params.Force {
		return nil
	}
	others, err := c.Reader.Others(ctx, params.Source, params.Consumer, params.Name)
	if err != nil {
		return err
	}
	return maestro.RefuseForeign(params.Source, params.Consumer, params.Name, others)
}

// delete asks for the deletion once: while one is under way it does not ask again.
func (c *Committer) delete(ctx context.Context, params contract.CommitParams, stored *manifest.Stored) (contract.CommitResult, error) {
	switch {
	case stored == nil:
		return contract.CommitResult{Outcome: contract.CommitAbsent}, c.absent(ctx, params)
	case stored.DeletedAt != nil:
		return contract.CommitResult{Outcome: contract.CommitDeleting, Version: stored.Version}, nil
	}
	if err := deletable(params, stored); err != nil {
		return contract.CommitResult{}, err
	}
	if stored.Orphaning {
		return contract.CommitResult{}, contract.Errorf(contract.ErrInvalidInput,
			"work %s on %s: a recreation that did not end has left the deleteOption Orphan, so that its objects would stay: apply the work first, or delete it with orphan (--orphan)", params.Name, params.Consumer)
	}
	err := c.Writer.Delete(ctx, params.Source, stored)
	return contract.CommitResult{Outcome: contract.CommitDeleting, Version: stored.Version}, err
}

// absent makes sure that a misspelled consumer, or another source's work, does not look like a work that is gone.
func (c *Committer) absent(ctx context.Context, params contract.CommitParams) error {
	if err := c.Reader.Registered(ctx, params.Consumer); err != nil {
		return err
	}
	return c.refuseForeign(ctx, params)
}

// deletable refuses to delete what is newer than the deletion, or belongs to another adapter than it names.
func deletable(params contract.CommitParams, stored *manifest.Stored) error {
	if params.Owner != "" {
		if err := manifest.Owned(stored, params.Owner, params.Force); err != nil {
			return err
		}
	}
	if generation, of := stored.Newest(); params.Generation > 0 && params.Generation < generation {
		return contract.Errorf(contract.ErrSuperseded,
			"work %s on %s: %s holds generation %d, this deletion is of generation %d", params.Name, params.Consumer, of, generation, params.Generation)
	}
	return nil
}
