package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	databaseUser = "maestro"
	// databaseName is the database that initdb makes anyway, so that no client program is needed to make one.
	databaseName = "postgres"
)

// postgres prepares the data directory, once, and returns the server. It is the only component whose children
// survive a SIGKILL of their parent for a moment, hence the softer signal when the owner dies.
func postgres(ctx context.Context, s *Spawner, l layout, port int, a *account) (*component, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(l.data, "postgres")
	if err := ownedDir(data, a); err != nil {
		return nil, fmt.Errorf("make the data directory of PostgreSQL: %w", err)
	}
	if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); errors.Is(err, os.ErrNotExist) {
		err := runOnce(ctx, s, Command{
			Name: "initdb", Path: filepath.Join(bin, "initdb"),
			Args: []string{"-D", data, "-U", databaseUser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"},
			Env:  l.environment(), Dir: "/", Log: l.log("postgres"), account: a,
		})
		if err != nil {
			return nil, err
		}
	}
	args := []string{"-D", data}
	for _, setting := range []string{
		"listen_addresses=" + loopback, "port=" + strconv.Itoa(port), "unix_socket_directories=",
		"max_connections=200", "fsync=off", "synchronous_commit=off", "full_page_writes=off",
		"log_min_messages=warning",
	} {
		args = append(args, "-c", setting)
	}
	c := &component{
		command: Command{
			Name: "postgres", Path: filepath.Join(bin, "postgres"), Args: args,
			Env: l.environment(), Dir: "/", Log: l.log("postgres"), account: a, orphan: syscall.SIGQUIT,
		},
		stop:    syscall.SIGINT, // "fast": ends the sessions instead of waiting for them
		grace:   20 * time.Second,
		patient: 60 * time.Second,
	}
	c.ready = func(context.Context) error {
		return postmasterReady(filepath.Join(data, "postmaster.pid"), c.process.PID())
	}
	return c, nil
}

// postmasterReady reads the server's own word from its pid file, as pg_ctl does: the process in line 1, the
// state in line 8. A connection would be accepted too early, and a killed server leaves its file behind.
func postmasterReady(pidFile string, pid int) error {
	data, err := os.ReadFile(pidFile)
	if err != nil {
		return err
	}
	lines := strings.Split(string(data), "\n")
	if len(lines) < 8 || strings.TrimSpace(lines[0]) != strconv.Itoa(pid) || strings.TrimSpace(lines[7]) != "ready" {
		return errors.New("PostgreSQL is starting")
	}
	return nil
}

// postgresBin finds the directory with the newest installed PostgreSQL, the one on PATH first.
func postgresBin() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if dir := filepath.Dir(path); executable(filepath.Join(dir, "initdb")) {
			return dir, nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // Debian keeps servers off PATH
	more, _ := filepath.Glob("/usr/pgsql-*/bin/postgres")           // so do PostgreSQL's own RPMs
	best, newest := "", -1
	for _, path := range append(found, more...) {
		dir := filepath.Dir(path)
		if v := majorVersion(dir); v > newest && executable(filepath.Join(dir, "initdb")) {
			best, newest = dir, v
		}
	}
	if best == "" {
		return "", errors.New("Maestro needs PostgreSQL and no server is installed: install it (Debian, Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server)")
	}
	return best, nil
}

var versionInPath = regexp.MustCompile(`(?:/|-)(\d+)(?:\.\d+)?/bin$`)

// majorVersion reads the version off a directory name like /usr/lib/postgresql/15/bin.
func majorVersion(dir string) int {
	match := versionInPath.FindStringSubmatch(dir)
	if match == nil {
		return 0
	}
	v, err := strconv.Atoi(match[1])
	if err != nil {
		return 0
	}
	return v
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
