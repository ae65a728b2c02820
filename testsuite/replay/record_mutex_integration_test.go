//go:build integration

package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var bob = contract.Operator{By: "bob", Reason: "repair"}

// mutexRecorders play a scenario and return the run of the mutex to keep.
var mutexRecorders = map[string]func(*stage) *starter.Operation{
	"batch": func(s *stage) *starter.Operation {
		mutex := s.pausedMutex()
		operations := []*starter.Operation{s.queued(s.pool("a")), s.queued(s.pool("b")), s.queued(s.pool("c"))}
		s.updateMutex(contract.UpdateResume, bob)
		s.endedAll(operations)
		return s.endMutex(mutex)
	},
	"poisoned": func(s *stage) *starter.Operation {
		mutex := s.pausedMutex()
		operations := []*starter.Operation{
			s.queued(s.pool("a", generation(2))), s.queued(s.pool("b", wait("Deployment/web:Available"))), s.queued(s.pool("c")),
		}
		s.updateMutex(contract.UpdateResume, bob)
		s.endedAll(operations)
		return s.endMutex(mutex)
	},
	"blocked": func(s *stage) *starter.Operation {
		mutex := s.pausedMutex()
		s.maestro.Faults().Inject(fakemaestro.PublishRefused("maestro-8: the manifest is not valid").Times(2))
		operations := []*starter.Operation{s.queued(s.pool("a")), s.queued(s.pool("b"))}
		s.updateMutex(contract.UpdateResume, bob)
		s.endedAll(operations)
		s.maestro.Faults().Inject(fakemaestro.HTTPStatus(http.StatusServiceUnavailable).Times(3))
		s.plays(s.pool("a", generation(3)))
		return s.endMutex(mutex)
	},
	"held": func(s *stage) *starter.Operation {
		mutex := s.updateMutex(contract.UpdateHold, contract.HoldRequest{By: "ann", Reason: "repair"})
		operation := s.queued(s.pool("a"))
		s.updateMutex(contract.UpdateHold, contract.HoldRequest{By: "ann", Reason: "repair", Lease: "10m"})
		s.updateMutex(contract.UpdateRelease, contract.HoldRelease{By: "ann", Reason: "repaired"})
		s.ended(operation)
		return s.endMutex(mutex)
	},
	"lease-ended": func(s *stage) *starter.Operation {
		mutex := s.updateMutex(contract.UpdateHold, contract.HoldRequest{By: "ann", Reason: "repair", Lease: "2s"})
		s.plays(s.pool("a"))
		return s.endMutex(mutex)
	},
	"continued":  func(s *stage) *starter.Operation { return s.continuedMutex() },
	"continuing": func(s *stage) *starter.Operation { return s.endMutex(s.presentMutex(s.continuedMutex())) },
	"recreated-by-batch": func(s *stage) *starter.Operation {
		s.plays(s.pool("a"))
		mutex := s.presentMutex(nil)
		s.updateMutex(contract.UpdatePause, bob)
		operations := []*starter.Operation{s.queued(s.pool("b", recreating)), s.queued(s.pool("c", recreating)), s.queued(s.pool("d"))}
		s.updateMutex(contract.UpdateResume, bob)
		s.reaches(mutex, scheduled(contract.ActivityObserve))
		s.reports(2, available()...)
		s.reaches(mutex, scheduled(contract.ActivityDeleteOrphaned))
		s.confirms()
		s.endedAll(operations)
		return s.endMutex(mutex)
	},
}

func init() {
	maps.Copy(recorders, map[string]func(*stage) *starter.Operation{
		"queued": func(s *stage) *starter.Operation {
			operation := s.start(s.pool("a", wait("Available"), generation(2)))
			s.reports(1, available()...)
			s.ended(operation)
			return operation
		},
		"queued-by-reference": func(s *stage) *starter.Operation {
			return s.plays(s.pool("a", func(r *contract.Request) {
				r.Manifests = append(r.Manifests, json.RawMessage(fmt.Sprintf(
					`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large","namespace":"default"},"data":{"value":%q}}`, strings.Repeat("x", contract.MaxTicketBytes))))
			}))
		},
		"queued-in-vain": func(s *stage) *starter.Operation {
			s.plays(s.pool("a", generation(5)))
			return s.plays(s.pool("a", generation(4)))
		},
		"queued-too-long": func(s *stage) *starter.Operation {
			s.pausedMutex()
			return s.plays(s.pool("a", func(r *contract.Request) { r.Timeout = "3s" }))
		},
		"queued-and-cancelled": func(s *stage) *starter.Operation {
			s.pausedMutex()
			operation := s.queued(s.pool("a"))
			require.NoError(s.t, s.starter.Cancel(s.ctx, operation.WorkflowID))
			s.ended(operation)
			return operation
		},
		"queued-and-superseded": func(s *stage) *starter.Operation {
			s.pausedMutex()
			operation := s.queued(s.pool("a", generation(1)))
			newer := s.start(s.pool("a", generation(2)))
			s.ended(operation)
			s.updateMutex(contract.UpdateResume, bob)
			s.ended(newer)
			return operation
		},
		"queued-and-paused": func(s *stage) *starter.Operation {
			s.pausedMutex()
			operation := s.queued(s.pool("a"))
			s.tells(operation, contract.UpdatePause, ann)
			s.updateMutex(contract.UpdateResume, bob)
			s.tells(operation, contract.UpdateResume, ann)
			s.ended(operation)
			return operation
		},
	})
}

// pool merges a ConfigMap of a name of its own into the scenario's work.
func (s *stage) pool(name string, more ...func(*contract.Request)) contract.Request {
	request := s.merge("1", more...)
	request.Manifests[0] = json.RawMessage(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default"},"data":{"generation":"%d"}}`, name, request.Generation))
	return request
}

// updateMutex starts the mutex where none runs.
func (s *stage) updateMutex(verb string, argument any) *starter.Operation {
	s.t.Helper()
	id := contract.MutexID(source, s.consumer)
	start := s.temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: id, TaskQueue: s.queue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, contract.WorkflowClusterMutex, contract.MutexInput{Source: source, Consumer: s.consumer})
	handle, err := s.temporal.UpdateWithStartWorkflow(s.ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions:          client.UpdateWorkflowOptions{UpdateName: verb, Args: []any{argument}, WaitForStage: client.WorkflowUpdateStageCompleted},
	})
	require.NoError(s.t, err)
	require.NoError(s.t, handle.Get(s.ctx, nil))
	return &starter.Operation{WorkflowID: id, RunID: handle.RunID()}
}

func (s *stage) pausedMutex() *starter.Operation {
	s.t.Helper()
	return s.updateMutex(contract.UpdatePause, bob)
}

// queued starts a request and waits until the mutex has its ticket.
func (s *stage) queued(request contract.Request) *starter.Operation {
	s.t.Helper()
	operation := s.start(request)
	require.Eventually(s.t, func() bool {
		var standing contract.TicketStanding
		value, err := s.temporal.QueryWorkflow(s.ctx, contract.MutexID(source, s.consumer), "", contract.QueryTicket, operation.WorkflowID)
		return err == nil && value.Get(&standing) == nil && standing.Standing == "Queued"
	}, patience, poll)
	return operation
}

func (s *stage) endedAll(operations []*starter.Operation) {
	s.t.Helper()
	for _, operation := range operations {
		s.ended(operation)
	}
}

// endMutex cancels the mutex and waits until it has drained.
func (s *stage) endMutex(mutex *starter.Operation) *starter.Operation {
	s.t.Helper()
	require.NoError(s.t, s.temporal.CancelWorkflow(s.ctx, mutex.WorkflowID, ""))
	s.reaches(mutex, isType(canceled))
	return mutex
}

// presentMutex is the run that is there now, or comes after an ended one.
func (s *stage) presentMutex(after *starter.Operation) *starter.Operation {
	s.t.Helper()
	mutex := &starter.Operation{WorkflowID: contract.MutexID(source, s.consumer)}
	require.Eventually(s.t, func() bool {
		described, err := s.temporal.DescribeWorkflow(s.ctx, mutex.WorkflowID, "")
		if err != nil {
			return false
		}
		mutex.RunID = described.WorkflowExecution.RunID
		return after == nil || mutex.RunID != after.RunID
	}, patience, poll)
	return mutex
}

// continuedMutex hands a queue from run to run.
func (s *stage) continuedMutex() *starter.Operation {
	s.t.Helper()
	mutex := s.pausedMutex()
	operation := s.queued(s.pool("a"))
	s.updateMutex(contract.UpdateContinueAsNew, bob)
	s.reaches(mutex, isType(continued))
	s.updateMutex(contract.UpdateResume, bob)
	s.ended(operation)
	return mutex
}
