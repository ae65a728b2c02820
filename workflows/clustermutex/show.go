package clustermutex

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// shown is what the search attributes say.
type shown struct {
	phase contract.MutexPhase
	depth int64
	set   bool
}

// depths are the values of the search attribute MaestroQueueDepth: it is written when it changes, not at every ticket.
var depths = []int64{100, 20, 5, 1, 0}

func depth(queued int) int64 {
	for _, least := range depths {
		if int64(queued) >= least {
			return least
		}
	}
	return 0
}

// show says in the UI what the mutex is doing.
func (m *mutex) show(ctx workflow.Context) {
	now := shown{phase: Phase(m.state), depth: depth(len(m.state.Queue)), set: true}
	if now != m.shown {
		attributes := []temporal.SearchAttributeUpdate{
			contract.SearchMutexState.ValueSet(string(now.phase)), contract.SearchQueueDepth.ValueSet(now.depth),
		}
		if !m.shown.set {
			attributes = append(attributes, contract.SearchConsumer.ValueSet(short(m.state.Consumer, 128)))
		}
		if err := workflow.UpsertTypedSearchAttributes(ctx, attributes...); err != nil {
			workflow.GetLogger(ctx).Warn("search attributes not written", "error", err)
		}
		m.shown = now
	}
	workflow.SetCurrentDetails(ctx, details(m.state))
}

const (
	// maxListed tickets in the details.
	maxListed = 20
	// maxDetails is below Temporal's limit of 20,000 bytes.
	maxDetails = 16_000
)

// details are the state as Markdown for the UI.
func details(state contract.MutexState) string {
	var out strings.Builder
	fmt.Fprintf(&out, "**%s** mutex of `%s`\n\n%s\n", Phase(state), short(state.Consumer, 128), Explain(state))
	list := func(title string, tickets []contract.Ticket) {
		if len(tickets) == 0 {
			return
		}
		fmt.Fprintf(&out, "\n%s:\n", title)
		for index, ticket := range tickets {
			if index == maxListed {
				fmt.Fprintf(&out, "- and %d more\n", len(tickets)-maxListed)
				return
			}
			fmt.Fprintf(&out, "- %s, since %s\n", line(ticket), stamp(ticket.QueuedAt))
		}
	}
	if state.Head != nil {
		list("Being committed", state.Head.Tickets)
	}
	list("Waiting", state.Queue)
	if text := blocked(state); text != "" {
		fmt.Fprintf(&out, "\nNot taken by Maestro: %s\n", text)
	}
	for _, one := range state.Interventions {
		fmt.Fprintf(&out, "\n- %s %s by %s: %s", stamp(one.At), one.Verb, short(one.By, 128), short(one.Reason, 200))
	}
	stats := state.Stats
	fmt.Fprintf(&out, "\n\n%d committed in %d batches (the largest of %d), %d rejected, %d superseded, %d cancelled, %d conflicts with other writers, %d holds, %d of them revoked",
		stats.Committed, stats.Batches, stats.LargestBatch, stats.Rejected, stats.Superseded, stats.Cancelled, stats.Conflicts, stats.Holds, stats.Revoked)
	return short(out.String(), maxDetails)
}

func line(ticket contract.Ticket) string {
	if ticket.Kind == contract.TicketHold {
		return fmt.Sprintf("hold by %s %s", ticket.By+ticket.ReplyTo, ticket.Reason)
	}
	return fmt.Sprintf("%s `%s` for `%s`", ticket.Action, ticket.Work, ticket.ReplyTo)
}

// Metrics of the mutex; see docs/limits.md for what bounds them.
const (
	metricTickets   = "maestro_workflows_mutex_tickets_total"
	metricBatches   = "maestro_workflows_mutex_batches_total"
	metricConflicts = "maestro_workflows_mutex_conflicts_total"
	metricRevoked   = "maestro_workflows_mutex_leases_revoked_total"
	metricDepth     = "maestro_workflows_mutex_queue_tickets"
)

// count tells the metrics what has changed.
func (m *mutex) count(ctx workflow.Context, before contract.MutexStats) {
	metrics := workflow.GetMetricsHandler(ctx)
	now := m.state.Stats
	for _, one := range []struct {
		outcome   string
		was, more int64
	}{
		{"committed", before.Committed, now.Committed}, {"rejected", before.Rejected, now.Rejected},
		{"superseded", before.Superseded, now.Superseded}, {"cancelled", before.Cancelled, now.Cancelled},
	} {
		if more := one.more - one.was; more > 0 {
			metrics.WithTags(map[string]string{"outcome": one.outcome}).Counter(metricTickets).Inc(more)
		}
	}
	for _, one := range []struct {
		name      string
		was, more int64
	}{
		{metricBatches, before.Batches, now.Batches}, {metricConflicts, before.Conflicts, now.Conflicts}, {metricRevoked, before.Revoked, now.Revoked},
	} {
		if more := one.more - one.was; more > 0 {
			metrics.Counter(one.name).Inc(more)
		}
	}
	metrics.WithTags(map[string]string{"consumer": m.state.Consumer}).Gauge(metricDepth).Update(float64(len(m.state.Queue)))
}
