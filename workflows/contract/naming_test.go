package contract

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

func TestWorkName(t *testing.T) {
	const uuid = "01a22dc3-266d-7b8e-b845-d8b8d4a1aed8"
	long := strings.Repeat("a", 53)
	for _, sample := range []struct {
		granularity                Granularity
		cluster, adapter, resource string
		want, err                  string
	}{
		{GranularityAdapter, "a1", "nodepool", "", "hyperfleet-a1-nodepool", ""},
		{GranularityAdapter, "a1", "nodepool", "Ignored!", "hyperfleet-a1-nodepool", ""},
		{GranularityResource, "a1", "nodepool", "workers", "a1-nodepool-workers", ""},
		{GranularityResource, uuid, "nodepool", "workers", uuid + "-nodepool-workers", ""},
		{GranularityCluster, "a1", "", "", "hyperfleet-a1", ""},
		{GranularityCluster, strings.Repeat("a", 52), "", "", "hyperfleet-" + strings.Repeat("a", 52), ""},
		// The hashes are part of the contract: a name that changes loses its work.
		{GranularityCluster, long, "", "", "hyperfleet-" + strings.Repeat("a", 43) + "-8cd7ade8", ""},
		{GranularityResource, long, "nodepool", "workers", long + "-2dbfaee5", ""}, // no '-' before the suffix

		{GranularityAdapter, "", "nodepool", "", "", "name a work by adapter: the cluster is missing"},
		{GranularityAdapter, "a1", "", "", "", "name a work by adapter: the adapter is missing"},
		{GranularityResource, "a1", "nodepool", "", "", "name a work by resource: the resource is missing"},
		{GranularityCluster, "A1", "", "", "", `name a work by cluster: cluster "A1": want lower-case letters, digits and '-', beginning and ending with a letter or digit`},
		{GranularityResource, "a1", "nodepool", "gpu-", "", `resource "gpu-": want lower-case`},
		{GranularityResource, "a1", "node.pool", "gpu", "", `adapter "node.pool": want lower-case`},
		{"", "a1", "nodepool", "gpu", "", `granularity "": want adapter, resource or cluster`},
	} {
		name, err := WorkName(sample.granularity, sample.cluster, sample.adapter, sample.resource)
		assert.Equal(t, sample.want, name)
		if sample.err == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, sample.err)
		}
	}
}

func TestWorkNameIsAlwaysALabelAndKeepsLongInputsApart(t *testing.T) {
	draw := func(t *rapid.T, label string) [4]string {
		part := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?`)
		granularity := rapid.SampledFrom([]Granularity{GranularityAdapter, GranularityResource, GranularityCluster}).Draw(t, label)
		parts := [4]string{string(granularity), part.Draw(t, label), part.Draw(t, label), part.Draw(t, label)}
		switch granularity { // what is not used does not count
		case GranularityCluster:
			parts[2], parts[3] = "", ""
		case GranularityAdapter:
			parts[3] = ""
		}
		return parts
	}
	name := func(t *rapid.T, parts [4]string) string {
		name, err := WorkName(Granularity(parts[0]), parts[1], parts[2], parts[3])
		require.NoError(t, err)
		return name
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		nameA, nameB := name(t, a), name(t, b)
		require.Empty(t, validation.IsDNS1123Label(nameA))
		require.Equal(t, nameA, name(t, a))
		if a != b && len(a[1])+len(a[2])+len(a[3]) > 63 {
			require.NotEqual(t, nameA, nameB)
		}
	})
}

func TestWorkNamesThatAreCutAlikeStayApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z]{20}`), 4, 6).Draw(t, "words")
		names := map[string]bool{}
		for cut := 1; cut < len(words); cut++ {
			name, err := WorkName(GranularityAdapter, strings.Join(words[:cut], "-"), strings.Join(words[cut:], "-"), "")
			require.NoError(t, err)
			names[name] = true
		}
		require.Len(t, names, len(words)-1)
	})
}
