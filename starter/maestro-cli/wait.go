package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func (a *app) waitCommand() *cobra.Command {
	var work target
	var shared operationFlags
	var condition, failOn, grace string
	command := &cobra.Command{
		Use:   "wait --name WORK --consumer NAME [--for CONDITION]",
		Short: "Wait for a condition of a stored ManifestWork",
		Long: `Wait for a condition of a stored ManifestWork.

A condition counts only when the cluster reported it for the version that is stored.`,
		Example: `  maestro-cli wait --name web --consumer cluster-a1
  maestro-cli wait --name web --consumer cluster-a1 --for 'Available AND Job/migrate:Complete' --timeout 20m`,
		Args: noArguments,
	}
	work.add(command)
	command.Flags().StringVar(&condition, "for", conditionAvailable, "condition to wait for")
	graceFlag(command.Flags(), &grace)
	failOnFlag(command.Flags(), &failOn)
	shared.add(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		return a.operate(command, shared, func(_ context.Context, settings config.CLI) (contract.Request, error) {
			request := contract.Request{
				Source: settings.SourceID, Consumer: work.consumer, Action: contract.ActionWait, Name: work.name,
				Wait: condition, Timeout: timeoutOf(command), Grace: grace, FailOn: failOn,
			}
			if err := work.check(); err != nil {
				return request, err
			}
			if _, err := checkWait("for", condition); err != nil {
				return request, err
			}
			return request, checkFailOn(failOn, condition)
		})
	}
	return command
}
