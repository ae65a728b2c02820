// Package contract holds the one suite that every Maestro has to pass: the fake in both generations as part of the
// plain unit tests, and the real server under the build tag integration. What the product's client relies on is stated
// here once and checked against both, so that the fake cannot drift away from the server that it plays.
//
// Guarantees: every backend runs the same checks, which testdata/checks.txt counts, and none of them may be skipped;
// the words and the numbers in which a server answers are compared with testdata/answers-<generation>.json. Those of
// the strict generation are captured from the real server (go test -tags integration -run Real -update); those of the
// loose one come from the fake itself, as there is no such server to capture from, and only pin it.
//
// Non-guarantees: only the client of this project and its upstream counterpart are driven, so a rule that neither of
// them can meet is not in here. Faults are the fake's own and have tests without a counterpart.
//
// Where to start: Run and the table of checks in suite_test.go.
package contract
