package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func TestFirstLookIsFollowedSoon(t *testing.T) {
	delay := newWatch(t, "Applied").serves(7, 0).waits("has not reported yet")
	assert.InDelta(t, contract.PollFirst, delay, float64(contract.PollFirst)/10)
}

func TestNextLookIsNeverAfterTheDeadline(t *testing.T) {
	w := newWatch(t, "Applied").serves(7, 0).after(time.Minute - 100*time.Millisecond)
	assert.Equal(t, 101*time.Millisecond, w.waits("has not reported yet"), "the last look happens at the deadline, not before")
}

func TestNextLookIsNeverAfterTheEndOfAGracePeriod(t *testing.T) {
	w := newWatch(t, "Applied").serves(7, 7, is("Applied", "False", 7, "x is forbidden: no"))
	w.waits("forbidden")
	assert.Equal(t, 101*time.Millisecond, w.after(30*time.Second-100*time.Millisecond).waits("forbidden"))
}

func TestServerSaysWhenToLookAgain(t *testing.T) {
	busy := contract.Errorf(contract.ErrUnavailable, "429")
	busy.Delay = 7 * time.Second
	w := newWatch(t, "Applied").fails(busy)
	_, err := w.look()
	assert.Equal(t, 7*time.Second, delay(t, err))
	_, err = w.after(58 * time.Second).look()
	assert.Equal(t, 2*time.Second+time.Millisecond, delay(t, err), "but not beyond the deadline")
}

func TestLooksThatSeeNothingNewKeepNothing(t *testing.T) {
	w := newWatch(t, "Applied").serves(7, 7, is("Applied", "False", 7, "trying"))
	for second := range time.Duration(5) {
		w.after(second * time.Second).waits("trying")
	}
	assert.Equal(t, 1, w.heartbeats)
	w.serves(7, 7, is("Applied", "False", 7, "still trying")).waits("still trying")
	assert.Equal(t, 2, w.heartbeats)
}

func TestWhatIsKeptBetweenLooksLeavesTheResourcesOut(t *testing.T) {
	w := newWatch(t, "Applied").serves(7, 7, is("Applied", "False", 7, "trying")).with(nodePool(is("Applied", "False", 0, "trying")))
	w.waits("trying")
	assert.NotContains(t, string(w.memory), "resources")
}
