package devstack

import (
	"context"
	"errors"
	"fmt"
)

// KillMaestro ends Maestro with SIGKILL and returns when it is gone. Its database stays.
func (s *Stack) KillMaestro() { s.killOne("maestro") }

// KillTemporal ends Temporal with SIGKILL and returns when it is gone. Its database file stays.
func (s *Stack) KillTemporal() { s.killOne("temporal") }

// StartMaestro starts a killed Maestro again, on the same ports, and waits until it answers.
func (s *Stack) StartMaestro(ctx context.Context) error { return s.startOne(ctx, "maestro") }

// StartTemporal starts a killed Temporal again, on the same ports, and waits until it answers.
func (s *Stack) StartTemporal(ctx context.Context) error { return s.startOne(ctx, "temporal") }

// MaestroPID is Maestro's process id, 0 when it does not run.
func (s *Stack) MaestroPID() int { return s.pidOf("maestro") }

// TemporalPID is Temporal's process id, 0 when it does not run.
func (s *Stack) TemporalPID() int { return s.pidOf("temporal") }

// PIDs are the process ids of the running components by name.
func (s *Stack) PIDs() map[string]int {
	pids := map[string]int{}
	for _, name := range stopOrder {
		if pid := s.pidOf(name); pid != 0 {
			pids[name] = pid
		}
	}
	return pids
}

// CreateConsumer registers a managed cluster with Maestro. One that exists already is fine.
func (s *Stack) CreateConsumer(ctx context.Context, name string) error {
	return createConsumer(ctx, s.MaestroURL(), name)
}

// TemporalAddress is host:port of Temporal's gRPC API.
func (s *Stack) TemporalAddress() string { return address(s.ports.Temporal) }

// TemporalHTTPAddress is host:port of Temporal's HTTP API.
func (s *Stack) TemporalHTTPAddress() string { return address(s.ports.TemporalHTTP) }

// TemporalMetricsURL is where Temporal's own metrics are scraped.
func (s *Stack) TemporalMetricsURL() string {
	return "http://" + address(s.ports.TemporalMetrics) + "/metrics"
}

// Namespace is the Temporal namespace to use.
func (s *Stack) Namespace() string { return Namespace }

// UIURL is the address of Temporal's web interface, empty without Options.UI.
func (s *Stack) UIURL() string {
	if !s.opts.UI || s.opts.WithoutTemporal {
		return ""
	}
	return "http://" + address(s.ports.UI)
}

// MaestroURL is the base of Maestro's HTTP API.
func (s *Stack) MaestroURL() string { return "http://" + address(s.ports.MaestroHTTP) }

// MaestroGRPCAddress is host:port of Maestro's gRPC API for sources.
func (s *Stack) MaestroGRPCAddress() string { return address(s.ports.MaestroGRPC) }

// BrokerAddress is host:port of Maestro's gRPC broker for agents.
func (s *Stack) BrokerAddress() string { return address(s.ports.MaestroBroker) }

// MaestroMetricsURL is where Maestro's own metrics are scraped.
func (s *Stack) MaestroMetricsURL() string {
	return "http://" + address(s.ports.MaestroMetrics) + "/metrics"
}

// Ports are the ports in use.
func (s *Stack) Ports() Ports { return s.ports }

// Dir is where logs and data are.
func (s *Stack) Dir() string { return s.layout.dir }

// LogFile is the log of a component: maestro, temporal, pgbouncer or postgres.
func (s *Stack) LogFile(component string) string { return s.layout.log(component) }

// Database says in words how Maestro reaches PostgreSQL: benchmarks differ by a factor of four or five.
func (s *Stack) Database() string { return s.pooled }

// Environment is what the binaries of this project need to find the stack, as K=V.
func (s *Stack) Environment() []string {
	var env []string
	if !s.opts.WithoutMaestro {
		env = append(env,
			"MAESTRO_GRPC_ENDPOINT="+s.MaestroGRPCAddress(),
			"MAESTRO_HTTP_ENDPOINT="+s.MaestroURL(),
			"MAESTRO_GRPC_INSECURE=true",
			"MAESTRO_SOURCE_ID=hyperfleet")
	}
	if !s.opts.WithoutTemporal {
		env = append(env, "TEMPORAL_ADDRESS="+s.TemporalAddress(), "TEMPORAL_NAMESPACE="+Namespace)
		if ui := s.UIURL(); ui != "" {
			env = append(env, "TEMPORAL_UI_URL="+ui)
		}
	}
	return env
}

func (s *Stack) killOne(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.components[name]; c != nil {
		c.kill()
	}
}

// startOne holds the lock for as long as the component takes, so that Stop does not miss it.
func (s *Stack) startOne(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.components[name]
	switch {
	case s.stopped:
		return errors.New("start " + name + ": the stack is stopped")
	case c == nil:
		return fmt.Errorf("start %s: it is not part of this stack", name)
	}
	return s.run(ctx, c)
}

func (s *Stack) pidOf(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.components[name]; c != nil {
		return c.pid()
	}
	return 0
}
