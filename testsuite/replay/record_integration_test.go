//go:build integration

package replay

import (
	"context"
	"flag"
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var record = flag.Bool("record", false, "record the histories that are missing")

// recorders play a scenario and return the run to keep.
var recorders = map[string]func(*stage) *starter.Operation{
	"applied": func(s *stage) *starter.Operation { return s.plays(s.apply("1")) },
	"applied-and-waited": func(s *stage) *starter.Operation {
		operation := s.start(s.apply("1", wait("Available"), generation(1)))
		s.reports(1, available()...)
		s.ended(operation)
		return operation
	},
	"updated-and-waited": func(s *stage) *starter.Operation {
		s.plays(s.apply("1"))
		s.reports(1, available()...)
		operation := s.start(s.apply("2", wait("Available")))
		s.reports(2, available()...)
		s.ended(operation)
		return operation
	},
	"unchanged": func(s *stage) *starter.Operation {
		s.plays(s.apply("1"))
		return s.plays(s.apply("1"))
	},
	"attached": func(s *stage) *starter.Operation {
		operation := s.start(s.apply("1", wait("Available")))
		second := s.start(s.apply("1", wait("Available")))
		require.True(s.t, second.Attached)
		s.reports(1, available()...)
		s.ended(operation)
		s.ended(second)
		return operation
	},
	"waited-only": func(s *stage) *starter.Operation {
		s.plays(s.apply("1"))
		s.reports(1, available()...)
		return s.plays(contract.Request{Source: source, Consumer: s.consumer, Action: contract.ActionWait, Name: s.name, Wait: "Available", Timeout: "30s"})
	},
	"merged": func(s *stage) *starter.Operation { return s.plays(s.merge("1")) },
	"merged-and-waited": func(s *stage) *starter.Operation {
		s.plays(s.apply("1"))
		operation := s.start(s.merge("2", wait("Applied AND Available"), generation(3)))
		s.reports(2, available()...)
		s.ended(operation)
		return operation
	},
	"merge-refused": func(s *stage) *starter.Operation {
		s.plays(s.apply("1"))
		return s.plays(s.merge("2", wait("Deployment/web:Available")))
	},
	"merge-superseded-in-wait": func(s *stage) *starter.Operation {
		older := s.start(s.merge("1", wait("Available"), generation(1)))
		s.reaches(older, scheduled(contract.ActivityObserve))
		newer := s.start(s.merge("2", generation(2)))
		s.ended(newer)
		s.ended(older)
		return older
	},
	"removed": func(s *stage) *starter.Operation {
		s.plays(s.apply("1"))
		s.plays(s.merge("1", generation(2)))
		return s.plays(s.remove("ConfigMap/default/more", generation(3)))
	},
	"removed-absent": func(s *stage) *starter.Operation { return s.plays(s.remove("ConfigMap/default/more")) },
	"added-too-late": func(s *stage) *starter.Operation {
		s.plays(s.apply("1"))
		s.plays(s.merge("1", generation(2)))
		s.plays(s.remove("ConfigMap/default/more", generation(3)))
		return s.plays(s.merge("1", generation(3)))
	},
	"report-written": func(s *stage) *starter.Operation { return s.plays(s.apply("1", reported("result.json"))) },
	"report-failed":  func(s *stage) *starter.Operation { return s.plays(s.apply("1", reported("../result.json"))) },
	"deletion-requested": func(s *stage) *starter.Operation {
		s.plays(s.apply("1"))
		return s.plays(s.delete())
	},
	"deleted-and-waited": func(s *stage) *starter.Operation {
		s.plays(s.apply("1"))
		operation := s.start(s.delete(wait("Deleted")))
		s.reaches(operation, scheduled(contract.ActivityObserve))
		require.NoError(s.t, s.maestro.ConfirmDelete(s.uid()))
		s.ended(operation)
		return operation
	},
	"deleted-absent": func(s *stage) *starter.Operation { return s.plays(s.delete(wait("Deleted"))) },
	"invalid-input":  func(s *stage) *starter.Operation { return s.plays(s.apply("1", wait("Available AND"))) },
	"refused": func(s *stage) *starter.Operation {
		s.maestro.Faults().Inject(fakemaestro.PublishRefused("maestro-8: the manifest is not valid"))
		return s.plays(s.apply("1"))
	},
	"patience-exhausted": func(s *stage) *starter.Operation {
		s.maestro.Faults().Inject(fakemaestro.HTTPStatus(http.StatusServiceUnavailable))
		return s.plays(s.apply("1", func(r *contract.Request) { r.Patience = "2s" }))
	},
	"apply-failed":          func(s *stage) *starter.Operation { return s.appliesInVain() },
	"apply-failed-reported": func(s *stage) *starter.Operation { return s.appliesInVain(reported("result.json")) },
	"vanished": func(s *stage) *starter.Operation {
		operation := s.start(s.apply("1", wait("Available")))
		s.reaches(operation, scheduled(contract.ActivityObserve))
		require.NoError(s.t, s.maestro.ServeSequence(s.uid(), fakemaestro.Step{Status: http.StatusNotFound}))
		s.ended(operation)
		return operation
	},
	"wait-timed-out": func(s *stage) *starter.Operation {
		return s.plays(s.apply("1", wait("Available"), func(r *contract.Request) { r.Timeout = "2s" }))
	},
	"older-than-stored": func(s *stage) *starter.Operation {
		s.plays(s.apply("1", generation(5)))
		return s.plays(s.apply("2", generation(4)))
	},
	"cancelled-in-build": func(s *stage) *starter.Operation { return s.cancelledIn(contract.ActivityBuild, s.apply("1")) },
	"cancelled-in-apply": func(s *stage) *starter.Operation {
		return s.cancelledIn(contract.ActivityCommit, s.apply("1", wait("Available")))
	},
	"cancelled-in-failing-apply": func(s *stage) *starter.Operation {
		s.maestro.Faults().Inject(fakemaestro.HTTPStatus(http.StatusServiceUnavailable))
		return s.cancelledIn(contract.ActivityCommit, s.apply("1", wait("Available")))
	},
	"cancelled-in-wait": func(s *stage) *starter.Operation {
		return s.cancelledIn(contract.ActivityObserve, s.apply("1", wait("Available")))
	},
	"cancelled-in-wait-reported": func(s *stage) *starter.Operation {
		return s.cancelledIn(contract.ActivityObserve, s.apply("1", wait("Available"), reported("result.json")))
	},
	"superseded-at-start": func(s *stage) *starter.Operation { return s.supersededAtStart(s.apply("1"), s.apply("2")) },
	"superseded-in-build": func(s *stage) *starter.Operation { return s.supersededIn(contract.ActivityBuild, s.apply("1")) },
	"superseded-in-apply": func(s *stage) *starter.Operation {
		return s.supersededIn(contract.ActivityCommit, s.apply("1", wait("Available")))
	},
	"superseded-in-wait": func(s *stage) *starter.Operation {
		return s.supersededIn(contract.ActivityObserve, s.apply("1", wait("Available")))
	},
	"superseded-in-report": func(s *stage) *starter.Operation {
		return s.supersededIn(contract.ActivityReport, s.apply("1", reported("result.json")))
	},
	"cancelled-with-the-newer": func(s *stage) *starter.Operation {
		operation := s.held(contract.ActivityCommit, s.apply("1", wait("Available")))
		newer := s.start(s.apply("2", reported("result.json")))
		require.NoError(s.t, s.starter.Cancel(s.ctx, operation.WorkflowID))
		s.reaches(operation, isType(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED))
		s.gate.open()
		_, err := newer.Wait(s.ctx)
		require.Equal(s.t, contract.ErrCancelled, contract.TypeOf(err))
		return operation
	},
	"superseding": func(s *stage) *starter.Operation {
		first := s.supersededIn(contract.ActivityObserve, s.apply("1", wait("Available")))
		described, err := s.temporal.DescribeWorkflow(s.ctx, first.WorkflowID, "")
		require.NoError(s.t, err)
		first.RunID = described.WorkflowExecution.RunID
		return first
	},
}

// plays a request from start to end.
func (s *stage) plays(request contract.Request) *starter.Operation {
	s.t.Helper()
	operation := s.start(request)
	s.ended(operation)
	return operation
}

func (s *stage) appliesInVain(more ...func(*contract.Request)) *starter.Operation {
	s.t.Helper()
	operation := s.start(s.apply("1", append(more, wait("Available"), func(r *contract.Request) { r.Grace = "1s" })...))
	s.reports(1, condition("Applied", metav1.ConditionFalse, `configmaps "settings" is forbidden: not allowed`))
	s.ended(operation)
	return operation
}

// held starts a request that stays in the activity until the gate opens.
func (s *stage) held(activity string, request contract.Request) *starter.Operation {
	s.t.Helper()
	s.gate.shut(activity)
	operation := s.start(request)
	s.reaches(operation, scheduled(activity))
	return operation
}

func (s *stage) cancelledIn(activity string, request contract.Request) *starter.Operation {
	s.t.Helper()
	operation := s.held(activity, request)
	require.NoError(s.t, s.starter.Cancel(s.ctx, operation.WorkflowID))
	s.reaches(operation, isType(enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED))
	s.gate.open()
	s.ended(operation)
	return operation
}

func (s *stage) supersededIn(activity string, request contract.Request) *starter.Operation {
	s.t.Helper()
	operation := s.held(activity, request)
	newer := s.start(s.apply("2"))
	require.Equal(s.t, operation.RunID, newer.RunID, "the running operation takes the newer request")
	s.gate.open()
	s.ended(operation)
	s.ended(newer)
	return operation
}

// supersededAtStart puts the newer request into the first task of the older one.
func (s *stage) supersededAtStart(older, newer contract.Request) *starter.Operation {
	s.t.Helper()
	id := older.WorkflowID()
	handle, err := s.temporal.UpdateWithStartWorkflow(s.ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: s.temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
			ID: id, TaskQueue: s.queue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		}, contract.WorkflowOperation, older),
		UpdateOptions: client.UpdateWorkflowOptions{
			WorkflowID: id, UpdateName: contract.UpdateSubmit, Args: []any{newer}, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	require.NoError(s.t, err)
	var submitted contract.Submitted
	require.NoError(s.t, handle.Get(s.ctx, &submitted))
	require.False(s.t, submitted.Attached)
	s.ended(s.start(newer))
	return &starter.Operation{WorkflowID: id, RunID: submitted.RunID}
}

// allRecorders by workflow.
var allRecorders = map[string]map[string]func(*stage) *starter.Operation{
	contract.WorkflowOperation:    recorders,
	contract.WorkflowClusterMutex: mutexRecorders,
}

func TestEveryScenarioHasARecorder(t *testing.T) {
	for workflow, recorders := range allRecorders {
		assert.ElementsMatch(t, slices.Collect(maps.Keys(scenarios[workflow])), slices.Collect(maps.Keys(recorders)), workflow)
	}
	assert.Len(t, allRecorders, len(scenarios))
}

func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("give -record to record the missing histories")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	stack, err := devstack.Start(ctx, devstack.Options{WithoutMaestro: true, Logf: t.Logf})
	require.NoError(t, err)
	t.Cleanup(stack.Stop)
	for _, workflow := range slices.Sorted(maps.Keys(allRecorders)) {
		for _, scenario := range slices.Sorted(maps.Keys(allRecorders[workflow])) {
			if _, err := os.Stat(fixture(workflow, scenario)); err == nil {
				continue
			}
			t.Run(workflow+"/"+scenario, func(t *testing.T) {
				stage := newStage(t, stack.TemporalAddress(), scenario)
				operation := allRecorders[workflow][scenario](stage)
				stage.save(workflow, scenario, operation.WorkflowID, operation.RunID)
			})
		}
	}
}

var ann = contract.Extension{By: "ann", Reason: "repair"}

// tells an operator's message.
func (s *stage) tells(operation *starter.Operation, verb string, message contract.Extension) {
	s.t.Helper()
	_, err := s.starter.Tell(s.ctx, operation.WorkflowID, verb, message)
	require.NoError(s.t, err)
}

// parked starts a request and waits until it waits.
func (s *stage) parked(request contract.Request) *starter.Operation {
	s.t.Helper()
	operation := s.start(request)
	s.reaches(operation, scheduled(contract.ActivityObserve))
	return operation
}

func recreating(r *contract.Request) { r.OnImmutable = contract.OnImmutableRecreate }

// recreates starts a merge that a strict server refuses, up to the deletion.
func (s *stage) recreates(more ...func(*contract.Request)) *starter.Operation {
	s.t.Helper()
	s.plays(s.apply("1"))
	operation := s.start(s.merge("2", append(more, recreating)...))
	s.reaches(operation, scheduled(contract.ActivityObserve))
	return operation
}

func init() {
	maps.Copy(recorders, map[string]func(*stage) *starter.Operation{
		"poked": func(s *stage) *starter.Operation {
			operation := s.parked(s.apply("1", wait("Available")))
			s.tells(operation, contract.UpdatePoke, ann)
			s.reports(1, available()...)
			s.tells(operation, contract.UpdatePoke, ann)
			s.ended(operation)
			return operation
		},
		"extended": func(s *stage) *starter.Operation {
			operation := s.parked(s.apply("1", wait("Available"), func(r *contract.Request) { r.Timeout = "3s" }))
			s.tells(operation, contract.UpdateExtend, contract.Extension{By: "ann", Reason: "slow", For: "30s"})
			time.Sleep(4 * time.Second) // past the old deadline
			s.reports(1, available()...)
			s.ended(operation)
			return operation
		},
		"paused-and-resumed": func(s *stage) *starter.Operation {
			operation := s.parked(s.apply("1", wait("Available")))
			s.tells(operation, contract.UpdatePause, ann)
			s.reports(1, available()...)
			s.tells(operation, contract.UpdateResume, ann)
			s.ended(operation)
			return operation
		},
		"signalled": func(s *stage) *starter.Operation {
			operation := s.parked(s.apply("1", wait("Available")))
			for _, verb := range []string{contract.UpdatePause, contract.UpdatePause, contract.UpdateResume} {
				require.NoError(s.t, s.temporal.SignalWorkflow(s.ctx, operation.WorkflowID, "", verb, ann))
			}
			s.reports(1, available()...)
			s.ended(operation)
			return operation
		},
		"wait-skipped": func(s *stage) *starter.Operation {
			operation := s.parked(s.apply("1", wait("Available")))
			s.tells(operation, contract.UpdateSkipWait, ann)
			s.ended(operation)
			return operation
		},
		"recreated": func(s *stage) *starter.Operation {
			operation := s.recreates(wait("Available"))
			s.reports(2, available()...)
			s.reaches(operation, scheduled(contract.ActivityDeleteOrphaned))
			s.confirms()
			require.Eventually(s.t, func() bool { _, created := s.maestro.Bundle(s.uid()); return created }, patience, 20*time.Millisecond)
			s.reports(1, available()...)
			s.ended(operation)
			return operation
		},
		"recreated-cancelled": func(s *stage) *starter.Operation {
			operation := s.recreates(wait("Available"))
			s.reports(2, available()...)
			s.reaches(operation, scheduled(contract.ActivityDeleteOrphaned))
			require.NoError(s.t, s.starter.Cancel(s.ctx, operation.WorkflowID))
			s.confirms()
			s.ended(operation)
			return operation
		},
		"recreated-in-vain": func(s *stage) *starter.Operation {
			operation := s.recreates(func(r *contract.Request) { r.Timeout = "3s" })
			s.ended(operation)
			return operation
		},
		"deleted-without-objects": func(s *stage) *starter.Operation {
			s.plays(s.apply("1"))
			operation := s.start(s.delete(wait("Deleted"), func(r *contract.Request) { r.Orphan = true }))
			s.reaches(operation, scheduled(contract.ActivityObserve))
			s.reports(2, available()...)
			s.reaches(operation, scheduled(contract.ActivityDeleteOrphaned))
			s.confirms()
			s.ended(operation)
			return operation
		},
	})
}

// confirms the deletion when it has been asked for.
func (s *stage) confirms() {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.maestro.ConfirmDelete(s.uid()) == nil }, patience, 20*time.Millisecond)
}
