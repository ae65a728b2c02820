package devstack

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// pgbouncerPath finds PgBouncer, empty when it is not installed.
func pgbouncerPath() string {
	if path, err := exec.LookPath("pgbouncer"); err == nil {
		return path
	}
	for _, path := range []string{"/usr/sbin/pgbouncer", "/usr/local/sbin/pgbouncer", "/usr/local/bin/pgbouncer"} {
		if executable(path) {
			return path
		}
	}
	return ""
}

// pgbouncer pools Maestro's connections. Maestro keeps two idle ones, so that under load nearly every query
// makes PostgreSQL fork a backend; pooled it is four to five times faster. Session mode, because Maestro uses
// LISTEN and NOTIFY.
func pgbouncer(path string, l layout, port, postgresPort int, a *account) (*component, error) {
	dir := filepath.Join(l.data, "pgbouncer")
	if err := ownedDir(dir, a); err != nil {
		return nil, fmt.Errorf("make the directory of PgBouncer: %w", err)
	}
	config := filepath.Join(dir, "pgbouncer.ini")
	err := os.WriteFile(config, []byte(fmt.Sprintf(`[databases]
%[1]s = host=%[2]s port=%[3]d dbname=%[1]s user=%[4]s
[pgbouncer]
listen_addr = %[2]s
listen_port = %[5]d
unix_socket_dir =
auth_type = any
pool_mode = session
default_pool_size = 150
max_client_conn = 1000
ignore_startup_parameters = extra_float_digits
log_connections = 0
log_disconnections = 0
`, databaseName, loopback, postgresPort, databaseUser, port)), 0o644)
	if err != nil {
		return nil, fmt.Errorf("write the configuration of PgBouncer: %w", err)
	}
	return &component{
		command: Command{
			Name: "pgbouncer", Path: path, Args: []string{config},
			Env: l.environment(), Dir: "/", Log: l.log("pgbouncer"), account: a,
		},
		stop:    syscall.SIGTERM, // immediate; SIGINT would wait for the clients
		grace:   5 * time.Second,
		patient: 20 * time.Second,
		ready:   func(ctx context.Context) error { return accepts(ctx, address(port)) },
	}, nil
}

// accepts reports whether somebody listens.
func accepts(ctx context.Context, addr string) error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp4", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}
