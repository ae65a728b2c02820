package contract

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReportsAreComparedByValue(t *testing.T) {
	report := func(file string, target *HyperFleetReport) Report {
		return Report{ResultsFile: file, HyperFleet: target}
	}
	cluster := func() *HyperFleetReport { return &HyperFleetReport{Kind: "Cluster", ID: "c", Adapter: "pools"} }
	assert.True(t, report("f", nil).Equal(report("f", nil)))
	assert.True(t, report("f", cluster()).Equal(report("f", cluster())))
	assert.False(t, report("f", nil).Equal(report("g", nil)))
	assert.False(t, report("f", cluster()).Equal(report("f", nil)))
	assert.False(t, report("f", nil).Equal(report("f", cluster())))
	assert.False(t, report("f", cluster()).Equal(report("f", &HyperFleetReport{Kind: "Cluster", ID: "d", Adapter: "pools"})))
}

func TestCheckNamesWhatIsWrongWithAHyperFleetTarget(t *testing.T) {
	for name, sample := range map[string]struct {
		target     HyperFleetReport
		generation int64
		says       string // "" means nothing is wrong
	}{
		"href":                 {HyperFleetReport{Href: "/api/hyperfleet/v1/clusters/c", Adapter: "a"}, 1, ""},
		"kind and id":          {HyperFleetReport{Kind: "Cluster", ID: "c", Adapter: "a"}, 1, ""},
		"longest adapter":      {HyperFleetReport{Kind: "Cluster", ID: "c", Adapter: strings.Repeat("a", 255)}, math.MaxInt32, ""},
		"too long an adapter":  {HyperFleetReport{Kind: "Cluster", ID: "c", Adapter: strings.Repeat("a", 256)}, 1, "report.hyperfleet.adapter: 256 bytes, the limit is 255"},
		"no adapter":           {HyperFleetReport{Kind: "Cluster", ID: "c"}, 1, "report.hyperfleet.adapter: required"},
		"no resource":          {HyperFleetReport{Adapter: "a"}, 1, "report.hyperfleet.href: give it, or kind and id"},
		"no id":                {HyperFleetReport{Kind: "Cluster", Adapter: "a"}, 1, "report.hyperfleet.href: give it, or kind and id"},
		"no kind":              {HyperFleetReport{ID: "c", Adapter: "a"}, 1, "report.hyperfleet.href: give it, or kind and id"},
		"no generation":        {HyperFleetReport{Kind: "Cluster", ID: "c", Adapter: "a"}, 0, "generation 0: a report to HyperFleet needs the resource's"},
		"too large generation": {HyperFleetReport{Kind: "Cluster", ID: "c", Adapter: "a"}, math.MaxInt32 + 1, "generation 2147483648: a report"},
	} {
		t.Run(name, func(t *testing.T) {
			err := apply(func(r *Request) { r.Generation, r.Report = sample.generation, &Report{HyperFleet: &sample.target} }).Check()
			if sample.says == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, sample.says)
		})
	}
	annotated := json.RawMessage(`{"metadata":{"name":"pool","annotations":{"hyperfleet.io/generation":"3"}}}`)
	assert.NoError(t, apply(func(r *Request) {
		r.Work, r.Report = annotated, &Report{HyperFleet: &HyperFleetReport{Kind: "Cluster", ID: "c", Adapter: "a"}}
	}).Check(), "the work's annotation counts")
}
