// Package starter is what a service imports to start ManifestWork operations and to wait for their outcome.
//
//	temporal, err := client.Dial(client.Options{HostPort: "localhost:7233"})
//	…
//	operation, err := starter.New(temporal, "").Start(ctx, contract.Request{
//		Source: "hyperfleet", Consumer: "cluster-a1", Work: manifestWorkJSON, Generation: 7, Wait: "Available",
//	})
//	…
//	result, err := operation.Wait(ctx)
//
// Guarantees: Start either hands the request to exactly one run or returns an error, and may be repeated after any
// crash: the same request attaches to the run that already works for it. Wait returns the outcome of the caller's own
// request: when a newer one takes over it returns Superseded at once.
//
// Errors are typed: switch on [contract.TypeOf]. [ErrTemporalUnavailable] marks a Temporal that cannot be reached, when
// nothing is known about the request.
package starter
