package main

import (
	"encoding/json"
	"fmt"
	"time"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// workDocument is what get prints.
type workDocument struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Consumer string `json:"consumer"`
	Source   string `json:"source"`
	// Version is Maestro's; ObservedVersion is the one that the status below belongs to, 0 before the first report.
	Version         int64     `json:"version"`
	ObservedVersion int64     `json:"observedVersion"`
	Generation      int64     `json:"generation,omitempty"`
	CreatedAt       time.Time `json:"createdAt"`
	UpdatedAt       time.Time `json:"updatedAt"`
	// Deleting since DeletedAt: the deletion is accepted, and not yet confirmed by the cluster.
	Deleting  bool       `json:"deleting"`
	DeletedAt *time.Time `json:"deletedAt,omitempty"`
	// Status in one word, for Version: what was reported for an older version does not count.
	Status          contract.Status               `json:"status"`
	Labels          map[string]string             `json:"labels,omitempty"`
	Annotations     map[string]string             `json:"annotations,omitempty"`
	Manifests       []json.RawMessage             `json:"manifests"`
	DeleteOption    *workv1.DeleteOption          `json:"deleteOption,omitempty"`
	ManifestConfigs []workv1.ManifestConfigOption `json:"manifestConfigs,omitempty"`
	Executor        *workv1.ManifestWorkExecutor  `json:"executor,omitempty"`
	Conditions      []contract.Condition          `json:"conditions"`
	Resources       []contract.ResourceStatus     `json:"resources"`
}

func describe(source string, stored *manifest.Stored) (workDocument, error) {
	seen := manifest.Evaluate(stored.Status, stored.Version, manifest.Expression{})
	work, spec := stored.Work, stored.Work.Spec
	document := workDocument{
		ID: stored.ID, Name: work.Name, Consumer: stored.Consumer, Source: source,
		Version: stored.Version, ObservedVersion: stored.Status.ObservedVersion, Generation: stored.Generation(),
		CreatedAt: stored.CreatedAt.UTC(), UpdatedAt: stored.UpdatedAt.UTC(),
		Deleting: stored.DeletedAt != nil, DeletedAt: stored.DeletedAt, Status: seen.Overall,
		Labels: work.Labels, Annotations: manifest.MaskAnnotations(work.Annotations), Manifests: []json.RawMessage{},
		DeleteOption: spec.DeleteOption, ManifestConfigs: spec.ManifestConfigs, Executor: spec.Executor,
		Conditions: stored.Status.Conditions, Resources: seen.Resources,
	}
	if document.Conditions == nil {
		document.Conditions = []contract.Condition{}
	}
	if document.Resources == nil {
		document.Resources = []contract.ResourceStatus{}
	}
	for index, raw := range spec.Workload.Manifests {
		masked, err := manifest.Mask(raw.Raw)
		if err != nil {
			return document, fmt.Errorf("manifest %d of the stored work: %w", index, err)
		}
		document.Manifests = append(document.Manifests, masked)
	}
	return document, nil
}
