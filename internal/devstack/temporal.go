package devstack

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
)

// searchAttributes are the custom ones of this project's workflows. The dev server makes them at its start, in
// its namespace only.
var searchAttributes = []struct {
	name string
	kind enums.IndexedValueType
}{
	{"MaestroConsumer", enums.INDEXED_VALUE_TYPE_KEYWORD},
	{"MaestroWork", enums.INDEXED_VALUE_TYPE_KEYWORD},
	{"MaestroPhase", enums.INDEXED_VALUE_TYPE_KEYWORD},
	{"MaestroGeneration", enums.INDEXED_VALUE_TYPE_INT},
}

// dynamicConfig lifts the limits that would show in a load test before the components do.
var dynamicConfig = []string{
	"frontend.rps=100000",
	"frontend.namespaceRPS=100000",
	"frontend.namespaceRPS.visibility=10000",
	"frontend.namespaceCount=20000", // long polls at the same time
	"history.rps=100000",
	"matching.rps=100000",
}

// temporal returns the dev server. Its data survives a restart: without the two pragmas a file would cost two
// thirds of the throughput.
func temporal(path string, l layout, ports Ports, ui bool) *component {
	args := []string{
		"server", "start-dev",
		"--ip", loopback, "--port", strconv.Itoa(ports.Temporal),
		"--http-port", strconv.Itoa(ports.TemporalHTTP),
		"--metrics-port", strconv.Itoa(ports.TemporalMetrics),
		"--namespace", Namespace,
		"--db-filename", filepath.Join(l.data, "temporal.db"),
		"--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=OFF",
		"--log-level", "warn",
	}
	if ui {
		args = append(args, "--ui-ip", loopback, "--ui-port", strconv.Itoa(ports.UI))
	} else {
		args = append(args, "--headless")
	}
	for _, a := range searchAttributes {
		args = append(args, "--search-attribute", a.name+"="+a.kind.String())
	}
	for _, c := range dynamicConfig {
		args = append(args, "--dynamic-config-value", c)
	}
	return &component{
		command: Command{
			Name: "temporal", Path: path, Args: args, Env: l.environment(), Dir: l.data, Log: l.log("temporal"),
		},
		stop:    syscall.SIGTERM,
		grace:   10 * time.Second,
		patient: 60 * time.Second,
		ready: func(ctx context.Context) error {
			if err := temporalReady(ctx, address(ports.Temporal)); err != nil {
				return err
			}
			if ui {
				return answersOK(ctx, "http://"+address(ports.UI)+"/")
			}
			return nil
		},
	}
}

// temporalReady asks for the frontend's health and for the search attributes, which exist a moment later.
func temporalReady(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := accepts(ctx, addr); err != nil {
		return err // the client below would wait and retry
	}
	c, err := client.DialContext(ctx, client.Options{HostPort: addr, Namespace: Namespace, Logger: silent{}})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return err
	}
	known, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: Namespace})
	if err != nil {
		return err
	}
	for _, a := range searchAttributes {
		if known.GetCustomAttributes()[a.name] != a.kind {
			return fmt.Errorf("search attribute %s does not exist yet", a.name)
		}
	}
	return nil
}

// silent keeps the SDK from printing attempts that are expected to fail.
type silent struct{}

var _ sdklog.Logger = silent{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
