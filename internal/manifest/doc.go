// Package manifest is the pure part of an operation: it parses and validates ManifestWorks, compares a stored work with
// a desired one, decides what a write has to do, and evaluates wait conditions.
//
// It does no I/O, knows no clock, no Temporal and no logger, so that the command line and the workflow's activities say
// and do the same.
//
// Guarantees: a manifest keeps its keys' order and its numbers' text; reading an input of the largest size takes bounded
// time and memory, whatever its aliases; all problems of an input are found at once, each with its line and path and what
// to do about it; a comparison never calls two works equal that a cluster could tell apart.
//
// Non-guarantees: the condition language is the plain one (conditions joined by AND); merging is not built yet; the plural
// of a kind is guessed, so that what depends on it is a warning.
//
// Start reading at [ParseInput], [Decide] and [Evaluate].
package manifest
