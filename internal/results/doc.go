// Package results writes the results file: the one document by which an operation's outcome reaches the process next to
// it, usually a status-reporter sidecar that watches a path on a shared volume.
//
// Guarantees: the path either does not exist or holds one complete document, at every moment and for every reader,
// because a document appears by rename only. The file is readable by other users (mode 0644), and it is on disk before
// [Write] returns. A failed [Write] leaves no temporary file behind, and the path as it was (after the rename only the
// folder's fsync can fail: then the document is there, but may not survive a crash). A document in the format
// [FormatStatusReporter] satisfies every rule of the public status-reporter: size, status, reason, message.
//
// Non-guarantees: two processes that write to one path both succeed, and the last one is what remains. A process that is
// killed between creating and renaming its temporary file (.<name>.*.tmp) leaves that file.
//
// Symbolic links are followed, by [Prepare] as well as by [Write]: a reader may hold either end, the link or the file it
// names, and both have to see the document. So the link stays and the file it names is replaced, atomically in its own
// folder. A link whose target does not exist yet is fine.
//
// Start reading at [Write]; document.go holds the formats.
package results
