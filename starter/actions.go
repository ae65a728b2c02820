package starter

import (
	"context"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Apply is [Client.Start] of a request that makes the stored work equal to request.Work.
func (c *Client) Apply(ctx context.Context, request contract.Request) (*Operation, error) {
	return c.as(ctx, contract.ActionApply, request)
}

// Merge is [Client.Start] of a request that puts manifests or nodepools into a stored work and keeps the rest of it.
func (c *Client) Merge(ctx context.Context, request contract.Request) (*Operation, error) {
	return c.as(ctx, contract.ActionMerge, request)
}

// Remove is [Client.Start] of a request that takes request.Remove out of a stored work.
func (c *Client) Remove(ctx context.Context, request contract.Request) (*Operation, error) {
	return c.as(ctx, contract.ActionRemove, request)
}

// Delete is [Client.Start] of a request that deletes a work.
func (c *Client) Delete(ctx context.Context, request contract.Request) (*Operation, error) {
	return c.as(ctx, contract.ActionDelete, request)
}

// Wait is [Client.Start] of a request that waits for a condition and writes nothing. The outcome is what
// [Operation.Wait] gives.
func (c *Client) Wait(ctx context.Context, request contract.Request) (*Operation, error) {
	return c.as(ctx, contract.ActionWait, request)
}

// as refuses a request that says something else.
func (c *Client) as(ctx context.Context, action contract.Action, request contract.Request) (*Operation, error) {
	if request.Action != "" && request.Action != action {
		return nil, contract.Errorf(contract.ErrInvalidInput, "action %q: this call is for %s", request.Action, action)
	}
	request.Action = action
	return c.Start(ctx, request)
}
