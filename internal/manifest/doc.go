// Package manifest is the pure part of an operation: it parses and validates ManifestWorks and bare objects, renders
// nodepools, merges parts into a stored work, compares a stored work with a desired one, decides what a write has to do,
// and evaluates wait conditions.
//
// It does no I/O, knows no clock, no Temporal and no logger, so that the command line and the workflow's activities say
// and do the same.
//
// Guarantees: a manifest keeps its keys' order and its numbers' text; reading an input of the largest size takes bounded
// time and memory, whatever its aliases; all problems of an input are found at once, each with its line and path and what
// to do about it; a comparison never calls two works equal that a cluster could tell apart; a merge leaves every byte
// alone that it was not asked to change, gives the same bytes for the same input, and never lets the generation of a
// manifest decrease.
//
// Non-guarantees: the condition language is the plain one (conditions joined by AND); the plural of a
// kind is guessed, so that what depends on it is a warning.
//
// Start reading at [ParseInput], [Merge], [Decide], [Diff] and [Evaluate].
package manifest
