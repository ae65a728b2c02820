// Package fakemaestro is a Maestro server in one process: real HTTP and gRPC listeners on loopback, the real
// server's rules about versions, validation and deletion, and faults that can be switched on while it runs.
//
// # Purpose
//
// Tests that need a server which misbehaves at one exact moment (an answer lost after the commit, a conflict for
// ever, a status that stays stale) cannot wait for a real one to do so. They run against this package, with the
// same clients that talk to the real server: maestro's grpcsource client and HTTP API on one side, the Open Cluster
// Management agent client on the other.
//
// # Guarantees
//
//   - Answers have the shape, the codes and the texts of the server at 48b47506a254 ([Strict]) or of main in summer
//     2026 ([Loose]); where the two differ, Options.Generation decides.
//   - A publish that is accepted is stored before it is answered, and recorded (see [Server.Publishes]); so is a
//     refused one.
//   - Numbers are rounded as the server rounds them: the payload passes through float64 before it is stored, so an
//     integer above 2^53 is not what was sent, neither over HTTP nor at the agent.
//   - A list without orderBy has no stable order: a row moves to the end with every update, as in the database.
//   - All methods may be called from several goroutines, and faults may be changed while calls are in flight.
//   - Close ends every goroutine and connection that the server started.
//
// # Non-guarantees
//
//   - There is no TLS and no identity: what the real server says about them is available as a fault only.
//   - A change for a consumer without an agent is tried again for ever, at least once a second. The real server waits
//     longer and longer, and main gives up on deletions after an hour and repeats works without a status after ten
//     minutes.
//   - Of the search language the forms that clients use are understood; what the real server takes beyond these
//     (arithmetic, joins) is refused.
//   - Nothing survives Close, nothing is limited in size but the gRPC message, and one process has one instance.
//   - What [Strict] answers was compared with the running server. What only [Loose] answers was not; of the refusal of
//     duplicates no more than the words "duplicate manifest" is known.
//   - Answers are not compressed.
//
// # Where to start
//
// [New] in a test, [Start] in a command. [Server.Faults] for misbehaviour, [Server.SetStatus] and
// [Server.ConfirmDelete] to play the agent by hand, [Server.PutRaw] and [Server.ServeSequence] for scripted answers.
package fakemaestro
