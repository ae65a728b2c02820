package simcluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
)

func raw(text string) workv1.Manifest {
	return workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(text)}}
}

// object is a ConfigMap with a script, given as name and value in turn.
func object(name string, script ...string) workv1.Manifest {
	annotations := map[string]string{}
	for i := 0; i < len(script); i += 2 {
		annotations[Prefix+script[i]] = script[i+1]
	}
	text, _ := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "annotations": annotations},
	})
	return raw(string(text))
}

// play runs a version on the state and returns one line per step.
func play(t *testing.T, s *state, version int64, objects ...workv1.Manifest) []string {
	t.Helper()
	manifests, ignored := parseManifests(objects)
	require.Empty(t, ignored)
	var lines []string
	for _, step := range plan(version, manifests) {
		step.change(s)
		lines = append(lines, fmt.Sprintf("%s %s", step.at, describe(s)))
	}
	return lines
}

// describe shows the conditions of the work with the version each was observed at, those of the manifests, and
// what exists.
func describe(s *state) string {
	var parts []string
	short := func(c metav1.Condition) string { return c.Type + "=" + string(c.Status) }
	for _, c := range s.status.Conditions {
		parts = append(parts, fmt.Sprintf("%s@%d", short(c), c.ObservedGeneration))
	}
	for _, m := range s.status.ResourceStatus.Manifests {
		var own []string
		for _, c := range m.Conditions {
			if c.Type != feedbackSynced {
				own = append(own, short(c))
			}
		}
		if n := len(m.StatusFeedbacks.Values); n > 0 {
			own = append(own, fmt.Sprintf("values=%d", n))
		}
		parts = append(parts, m.ResourceMeta.Name+"("+strings.Join(own, " ")+")")
	}
	var names []string
	for id := range maps.Keys(s.objects) {
		names = append(names, id.name)
	}
	slices.Sort(names)
	return strings.Join(parts, " ") + " exist:" + strings.Join(names, ",")
}

func TestPlanAppliesAndThenFindsTheObjects(t *testing.T) {
	assert.Equal(t, []string{
		"200ms Applied=True@1 a(Applied=True) b(Applied=True) exist:a,b",
		"700ms Applied=True@1 a(Applied=True Available=True values=1) b(Applied=True) exist:a,b",
		"1.2s Applied=True@1 Available=True@1 a(Applied=True Available=True values=1) b(Applied=True Available=True) exist:a,b",
		"3.2s Applied=True@1 Available=True@1 a(Applied=True Available=True values=1) b(Applied=True Available=True values=1) exist:a,b",
	}, play(t, &state{}, 1,
		object("a", "feedback", `{"x":1}`),
		object("b", "available-delay", "1s", "feedback", `{"x":1}`, "feedback-delay", "2s")))
}

func TestWorkIsAppliedWhenItsSlowestManifestIs(t *testing.T) {
	lines := play(t, &state{}, 1, object("a"), object("b", "apply-delay", "5s"))
	assert.Equal(t, "5s Applied=True@1 a(Applied=True) b(Applied=True) exist:a,b", lines[0])
}

func TestRefusedFirstVersionLeavesNothing(t *testing.T) {
	lines := play(t, &state{}, 1, object("a", "applied-error", "denied"))
	assert.Equal(t, "700ms Applied=False@1 Available=False@1 a(Applied=False Available=False) exist:", lines[len(lines)-1])
}

func TestRefusedUpdateKeepsAvailableAndTheOldObject(t *testing.T) {
	s := &state{}
	play(t, s, 1, object("a", "feedback", `{"x":1}`), object("gone"))
	assert.Equal(t, []string{
		"200ms Applied=False@2 Available=True@1 a(Applied=False Available=True values=1) exist:a,gone",
		"700ms Applied=False@2 Available=True@2 a(Applied=False Available=True values=1) exist:a,gone",
	}, play(t, s, 2, object("a", "applied-error", "denied", "feedback", `{"x":1,"y":2}`)))
	assert.EqualValues(t, 1, s.applied)
	condition := s.status.ResourceStatus.Manifests[0].Conditions[0]
	assert.Equal(t, "denied", condition.Message)
	assert.Equal(t, "AppliedManifestFailed", condition.Reason)
	assert.Zero(t, condition.ObservedGeneration)
}

func TestRefusalHeals(t *testing.T) {
	lines := play(t, &state{}, 3, object("a", "applied-error", "denied", "applied-error-until", "20s"), object("b"))
	assert.Equal(t, []string{
		"200ms Applied=False@3 a(Applied=False) b(Applied=True) exist:b",
		"700ms Applied=False@3 Available=False@3 a(Applied=False Available=False) b(Applied=True Available=True) exist:b",
		"20s Applied=True@3 Available=False@3 a(Applied=True Available=False) b(Applied=True Available=True) exist:a,b",
		"20.5s Applied=True@3 Available=True@3 a(Applied=True Available=True) b(Applied=True Available=True) exist:a,b",
	}, lines)
}

func TestNewVersionRemovesWhatItNoLongerHas(t *testing.T) {
	s := &state{}
	play(t, s, 1, object("a"), object("b"))
	lines := play(t, s, 2, object("b"), object("c"))
	assert.Equal(t, "200ms Applied=True@2 Available=True@1 b(Applied=True Available=True) c(Applied=True) exist:b,c", lines[0])
	assert.Equal(t, []identity{{kind: "ConfigMap", name: "b"}, {kind: "ConfigMap", name: "c"}},
		[]identity{identityOf(s.status.ResourceStatus.Manifests[0].ResourceMeta), identityOf(s.status.ResourceStatus.Manifests[1].ResourceMeta)})
	assert.Len(t, s.existing(), 2)
}

func TestObjectThatNeverExists(t *testing.T) {
	lines := play(t, &state{}, 1, object("a", "available", "False", "feedback", `{"x":1}`), object("b"))
	assert.Equal(t, "700ms Applied=True@1 Available=False@1 a(Applied=True Available=False) b(Applied=True Available=True) exist:b", lines[len(lines)-1])
}

func TestUnknownAndDegradedShowOnTheWork(t *testing.T) {
	s := &state{}
	lines := play(t, s, 1, object("a", "available", "Unknown"), object("b", "degraded", "slow disk"))
	assert.Equal(t, "700ms Applied=True@1 Available=Unknown@1 Degraded=True@1 a(Applied=True Available=Unknown) b(Applied=True Available=True Degraded=True) exist:a,b", lines[len(lines)-1])
	lines = play(t, s, 2, object("a"), object("b"))
	assert.Equal(t, "700ms Applied=True@2 Available=True@2 a(Applied=True Available=True) b(Applied=True Available=True) exist:a,b", lines[len(lines)-1])
}

func TestConditionsWithoutObservedGeneration(t *testing.T) {
	lines := play(t, &state{}, 4, object("a", "no-observed-generation", "true"))
	assert.Equal(t, "700ms Applied=True@0 Available=True@0 a(Applied=True Available=True) exist:a", lines[len(lines)-1])
}

func TestDeletionTakesAsLongAsItsSlowestManifest(t *testing.T) {
	manifests, _ := parseManifests([]workv1.Manifest{object("a"), object("b", "delete-delay", "20s")})
	assert.Equal(t, 20*time.Second, deleteDelay(manifests))
	assert.Zero(t, deleteDelay(nil), "a work the cluster never had")
	s := &state{}
	play(t, s, 1, object("a"))
	s.remove()
	assert.Equal(t, "Applied=True@1 Available=True@1 Deleted=True@0 a(Applied=True Available=True) exist:", describe(s))
}
