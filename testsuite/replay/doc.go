// Package replay keeps the workflows' code deterministic: it replays the recorded histories of every path below
// testsuite/histories with the code as it is now.
//
// Guarantees: a change of the workflows' commands without workflow.GetVersion fails here, before it breaks operations
// that are under way; a fixture that is lost fails as well, because the fixtures are counted and every way in which an
// operation can end has one; what a plain operation costs in history events is pinned.
//
// Non-guarantees: replay compares commands, not results. What an operation answers is tested in workflows/operation.
//
// Start reading at scenarios in scenarios_test.go. Fixtures are recorded on real servers by
//
//	go test -tags integration -run Record ./testsuite/replay -record
//
// which adds the missing ones and never touches an existing one: an old history is a promise to operations that were
// started by an old release.
package replay
