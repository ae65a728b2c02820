package operation_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// recreation plays the steps of a deletion that keeps the objects: on a server that refuses a change of the set.
type recreation struct {
	*stage
	orphan   func() (contract.OrphanResult, error)
	delete   func() (contract.CommitResult, error)
	recreate func() (contract.RecreateResult, error)
	steps    []string
	// gone is when the cluster has confirmed the deletion.
	gone time.Duration
}

const stepTakes = 2 * time.Second

func newRecreation(t *testing.T) *recreation {
	r := &recreation{
		orphan: func() (contract.OrphanResult, error) {
			return contract.OrphanResult{Outcome: contract.OrphanReady, Version: 5, Work: json.RawMessage(`{"new":1}`), Old: json.RawMessage(`{"old":1}`), Warnings: []string{"stays"}}, nil
		},
		delete: func() (contract.CommitResult, error) {
			return contract.CommitResult{Outcome: contract.CommitDeleting, Version: 5, Attempt: 1}, nil
		},
		recreate: func() (contract.RecreateResult, error) {
			return contract.RecreateResult{CommitResult: contract.CommitResult{Outcome: contract.CommitRecreated, Version: 1, Attempt: 1}}, nil
		},
	}
	step := func(name string, call any) stub { return stub{name, stepTakes, call} }
	r.stage = newStage(t,
		step(contract.ActivityOrphan, func(context.Context, contract.CommitParams) (contract.OrphanResult, error) {
			r.steps = append(r.steps, "orphan")
			return r.orphan()
		}),
		step(contract.ActivityUnorphan, func(context.Context, contract.OrphanedParams) error {
			r.steps = append(r.steps, "unorphan")
			return nil
		}),
		step(contract.ActivityDeleteOrphaned, func(_ context.Context, params contract.OrphanedParams) (contract.CommitResult, error) {
			r.steps = append(r.steps, "delete")
			assert.Equal(r.t, int64(5), params.Version)
			return r.delete()
		}),
		step(contract.ActivityRecreate, func(_ context.Context, params contract.OrphanedParams) (contract.RecreateResult, error) {
			r.steps = append(r.steps, "create")
			assert.JSONEq(r.t, `{"new":1}`, string(params.Work))
			assert.JSONEq(r.t, `{"old":1}`, string(params.Old))
			return r.recreate()
		}),
	)
	r.commit = func(contract.CommitParams) (contract.CommitResult, error) {
		return contract.CommitResult{}, contract.Errorf(contract.ErrManifestSetImmutable, "the set would change").Application()
	}
	met := r.observe
	r.observe = func(params contract.ObserveParams) (contract.ObserveResult, error) {
		switch {
		case params.Received:
			r.steps = append(r.steps, "received")
			return contract.ObserveResult{Outcome: contract.ObserveMet}, nil
		case params.Deleted && r.env.Now().Sub(began) < r.gone:
			return contract.ObserveResult{}, notReady("not confirmed")
		case params.Deleted:
			r.steps = append(r.steps, "gone")
		}
		return met(params)
	}
	return r
}

func recreating(r *contract.Request) { r.OnImmutable = contract.OnImmutableRecreate }

func TestRecreateTakesEveryStepInOrder(t *testing.T) {
	r := newRecreation(t)
	r.gone = time.Minute
	e := r.explained(40 * time.Second)
	r.play(apply("a", waiting, recreating))
	result, err := r.outcome()
	require.NoError(t, err)
	assert.Equal(t, []string{"orphan", "received", "delete", "gone", "create"}, r.steps)
	assert.Contains(t, e.WaitsFor, "the cluster's confirmation; neither a cancel nor the deadline stops this")
	assert.Contains(t, e.Can[0], "it has to end by itself")
	assert.Equal(t, contract.ReasonConditionMet, result.Reason)
	last := r.observes[len(r.observes)-1]
	assert.Equal(t, int64(1), last.Version, "the wait is for the new work")
	assert.Contains(t, result.Warnings, "stays")
}

func TestWithoutRecreateTheSetStays(t *testing.T) {
	r := newRecreation(t)
	r.play(apply("a"))
	result, err := r.outcome()
	require.Error(t, err)
	assert.Equal(t, string(contract.ErrManifestSetImmutable), result.Reason)
	assert.Empty(t, r.steps)
}

// Whatever stops the operation after the deletion, the work is created again first.
func TestNothingStopsARecreationHalfWay(t *testing.T) {
	for name, stop := range map[string]func(*recreation){
		"cancel":       func(r *recreation) { r.at(time.Minute, r.env.CancelWorkflow) },
		"newer":        func(r *recreation) { r.offer(time.Minute, apply("b", waiting, recreating)) },
		"the deadline": func(r *recreation) { r.gone = 20 * time.Minute },
		"final errors": func(r *recreation) {
			failures := 3
			create := r.recreate
			r.recreate = func() (contract.RecreateResult, error) {
				if failures--; failures >= 0 {
					return contract.RecreateResult{}, contract.Errorf(contract.ErrUnauthorized, "no").Application()
				}
				return create()
			}
		},
		"a pause": func(r *recreation) { r.message(time.Minute, contract.UpdatePause, ann) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecreation(t)
			r.gone = 2 * time.Minute
			stop(r)
			r.play(apply("a", waiting, recreating))
			require.Contains(t, r.steps, "create")
			created := 0
			for _, step := range r.steps {
				if step == "create" {
					created++
				}
				assert.NotEqual(t, "unorphan", step)
			}
			result, _ := r.outcome()
			switch name {
			case "cancel":
				assert.Equal(t, contract.StatusCancelled, result.Status)
				assert.Contains(t, result.Message, "version 1 stays stored")
			case "newer":
				require.NotNil(t, r.next())
			case "the deadline":
				assert.Equal(t, contract.ReasonConditionMet, result.Reason)
			}
			if name == "final errors" {
				assert.Equal(t, 4, created)
			} else {
				assert.Equal(t, 1, created)
			}
		})
	}
}

// What stops the operation before the deletion leaves the old work as it was.
func TestARecreationThatIsGivenUpLeavesTheOldWork(t *testing.T) {
	for name, stop := range map[string]func(*recreation){
		"cancel":           func(r *recreation) { r.at(buildTakes+commitTakes+stepTakes+time.Second, r.env.CancelWorkflow) },
		"silent agent":     func(r *recreation) { r.never() },
		"refused":          func(r *recreation) { r.orphanFails(contract.ErrManifestRefused) },
		"deletion refused": func(r *recreation) { r.delete = refusedDeletion },
		"paused for ever": func(r *recreation) {
			r.message(buildTakes+commitTakes+stepTakes+time.Second, contract.UpdatePause, ann)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecreation(t)
			stop(r)
			r.play(apply("a", waiting, recreating))
			_, err := r.outcome()
			require.Error(t, err)
			assert.Equal(t, "unorphan", r.steps[len(r.steps)-1])
			assert.NotContains(t, r.steps, "create")
		})
	}
}

func refusedDeletion() (contract.CommitResult, error) {
	return contract.CommitResult{}, contract.Errorf(contract.ErrUnauthorized, "no").Application()
}

// never: the agent reports nothing.
func (r *recreation) never() {
	r.observe = func(params contract.ObserveParams) (contract.ObserveResult, error) {
		if r.env.Now().Before(params.Until) {
			return contract.ObserveResult{}, notReady("nothing reported")
		}
		return contract.ObserveResult{Outcome: contract.ObserveTimedOut, Failure: contract.ErrWaitTimeout, Message: "nothing reported"}, nil
	}
}

func (r *recreation) orphanFails(with contract.ErrorType) {
	r.orphan = func() (contract.OrphanResult, error) {
		return contract.OrphanResult{}, contract.Errorf(with, "no").Application()
	}
}

func TestRecreateBeginsAgainWhenSomebodyElseWrites(t *testing.T) {
	r := newRecreation(t)
	conflicts := 1
	r.delete = func() (contract.CommitResult, error) {
		if conflicts--; conflicts >= 0 {
			return contract.CommitResult{}, contract.Errorf(contract.ErrVersionConflict, "written meanwhile").Final()
		}
		return contract.CommitResult{Outcome: contract.CommitDeleting, Version: 5, Attempt: 1}, nil
	}
	r.play(apply("a", recreating))
	_, err := r.outcome()
	require.NoError(t, err)
	assert.Equal(t, []string{"orphan", "received", "delete", "orphan", "received", "delete", "gone", "create"}, r.steps)
}

// A deletion that took several attempts may have a lost one that still publishes.
func TestCreationWaitsForALostDeletion(t *testing.T) {
	ends := map[int]time.Duration{}
	for _, attempt := range []int{1, 2} {
		r := newRecreation(t)
		r.delete = func() (contract.CommitResult, error) {
			return contract.CommitResult{Outcome: contract.CommitDeleting, Version: 5, Attempt: attempt}, nil
		}
		r.play(apply("a", recreating))
		ends[attempt] = r.env.Now().Sub(began)
	}
	assert.Equal(t, 15*time.Second, ends[2]-ends[1])
}

func TestRefusedNewWorkEndsAsAFailureWithTheOldOne(t *testing.T) {
	r := newRecreation(t)
	r.recreate = func() (contract.RecreateResult, error) {
		return contract.RecreateResult{CommitResult: contract.CommitResult{Outcome: contract.CommitRecreated, Version: 1}, Failure: contract.ErrManifestRefused, Message: "the old one is created again"}, nil
	}
	r.play(apply("a", waiting, recreating))
	result, err := r.outcome()
	require.Error(t, err)
	assert.Equal(t, string(contract.ErrManifestRefused), result.Reason)
	assert.Equal(t, int64(1), result.Version)
}

func TestDeletionThatKeepsTheObjects(t *testing.T) {
	r := newRecreation(t)
	r.play(remove(func(r *contract.Request) { r.Orphan, r.Wait = true, "Deleted" }))
	result, err := r.outcome()
	require.NoError(t, err)
	assert.Equal(t, []string{"orphan", "received", "delete", "gone"}, r.steps)
	assert.Equal(t, contract.StatusDeleted, result.Status)

	absent := newRecreation(t)
	absent.orphan = func() (contract.OrphanResult, error) {
		return contract.OrphanResult{Outcome: contract.OrphanAbsent}, nil
	}
	absent.play(remove(func(r *contract.Request) { r.Orphan = true }))
	result, err = absent.outcome()
	require.NoError(t, err)
	assert.Equal(t, contract.ReasonDeleted, result.Reason)
}
