package operation

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// handleMessages registers the query and the update before anything can yield.
func (op *operation) handleMessages(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, contract.QueryStatus, func() (contract.StatusResult, error) {
		return op.result, nil
	}); err != nil {
		return fmt.Errorf("register query %s: %w", contract.QueryStatus, err)
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, contract.UpdateSubmit, op.submit,
		workflow.UpdateHandlerOptions{Validator: op.refuse}); err != nil {
		return fmt.Errorf("register update %s: %w", contract.UpdateSubmit, err)
	}
	if err := workflow.SetQueryHandler(ctx, contract.QueryExplain, func() (contract.Explanation, error) {
		return op.explain(), nil
	}); err != nil {
		return fmt.Errorf("register query %s: %w", contract.QueryExplain, err)
	}
	return op.handleOperators(ctx)
}

// latest is the request that an offered one is compared with.
func (op *operation) latest() contract.Request {
	if op.next != nil {
		return *op.next
	}
	return op.request
}

// refuse is the validator of submit: what it refuses leaves no trace in the history.
func (op *operation) refuse(ctx workflow.Context, offered contract.Request) error {
	if err := offered.Check(); err != nil {
		return contract.Errorf(contract.ErrInvalidInput, "%w", err).Application()
	}
	if id := workflow.GetInfo(ctx).WorkflowExecution.ID; offered.WorkflowID() != id {
		return contract.Errorf(contract.ErrInvalidInput, "this request belongs to workflow %s, not to %s", offered.WorkflowID(), id).Application()
	}
	generation, err := offered.EffectiveGeneration()
	if err != nil {
		return contract.Errorf(contract.ErrInvalidInput, "%w", err).Application()
	}
	// A run that has its outcome, or is being cancelled, takes nothing more: an equal request would get an outcome
	// from before its time, and a newer one would take the outcome from the caller that it belongs to.
	// Only the reports to HyperFleet, which can take a day, make room for a request.
	if (op.result.FinishedAt != nil && op.next == nil || op.cancelled()) && !op.onlyReports() {
		return contract.Errorf(contract.ErrClosing, "this run is about to close, submit the request again").Application()
	}
	standing := contract.Compare(op.latest(), offered)
	if op.next != nil && losesReport(standing, *op.next, offered) {
		return contract.Errorf(contract.ErrClosing, "this run makes room for another request, which has a report of its own: submit the request again").Application()
	}
	switch standing {
	case contract.StandingOlder:
		return contract.Errorf(contract.ErrSuperseded, "a newer generation than %d is being applied", generation).Application()
	case contract.StandingConflict:
		if op.onlyReports() {
			return nil // the next run decides, on what is stored
		}
		return contract.Errorf(contract.ErrGenerationConflict, "generation %d is being applied with other content", generation).Application()
	case contract.StandingAttach, contract.StandingNewer:
		return nil
	}
	return nil
}

// losesReport: a request that waits for this run to make room has one report. Whoever joins or replaces it has to meet its
// own run for another one, so that each receiver hears of an outcome.
func losesReport(standing contract.Standing, next, offered contract.Request) bool {
	same := next.Report != nil && offered.Report != nil && next.Report.Equal(*offered.Report)
	switch standing {
	case contract.StandingAttach:
		return offered.Report != nil && !same
	case contract.StandingNewer:
		return next.Report != nil && !same
	case contract.StandingOlder, contract.StandingConflict:
	}
	return false
}

// submit takes a request that the validator let pass. A newer one stops the step under way.
func (op *operation) submit(ctx workflow.Context, offered contract.Request) (contract.Submitted, error) {
	submitted := contract.Submitted{RunID: workflow.GetInfo(ctx).WorkflowExecution.RunID}
	if op.onlyReports() {
		return submitted, op.makeRoom()
	}
	if contract.Compare(op.latest(), offered) == contract.StandingAttach {
		submitted.Attached = op.next == nil
		if submitted.Attached {
			op.addReport(offered.Report)
		}
		return submitted, nil
	}
	op.next = &offered
	op.stop()
	return submitted, nil
}

// addReport makes sure that each receiver gets the outcome once.
func (op *operation) addReport(report *contract.Report) {
	if report == nil {
		return
	}
	op.statuses.add(report.HyperFleet)
	if !slices.ContainsFunc(op.reports, report.Equal) {
		op.reports = append(op.reports, *report)
	}
}

// short keeps what a request says within Temporal's limits on search attributes and summaries: an unknown value that is
// too long would fail the workflow task for ever, before the build step can refuse it.
func short(text string) string {
	const limit = 128
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

func (op *operation) show(ctx workflow.Context, phase contract.Phase, text string) {
	op.standing = phase
	attributes := []temporal.SearchAttributeUpdate{contract.SearchPhase.ValueSet(string(phase))}
	if phase == contract.PhaseBuilding {
		attributes = append(attributes,
			contract.SearchConsumer.ValueSet(short(op.request.Consumer)),
			contract.SearchWork.ValueSet(short(op.result.ManifestWorkName)),
			contract.SearchGeneration.ValueSet(op.result.Generation))
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, attributes...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes not written", "error", err)
	}
	workflow.SetCurrentDetails(ctx, op.details(text))
}
