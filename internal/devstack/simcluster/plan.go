package simcluster

import (
	"cmp"
	"slices"
	"time"
)

// step is a moment at which something changes on the cluster, and is reported.
type step struct {
	at     time.Duration // since the receipt of the version
	change func(*state)
}

// plan turns a version of a work into what will happen to it, in order of time.
func plan(version int64, manifests []manifest) []step {
	applied, available := time.Duration(0), time.Duration(0)
	for _, m := range manifests {
		applied = max(applied, m.script.applyDelay)
		available = max(available, m.script.availableDelay)
	}
	available += applied

	steps := []step{{applied, func(s *state) { s.apply(version, manifests, applied) }}}
	steps = append(steps, observe(manifests, applied, available)...)
	for _, healed := range healTimes(manifests, applied) {
		var recovered []manifest
		for _, m := range manifests {
			if m.script.appliedError != "" && m.script.errorUntil == healed {
				recovered = append(recovered, m)
			}
		}
		steps = append(steps, step{healed, func(s *state) { s.apply(version, manifests, healed) }})
		steps = append(steps, observe(recovered, healed, available)...)
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return steps
}

// healTimes are the moments after the first apply at which refusals end, in order.
func healTimes(manifests []manifest, applied time.Duration) []time.Duration {
	var times []time.Duration
	for _, m := range manifests {
		if m.script.appliedError != "" && m.script.errorUntil > applied {
			times = append(times, m.script.errorUntil)
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// moment is what is noticed at one time.
type moment struct {
	at        time.Duration
	seen, fed []identity
	whole     bool // the work's own conditions follow
}

// observe makes the steps that follow an apply: each manifest is seen after its own delay, its feedback after
// another one. The work's own Available comes with the last of them, and not before everything was seen once.
func observe(manifests []manifest, applied, notBefore time.Duration) []step {
	var moments []*moment
	at := func(t time.Duration) *moment {
		i := slices.IndexFunc(moments, func(m *moment) bool { return m.at == t })
		if i < 0 {
			moments = append(moments, &moment{at: t})
			i = len(moments) - 1
		}
		return moments[i]
	}
	last := notBefore
	for _, m := range manifests {
		seen := applied + m.script.availableDelay
		last = max(last, seen)
		first, second := at(seen), at(seen+m.script.feedbackDelay)
		first.seen = append(first.seen, m.identity())
		second.fed = append(second.fed, m.identity())
	}
	at(last).whole = true

	var steps []step
	for _, m := range moments {
		steps = append(steps, step{m.at, func(s *state) {
			s.see(m.seen)
			s.feed(m.fed)
			if m.whole {
				s.aggregate()
			}
		}})
	}
	return steps
}

// deleteDelay is how long the removal of the work takes: as long as that of its slowest manifest.
func deleteDelay(manifests []manifest) time.Duration {
	slowest := time.Duration(0)
	for _, m := range manifests {
		slowest = max(slowest, m.script.deleteDelay)
	}
	return slowest
}

// silent reports whether nothing is reported about a work with these manifests.
func silent(manifests []manifest) bool {
	return slices.ContainsFunc(manifests, func(m manifest) bool { return m.script.silent })
}
