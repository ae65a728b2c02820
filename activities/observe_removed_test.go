package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// A removal is confirmed when the cluster has applied the version without the manifest and reports it no more.
func TestRemovalIsConfirmedByTheClustersReport(t *testing.T) {
	pool := nodePool(is("Applied", "True", 0))
	w := newWatch(t, "Deleted")
	w.params.Removed = []string{"NodePool.hypershift.openshift.io/" + pool.Namespace + "/" + pool.Name}
	w.serves(7, 6, is("Applied", "True", 6)).waits("Applied is True, but for version 6, wanted 7")
	w.serves(7, 7, is("Applied", "False", 7, "busy")).waits("busy")
	w.serves(7, 7, is("Applied", "True", 7)).with(pool).waits("the cluster still reports NodePool")
	other := pool
	other.Name = "other"
	result := w.serves(7, 7, is("Applied", "True", 7)).with(other).ends(contract.ObserveGone, "", "is gone from the cluster, version 7 is applied without it")
	assert.Equal(t, contract.StatusApplied, result.Status)

	w.after(time.Minute).serves(7, 6).ends(contract.ObserveTimedOut, contract.ErrDeletionUnconfirmed, "not met by")
}
