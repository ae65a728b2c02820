// Package activities holds the effects of an operation, one per file: [Build] checks a request, [Commit] writes,
// [Observe] looks, [Report] writes an outcome to a file and [ReportStatus] tells the HyperFleet API.
//
// Each activity may run any number of times: Temporal repeats it after a crash, a lost answer or a timeout. Commit
// reads before it writes and writes only on top of the version it read in the same attempt; the others change nothing
// or replace what they wrote, a file or a status, as a whole.
//
// Every error leaves as a Temporal ApplicationError whose type is a [contract.ErrorType], which says whether it is
// retried.
package activities
