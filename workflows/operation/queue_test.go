package operation_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// submitTakes is the time of one message to the mutex.
const submitTakes = time.Second

// queueing is a stage with a mutex, which answers a message with the events that reply gives.
type queueing struct {
	*stage
	mu       sync.Mutex
	messages []contract.TicketMessage
	times    []time.Duration
	reply    func(nth int, message contract.TicketMessage) []contract.TicketEvent
}

func newQueueing(t *testing.T, reply func(nth int, message contract.TicketMessage) []contract.TicketEvent) *queueing {
	t.Helper()
	q := &queueing{reply: reply}
	q.stage = newStage(t, stub{contract.ActivitySubmitTicket, submitTakes, func(_ context.Context, params contract.SubmitTicketParams) error {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.messages = append(q.messages, params.Message)
		q.times = append(q.times, q.env.Now().Sub(began))
		for _, event := range q.reply(len(q.messages), params.Message) {
			event.TicketID = params.Message.TicketID
			q.env.SignalWorkflow(contract.SignalMutexEvent, event)
		}
		return nil
	}})
	return q
}

// verbs of the messages, in order.
func (q *queueing) verbs() (verbs []contract.TicketVerb) {
	for _, message := range q.messages {
		verbs = append(verbs, message.Kind)
	}
	return verbs
}

func (q *queueing) ids() (ids []string) {
	for _, message := range q.messages {
		if message.Kind == contract.TicketSubmit {
			ids = append(ids, message.TicketID)
		}
	}
	return ids
}

// silent never answers; it does take tickets back.
func silent(_ int, message contract.TicketMessage) []contract.TicketEvent {
	if message.Kind == contract.TicketCancel {
		return []contract.TicketEvent{{Outcome: contract.TicketCancelled, Type: contract.ErrCancelled, Message: "cancelled while it waited"}}
	}
	return nil
}

func always(events ...contract.TicketEvent) func(int, contract.TicketMessage) []contract.TicketEvent {
	return func(int, contract.TicketMessage) []contract.TicketEvent { return events }
}

var committed = contract.TicketEvent{
	Outcome: contract.TicketCommitted, Fence: 9, Result: &contract.CommitResult{Outcome: contract.CommitUpdated, Version: 12, Attempt: 1},
}

// merging is a merge of one nodepool into a shared work.
func merging(change ...func(*contract.Request)) contract.Request {
	request := contract.Request{
		Source: "hyperfleet", Consumer: "cluster-a1", Action: contract.ActionMerge, Name: "shared", Generation: 3, Timeout: "5m", Patience: "30s",
		Nodepools: json.RawMessage(`{"cluster":"west-1","nodepools":[{"name":"pool-1","replicas":3}]}`),
	}
	for _, c := range change {
		c(&request)
	}
	return request
}

func TestSharedWorkIsWrittenByTheMutex(t *testing.T) {
	for name, request := range map[string]contract.Request{
		"merge": merging(),
		"apply": apply("a", func(r *contract.Request) {
			r.Work = json.RawMessage(strings.Replace(string(r.Work), `"web"`, `"hyperfleet-web"`, 1))
		}),
		"delete": remove(func(r *contract.Request) { r.Name = "hyperfleet-web" }),
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueueing(t, always(committed))
			q.play(request)
			result, err := q.outcome()
			require.NoError(t, err)
			assert.EqualValues(t, 12, result.Version)
			assert.NotContains(t, q.called, contract.ActivityCommit)
			assert.Contains(t, q.phases, contract.PhaseQueued)
			require.Len(t, q.messages, 1)
			ticket := q.messages[0].Body
			require.NotNil(t, ticket)
			require.NoError(t, ticket.Check())
			assert.Equal(t, request.WorkflowID(), ticket.ReplyTo)
			assert.NotNil(t, ticket.Write)
		})
	}
	s := newStage(t)
	s.play(apply("a"))
	assert.Contains(t, s.called, contract.ActivityCommit, "a work of its own needs no turn")
}

func TestLargeWriteTravelsByReference(t *testing.T) {
	q := newQueueing(t, always(committed))
	q.play(apply(strings.Repeat("x", contract.MaxTicketBytes), func(r *contract.Request) {
		r.Work = json.RawMessage(strings.Replace(string(r.Work), `"web"`, `"hyperfleet-web"`, 1))
	}))
	_, err := q.outcome()
	require.NoError(t, err)
	ticket := q.messages[0].Body
	assert.Nil(t, ticket.Write)
	assert.Equal(t, contract.ActionApply, ticket.Action)
	raw, err := json.Marshal(q.messages[0])
	require.NoError(t, err)
	assert.Less(t, len(raw), contract.MaxTicketBytes)
}

func TestRejectedTicketIsTheOperationsOutcome(t *testing.T) {
	for failure, status := range map[contract.ErrorType]contract.Status{
		contract.ErrInvalidManifest:    contract.StatusFailed,
		contract.ErrGenerationConflict: contract.StatusFailed,
		contract.ErrSuperseded:         contract.StatusSuperseded,
		contract.ErrUnavailable:        contract.StatusFailed,
		contract.ErrExpired:            contract.StatusTimedOut,
	} {
		q := newQueueing(t, always(contract.TicketEvent{Outcome: contract.TicketRejected, Type: failure, Message: "because"}))
		q.play(merging(waiting, reporting))
		result, err := q.outcome()
		require.Error(t, err, failure)
		assert.Equal(t, status, result.Status, failure)
		assert.Equal(t, string(failure), result.Reason)
		assert.Contains(t, result.Message, "because")
		assert.NotContains(t, q.called, contract.ActivityObserve, "nothing was written")
		assert.Contains(t, q.called, contract.ActivityReport)
	}
}

func TestFullQueueIsAskedAgainWithTheSameTicket(t *testing.T) {
	q := newQueueing(t, func(nth int, _ contract.TicketMessage) []contract.TicketEvent {
		if nth < 4 {
			return []contract.TicketEvent{{Outcome: contract.TicketRejected, Type: contract.ErrQueueFull, Message: "200 wait", Again: true}}
		}
		return []contract.TicketEvent{committed}
	})
	q.play(merging())
	_, err := q.outcome()
	require.NoError(t, err)
	ids := q.ids()
	require.Len(t, ids, 4)
	for _, id := range ids {
		assert.Equal(t, ids[0], id)
	}
	assert.GreaterOrEqual(t, q.times[1]-q.times[0], contract.Rules[contract.ErrQueueFull].Delay)
}

func TestSilentMutexIsAskedAgainAndAgain(t *testing.T) {
	q := newQueueing(t, silent)
	explanation := q.explained(20 * time.Second)
	q.play(merging(func(r *contract.Request) { r.Timeout = "20m" }))
	result, err := q.outcome()
	require.Error(t, err)
	assert.Equal(t, contract.StatusTimedOut, result.Status)
	assert.Contains(t, result.Message, "nothing was written")
	ids := q.ids()
	assert.GreaterOrEqual(t, len(ids), 4)
	assert.LessOrEqual(t, len(ids), 7, "ever more seldom")
	for _, id := range ids {
		assert.Equal(t, ids[0], id, "so that a mutex that has it answers, and none writes twice")
	}
	assert.Equal(t, contract.TicketCancel, q.verbs()[len(ids)])
	assert.Equal(t, contract.PhaseQueued, explanation.Phase)
	assert.Contains(t, explanation.WaitsFor, "cluster-mutex/hyperfleet/cluster-a1")
}

func TestAnswerOfAnotherTicketIsNoAnswer(t *testing.T) {
	q := newQueueing(t, silent)
	q.at(10*time.Second, func() {
		wrong := committed
		wrong.TicketID = "web/1/run"
		q.env.SignalWorkflow(contract.SignalMutexEvent, wrong)
		q.env.SignalWorkflow(contract.SignalMutexEvent, "no event")
	})
	q.play(merging(func(r *contract.Request) { r.Timeout = "1m" }))
	result, err := q.outcome()
	require.Error(t, err)
	assert.Equal(t, contract.StatusTimedOut, result.Status)
}

func TestCancelWhileQueuedTakesTheTicketBack(t *testing.T) {
	q := newQueueing(t, silent)
	q.at(20*time.Second, q.env.CancelWorkflow)
	q.play(merging(reporting))
	result, err := q.outcome()
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, err, &cancelled)
	assert.Equal(t, contract.StatusCancelled, result.Status)
	assert.Equal(t, []contract.TicketVerb{contract.TicketSubmit, contract.TicketCancel}, q.verbs())
	assert.Less(t, q.env.Now().Sub(began), 30*time.Second)
	assert.NotContains(t, strings.Join(result.Warnings, " "), "read the work")
}

// A cancel that comes too late does not undo what the mutex wrote, and the outcome says so.
func TestCancelThatIsTooLateSaysWhatWasWritten(t *testing.T) {
	q := newQueueing(t, func(_ int, message contract.TicketMessage) []contract.TicketEvent {
		if message.Kind == contract.TicketCancel {
			return []contract.TicketEvent{committed}
		}
		return nil
	})
	q.at(20*time.Second, q.env.CancelWorkflow)
	q.play(merging(waiting, reporting))
	result, err := q.outcome()
	require.Error(t, err)
	assert.Equal(t, contract.StatusCancelled, result.Status)
	assert.EqualValues(t, 12, result.Version)
}

func TestCancelThatTheMutexDoesNotAnswerWarns(t *testing.T) {
	q := newQueueing(t, always())
	q.at(20*time.Second, q.env.CancelWorkflow)
	q.play(merging(reporting))
	result, err := q.outcome()
	require.Error(t, err)
	assert.Equal(t, contract.StatusCancelled, result.Status)
	assert.Contains(t, strings.Join(result.Warnings, " "), "read the work")
}

func TestPauseTakesTheTicketBackAndResumeTakesAnother(t *testing.T) {
	q := newQueueing(t, func(nth int, message contract.TicketMessage) []contract.TicketEvent {
		if nth > 2 {
			return []contract.TicketEvent{committed}
		}
		return silent(nth, message)
	})
	q.message(10*time.Second, contract.UpdatePause, ann)
	q.message(60*time.Second, contract.UpdateResume, ann)
	q.play(merging())
	result, err := q.outcome()
	require.NoError(t, err)
	assert.EqualValues(t, 12, result.Version)
	assert.Equal(t, []contract.TicketVerb{contract.TicketSubmit, contract.TicketCancel, contract.TicketSubmit}, q.verbs())
	ids := q.ids()
	assert.Equal(t, ids[0]+".2", ids[1], "the mutex remembers that the first one was withdrawn")
	assert.GreaterOrEqual(t, q.times[2], 60*time.Second)
}

func TestNewerRequestTakesTheQueuedTicketBack(t *testing.T) {
	q := newQueueing(t, silent)
	answer := q.offer(10*time.Second, merging(generation(4)))
	q.play(merging())
	next := q.next()
	require.NotNil(t, next)
	assert.EqualValues(t, 4, next.Generation)
	require.NoError(t, answer.refused)
	assert.Equal(t, []contract.TicketVerb{contract.TicketSubmit, contract.TicketCancel}, q.verbs())
}

func TestDeadlineOfAQueuedOperationMoves(t *testing.T) {
	q := newQueueing(t, func(nth int, message contract.TicketMessage) []contract.TicketEvent {
		if nth == 2 {
			return []contract.TicketEvent{committed}
		}
		return silent(nth, message)
	})
	q.message(20*time.Second, contract.UpdateExtend, contract.Extension{By: "ann", Reason: "slow", For: "10m"})
	q.play(merging(func(r *contract.Request) { r.Timeout = "50s" }))
	_, err := q.outcome()
	require.NoError(t, err)
	require.Len(t, q.messages, 2)
	assert.True(t, q.messages[1].Body.Until.After(q.messages[0].Body.Until), "the mutex is told")
	assert.Less(t, q.env.Now().Sub(began), 30*time.Second, "at once, not when the ticket is repeated anyway")
}
