// Package fakehyperfleet is a HyperFleet API in one process: a real HTTP listener on loopback, the server's rules about
// status reports, generations, aggregation and deletion, and faults that can be switched on while it runs.
//
// Guarantees: answers have the status, the problem code and the effects of hyperfleet-api 541f6b4a as far as the
// observed exchanges show them (TestObservedExchanges goes through these); a report that is accepted is stored before
// it is answered; every request is recorded with its answer; all methods may be called from several goroutines.
//
// Non-guarantees: there are two kinds, Cluster and NodePool, without schemas, references, tenants or mapped conditions;
// tokens are compared and not verified; a list knows no order and of the search language only owner_id; details of
// problems are close to the server's and not equal to them.
//
// Start at [New]; [Server.Inject] for misbehaviour, [Server.Requests] for what clients did.
package fakehyperfleet
