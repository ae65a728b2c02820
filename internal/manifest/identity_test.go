package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIdentitiesLeaveOutTheVersion(t *testing.T) {
	work := workOf(
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"team"}}`,
		`{"apiVersion":"apps/v1beta1","kind":"Deployment","metadata":{"name":"web","namespace":"team"}}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"system:reader"}}`)
	identities, err := Identities(work)
	require.NoError(t, err)
	web := Identity{Group: "apps", Kind: "Deployment", Namespace: "team", Name: "web"}
	assert.Equal(t, []Identity{{Kind: "Namespace", Name: "team"}, web, web,
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:reader"}}, identities)
	assert.Equal(t, "Namespace/team", identities[0].String())
	assert.Equal(t, "Deployment.apps/team/web", identities[1].String())
}

func TestIdentitiesRefuseWhatHasNone(t *testing.T) {
	for name, raw := range map[string]string{
		"no kind": `{"apiVersion":"v1","metadata":{"name":"a"}}`, "no name": `{"apiVersion":"v1","kind":"A"}`,
		"no version": `{"kind":"A","metadata":{"name":"a"}}`, "no object": `7`, "nothing": ``,
		"kind in another case": `{"apiVersion":"v1","KIND":"A","metadata":{"name":"a"}}`,
	} {
		_, err := Identities(workOf(goodManifest, raw))
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), "manifest 1: ", name)
	}
}

func TestSameSetIsWhatAStrictServerDemands(t *testing.T) {
	const (
		a      = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"team"}}`
		bigger = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"team","labels":{"x":"y"}},"spec":{"replicas":3}}`
		b      = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"b","namespace":"team"}}`
	)
	for name, sample := range map[string]struct {
		stored, desired []string
		same            bool
	}{
		"equal":           {[]string{a, b}, []string{a, b}, true},
		"other content":   {[]string{a, b}, []string{bigger, b}, true},
		"none":            {nil, nil, true},
		"one more":        {[]string{a}, []string{a, b}, false},
		"one less":        {[]string{a, b}, []string{a}, false},
		"other order":     {[]string{a, b}, []string{b, a}, false},
		"other version":   {[]string{a}, []string{`{"apiVersion":"apps/v2","kind":"Deployment","metadata":{"name":"a","namespace":"team"}}`}, false},
		"other group":     {[]string{a}, []string{`{"apiVersion":"v1","kind":"Deployment","metadata":{"name":"a","namespace":"team"}}`}, false},
		"other kind":      {[]string{a}, []string{`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"a","namespace":"team"}}`}, false},
		"other name":      {[]string{a}, []string{b}, false},
		"other namespace": {[]string{a}, []string{`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","namespace":"x"}}`}, false},
		"unreadable":      {[]string{`7`}, []string{`7`}, false},
	} {
		assert.Equal(t, sample.same, SameSet(workOf(sample.stored...), workOf(sample.desired...)), name)
	}
}
