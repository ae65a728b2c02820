// Command maestro-worker serves ManifestWork operations: it polls a Temporal task queue and talks to one Maestro.
//
// SIGTERM and SIGINT stop it: it takes no new work, lets activities under way end for up to 30 s, and leaves. Waits are
// not held by a worker, so another one, or the next start of this one, goes on with them.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/config"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/hyperfleet"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/worker/wiring"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "maestro-worker:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	settings := &config.Worker{}
	cmd := &cobra.Command{
		Use:           "maestro-worker",
		Short:         "Serve ManifestWork operations from a Temporal task queue",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.Load(settings, cmd.Flags()); err != nil {
				return err
			}
			return serve(cmd.Context(), *settings)
		},
	}
	config.AddFlags(cmd.Flags(), settings)
	return cmd
}

func serve(ctx context.Context, settings config.Worker) error {
	logger := newLogger(settings)
	temporal, err := client.DialContext(ctx, client.Options{
		HostPort:  settings.TemporalAddress,
		Namespace: settings.TemporalNamespace,
		Logger:    log.NewStructuredLogger(logger),
	})
	if err != nil {
		return fmt.Errorf("connect to Temporal %s: %w", settings.TemporalAddress, err)
	}
	defer temporal.Close()
	worker, err := wiring.New(ctx, temporal, wiring.Config{
		TaskQueue: settings.TaskQueue,
		Namespace: settings.TemporalNamespace,
		Maestro: maestro.Config{
			GRPCEndpoint: settings.GRPCEndpoint,
			HTTPEndpoint: settings.HTTPEndpoint,
			Insecure:     settings.GRPCInsecure,
			MaxInFlight:  settings.MaxInFlight,
			CallTimeout:  settings.CallTimeout,
		},
		ResultsDir: settings.ResultsDir,
		HyperFleet: hyperfleet.Config{
			URL:       settings.HyperFleetURL,
			TokenFile: settings.HyperFleetTokenFile,
			Timeout:   settings.HyperFleetTimeout,
		},
		Activities: settings.Activities,
	})
	if err != nil {
		return err
	}
	if err := worker.Start(); err != nil {
		return errors.Join(err, worker.Stop())
	}
	logger.Info("serving", "task_queue", settings.TaskQueue, "temporal", settings.TemporalAddress, "maestro", settings.HTTPEndpoint)
	logger.Warn("connections are plaintext")
	select {
	case err := <-worker.Fatal():
		return errors.Join(fmt.Errorf("serve task queue %s: %w", settings.TaskQueue, err), worker.Stop())
	case <-ctx.Done():
		logger.Info("stopping")
		return worker.Stop()
	}
}

func newLogger(settings config.Worker) *slog.Logger {
	var level slog.Level
	// The configuration's check has let the level pass.
	_ = level.UnmarshalText([]byte(settings.LogLevel))
	options := &slog.HandlerOptions{Level: level}
	if settings.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(os.Stderr, options))
	}
	return slog.New(slog.NewJSONHandler(os.Stderr, options))
}
