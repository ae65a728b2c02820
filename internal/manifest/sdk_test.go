package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"open-cluster-management.io/sdk-go/pkg/apis/work/v1/validator"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
	"pgregory.net/rapid"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// What the client library of Maestro and the agents refuse is refused before it is sent. Validate may refuse more: the
// server has rules of its own.
func TestValidateRefusesWhatTheSDKRefuses(t *testing.T) {
	// Most values are right, so that a work of four manifests has a chance.
	text := func(right string, wrong ...string) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			if rapid.IntRange(0, 15).Draw(t, "wrong") > 0 {
				return right
			}
			return rapid.SampledFrom(wrong).Draw(t, "value")
		})
	}
	refused, accepted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var manifests []string
		for index := range rapid.IntRange(0, 4).Draw(t, "manifests") {
			size := rapid.SampledFrom([]int{0, 3, 126, 127, 128}).Draw(t, "size")
			if rapid.IntRange(0, 60).Draw(t, "big") == 60 {
				size = rapid.SampledFrom([]int{255_900, 511_900}).Draw(t, "bytes")
			}
			manifests = append(manifests, fmt.Sprintf(`{%s%s"metadata":{%s%s%s},"data":{"k":"%s"}}`,
				text(`"apiVersion":"v1",`, `"apiVersion":"",`, ``).Draw(t, "apiVersion"),
				text(`"kind":"ConfigMap",`, `"Kind":"ConfigMap",`, `"kind":"",`, ``).Draw(t, "kind"),
				text(``, `"generateName":"g-",`, `"generatename":"g-",`).Draw(t, "generateName"),
				text(``, `"namespace":"team",`, `"labels":{"a":"b"},`).Draw(t, "more"),
				text(fmt.Sprintf(`"name":"n%d"`, index), `"name":"n"`, `"Name":"n"`, `"name":""`, `"uid":"u"`).Draw(t, "name"),
				strings.Repeat("x", size)))
		}
		work := workOf(manifests...)
		work.Namespace = "c1"
		work.Name = text("sample", "Sample", "", "a.b", strings.Repeat("n", 64)).Draw(t, "work")

		_, ours := Validate(work, "c1")
		work.UID, work.ResourceVersion = "u", "0" // set by the client
		theirs := utils.ValidateWork(work)
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

// The SDK's own table, which has one name for all its manifests, and the rules that it has no case for.
func TestValidateAgreesWithTheSDKsTable(t *testing.T) {
	manifests := 0
	sized := func(size int) string {
		manifests++
		return fmt.Sprintf(`{"apiVersion":"v1","data":"%s","kind":"Secret","metadata":{"name":"tes%d","namespace":"test"}}`, strings.Repeat("a", size), manifests%10)
	}
	table, err := os.ReadFile(filepath.Join(moduleDir(t, "open-cluster-management.io/sdk-go"), "pkg/apis/work/v1/validator/validator_test.go"))
	require.NoError(t, err)
	var cases []string
	for _, one := range regexp.MustCompile(`(?m)^\t\t\tname: +"(.*)",$`).FindAllSubmatch(table, -1) {
		cases = append(cases, string(one[1]))
	}
	require.Equal(t, []string{"not exceed the limit", "exceed the limit"}, cases, "the SDK's table, all of which is here")
	for name, sample := range map[string]struct {
		manifests []string
		refused   contract.ErrorType
	}{
		"not exceed the limit": {[]string{sized(100 * 1024), sized(100 * 1024)}, ""},
		"exceed the limit":     {[]string{sized(300 * 1024), sized(200 * 1024)}, contract.ErrTooLarge},
		"empty":                {nil, contract.ErrInvalidManifest},
		"no name":              {[]string{object(``)}, contract.ErrInvalidManifest},
		"an empty name":        {[]string{object(`"name":""`)}, contract.ErrInvalidManifest},
		"generateName":         {[]string{object(`"name":"a","generateName":"a-"`)}, contract.ErrInvalidManifest},
		"no kind":              {[]string{`{"apiVersion":"v1","metadata":{"name":"a"}}`}, contract.ErrInvalidManifest},
		"no object":            {[]string{`"a"`}, contract.ErrInvalidManifest},
		"null":                 {[]string{`null`}, contract.ErrInvalidManifest},
		"no JSON":              {[]string{`{`}, contract.ErrInvalidManifest},
		"the second is bad":    {[]string{object(`"name":"a"`), object(``)}, contract.ErrInvalidManifest},
	} {
		work := workOf(sample.manifests...)
		theirs := validator.ManifestValidator.ValidateManifests(work.Spec.Workload.Manifests)
		_, ours := Validate(work, "")
		assert.Equal(t, sample.refused != "", theirs != nil, "%s: the SDK: %v", name, theirs)
		if sample.refused == "" {
			assert.NoError(t, ours, name)
			continue
		}
		assert.Equal(t, sample.refused, contract.TypeOf(ours), "%s: %v", name, ours)
	}
}
