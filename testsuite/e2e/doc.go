// Package e2e runs whole operations on the real servers: Temporal, PostgreSQL, Maestro and simulated clusters, with the
// binaries that users run, and kills each of them in the middle.
//
// The tests need the build tag integration. They start every server they need and fail when they cannot; nothing is
// skipped. After each operation the history and Maestro's version are checked, not only the answer.
package e2e
