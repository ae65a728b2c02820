package wiring

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// searchAttributes that workflows write, with their types.
var searchAttributes = map[string]enumspb.IndexedValueType{
	contract.SearchConsumer.GetName():   contract.SearchConsumer.GetValueType(),
	contract.SearchWork.GetName():       contract.SearchWork.GetValueType(),
	contract.SearchPhase.GetName():      contract.SearchPhase.GetValueType(),
	contract.SearchGeneration.GetName(): contract.SearchGeneration.GetValueType(),
	contract.SearchMutexState.GetName(): contract.SearchMutexState.GetValueType(),
	contract.SearchQueueDepth.GetName(): contract.SearchQueueDepth.GetValueType(),
}

func ensureSearchAttributes(ctx context.Context, operator operatorservice.OperatorServiceClient, namespace string) error {
	listed, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes of namespace %s: %w", namespace, err)
	}
	missing := map[string]enumspb.IndexedValueType{}
	for name, want := range searchAttributes {
		have, found := listed.GetCustomAttributes()[name]
		switch {
		case !found:
			missing[name] = want
		case have != want:
			return fmt.Errorf("search attribute %s of namespace %s has type %s, want %s: remove it or use another namespace", name, namespace, have, want)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: missing,
	}); err != nil && !registered(ctx, operator, namespace) {
		return fmt.Errorf("create search attributes %v in namespace %s (temporal operator search-attribute create): %w", missing, namespace, err)
	}
	return nil
}

// registered: all are there by now, because another worker that started at the same time has created them.
func registered(ctx context.Context, operator operatorservice.OperatorServiceClient, namespace string) bool {
	listed, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return false
	}
	for name, want := range searchAttributes {
		if listed.GetCustomAttributes()[name] != want {
			return false
		}
	}
	return true
}
