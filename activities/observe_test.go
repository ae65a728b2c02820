package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestWaitIgnoresTheStatusOfAnEarlierVersion(t *testing.T) {
	for _, condition := range []string{"Applied", "Available"} {
		w := newWatch(t, condition)
		w.serves(7, 6, is("Applied", "True", 6), is("Available", "True", 6))
		w.waits(condition + " is True, but for version 6, wanted 7")
		w.after(10*time.Second).serves(7, 7,
			is("Applied", "False", 7, "quota exceeded for NodePool pools-a1/workers"), is("Available", "True", 6))
		w.waits("quota exceeded for NodePool pools-a1/workers")
		w.after(20*time.Second).serves(7, 7, is("Applied", "True", 7), is("Available", "True", 7))
		result := w.ends(contract.ObserveMet, "", condition+" holds for version 7")
		assert.Equal(t, int64(7), result.ObservedVersion)
		assert.Equal(t, contract.StatusAvailable, result.Status)
	}
}

func TestStatusWithoutGenerationsCountsForTheVersionItWasSentFor(t *testing.T) {
	w := newWatch(t, "Applied").serves(7, 6, is("Applied", "True", 0))
	w.waits("for version 6, wanted 7")
	w.serves(7, 7, is("Applied", "True", 0))
	w.ends(contract.ObserveMet, "", "")
}

func TestTimeoutCarriesTheClustersWords(t *testing.T) {
	w := newWatch(t, "Available").serves(7, 7, is("Applied", "False", 7, "quota exceeded for NodePool pools-a1/workers"), is("Available", "True", 6))
	w.waits("quota exceeded")
	result := w.after(time.Minute).ends(contract.ObserveTimedOut, contract.ErrWaitTimeout, "quota exceeded for NodePool pools-a1/workers")
	assert.Contains(t, result.Message, "not met by 2026-03-02T10:01:00Z: ")
	assert.Equal(t, contract.StatusDegraded, result.Status)
	assert.Len(t, result.Conditions, 2)
}

func TestAvailableIsNotMetWhileTheWorkIsNotApplied(t *testing.T) {
	const immutable = "spec.clusterName: field is immutable"
	w := newWatch(t, "Available").
		serves(7, 7, is("Applied", "False", 7, "1 of 2 manifests failed"), is("Available", "True", 7)).
		with(nodePool(is("Applied", "False", 0, immutable)))
	w.waits("NodePool.hypershift.openshift.io/pools-a1/workers is not applied")
	result := w.after(30*time.Second).ends(contract.ObserveFailed, contract.ErrApplyFailed, immutable)
	assert.Equal(t, contract.StatusDegraded, result.Status)
	assert.False(t, result.Resources[0].Applied)
	assert.True(t, result.Resources[0].Available)
}

// A CRD and its object in one work: the agent's second pass succeeds.
func TestFirstRefusalIsNotTheLastWord(t *testing.T) {
	w := newWatch(t, "Applied").serves(7, 7, is("Applied", "False", 7, `no matches for kind "TenantQuota" in version "v1"`))
	w.waits("TenantQuota")
	w.after(50 * time.Second).waits("TenantQuota")
	w.serves(7, 7, is("Applied", "True", 7)).ends(contract.ObserveMet, "", "")

	w = newWatch(t, "Applied").serves(7, 7, is("Applied", "False", 7, `no matches for kind "TenantQuota" in version "v1"`))
	w.after(time.Minute).ends(contract.ObserveTimedOut, contract.ErrWaitTimeout, `no matches for kind "TenantQuota"`)
}

func TestRefusalThatCannotHealFailsAfterTheGracePeriod(t *testing.T) {
	forbidden := is("Applied", "False", 7, `configmaps "a" is forbidden: no`)
	w := newWatch(t, "Applied").serves(7, 7, forbidden)
	w.after(5 * time.Second).waits("forbidden")
	w.after(34 * time.Second).waits("forbidden")
	w.after(35*time.Second).ends(contract.ObserveFailed, contract.ErrApplyFailed, `configmaps "a" is forbidden: no`)
}

func TestGracePeriodStartsAnewAfterTheRefusalWasGone(t *testing.T) {
	forbidden := is("Applied", "False", 7, `configmaps "a" is forbidden: no`)
	w := newWatch(t, "Available").serves(7, 7, forbidden)
	w.waits("forbidden")
	w.after(20*time.Second).serves(7, 7, is("Applied", "True", 7)).waits("Available is not reported")
	w.after(40*time.Second).serves(7, 7, forbidden).waits("forbidden")
	w.after(59 * time.Second).waits("forbidden")
}

func TestGracePeriodIsThatOfTheVersion(t *testing.T) {
	w := newWatch(t, "Applied")
	w.params.Version = 0
	w.serves(7, 7, is("Applied", "False", 7, "x is forbidden: no")).waits("forbidden")
	w.after(40*time.Second).serves(8, 8, is("Applied", "False", 8, "x is forbidden: no")).waits("forbidden")
}

func TestWorkThatIsGoneVanished(t *testing.T) {
	w := newWatch(t, "Applied").serves(7, 7, is("Applied", "False", 7, "still trying"))
	w.waits("still trying")
	result := w.fails(maestro.ErrNotFound).ends(contract.ObserveFailed, contract.ErrVanished, "work web on cluster-a1 vanished; last seen: ")
	assert.Contains(t, result.Message, "still trying")
	assert.Equal(t, int64(7), result.Version)

	newWatch(t, "Applied").ends(contract.ObserveFailed, contract.ErrVanished, "vanished") // it was written: it must exist
}

func TestWaitForAWorkThatIsStillToCome(t *testing.T) {
	w := newWatch(t, "Applied")
	w.params.MustExist, w.params.Version = false, 0
	w.waits("work web on cluster-a1 was never found")
	w.after(6 * time.Second).fails(contract.Errorf(contract.ErrUnavailable, "503"))
	_, err := w.look()
	assert.Equal(t, contract.ErrUnavailable, contract.TypeOf(err))
	assert.True(t, retried(t, err))
	w.after(8*time.Second).serves(1, 1, is("Applied", "True", 1)).ends(contract.ObserveMet, "", "version 1")

	w = newWatch(t, "Applied")
	w.params.MustExist, w.params.Version = false, 0
	w.after(time.Minute).ends(contract.ObserveTimedOut, contract.ErrWaitTimeout, "was never found")
}

func TestWorkThatWasSeenByAWaitMustStay(t *testing.T) {
	w := newWatch(t, "Applied")
	w.params.MustExist, w.params.Version = false, 0
	w.serves(1, 0).waits("has not reported yet")
	w.fails(maestro.ErrNotFound).ends(contract.ObserveFailed, contract.ErrVanished, "has not reported yet")
}

func TestDeletionEndsAWaitForACondition(t *testing.T) {
	w := newWatch(t, "Available").serves(7, 7, is("Applied", "True", 7), is("Available", "True", 7))
	deleted := began.Add(-time.Hour)
	w.stored.DeletedAt = &deleted
	w.ends(contract.ObserveFailed, contract.ErrUnderDeletion, "the work is being deleted since 2026-03-02T09:00:00Z")
}

func TestDeletionIsWaitedForUntilTheBundleIsGone(t *testing.T) {
	w := newWatch(t, "Deleted").serves(7, 7, is("Available", "True", 7))
	w.params.Deleted = true
	deleted := began
	w.stored.DeletedAt = &deleted
	w.stored.Work.Spec.DeleteOption = &workv1.DeleteOption{PropagationPolicy: workv1.DeletePropagationPolicyTypeForeground}
	w.waits("deleting since 2026-03-02T10:00:00Z")
	late := *w
	late.after(time.Minute).ends(contract.ObserveTimedOut, contract.ErrDeletionUnconfirmed,
		"deleting since 2026-03-02T10:00:00Z, the cluster has not confirmed it, policy Foreground")
	result := w.after(50*time.Second).fails(maestro.ErrNotFound).ends(contract.ObserveGone, "", "work web on cluster-a1 is gone")
	assert.Equal(t, contract.StatusDeleted, result.Status)
}

// Agents have lost a deletion: it is asked for again, but not in a loop.
func TestDeletionIsAskedForAgainFromTimeToTime(t *testing.T) {
	for _, ask := range []bool{true, false} {
		w := newWatch(t, "Deleted").serves(7, 7, is("Available", "True", 7))
		w.params.Deleted, w.params.Ask, w.params.Until = true, ask, began.Add(time.Hour)
		w.stored.DeletedAt = &began
		for since := time.Duration(0); since <= 4*time.Minute; since += 10 * time.Second {
			w.after(since).waits("has not confirmed it")
		}
		if ask {
			assert.Equal(t, []time.Duration{70 * time.Second, 200 * time.Second}, w.deletions, "the operation itself has asked at 0")
		} else {
			assert.Empty(t, w.deletions, "a wait only looks")
		}
	}
}

// A wait that has not asked for the deletion waits until somebody does.
func TestDeletionThatNobodyAskedForIsWaitedFor(t *testing.T) {
	w := newWatch(t, "Deleted").serves(7, 7, is("Available", "True", 7))
	w.params.Deleted, w.params.Version = true, 0
	w.waits("deletion is not requested")
	w.fails(maestro.ErrNotFound).ends(contract.ObserveGone, "", "is gone")
}

// Deleted and created again between two looks: the work that was asked for is not there any more.
func TestWorkThatIsWrittenAgainIsNotTakenForTheOldOne(t *testing.T) {
	w := newWatch(t, "Available").serves(1, 1, is("Applied", "True", 1), is("Available", "True", 1))
	w.ends(contract.ObserveFailed, contract.ErrVanished, "version 7 is gone")
	w.params.Deleted = true
	w.ends(contract.ObserveGone, "", "somebody has written it again")
}

func TestNewerGenerationEndsAWait(t *testing.T) {
	w := newWatch(t, "Available").serves(8, 8, is("Applied", "True", 8), is("Available", "True", 8))
	w.params.Generation = 3
	w.stored.Work.ObjectMeta = metav1.ObjectMeta{Name: name, Annotations: map[string]string{contract.AnnotationGeneration: "4"}}
	w.ends(contract.ObserveFailed, contract.ErrSuperseded, "generation 4 has replaced generation 3")
}

func TestLaterVersionOfTheSameGenerationCounts(t *testing.T) {
	newWatch(t, "Applied").serves(9, 9, is("Applied", "True", 9)).ends(contract.ObserveMet, "", "version 7")
}

func TestMaestroThatIsDownAtTheDeadlineIsATimeoutWithTheLastWords(t *testing.T) {
	w := newWatch(t, "Available").serves(7, 7, is("Applied", "True", 7), is("Available", "False", 7, "2 of 3 replicas"))
	w.waits("2 of 3 replicas")
	w.fails(contract.Errorf(contract.ErrUnavailable, "connection refused"))
	_, err := w.look()
	assert.Equal(t, contract.ErrUnavailable, contract.TypeOf(err))
	result := w.after(time.Minute).ends(contract.ObserveTimedOut, contract.ErrWaitTimeout, "connection refused; last seen: ")
	assert.Contains(t, result.Message, "2 of 3 replicas")
	assert.Equal(t, contract.StatusApplied, result.Status, "what was seen last")
	assert.Len(t, result.Conditions, 2)
}

func TestRefusedCredentialsEndAWait(t *testing.T) {
	_, err := newWatch(t, "Available").fails(contract.Errorf(contract.ErrUnauthorized, "token expired")).look()
	assert.Equal(t, contract.ErrUnauthorized, contract.TypeOf(err))
	assert.False(t, retried(t, err))
}

func TestMalformedConditionIsRefused(t *testing.T) {
	_, err := newWatch(t, "Available AND").look()
	assert.Equal(t, contract.ErrInvalidInput, contract.TypeOf(err))
	assert.False(t, retried(t, err))
}
