// Package starter is what a service imports to start ManifestWork operations and to wait for their outcome.
// The examples show each call: [New], then Apply, Merge, Remove, Delete or Wait with a request, and Wait of the
// [Operation] that they return; Attach, Status, Explain and Tell for who has only a workflow ID.
//
// Guarantees: Start, and the calls named after actions, either hand the request to exactly one run or return an error,
// and may be repeated after any crash: the same request attaches to the run that already works for it. Wait returns the
// outcome of the caller's own request: when a newer one takes over it returns Superseded at once.
//
// Errors are typed: switch on [contract.TypeOf]. [ErrTemporalUnavailable] marks a Temporal that cannot be reached, when
// nothing is known about the request; [ErrNoOperation] a workflow ID that it does not know.
package starter
