// Package devstack runs the real components this project talks to on the loopback interface: a Temporal
// dev server with its UI, PostgreSQL, PgBouncer where it is installed, and Maestro. It is what `make up`,
// `make demo` and the integration and end-to-end tests stand on.
//
// Guarantees: Start returns only when everything answers; when it fails, or when its context ends, nothing it
// started is left behind. Stop ends every process, dependents first, and may be called any number of times.
// Only processes that this package started are ever signalled. On Linux a stack whose owner is killed with
// SIGKILL dies with it. Every component writes to its own file below Options.Dir/logs, and an error of Start
// carries the last lines of the file that explains it. A killed component comes back on the same ports with
// the same data (KillMaestro and StartMaestro, KillTemporal and StartTemporal).
//
// Non-guarantees: this is no production set-up. Data files are written without fsync, PostgreSQL trusts
// everyone who reaches its loopback port, and nothing is encrypted.
//
// Start reading at Start in stack.go. The managed clusters live in the package simcluster; the command
// cmd/devstack ties both together.
package devstack
