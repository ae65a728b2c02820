package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"open-cluster-management.io/sdk-go/pkg/apis/work/v1/validator"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
	"pgregory.net/rapid"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// What the client library of Maestro and the agents refuse is refused before it is sent. Validate may refuse more: the
// server has rules of its own.
func TestValidateRefusesWhatTheSDKRefuses(t *testing.T) {
	text := func(values ...string) *rapid.Generator[string] { return rapid.SampledFrom(values) }
	sizes := []int{0, 3, 10, 100, 127, 128, 1000, 127_900, 170_600, 511_900}
	if raceDetector {
		sizes = []int{0, 3, 10, 50, 90, 100, 110, 127, 128, 200, 250, 300, 1000, 511_900} // reading half a megabyte takes long then
	}
	refused, accepted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var manifests []string
		for index := range rapid.IntRange(0, 4).Draw(t, "manifests") {
			manifests = append(manifests, fmt.Sprintf(`{%s%s%s"metadata":{%s%s%s},"data":{"k":"%s"}}`,
				text(`"apiVersion":"v1",`, `"apiVersion":"apps/v1",`, `"apiVersion":"v1",`, ``).Draw(t, "apiVersion"),
				text(`"kind":"ConfigMap",`, `"kind":"Secret",`, `"kind":"Secret",`, `"Kind":"ConfigMap",`, `"kind":"",`).Draw(t, "kind"),
				text(``, `"spec":null,`).Draw(t, "spec"),
				text(``, ``, ``, `"generateName":"g-",`, `"generatename":"g-",`).Draw(t, "generateName"),
				text(``, `"namespace":"team",`, `"labels":{"a":"b"},`).Draw(t, "more"),
				text(fmt.Sprintf(`"name":"n%d"`, index), fmt.Sprintf(`"name":"n%d"`, index), `"name":"n"`, `"Name":"n"`, `"name":""`, `"uid":"u"`).Draw(t, "name"),
				strings.Repeat("x", rapid.SampledFrom(sizes).Draw(t, "size"))))
		}
		work := workOf(manifests...)
		work.Namespace, work.UID, work.ResourceVersion = "c1", "u", "0" // set by the client
		work.Name = text("sample", "sample", "sample", "Sample", "", "a.b", strings.Repeat("n", 64)).Draw(t, "work")

		theirs := utils.ValidateWork(work)
		_, ours := Validate(work, "c1")
		if len(theirs) > 0 {
			refused++
			assert.Error(t, ours, "the SDK refuses: %v", theirs.ToAggregate())
		}
		if ours == nil {
			accepted++
		}
		if size := validator.ManifestValidator.ValidateManifests(work.Spec.Workload.Manifests); len(manifests) > 0 {
			tooLarge := size != nil && strings.Contains(size.Error(), "exceeds")
			assert.Equal(t, tooLarge, contract.TypeOf(ours) == contract.ErrTooLarge, "size: SDK %v, own %v", size, ours)
		}
	})
	assert.Positive(t, refused)
	assert.Positive(t, accepted)
}

// The size is measured as the SDK does, to the byte.
func TestValidateAndTheSDKDrawTheSameLine(t *testing.T) {
	for _, n := range []int{1, 3, 50} {
		for delta := -1; delta <= 1; delta++ {
			if raceDetector && n != 3 {
				continue
			}
			work := sized(n, contract.MaxManifestsBytes+delta)
			theirs := validator.ManifestValidator.ValidateManifests(work.Spec.Workload.Manifests)
			_, ours := Validate(work, "c1")
			assert.Equal(t, theirs == nil, ours == nil, "%d manifests, %+d bytes: SDK %v, own %v", n, delta, theirs, ours)
			assert.Equal(t, delta <= 0, ours == nil)
		}
	}
}
