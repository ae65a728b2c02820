package contract_test

import (
	"fmt"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

var refusalChecks = []check{
	{"bad manifests are refused on create", badManifestsOnCreate},
	{"bad manifests are refused on update", badManifestsOnUpdate},
	{"a strict server keeps the set of manifests", setOfManifests},
	{"a manifest twice in one work", manifestTwice},
	{"what the server lets pass", lettingPass},
	{"events that come at the wrong time", eventsAtTheWrongTime},
}

// object is a manifest with the given parts.
func object(head, metadata string) string {
	return fmt.Sprintf(`{%s,"metadata":{%s},"data":{"k":"v"}}`, head, metadata)
}

const (
	headOK = `"apiVersion":"v1","kind":"ConfigMap"`
	metaOK = `"name":"a","namespace":"default"`
)

var badManifests = []struct {
	name, manifest string
	// update: also refused when it comes in the place of a good one of the same identity.
	update bool
}{
	{"label value", object(headOK, metaOK+`,"labels":{"k":"not a label!"}`), true},
	{"label key", object(headOK, metaOK+`,"labels":{"-k":"v"}`), true},
	{"annotation key", object(headOK, metaOK+`,"annotations":{"a/b/c":"v"}`), true},
	{"finalizer", object(headOK, metaOK+`,"finalizers":["not qualified!"]`), true},
	{"words of another error", object(headOK, metaOK+`,"labels":{"k":"unauthorized to publish, failed to authorize the request, maestro-11, maestro-26"}`), true},
	{"generateName", object(headOK, metaOK+`,"generateName":"a-"`), true},
	{"resourceVersion", object(headOK, metaOK+`,"resourceVersion":"1"`), true},
	{"several problems at once", object(headOK, metaOK+`,"generateName":"a-","resourceVersion":"1","labels":{"k":"!"}`), true},
	{"NUL in a string", `{` + headOK + `,"metadata":{` + metaOK + `},"data":{"k":"a\u0000b"}}`, true},
	{"number beyond a double", `{` + headOK + `,"metadata":{` + metaOK + `},"data":{"k":1e400}}`, true},
	{"no kind", object(`"apiVersion":"v1"`, metaOK), false},
	{"no apiVersion", object(`"kind":"ConfigMap"`, metaOK), false},
	{"apiVersion of three parts", object(`"apiVersion":"a/b/v1","kind":"X"`, metaOK), false},
	{"apiVersion without group", object(`"apiVersion":"/v1","kind":"X"`, metaOK), false},
	{"apiVersion without version", object(`"apiVersion":"apps/","kind":"X"`, metaOK), false},
	{"apiVersion with a bad group", object(`"apiVersion":"Apps/v1","kind":"X"`, metaOK), false},
	{"apiVersion with a bad version", object(`"apiVersion":"apps/V1","kind":"X"`, metaOK), false},
	{"no name", object(headOK, `"namespace":"default"`), false},
	{"bad namespace", object(headOK, `"name":"a","namespace":"Default"`), false},
	{"empty object", `{}`, false},
	{"list instead of an object", `[]`, false},
	{"string instead of an object", `"x"`, false},
}

func badManifestsOnCreate(s *scene) {
	for _, bad := range badManifests {
		s.each(bad.name, func(s *scene) {
			s.record("create: "+bad.name, s.said(types.CreateRequestAction, s.work(bad.manifest), 0))
			s.assertType(contract.ErrManifestRefused, s.client.Create(s.ctx(), source, s.work(bad.manifest)))
			_, err := s.client.Read(s.ctx(), source, s.consumer, workName)
			assert.ErrorIs(s, err, maestro.ErrNotFound)
		})
	}
}

func badManifestsOnUpdate(s *scene) {
	stored := s.create(s.work(object(headOK, metaOK)))
	for _, bad := range badManifests {
		if !bad.update {
			continue
		}
		s.each(bad.name, func(s *scene) {
			s.record("update: "+bad.name, s.said(types.UpdateRequestAction, s.work(bad.manifest), 1))
			s.assertType(contract.ErrManifestRefused, s.client.Update(s.ctx(), source, stored, s.work(bad.manifest)))
			s.assertUntouched(stored)
		})
	}
}

func setOfManifests(s *scene) {
	a, b, c := configMap("a", "1"), configMap("b", "1"), configMap("c", "1")
	for _, change := range []struct {
		name          string
		before, after []string
	}{
		{"one more", []string{a}, []string{a, b}},
		{"one less", []string{a, b}, []string{a}},
		{"another order", []string{a, b}, []string{b, a}},
		{"another name", []string{a, b}, []string{a, c}},
		{"another namespace", []string{a}, []string{object(headOK, `"name":"a","namespace":"other"`)}},
		{"another kind", []string{a}, []string{object(`"apiVersion":"v1","kind":"Secret"`, metaOK)}},
		{"another apiVersion", []string{object(`"apiVersion":"apps/v1","kind":"X"`, metaOK)}, []string{object(`"apiVersion":"apps/v2","kind":"X"`, metaOK)}},
		{"everything", []string{a}, []string{object(`"apiVersion":"apps/v1","kind":"X"`, `"name":"x"`), b}},
	} {
		s.each(change.name, func(s *scene) {
			s.consumer = s.newConsumer()
			stored := s.create(s.work(change.before...))
			desired := s.work(change.after...)
			write, _, err := manifest.Decide(stored, desired, false)
			require.NoError(s, err)
			require.Equal(s, manifest.WriteUpdate, write)
			err = s.client.Update(s.ctx(), source, stored, desired)
			if !s.strict() {
				require.NoError(s, err)
				changed := s.read()
				assert.EqualValues(s, 2, changed.Version)
				s.assertSettled(changed, desired)
				return
			}
			s.assertType(contract.ErrManifestSetImmutable, err)
			s.assertUntouched(stored)
			s.record("set of manifests: "+change.name, s.said(types.UpdateRequestAction, desired, 1))
			s.assertUntouched(stored)
		})
	}
}

func manifestTwice(s *scene) {
	a := configMap("a", "1")
	twice := s.work(a, a)
	answer := s.said(types.CreateRequestAction, twice, 0)
	s.record("create: a manifest twice", answer)
	if s.strict() {
		assert.Equal(s, "accepted", answer, "only the product's own validation stands before it")
		s.assertSettled(s.read(), twice)
	} else {
		s.assertType(contract.ErrManifestRefused, s.client.Create(s.ctx(), source, twice))
	}
	_, err := manifest.Validate(twice, s.consumer)
	s.assertType(contract.ErrInvalidManifest, err)
}

// The server means to refuse deletionGracePeriodSeconds, but looks for an integer where its decoder left a double; work
// names it does not look at. Only the product's own validation stands before these.
func lettingPass(s *scene) {
	period := s.work(object(headOK, metaOK+`,"deletionGracePeriodSeconds":1`))
	s.record("create: deletionGracePeriodSeconds", s.said(types.CreateRequestAction, period, 0))
	_, err := manifest.Validate(period, s.consumer)
	s.assertType(contract.ErrInvalidManifest, err)

	empty := newWork(s.consumer, "empty")
	s.record("create: no manifests", s.said(types.CreateRequestAction, empty, 0))
	_, err = manifest.Validate(empty, s.consumer)
	s.assertType(contract.ErrInvalidManifest, err)

	named := newWork(s.consumer, "Not A Label", configMap("a", "1"))
	s.record("create: a name that is no label", s.said(types.CreateRequestAction, named, 0))
	_, err = manifest.Validate(named, s.consumer)
	s.assertType(contract.ErrInvalidManifest, err)
}

// The words for what is no fault of the manifests. The types that the client makes of them have checks of their own.
func eventsAtTheWrongTime(s *scene) {
	next := s.work(configMap("a", "2"))
	s.record("update: absent", s.said(types.UpdateRequestAction, next, 1))
	s.record("update: absent, version 0", s.said(types.UpdateRequestAction, next, 0))
	s.record("create: unknown consumer", s.said(types.CreateRequestAction, newWork("nobody", workName, configMap("a", "1")), 0))
	stored := s.create(s.work(configMap("a", "1")))
	s.record("create: exists", s.said(types.CreateRequestAction, next, 0))
	s.record("update: future version", s.said(types.UpdateRequestAction, next, 7))
	s.assertUntouched(stored)
	s.change(next)
	s.record("update: stale version", s.said(types.UpdateRequestAction, next, 1))
	require.NoError(s, s.client.Delete(s.ctx(), source, s.read()))
	deleting := s.read()
	s.record("create: under deletion", s.said(types.CreateRequestAction, next, 0))
	s.record("update: under deletion", s.said(types.UpdateRequestAction, next, 2))
	s.record("update: under deletion, stale version", s.said(types.UpdateRequestAction, next, 1))
	s.assertUntouched(deleting)
	s.record("unknown action", s.said("frobnicate_request", s.work(configMap("a", "1")), 0))
}
