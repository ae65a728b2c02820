package main

import (
	"context"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/devstack"
)

// build builds the servers, so that the minutes are spent when it suits.
func build(ctx context.Context, args []string) error {
	var c config
	if err := parse(newFlags("build", &c), &c, args); err != nil {
		return err
	}
	return devstack.Build(ctx, devstack.Options{Logf: progress})
}
