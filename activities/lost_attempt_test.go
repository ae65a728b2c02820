package activities

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// overtaken is a store in which somebody else always wins.
type overtaken struct{ publishes int }

func (o *overtaken) Read(context.Context, string, string, string) (*manifest.Stored, error) {
	return &manifest.Stored{Consumer: "cluster-a1", Version: int64(7 + o.publishes), Work: &workv1.ManifestWork{}}, nil
}

func (o *overtaken) Others(context.Context, string, string, string) ([]*manifest.Stored, error) {
	return nil, nil
}

func (o *overtaken) Registered(context.Context, string) error { return nil }

func (o *overtaken) Create(context.Context, string, *workv1.ManifestWork) error { return nil }

func (o *overtaken) Update(context.Context, string, *manifest.Stored, *workv1.ManifestWork) error {
	o.publishes++
	return contract.Errorf(contract.ErrVersionConflict, "version moved")
}

func (o *overtaken) Delete(context.Context, string, *manifest.Stored) error { return nil }

// An attempt that Temporal has given up must not read what a newer request wrote and write over it.
func TestStoppedAttemptDoesNotPublishAgain(t *testing.T) {
	store := &overtaken{}
	committer := &Committer{Reader: store, Writer: store}
	_, err := committer.commit(t.Context(), contract.CommitParams{
		Action: contract.ActionApply, Source: "hyperfleet", Consumer: "cluster-a1", Name: "web",
		Work: []byte(`{"apiVersion":"work.open-cluster-management.io/v1","kind":"ManifestWork","metadata":{"name":"web"},
			"spec":{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}]}}}`),
	}, func() error { return context.Canceled })
	assert.Equal(t, contract.ErrVersionConflict, contract.TypeOf(err))
	assert.Equal(t, 1, store.publishes)
}
