// Package maestro is the only importer of Maestro's and OCM's client code, and the only place that dials Maestro.
//
// Reads are HTTP requests for one resource bundle by its identity, or filtered searches; they take the bytes of the
// answer, because the generated model turns numbers into doubles. Writes are single gRPC CloudEvents publishes.
//
// The upstream source client is not used: it keeps one current namespace for all its users, so that concurrent calls
// for two consumers can reach the wrong cluster; it drops spec.executor on every read; it patches with a library that
// strips nulls; and it hides the gRPC status of a refused publish. Here every call carries its own consumer, a work's
// UID is computed per call, and one [Client] serves a whole process.
//
// Guarantees: no publish without an explicit base version for a work that exists; at most Config.MaxInFlight requests
// in flight; every request bounded by Config.CallTimeout; every error typed ([contract.Error]) or [ErrNotFound].
//
// Non-guarantees: a publish whose answer is lost may have been stored; the caller reads again and compares.
//
// Start reading at [Client].
package maestro
