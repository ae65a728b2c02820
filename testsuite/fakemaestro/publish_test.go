package fakemaestro_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

func TestVersionGrowsByOneWithEachAcceptedUpdate(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	create(t, c, "c1", newWork("w", configMap("a", "1")))
	first := get(t, c, "c1", "w")
	require.EqualValues(t, 1, first.Generation)

	require.NoError(t, update(t, c, "c1", first, newWork("w", configMap("a", "2"))))
	second := get(t, c, "c1", "w")
	assert.EqualValues(t, 2, second.Generation)
	assert.Equal(t, fakemaestro.UID(source, "c1", "w"), string(second.UID))

	err := update(t, c, "c1", first, newWork("w", configMap("a", "3")))
	require.Error(t, err)
	assert.Contains(t, err.Error(), "maestro-6: the resource version is not the latest, the latest version: 2")
	assert.False(t, apierrors.IsConflict(err), "the conflict is opaque to clients")
	assert.EqualValues(t, 2, get(t, c, "c1", "w").Generation)
}

func TestRefusalsHaveTheServersTexts(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	_, err := c.ManifestWorks("nobody").Create(testContext(t), newWork("w", configMap("a", "1")), metav1.CreateOptions{})
	require.Error(t, err)
	assert.Contains(t, err.Error(), `failed to create resource: maestro-9: Unable to create Resource: ERROR: insert or update on `+
		`table "resources" violates foreign key constraint "fk_resources_consumers" (SQLSTATE 23503)`)

	create(t, c, "c1", newWork("w", configMap("a", "1")))
	require.NoError(t, c.ManifestWorks("c1").Delete(testContext(t), "w", metav1.DeleteOptions{}))
	deleting := get(t, c, "c1", "w")
	require.NotNil(t, deleting.DeletionTimestamp)
	err = update(t, c, "c1", deleting, newWork("w", configMap("a", "2")))
	require.Error(t, err)
	assert.Contains(t, err.Error(), "maestro-6: the resource is under deletion, id: "+string(deleting.UID))

	publishes := s.Publishes()
	require.Len(t, publishes, 4)
	assert.Equal(t, "create_request", publishes[0].Action)
	assert.False(t, publishes[0].Accepted)
	assert.True(t, publishes[1].Accepted)
	assert.EqualValues(t, 1, publishes[1].Stored)
	assert.Equal(t, "delete_request", publishes[2].Action)
	assert.Equal(t, "update_request", publishes[3].Action)
	assert.Contains(t, publishes[3].Err, "under deletion")
}

func TestOnlyTheStrictServerKeepsTheSetOfManifests(t *testing.T) {
	for _, test := range []struct {
		generation        fakemaestro.Generation
		next              []string
		refusal, unlikely string
	}{
		{fakemaestro.Strict, []string{configMap("a", "1"), configMap("b", "1")}, "new and old manifest have different number of objects", ""},
		{fakemaestro.Strict, []string{configMap("other", "1")}, `metadata.name: Invalid value: "other": field is immutable`, ""},
		{fakemaestro.Loose, []string{configMap("a", "1"), configMap("b", "1")}, "", ""},
		{fakemaestro.Loose, []string{configMap("other", "1")}, "", ""},
	} {
		t.Run(test.generation.String()+strings.Join(test.next, ","), func(t *testing.T) {
			s := fakemaestro.New(t, fakemaestro.Options{Generation: test.generation, Consumers: []string{"c1"}})
			c := sourceClient(t, s, source)
			create(t, c, "c1", newWork("w", configMap("a", "1")))
			err := update(t, c, "c1", get(t, c, "c1", "w"), newWork("w", test.next...))
			if test.refusal == "" {
				require.NoError(t, err)
				assert.Len(t, get(t, c, "c1", "w").Spec.Workload.Manifests, len(test.next))
				return
			}
			require.Error(t, err)
			assert.Contains(t, err.Error(), "failed to update resource: maestro-8: the new manifest bundle in the resource is invalid, "+test.refusal)
		})
	}
}

func TestUnchangedUpdateStillRaisesTheVersion(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	create(t, c, "c1", newWork("w", configMap("a", "1")))
	require.NoError(t, update(t, c, "c1", get(t, c, "c1", "w"), newWork("w", configMap("a", "1"))))
	assert.EqualValues(t, 2, get(t, c, "c1", "w").Generation, "event id and time are part of what is compared")
}

func TestIntegersAbove2To53AreRounded(t *testing.T) {
	s := fakemaestro.New(t, fakemaestro.Options{Consumers: []string{"c1"}})
	c := sourceClient(t, s, source)
	manifest := `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a"},"big":9007199254740993,"small":9007199254740991}`
	create(t, c, "c1", newWork("w", manifest))
	stored, ok := s.Bundle(fakemaestro.UID(source, "c1", "w"))
	require.True(t, ok)
	assert.Contains(t, string(stored.Work.Spec.Workload.Manifests[0].Raw), `"big":9007199254740992`)
	assert.Contains(t, string(stored.JSON), `"big":9007199254740992`)
	assert.Contains(t, string(stored.JSON), `"small":9007199254740991`)
}
