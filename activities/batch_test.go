package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const fence = 1000

func recreatable(ticket contract.Ticket) contract.Ticket {
	ticket.Recreate = true
	return ticket
}

func ticketOf(params contract.CommitParams) contract.Ticket {
	return contract.Ticket{ID: fmt.Sprintf("ticket/%s/%d", params.Action, params.Generation), Work: params.Name, Action: params.Action, Write: &params}
}

func batchOf(tickets ...contract.Ticket) contract.BatchParams {
	return contract.BatchParams{Source: source, Consumer: consumer, Name: name, Fence: fence, Tickets: tickets}
}

func ticketsOf(all ...contract.CommitParams) contract.BatchParams {
	var tickets []contract.Ticket
	for _, params := range all {
		tickets = append(tickets, ticketOf(params))
	}
	return batchOf(tickets...)
}

// commitBatch makes one attempt.
func (s *store) commitBatch(params contract.BatchParams) contract.BatchResult {
	s.t.Helper()
	result, err := attempt[contract.BatchParams, contract.BatchResult](s, s.committer.CommitBatch, params)
	require.NoError(s.t, err)
	return result
}

func outcomes(result contract.BatchResult) (list []string) {
	for _, one := range result.Results {
		list = append(list, string(one.Outcome)+string(one.Type))
	}
	return list
}

func TestBatchIsOneWriteInTheOrderOfItsTickets(t *testing.T) {
	s := newStore(t, fakemaestro.Loose)
	result := s.commitBatch(ticketsOf(mergePool("a", 1), mergePool("b", 2), mergePool("a", 3), removeManifest("ConfigMap/default/none", 0)))
	assert.Equal(t, []string{"Created", "Updated", "Updated", "Unchanged"}, outcomes(result))
	assert.EqualValues(t, 1, result.Version)
	assert.Equal(t, 1, s.published())
	assert.Equal(t, map[string]string{"west-1-a": "3", "west-1-b": "2"}, s.replicas())

	result = s.commitBatch(ticketsOf(mergePool("c", 1), removeManifest("NodePool.hypershift.openshift.io/clusters/west-1-b", 0)))
	assert.Equal(t, []string{"Updated", "Updated"}, outcomes(result))
	assert.EqualValues(t, 2, result.Version)
	assert.Equal(t, map[string]string{"west-1-a": "3", "west-1-c": "1"}, s.replicas())
}

func TestBatchThatChangesNothingPublishesNothing(t *testing.T) {
	s := newStore(t, fakemaestro.Loose)
	s.commitBatch(ticketsOf(mergePool("a", 1)))
	result := s.commitBatch(ticketsOf(mergePool("a", 1), mergePool("a", 2), mergePool("a", 1)))
	assert.Equal(t, []string{"Unchanged", "Updated", "Updated"}, outcomes(result), "each one's part in it")
	assert.EqualValues(t, 1, result.Version)
	assert.Equal(t, 1, s.published())
}

func TestBadTicketFailsAlone(t *testing.T) {
	s := newStore(t, fakemaestro.Loose)
	older, newer := mergePool("a", 1), mergePool("a", 2)
	older.Generation, newer.Generation = 4, 5
	hopeless := mergePool("b", 1)
	hopeless.Wait = "Deployment/web:Available"
	another := ticketOf(mergePool("c", 1))
	moved := *another.Write
	moved.Consumer = "cluster-b2"
	another.Write = &moved
	result := s.commitBatch(batchOf(ticketOf(newer), ticketOf(older), ticketOf(hopeless), another, ticketOf(mergePool("d", 1))))
	assert.Equal(t, []string{"Created", "Superseded", "InvalidInput", "InvalidInput", "Updated"}, outcomes(result))
	assert.Contains(t, result.Results[1].Message, "holds generation 5")
	assert.Contains(t, result.Results[3].Message, "cluster-b2")
	assert.Equal(t, map[string]string{"west-1-a": "2", "west-1-d": "1"}, s.replicas())
	assert.Equal(t, 1, s.published())
}

func TestLostAnswerToABatchIsFoundByTheNextAttempt(t *testing.T) {
	for _, generation := range generations {
		s := newStore(t, generation)
		s.commitBatch(ticketsOf(mergePool("a", 1), mergePool("b", 1)))
		s.maestro.Faults().Inject(fakemaestro.AnswerLost().Times(1))
		batch := ticketsOf(mergePool("a", 2), mergePool("b", 2), mergePool("a", 3))
		_, err := attempt[contract.BatchParams, contract.BatchResult](s, s.committer.CommitBatch, batch)
		require.Error(t, err)
		assert.True(t, retried(t, err))
		result := s.commitBatch(batch)
		assert.EqualValues(t, 2, result.Version, "its own write")
		for _, one := range result.Results {
			assert.Empty(t, one.Type)
		}
		assert.Equal(t, map[string]string{"west-1-a": "3", "west-1-b": "2"}, s.replicas())
		assert.Equal(t, 2, s.published())
	}
}

func TestBatchThatLosesTheRaceIsMergedAgain(t *testing.T) {
	s := newStore(t, fakemaestro.Loose)
	s.commitBatch(ticketsOf(mergePool("a", 1)))
	s.interferes(1, func(int) contract.CommitParams { return mergePool("rival", 7) })
	result := s.commitBatch(ticketsOf(mergePool("b", 1), mergePool("c", 1)))
	assert.Equal(t, 1, result.Conflicts)
	assert.EqualValues(t, 3, result.Version)
	assert.Equal(t, map[string]string{"west-1-a": "1", "west-1-b": "1", "west-1-c": "1", "west-1-rival": "7"}, s.replicas())
}

// A server that keeps the set of manifests takes the changes that need no other set; the others fail, each alone, unless
// they let the work be recreated.
func TestBatchOnAStrictServer(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	s.commitBatch(ticketsOf(mergePool("a", 1), mergePool("b", 1)))
	result := s.commitBatch(ticketsOf(mergePool("a", 2), mergePool("c", 1), mergePool("b", 2)))
	assert.Equal(t, []string{"Updated", "ManifestSetImmutable", "Updated"}, outcomes(result))
	assert.False(t, result.Recreate)
	assert.Equal(t, map[string]string{"west-1-a": "2", "west-1-b": "2"}, s.replicas())

	batch := batchOf(ticketOf(mergePool("a", 3)), recreatable(ticketOf(mergePool("c", 1))), ticketOf(mergePool("d", 1)), recreatable(ticketOf(mergePool("e", 1))))
	result = s.commitBatch(batch)
	assert.True(t, result.Recreate)
	assert.Equal(t, []string{"Updated", "Updated", "ManifestSetImmutable", "Updated"}, outcomes(result), "who takes part")
	assert.Equal(t, map[string]string{"west-1-a": "2", "west-1-b": "2"}, s.replicas(), "nothing is written yet")

	batch.Tickets = []contract.Ticket{batch.Tickets[0], batch.Tickets[1], batch.Tickets[3]}
	prepared, err := attempt[contract.BatchParams, contract.OrphanBatchResult](s, s.committer.OrphanBatch, batch)
	require.NoError(t, err)
	assert.Equal(t, contract.OrphanReady, prepared.Outcome)
	work, err := manifest.ParseJSON(prepared.Work)
	require.NoError(t, err)
	assert.Len(t, work.Spec.Workload.Manifests, 4, "all of the batch")
	require.NoError(t, s.maestro.SetStatus(uid, fakemaestro.Status{ObservedVersion: int32(prepared.Version)}))
	_, err = s.deleteOrphaned(orphaned(prepared.OrphanResult))
	require.NoError(t, err)
	require.NoError(t, s.maestro.ConfirmDelete(uid))
	assert.Equal(t, contract.CommitRecreated, s.recreate(prepared.OrphanResult).Outcome)
	assert.Equal(t, map[string]string{"west-1-a": "3", "west-1-b": "2", "west-1-c": "1", "west-1-e": "1"}, s.replicas())
}

func TestOlderMutexWritesNothing(t *testing.T) {
	s := newStore(t, fakemaestro.Loose)
	newer := ticketsOf(mergePool("a", 1))
	newer.Fence = fence + 1
	s.commitBatch(newer)
	assert.Equal(t, fmt.Sprint(fence+1), s.bundle().Work.Annotations[contract.AnnotationFence])
	result := s.commitBatch(ticketsOf(mergePool("a", 2)))
	assert.EqualValues(t, fence+1, result.FenceLost)
	assert.Equal(t, 1, s.published())

	stored, err := s.client.Read(t.Context(), source, consumer, name)
	require.NoError(t, err)
	assert.EqualValues(t, fence+1, stored.Fence)
	assert.NotContains(t, stored.Work.Annotations, contract.AnnotationFence, "nobody compares it")
	newer.Fence = fence + 2
	s.commitBatch(newer)
	assert.Equal(t, 1, s.published(), "a fence alone is no change")
}

// requests are what operations were started with.
type requests map[string]contract.Request

func (r requests) Request(_ context.Context, workflowID, run string) (contract.Request, error) {
	request, found := r[workflowID+"@"+run]
	if !found {
		return request, contract.Errorf(contract.ErrCancelled, "the operation %s is gone", workflowID)
	}
	return request, nil
}

func TestLargeWriteIsReadFromItsOperation(t *testing.T) {
	s := newStore(t, fakemaestro.Loose)
	request := contract.Request{Source: source, Consumer: consumer, Name: name, Action: contract.ActionMerge, Generation: 4, Manifests: []json.RawMessage{
		json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large","namespace":"default"}}`),
	}}
	s.committer.Requests = requests{"op@run": request}
	reference := contract.Ticket{ID: "large", Work: name, Action: contract.ActionMerge, ReplyTo: "op", Run: "run"}
	gone := reference
	gone.Run = "another"
	result := s.commitBatch(batchOf(reference, gone, ticketOf(mergePool("a", 1))))
	assert.Equal(t, []string{"Created", "Cancelled", "Updated"}, outcomes(result))
	assert.Len(t, s.bundle().Work.Spec.Workload.Manifests, 2)
	assert.Contains(t, string(s.bundle().Work.Spec.Workload.Manifests[0].Raw), `"hyperfleet.io/generation":"4"`)
}

func TestDeletionOfASharedWorkIsATicket(t *testing.T) {
	s := newStore(t, fakemaestro.Loose)
	s.commitBatch(ticketsOf(mergePool("a", 1)))
	result := s.commitBatch(ticketsOf(remove()))
	assert.Equal(t, []string{"Deleting"}, outcomes(result))
	_, err := attempt[contract.BatchParams, contract.BatchResult](s, s.committer.CommitBatch, ticketsOf(mergePool("b", 1)))
	assert.Equal(t, contract.ErrUnderDeletion, contract.TypeOf(err), "the merge behind it waits for its end")
	require.NoError(t, s.maestro.ConfirmDelete(uid))
	result = s.commitBatch(ticketsOf(removeManifest("ConfigMap/default/none", 0), mergePool("b", 1)))
	assert.Equal(t, []string{"Absent", "Created"}, outcomes(result))
}

// A ticket that was refused for what another one wanted is judged anew when that one is out.
func TestRefusalDoesNotOutliveItsCause(t *testing.T) {
	object := func(name string, size int) contract.Ticket {
		return ticketOf(mergeObject(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default"},"data":{"x":%q}}`, name, strings.Repeat("x", size))))
	}
	s := newStore(t, fakemaestro.Strict)
	s.commitBatch(batchOf(object("b", 1), object("c", 1)))
	result := s.commitBatch(batchOf(object("a", 300<<10), object("b", 300<<10)))
	assert.Equal(t, []string{"ManifestSetImmutable", "Updated"}, outcomes(result), "both would be too large together")
	assert.EqualValues(t, 2, result.Version)
}

func TestOlderMutexRecreatesNothing(t *testing.T) {
	s := newStore(t, fakemaestro.Strict)
	newer := ticketsOf(mergePool("a", 1))
	newer.Fence = fence + 1
	s.commitBatch(newer)
	batch := batchOf(recreatable(ticketOf(mergePool("b", 1))))
	prepared, err := attempt[contract.BatchParams, contract.OrphanBatchResult](s, s.committer.OrphanBatch, batch)
	require.NoError(t, err)
	assert.EqualValues(t, fence+1, prepared.FenceLost)
	assert.Equal(t, 1, s.published())

	batch.Fence = fence + 2
	prepared, err = attempt[contract.BatchParams, contract.OrphanBatchResult](s, s.committer.OrphanBatch, batch)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(fence+2), s.bundle().Work.Annotations[contract.AnnotationFence])
	require.NoError(t, s.maestro.SetStatus(uid, fakemaestro.Status{ObservedVersion: int32(prepared.Version)}))
	params := orphaned(prepared.OrphanResult)
	params.Fence = fence + 2
	_, err = s.deleteOrphaned(params)
	require.NoError(t, err)
	require.NoError(t, s.maestro.ConfirmDelete(uid))
	recreated, err := attempt[contract.OrphanedParams, contract.RecreateResult](s, s.committer.Recreate, params)
	require.NoError(t, err)
	assert.Equal(t, contract.CommitRecreated, recreated.Outcome)
	assert.Equal(t, fmt.Sprint(fence+2), s.bundle().Work.Annotations[contract.AnnotationFence], "an older mutex is still refused")
}
