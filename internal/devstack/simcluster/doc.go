// Package simcluster simulates managed clusters. One process plays the agents of many of them over Maestro's
// agent-side gRPC broker, with the same client library and the same wire format as the real agent, and answers
// each ManifestWork as its manifests' annotations say. Works are self-contained: what a cluster does with one
// depends on nothing but the work.
//
// # Annotations
//
// All are read from the manifest, with the prefix simcluster.hyperfleet.io/:
//
//	apply-delay             time until the manifest is applied, counted from the receipt of the version (200ms)
//	available-delay         time from applied to Available (500ms)
//	applied-error           the manifest is refused with this message: Applied=False
//	applied-reason          the reason in that condition (AppliedManifestFailed)
//	applied-error-until     the refusal ends by itself after this time, counted like apply-delay
//	available               True, False (the object never comes to exist) or Unknown (True)
//	degraded                a Degraded=True condition with this message comes with Available
//	feedback                JSON object of feedback values
//	feedback-delay          time from Available to the feedback values (0s)
//	no-observed-generation  "true": the work's conditions carry no observedGeneration
//	silent                  "true": the work is applied to the cluster, but nothing is reported, as by a cluster
//	                        whose status does not get through; a deletion is still confirmed
//	delete-delay            time from the deletion request to its confirmation (200ms)
//
// A bad value is logged and the default is used; so is an annotation with the prefix that is not in this list.
//
// # What is reported
//
// A work is applied when its slowest manifest is, and available when its slowest manifest is; manifests report
// Available one by one. As with the real agent, Available says that the object exists: a refused update of an
// existing object gives Applied=False and Available=True for the same version. Until a new version's outcome is
// reported, the conditions of the old one stay, with its observedGeneration. A newer version ends what was
// still to come of the older.
//
// A cluster comes back about half a second after Maestro does; the real agent takes 9 to 40 seconds.
//
// The real agent's own work client is not used, only the event client below it: that one's store can put an
// old version of a work over a new one when a status patch and a new version meet, and its reconnect delay is
// one variable for the whole process.
package simcluster
