package simcluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
)

func TestScriptReadsItsAnnotations(t *testing.T) {
	s, ignored := parseScript(map[string]string{
		"app":                             "untouched",
		Prefix + "apply-delay":            "1s",
		Prefix + "available-delay":        "0s",
		Prefix + "applied-error":          "admission webhook denied",
		Prefix + "applied-reason":         "Denied",
		Prefix + "applied-error-until":    "20s",
		Prefix + "available":              "False",
		Prefix + "degraded":               "two replicas missing",
		Prefix + "feedback":               `{"b":1}`,
		Prefix + "feedback-delay":         "3s",
		Prefix + "no-observed-generation": "true",
		Prefix + "silent":                 "true",
		Prefix + "delete-delay":           "2m",
	})
	require.Empty(t, ignored)
	one := int64(1)
	assert.Equal(t, script{
		applyDelay: time.Second, appliedError: "admission webhook denied", appliedReason: "Denied",
		errorUntil: 20 * time.Second, available: metav1.ConditionFalse, degraded: "two replicas missing",
		feedback:      []workv1.FeedbackValue{{Name: "b", Value: workv1.FieldValue{Type: workv1.Integer, Integer: &one}}},
		feedbackDelay: 3 * time.Second, noObserved: true, silent: true, deleteDelay: 2 * time.Minute,
	}, s)
}

func TestBadAnnotationIsNamedAndLeavesTheDefault(t *testing.T) {
	for name, value := range map[string]string{
		"apply-delay": "soon", "available-delay": "-1s", "applied-error-until": "", "available": "Maybe",
		"feedback": `[1]`, "feedback-delay": "1", "no-observed-generation": "yes", "silent": "", "delete-delay": "x",
		"aply-delay": "1s",
	} {
		s, ignored := parseScript(map[string]string{Prefix + name: value})
		require.Len(t, ignored, 1, name)
		assert.ErrorContains(t, ignored[0], Prefix+name)
		assert.Equal(t, defaultScript(), s, name)
	}
}

func TestFeedbackValuesAreTypedLikeTheRealAgents(t *testing.T) {
	var values []workv1.FeedbackValue
	require.NoError(t, setFeedback(&values,
		`{"z":"text","y":9007199254740993,"x":true,"w":1.5,"v":[1, 2],"u":{"a":null},"t":null,"s":-3,"r":1e3}`))
	got := map[string]string{}
	var order []string
	for _, v := range values {
		order = append(order, v.Name)
		switch v.Value.Type {
		case workv1.Integer:
			got[v.Name] = "integer"
			assert.NotNil(t, v.Value.Integer)
		case workv1.String:
			got[v.Name] = "string"
			assert.Equal(t, "text", *v.Value.String)
		case workv1.Boolean:
			got[v.Name] = "boolean"
			assert.True(t, *v.Value.Boolean)
		case workv1.JsonRaw:
			got[v.Name] = "json " + *v.Value.JsonRaw
		}
	}
	assert.Equal(t, []string{"r", "s", "t", "u", "v", "w", "x", "y", "z"}, order)
	assert.Equal(t, map[string]string{
		"z": "string", "y": "integer", "x": "boolean", "s": "integer",
		"w": "json 1.5", "v": "json [1, 2]", "u": `json {"a":null}`, "t": "json null", "r": "json 1e3",
	}, got)
	assert.EqualValues(t, 9007199254740993, *values[7].Value.Integer, "no detour over floating point")
}

func TestManifestIsDescribedLikeByTheRealAgent(t *testing.T) {
	manifests, ignored := parseManifests([]workv1.Manifest{
		raw(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ns"}}`),
		raw(`{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"n","namespace":"ns"}}`),
		raw(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","annotations":{"simcluster.hyperfleet.io/silent":"?"}}}`),
		raw(`"no object"`),
	})
	require.Len(t, manifests, 4)
	assert.Equal(t, workv1.ManifestResourceMeta{Ordinal: 0, Version: "v1", Kind: "Namespace", Resource: "namespaces", Name: "ns"}, manifests[0].meta)
	assert.Equal(t, workv1.ManifestResourceMeta{
		Ordinal: 1, Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy", Resource: "networkpolicies",
		Name: "n", Namespace: "ns",
	}, manifests[1].meta)
	require.Len(t, ignored, 2)
	assert.ErrorContains(t, ignored[0], "manifest 2 (ConfigMap c)")
	assert.ErrorContains(t, ignored[1], "manifest 3")
}

func TestPluralOfCommonKinds(t *testing.T) {
	for kind, resource := range map[string]string{
		"Deployment": "deployments", "Ingress": "ingresses", "Gateway": "gateways", "StorageClass": "storageclasses",
		"Endpoints": "endpoints", "HostedCluster": "hostedclusters", "NodePool": "nodepools", "": "",
	} {
		assert.Equal(t, resource, plural(kind), kind)
	}
}
