// Package operation is the workflow of one ManifestWork operation: build, apply, wait, report.
//
// Guarantees: one operation at a time per work, or per part of a work that is merged (the workflow ID, see
// [contract.Request.WorkflowID]), while different parts, and a whole write beside them, are written by the mutex of the
// consumer in their order (package clustermutex, [contract.Request.Shared]) and meet other writers in the compare-and-swap
// of the commit; every request that was accepted has one outcome; the deadline is absolute from the start of the run and
// no restart moves it; a parked wait holds no worker slot and its history does not grow with time.
//
// One run works for one request. A newer request ends the run by continue-as-new with the newer request as its input,
// after a write that is under way has ended, so that two requests never write at the same time. A caller sees from the
// closing event whether the next run is still its own; package starter does that.
//
// A report to HyperFleet never holds up the outcome: the query answers with it and results files are written before. The
// run itself stays open until HyperFleet has been told, for 24 h at most, and so does who waits for its close. A request
// that comes meanwhile ends that: the run closes with its outcome, and the next one reports.
//
// Non-guarantees: a resource whose report was given up for a request without that target keeps its last status; the
// times of reports grow within a run, and between runs as far as the workers' clocks agree; a cancel after the write does not undo it; the result says which version stays.
//
// Start reading at [ManifestWorkOperation]. The numbers of the activities' patience are in options.go.
package operation
