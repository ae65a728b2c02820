// Package starter is what a service imports to start ManifestWork operations and to wait for their outcome.
//
//	temporal, err := client.Dial(client.Options{HostPort: "localhost:7233"})
//	…
//	operations := starter.New(temporal, "")
//	operation, err := operations.Apply(ctx, contract.Request{
//		Source: "hyperfleet", Consumer: "cluster-a1", Work: manifestWorkJSON, Generation: 7, Wait: "Available", Timeout: "30m",
//	})
//	…
//	result, err := operation.Wait(ctx)
//
// The other calls take a request, too:
//
//	operations.Merge(ctx, contract.Request{Source: s, Consumer: c, Nodepools: configJSON, Generation: 3, Wait: "Available"})
//	operations.Remove(ctx, contract.Request{Source: s, Consumer: c, Name: "shared", Generation: 4,
//		Remove: []string{"NodePool.hypershift.openshift.io/clusters/west-1-workers"}})
//	operations.Delete(ctx, contract.Request{Source: s, Consumer: c, Name: "web", Wait: "Deleted"})
//	operations.Wait(ctx, contract.Request{Source: s, Consumer: c, Name: "web", Wait: "Available"})
//
// Who has only the workflow ID, as after a crash or from the UI, finds the operation again:
//
//	operation, err := operations.Attach(ctx, "op/hyperfleet/cluster-a1/web")
//	result, err := operations.Status(ctx, operation.WorkflowID)
//	why, err := operations.Explain(ctx, operation.WorkflowID)
//	answer, err := operations.Tell(ctx, operation.WorkflowID, contract.UpdatePoke, contract.Extension{By: "ann", Reason: "fixed it"})
//
// Guarantees: Start, and the calls named after actions, either hand the request to exactly one run or return an error,
// and may be repeated after any crash: the same request attaches to the run that already works for it. Wait returns the
// outcome of the caller's own request: when a newer one takes over it returns Superseded at once.
//
// Errors are typed: switch on [contract.TypeOf]. [ErrTemporalUnavailable] marks a Temporal that cannot be reached, when
// nothing is known about the request; [ErrNoOperation] a workflow ID that it does not know.
package starter
