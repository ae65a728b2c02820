package starter_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"go.temporal.io/sdk/client"

	"github.com/openshift-hyperfleet/maestro-workflows/starter"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// A service applies a work, waits for its outcome, and tells apart what it can do something about.
func Example() {
	ctx := context.Background()
	temporal, err := client.Dial(client.Options{HostPort: "localhost:7233"})
	if err != nil {
		log.Fatal(err)
	}
	defer temporal.Close()
	operations := starter.New(temporal, "")

	operation, err := operations.Apply(ctx, contract.Request{
		Source: "hyperfleet", Consumer: "cluster-a1", Generation: 7, Wait: "Available", Timeout: "30m",
		Work: []byte(`{"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata": {"name": "web"}, "spec": {}}`),
	})
	if err != nil {
		log.Fatal(err) // nothing runs for this request, unless it is [starter.ErrTemporalUnavailable]: then repeat it
	}
	result, err := operation.Wait(ctx)
	switch {
	case err == nil:
		fmt.Println(result.Status, result.Version)
	case contract.TypeOf(err) == contract.ErrSuperseded:
		fmt.Println("a newer generation has taken over")
	case errors.Is(err, starter.ErrTemporalUnavailable):
		fmt.Println("nothing is known, wait again")
	default:
		fmt.Println(result.Reason, result.Message)
	}
}

// A nodepool is merged into its work and taken out again.
func ExampleClient_Merge() {
	ctx, operations := context.Background(), starter.New(nil, "") // see the package's example for the client
	_, err := operations.Merge(ctx, contract.Request{
		Source: "hyperfleet", Consumer: "cluster-a1", Name: "shared", Adapter: "nodepool", Generation: 3, Wait: "Available",
		Nodepools: []byte(`{"nodepools": [{"name": "gpu", "instanceType": "p4d.24xlarge", "replicas": 2}], "metadata": {"cluster": "west-1", "version": "4.17"}}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = operations.Remove(ctx, contract.Request{
		Source: "hyperfleet", Consumer: "cluster-a1", Name: "shared", Adapter: "nodepool", Generation: 4, Wait: "Deleted",
		Remove: []string{"NodePool.hypershift.openshift.io/clusters/west-1-gpu"},
	})
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleClient_Delete() {
	ctx, operations := context.Background(), starter.New(nil, "")
	operation, err := operations.Delete(ctx, contract.Request{Source: "hyperfleet", Consumer: "cluster-a1", Name: "web", Wait: "Deleted"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := operation.Wait(ctx); contract.TypeOf(err) == contract.ErrDeletionUnconfirmed {
		fmt.Println("the cluster's agent is away, or a finalizer keeps an object")
	}
}

// A wait writes nothing; with the timeout 0 it looks once.
func ExampleClient_Wait() {
	ctx, operations := context.Background(), starter.New(nil, "")
	operation, err := operations.Wait(ctx, contract.Request{Source: "hyperfleet", Consumer: "cluster-a1", Name: "web", Wait: "Available AND Job/migrate:Complete", Timeout: "0"})
	if err != nil {
		log.Fatal(err)
	}
	_, err = operation.Wait(ctx)
	fmt.Println(err == nil)
}

// Who has only the workflow ID, as after a crash or from the UI, finds the operation again.
func ExampleClient_Attach() {
	ctx, operations := context.Background(), starter.New(nil, "")
	operation, err := operations.Attach(ctx, "op/hyperfleet/cluster-a1/web")
	if errors.Is(err, starter.ErrNoOperation) {
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	status, err := operations.Status(ctx, operation.WorkflowID)
	fmt.Println(status.Status, err)
	why, err := operations.Explain(ctx, operation.WorkflowID)
	fmt.Println(why.WaitsFor, err)
	answer, err := operations.Tell(ctx, operation.WorkflowID, contract.UpdatePoke, contract.Extension{By: "ann", Reason: "fixed it"})
	fmt.Println(answer.Message, err)
	result, err := operation.Wait(ctx)
	fmt.Println(result.Reason, err)
}
