//go:build integration

package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const (
	source    = "chaos"
	adapter   = "chaos"
	consumers = 5
	// pools of a shared work, each of which has generations of its own.
	pools = 3
)

// worksPerConsumer are two that are applied as a whole, one that is merged, and one that comes and goes.
var worksPerConsumer = []string{"whole-a", "whole-b", "shared", "gone"}

// planned is one request, and what it is for.
type planned struct {
	contract.Request
	// part of a shared work; "" for a whole one.
	part string
}

// reported: the HyperFleet API is told of this work's operations.
func (p planned) reported() bool { return p.Name == "whole-a" }

func (p planned) target() string { return p.Consumer + "/" + p.WorkName() + "/" + p.part }

// plan draws requests per target, generations rising. Those of one target are sent in the order of the list, with some of
// them twice and some before their turn, except for the works that come and go: what is deleted forgets its generation.
func plan(random *rand.Rand, operations int) [][]planned {
	var lists [][]planned
	for n := range consumers {
		consumer := fmt.Sprintf("cluster-%d", n)
		for _, work := range worksPerConsumer {
			if work != "shared" {
				lists = append(lists, []planned{{Request: contract.Request{Consumer: consumer, Name: work}}})
				continue
			}
			for pool := range pools {
				lists = append(lists, []planned{{Request: contract.Request{Consumer: consumer, Name: work}, part: fmt.Sprintf("pool-%d", pool)}})
			}
		}
	}
	for index := range lists {
		lists[index] = draw(random, lists[index][0], max(2, operations/len(lists)))
	}
	return lists
}

func draw(random *rand.Rand, of planned, count int) []planned {
	var list []planned
	for generation := int64(1); len(list) < count; generation++ {
		one := of
		one.Source, one.Generation, one.Timeout = source, generation, "20m"
		switch {
		case of.part != "":
			one.Action = contract.ActionMerge
			one.Nodepools = json.RawMessage(fmt.Sprintf(`{"nodepools":[{"name":%q,"instanceType":"m5.large","replicas":%d}],"metadata":{"cluster":"west","version":"4.17"}}`,
				of.part, generation))
		case of.Name == "gone" && generation%2 == 0:
			one.Action, one.Wait = contract.ActionDelete, "Deleted"
		default:
			one.Work = json.RawMessage(fmt.Sprintf(`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":%q},"spec":{"workload":{"manifests":[`+
				`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"default"},"data":{"generation":"%d"}}]}}}`, of.Name, generation))
		}
		if one.Action != contract.ActionDelete && random.IntN(2) == 0 {
			one.Wait = "Available"
		}
		if random.IntN(3) == 0 {
			one.Report = &contract.Report{ResultsFile: fmt.Sprintf("%s-%s-%s-%d.json", one.Consumer, one.Name, one.part, generation)}
		}
		if of.reported() {
			if one.Report == nil {
				one.Report = &contract.Report{}
			}
			one.Report.HyperFleet = &contract.HyperFleetReport{Kind: "Cluster", Adapter: adapter}
		}
		list = append(list, one)
		if random.IntN(4) == 0 {
			list = append(list, one) // sent twice
		}
	}
	if of.Name != "gone" {
		for index := 1; index < len(list); index++ {
			if random.IntN(4) == 0 {
				list[index-1], list[index] = list[index], list[index-1]
			}
		}
	}
	return list[:count]
}
