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
	// verb that an operator says to the operation while it waits; "" for none. Cancel is one, too.
	verb string
}

const cancel = "cancel"

// verbs of operators. A cancel is only for what nobody waits for, see looks.
var verbs = []string{"", contract.UpdatePoke, contract.UpdateExtend, contract.UpdatePause, contract.UpdateSkipWait}

// reported: the HyperFleet API is told of this work's operations.
func (p planned) reported() bool { return p.Name == "whole-a" && p.Action != contract.ActionWait }

func (p planned) target() string { return p.Consumer + "/" + p.WorkName() + "/" + p.part }

// plan draws requests per target, generations rising. Those of one target are sent in the order of the list, with some of
// them twice and some before their turn, except for the works that come and go: what is deleted forgets its generation.
func plan(random *rand.Rand, operations int, strict bool) [][]planned {
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
		lists[index] = draw(random, lists[index][0], max(2, operations/len(lists)-1), strict)
	}
	for n := range consumers {
		lists = append(lists, looks(random, fmt.Sprintf("cluster-%d", n), max(2, operations/len(lists)-1)))
	}
	return lists
}

// looks are waits that write nothing, some of which are cancelled.
func looks(random *rand.Rand, consumer string, count int) []planned {
	var list []planned
	for n := range count {
		one := planned{Request: contract.Request{Source: source, Consumer: consumer, Action: contract.ActionWait, Name: "whole-a", Wait: "Available", Timeout: fmt.Sprintf("%dm", 20+n)}}
		one.verb = []string{"", contract.UpdatePoke, cancel}[random.IntN(3)]
		list = append(list, one)
	}
	return list
}

// anchor keeps a shared work from being without manifests.
func anchor(consumer string) contract.Request {
	return contract.Request{Source: source, Consumer: consumer, Action: contract.ActionMerge, Name: "shared", Timeout: "5m",
		Manifests: []json.RawMessage{json.RawMessage(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"anchor","namespace":"default"}}`)}}
}

func draw(random *rand.Rand, of planned, count int, strict bool) []planned {
	var list []planned
	for generation := int64(1); len(list) < count; generation++ {
		one := of
		one.Source, one.Generation, one.Timeout = source, generation, "20m"
		if of.part != "" && strict {
			one.OnImmutable = contract.OnImmutableRecreate
		}
		switch {
		case of.part != "" && generation%4 == 3:
			one.Action = contract.ActionRemove
			one.Remove = []string{"NodePool.hypershift.openshift.io/clusters/west-" + of.part}
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
			if one.Action == contract.ActionRemove {
				one.Wait = "Deleted"
			}
			one.verb = verbs[random.IntN(len(verbs))]
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
			one.verb = ""
			list = append(list, one) // sent twice
		}
		if one.Work != nil && random.IntN(8) == 0 {
			one.Force, one.verb = true, ""
			list = append(list, one)
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
