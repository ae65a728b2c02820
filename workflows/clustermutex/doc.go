// Package clustermutex is the queue of the writes to the shared ManifestWorks of one consumer: one workflow per consumer,
// cluster-mutex/<source>/<consumer>.
//
// Operations that write a work which others write, too, hand in a ticket and wait for its outcome. The mutex commits all
// tickets that wait for one work in their order in one read, merge and compare-and-swap, so that a hundred merges cost the
// cluster's agent a few versions and not a hundred. Nobody outside holds anything while that happens: a requester that
// fails, is terminated, reset or lost holds up nobody. The classic lock is there as a hold, for operators and for code of
// other parties: it has a lease, a fence, and a holder that is looked for when the lease ends.
//
// Guarantees: each ticket gets one outcome, however often it is submitted while the mutex remembers it; a ticket that
// cannot be merged fails alone; tickets of one work are committed in the order in which they came, where a later request
// of one operation takes the place of its earlier one, unless somebody's whole write stands between them; one batch or one
// hold at a time; a ticket that is withdrawn while it is written is not tried again; continue-as-new loses no ticket. The compare-and-swap of Maestro's version is what keeps writes safe; the
// queue is fairness and speed.
//
// Non-guarantees: a mutex that is terminated forgets its queue, and requesters submit again after 30 s to 10 min. What it
// was writing then may be written twice, which the compare-and-swap and the generations keep harmless; without a
// generation the fence keeps an old run from writing after a new one has. A writer that is no operation, or an operation
// on a whole work whose name is not that of a work per adapter or cluster, does not queue; it meets the mutex in the
// compare-and-swap. A writer without one, like a client that publishes version 0, overwrites what the mutex wrote, and
// nothing here can stop it. A hold keeps the mutex from writing, not the holder's code from writing without its fence. A
// deletion that leaves the objects does not queue. While a work is being recreated for a batch nothing else is written.
// A mutex that is terminated between the deletion and the creation of that work takes the work with it, whose objects
// stay: requesters create it again with their parts alone. A server that refuses a ticket's content with the words it has
// for a changed set of manifests makes the others of its batch that change the set fail with it.
// A ticket whose requester was terminated is written all the same. A mutex whose task queue
// has no worker answers nobody, until it is terminated or a worker comes; requesters end at their deadline.
//
// state.go and advance.go are pure: [Apply] says what an event makes of a state and what is to be done. mutex.go turns
// that into commands. Start reading at [Apply] and [ClusterMutex]; docs/mutex.md has the commands of operators.
package clustermutex
