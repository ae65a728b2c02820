package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Requests reads what operations were started with.
type Requests interface {
	// Request of a run of an operation.
	Request(ctx context.Context, workflowID, run string) (contract.Request, error)
}

// CommitBatch writes tickets of one work in one compare-and-swap, in their order. Running it twice is harmless: the second
// run reads what the first one stored and finds nothing to do.
//
// A ticket that cannot be merged fails alone, because merging is pure: it is left out, and the others are written. An
// error means that nothing was written.
func (c *Committer) CommitBatch(ctx context.Context, params contract.BatchParams) (contract.BatchResult, error) {
	defer heartbeat(ctx, heartbeatEvery)()
	attempt, done := uncancelled(ctx)
	defer done()
	result, err := c.commitBatch(attempt, params, ctx.Err)
	result.Attempt = int(activity.GetInfo(ctx).Attempt)
	return result, patient(activity.GetInfo(ctx), time.Now(), err)
}

func (c *Committer) commitBatch(ctx context.Context, params contract.BatchParams, stopped func() error) (contract.BatchResult, error) {
	var result contract.BatchResult
	b := batch{fence: params.Fence}
	var err error
	if b.writes, b.results, err = c.writes(ctx, params); err != nil {
		return result, err
	}
	err = c.rounds(ctx, params.Name, params.Consumer, stopped, func(ctx context.Context) error {
		return c.commitOnce(ctx, &b)
	})
	result.Conflicts = b.conflicts
	if contract.TypeOf(err) == contract.ErrManifestSetImmutable && b.recreatable() {
		result.Results, result.Recreate = b.results, true
		return result, nil
	}
	result.Results, result.Version, result.FenceLost = b.results, b.version, b.lost
	return result, err
}

// batch is several writes of one work on their way into one.
type batch struct {
	fence  int64
	writes []write
	// results of the writes; one with a Type is out.
	results []contract.TicketResult
	// version that is stored afterwards.
	version   int64
	conflicts int
	// lost: a mutex with this higher fence has written the work.
	lost int64
	// immutable: this Maestro keeps the set of manifests, so that only writes take part that need no other one or let
	// the work be recreated for it.
	immutable bool
}

// write is one of a batch. params is nil when it could not be read.
type write struct {
	params   *contract.CommitParams
	recreate bool
	// resets: it changes the set of manifests.
	resets bool
}

// writes are what the tickets say. One that cannot be read fails alone, unless that may heal.
func (c *Committer) writes(ctx context.Context, params contract.BatchParams) ([]write, []contract.TicketResult, error) {
	writes, results := make([]write, len(params.Tickets)), make([]contract.TicketResult, len(params.Tickets))
	for index, ticket := range params.Tickets {
		writes[index].recreate = ticket.Recreate
		read, err := c.writeOf(ctx, ticket)
		switch {
		case contract.Rules[contract.TypeOf(err)].Retryable:
			return nil, nil, err
		case err != nil:
			results[index] = refusedTicket(err)
		case read.Source != params.Source || read.Consumer != params.Consumer || read.Name != params.Name:
			results[index] = refusedTicket(contract.Errorf(contract.ErrInvalidInput, "ticket %s: it writes %s of %s on %s, and was queued for %s of %s on %s",
				ticket.ID, read.Name, read.Source, read.Consumer, params.Name, params.Source, params.Consumer))
		default:
			writes[index].params = &read
		}
	}
	return writes, results, nil
}

func (c *Committer) writeOf(ctx context.Context, ticket contract.Ticket) (contract.CommitParams, error) {
	if ticket.Write != nil {
		return *ticket.Write, nil
	}
	request, err := c.Requests.Request(ctx, ticket.ReplyTo, ticket.Run)
	if err != nil {
		return contract.CommitParams{}, err
	}
	generation, err := request.EffectiveGeneration()
	if err != nil {
		return contract.CommitParams{}, contract.Errorf(contract.ErrInvalidInput, "%w", err)
	}
	return request.Commit(request.WorkName(), generation), nil
}

func refusedTicket(err error) contract.TicketResult {
	return contract.TicketResult{Type: contract.TypeOf(err), Message: err.Error()}
}

// commitOnce reads the stored work, applies the writes to it in their order, and publishes what comes of it once.
func (c *Committer) commitOnce(ctx context.Context, b *batch) error {
	first := b.first()
	if first == nil {
		return nil // none of them can be read
	}
	stored, err := c.read(ctx, *first)
	if err != nil {
		return err
	}
	if stored != nil && stored.Fence > b.fence && b.fence > 0 {
		b.lost = stored.Fence
		return nil
	}
	if first.Action == contract.ActionDelete {
		return c.deleteOne(ctx, b, stored)
	}
	merged, err := c.mergeAll(ctx, b, stored)
	if err != nil {
		return err
	}
	return c.publish(ctx, b, stored, merged)
}

func (b *batch) first() *contract.CommitParams {
	for index, one := range b.writes {
		if one.params != nil && b.results[index].Type == "" {
			return one.params
		}
	}
	return nil
}

// deleteOne: a deletion is always alone in its batch.
func (c *Committer) deleteOne(ctx context.Context, b *batch, stored *manifest.Stored) error {
	result, err := c.delete(ctx, *b.writes[0].params, stored)
	b.results[0].Outcome, b.version = result.Outcome, result.Version
	return err
}

// mergeAll applies the writes to the stored work and gives each its result. What cannot be merged is out; what may heal
// by itself, like a deletion under way, is an error for all.
func (c *Committer) mergeAll(ctx context.Context, b *batch, stored *manifest.Stored) (*manifest.Stored, error) {
	standing := stored
	for index := range b.writes {
		one := &b.writes[index]
		if one.params == nil {
			continue // it could not be read
		}
		// What an earlier round refused may have had its reason in another ticket that is out by now.
		b.results[index], one.resets = contract.TicketResult{}, false
		decided, outcome, err := c.decideOne(ctx, *one.params, standing)
		if err == nil && standing != nil && decided.Work != nil {
			one.resets = !manifest.SameSet(standing.Work, decided.Work)
			if b.immutable && one.resets && !one.recreate {
				err = contract.Errorf(contract.ErrManifestSetImmutable,
					"the set of manifests would change and this Maestro only takes updates with the same manifests in the same order")
			}
		}
		switch {
		case err != nil && contract.Rules[contract.TypeOf(err)].Retryable:
			return nil, err
		case err != nil:
			b.results[index] = refusedTicket(err)
			continue
		}
		b.results[index] = contract.TicketResult{Outcome: outcome, Warnings: decided.Warnings, Resets: one.resets}
		if outcome == contract.CommitCreated || outcome == contract.CommitUpdated {
			standing = following(standing, decided.Work, one.params.Consumer)
		}
	}
	return standing, nil
}

// decideOne says what one write makes of the work, and what that is called.
func (c *Committer) decideOne(ctx context.Context, params contract.CommitParams, standing *manifest.Stored) (manifest.Merged, contract.CommitOutcome, error) {
	if standing == nil && params.Action == contract.ActionRemove {
		if _, err := manifest.PartOf(params); err != nil {
			return manifest.Merged{}, "", err
		}
		return manifest.Merged{}, contract.CommitAbsent, c.Reader.Registered(ctx, params.Consumer)
	}
	decided, err := decide(params, standing)
	if err != nil {
		return manifest.Merged{}, "", err
	}
	switch decided.Write {
	case manifest.WriteCreate:
		return decided, contract.CommitCreated, c.refuseForeign(ctx, params)
	case manifest.WriteUpdate:
		return decided, contract.CommitUpdated, nil
	case manifest.WriteNothing:
		return decided, contract.CommitUnchanged, nil
	}
	return decided, "", contract.Errorf(contract.ErrInternal, "write work %s: decision %d", params.Name, decided.Write)
}

// following is the work that the next write of a batch builds on.
func following(standing *manifest.Stored, work *workv1.ManifestWork, consumer string) *manifest.Stored {
	next := manifest.Stored{Consumer: consumer}
	if standing != nil {
		next = *standing
	}
	next.Work, next.Orphaning = work, false
	return &next
}

// publish writes what the batch makes of the stored work, if that is something else.
func (c *Committer) publish(ctx context.Context, b *batch, stored, merged *manifest.Stored) error {
	switch {
	case merged == nil:
		return nil // there is no work, and nobody makes one
	case stored == nil:
		b.version = 1
		return c.Writer.Create(ctx, b.first().Source, manifest.Fenced(merged.Work, b.fence))
	case merged == stored || manifest.Same(stored.Work, merged.Work) && !stored.Orphaning:
		b.version = stored.Version
		return nil
	}
	// The server raises the version by exactly one on an accepted compare-and-swap, and does not say so.
	b.version = stored.Version + 1
	err := c.Writer.Update(ctx, b.first().Source, stored, manifest.Fenced(merged.Work, b.fence))
	switch contract.TypeOf(err) {
	case contract.ErrVersionConflict:
		b.conflicts++
	case contract.ErrManifestSetImmutable:
		if !b.immutable && len(b.writes) > 1 {
			// Those that change no set, or let the work be recreated, are tried without the others.
			b.immutable = true
			return c.commitOnce(ctx, b)
		}
	}
	return err
}

// recreatable: somebody who takes part lets the work be recreated.
func (b *batch) recreatable() bool {
	for index, one := range b.writes {
		if b.results[index].Type == "" && one.resets && one.recreate {
			return true
		}
	}
	return false
}

// OrphanBatch is Orphan for the tickets of one work: what has to be created afterwards is what all of them make of it. A
// ticket that cannot be merged fails alone. Running it twice is harmless: the second run finds the work prepared.
func (c *Committer) OrphanBatch(ctx context.Context, params contract.BatchParams) (contract.OrphanBatchResult, error) {
	defer heartbeat(ctx, heartbeatEvery)()
	attempt, done := uncancelled(ctx)
	defer done()
	result, err := c.orphanBatch(attempt, params)
	return result, patient(activity.GetInfo(ctx), time.Now(), err)
}

func (c *Committer) orphanBatch(ctx context.Context, params contract.BatchParams) (contract.OrphanBatchResult, error) {
	result := contract.OrphanBatchResult{OrphanResult: contract.OrphanResult{Outcome: contract.OrphanNeedless}}
	b := batch{fence: params.Fence}
	var err error
	if b.writes, b.results, err = c.writes(ctx, params); err != nil {
		return result, err
	}
	first := b.first()
	if first == nil {
		return result, nil
	}
	stored, err := c.read(ctx, *first)
	if err != nil || stored == nil {
		return result, err
	}
	if stored.Fence > b.fence && b.fence > 0 {
		result.FenceLost = stored.Fence
		return result, nil
	}
	merged, err := c.mergeAll(ctx, &b, stored)
	result.Results = b.results
	if err != nil || merged == stored || manifest.SameSet(stored.Work, merged.Work) {
		return result, err
	}
	result.Outcome, result.Version = contract.OrphanReady, stored.Version
	if result.Work, err = manifest.Encode(merged.Work); err != nil {
		return result, contract.Errorf(contract.ErrInternal, "%w", err)
	}
	if result.Old, err = manifest.Encode(stored.Work); err != nil {
		return result, contract.Errorf(contract.ErrInternal, "%w", err)
	}
	left := kept(stored.Work, merged.Work)
	for index := range b.writes {
		if b.writes[index].resets && result.Results[index].Type == "" {
			result.Results[index].Warnings = append(result.Results[index].Warnings, left...)
		}
	}
	result.Version, err = c.keepObjects(ctx, first.Source, stored, b.fence)
	return result, err
}
