// Package chaos runs many operations of all kinds at once while everything around them fails: workers are killed, Maestro
// and the HyperFleet API go away, answers are lost, requests are sent twice and out of order.
//
// At the end: each work holds its highest accepted generation; each accepted request has exactly one outcome, and it is its
// own; the HyperFleet API's last status is of the highest accepted generation; no results file was ever unreadable.
//
// The operations are drawn from a seed, which is printed. The faults come when the machine lets them come, so that a seed
// gives the same requests and not the same run. Start reading at TestChaos.
//
//	make chaos                    # 500 operations
//	make chaos SEED=17            # those of a seed
package chaos
