package manifest

import workv1 "open-cluster-management.io/api/work/v1"

// kindIn is a kind in its API group.
type kindIn struct{ group, kind string }

func (i Identity) kindIn() kindIn { return kindIn{i.Group, i.Kind} }

// wellKnownFields are the feedback values that the rule WellKnownStatus makes agents report, with their paths.
// Source: open-cluster-management.io/ocm pkg/work/spoke/statusfeedback/rules.
var wellKnownFields = map[kindIn][]workv1.JsonPath{
	{"apps", "Deployment"}: {
		{Name: "ReadyReplicas", Path: ".status.readyReplicas"},
		{Name: "Replicas", Path: ".status.replicas"},
		{Name: "AvailableReplicas", Path: ".status.availableReplicas"},
	},
	{"apps", "DaemonSet"}: {
		{Name: "NumberReady", Path: ".status.numberReady"},
		{Name: "DesiredNumberScheduled", Path: ".status.desiredNumberScheduled"},
		{Name: "NumberAvailable", Path: ".status.numberAvailable"},
	},
	{"batch", "Job"}: {
		{Name: "JobComplete", Path: `.status.conditions[?(@.type=="Complete")].status`},
		{Name: "JobSucceeded", Path: ".status.succeeded"},
	},
	{"", "Pod"}: {
		{Name: "PodReady", Path: `.status.conditions[?(@.type=="Ready")].status`},
		{Name: "PodPhase", Path: ".status.phase"},
	},
}

// wellKnownField finds a well-known value by its path.
func wellKnownField(kind kindIn, path string) (name string) {
	for _, field := range wellKnownFields[kind] {
		if field.Path == path {
			return field.Name
		}
	}
	return ""
}

// completable are the kinds of which the rule WellKnownConditions makes agents report Complete. It is True for a Job
// and a Pod that failed, too.
// Source: open-cluster-management.io/ocm pkg/work/spoke/conditions/rules.
var completable = map[kindIn]bool{{"batch", "Job"}: true, podKind: true}

// statusPath is the path of an object's condition in the object.
func statusPath(condition string) string {
	return `.status.conditions[?(@.type=="` + condition + `")].status`
}
