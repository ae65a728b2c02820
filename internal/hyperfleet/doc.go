// Package hyperfleet reports statuses to the HyperFleet API. It is the only package that talks to that API.
//
// [StatusBody] says what a result means as an adapter status; it is pure. [Client.Report] delivers a body and says what
// became of it: stored, gone, superseded, or an error whose type says whether another attempt helps.
//
// Guarantees: a report that the API answered with success and did not keep is never called stored, because the echo is
// compared with what was sent; the token is read from its file for each request and stands in no error; every request
// has a timeout; no request leaves for another host than the configured one.
//
// Non-guarantees: two processes that report for the same resource under the same adapter name overwrite each other; the
// order of two reports is the order of their times, so clocks that differ by more than the gap between two reports
// can swap them.
//
// Start at [StatusBody] and [Client.Report].
package hyperfleet
