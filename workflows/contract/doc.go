// Package contract is the leaf that every other package speaks: registered names, workflow IDs, requests, results,
// error types, search attributes, limits.
//
// Everything here is a wire format. Requests and results are stored in Temporal histories and typed by people into the
// Temporal UI, so fields are added, never renamed, retyped or reused, and registered names never change.
//
// The package imports the standard library and go.temporal.io/sdk/temporal only, so that a service which starts
// operations does not inherit Maestro's or Kubernetes' dependencies.
//
// Start reading at [Request] and [StatusResult]; [OperationID] says which requests exclude each other.
package contract
