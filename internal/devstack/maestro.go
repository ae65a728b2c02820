package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/openshift-online/maestro/pkg/api/openapi"
)

// maestro migrates the database behind databasePort and returns the server.
func maestro(ctx context.Context, s *Spawner, path string, l layout, ports Ports, databasePort int) (*component, error) {
	database, err := databaseFlags(l, databasePort)
	if err != nil {
		return nil, err
	}
	env := l.environment("MAESTRO_ENV=development")
	err = runOnce(ctx, s, Command{
		Name: "maestro migration", Path: path, Args: append([]string{"migration"}, database...),
		Env: env, Dir: l.data, Log: l.log("maestro"),
	})
	if err != nil {
		return nil, err
	}
	args := append([]string{
		"server",
		"--server-hostname", loopback, // all five listeners
		"--http-server-bindport", strconv.Itoa(ports.MaestroHTTP),
		"--grpc-server-bindport", strconv.Itoa(ports.MaestroGRPC),
		"--grpc-broker-bindport", strconv.Itoa(ports.MaestroBroker),
		"--health-check-server-bindport", strconv.Itoa(ports.MaestroHealth),
		"--metrics-server-bindport", strconv.Itoa(ports.MaestroMetrics),
		"--message-broker-type", "grpc",
		"--client-id", fmt.Sprintf("maestro-%d", ports.MaestroHTTP), // also the name of the instance
		"--source-id", "maestro",
		"--heartbeat-interval", "3", // seconds; it is ready after a third of it
		"-v", "2",
	}, database...)
	return &component{
		command: Command{Name: "maestro", Path: path, Args: args, Env: env, Dir: l.data, Log: l.log("maestro")},
		stop:    syscall.SIGTERM,
		grace:   10 * time.Second,
		patient: 60 * time.Second,
		ready:   func(ctx context.Context) error { return maestroReady(ctx, ports) },
	}, nil
}

// databaseFlags writes the credentials. Maestro takes them from files only, and takes a relative path as
// relative to the machine it was built on.
func databaseFlags(l layout, port int) ([]string, error) {
	dir := filepath.Join(l.data, "maestro")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of Maestro: %w", err)
	}
	flags := []string{"--db-sslmode", "disable"}
	for _, f := range [][2]string{
		{"host", loopback}, {"port", strconv.Itoa(port)}, {"name", databaseName},
		{"user", databaseUser}, {"password", "trusted"},
	} {
		path := filepath.Join(dir, "db."+f[0])
		if err := os.WriteFile(path, []byte(f[1]), 0o600); err != nil {
			return nil, fmt.Errorf("write the database credentials of Maestro: %w", err)
		}
		flags = append(flags, "--db-"+f[0]+"-file", path)
	}
	return flags, nil
}

// maestroReady asks each listener that others depend on. The health check alone says yes to an instance that
// was killed and has not served since.
func maestroReady(ctx context.Context, ports Ports) error {
	for _, url := range []string{
		"http://" + address(ports.MaestroHealth) + "/healthcheck",
		"http://" + address(ports.MaestroHTTP) + "/api/maestro/v1/consumers?size=1",
	} {
		if err := answersOK(ctx, url); err != nil {
			return err
		}
	}
	for _, port := range []int{ports.MaestroGRPC, ports.MaestroBroker} {
		if err := accepts(ctx, address(port)); err != nil {
			return err
		}
	}
	return nil
}

func answersOK(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return nil
}

// createConsumer registers a managed cluster. One that exists already is fine.
func createConsumer(ctx context.Context, url, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	config := openapi.NewConfiguration()
	config.Servers = openapi.ServerConfigurations{{URL: url}}
	consumer := openapi.NewConsumer()
	consumer.SetName(name)
	_, resp, err := openapi.NewAPIClient(config).DefaultAPI.ApiMaestroV1ConsumersPost(ctx).Consumer(*consumer).Execute()
	if resp != nil && (resp.StatusCode == http.StatusCreated || resp.StatusCode == http.StatusConflict) {
		return nil
	}
	if err != nil {
		var answer *openapi.GenericOpenAPIError
		if errors.As(err, &answer) {
			return fmt.Errorf("create consumer %s: %w: %s", name, err, answer.Body())
		}
		return fmt.Errorf("create consumer %s: %w", name, err)
	}
	return fmt.Errorf("create consumer %s: %s", name, resp.Status)
}
