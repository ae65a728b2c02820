package manifest

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	workv1 "open-cluster-management.io/api/work/v1"
)

// Same reports whether the stored work already is the desired one: labels, annotations and every field of the spec.
// Key order does not count, list order does, null, absent and empty are three things. A stored number counts as equal
// when it is what Maestro makes of the desired one: its database keeps numbers as doubles.
func Same(stored, desired *workv1.ManifestWork) bool {
	if !equality.Semantic.DeepEqual(stored.Labels, desired.Labels) ||
		!equality.Semantic.DeepEqual(stored.Annotations, desired.Annotations) ||
		!equality.Semantic.DeepEqual(stored.OwnerReferences, desired.OwnerReferences) ||
		!equality.Semantic.DeepEqual(stored.Spec.DeleteOption, desired.Spec.DeleteOption) ||
		!equality.Semantic.DeepEqual(stored.Spec.ManifestConfigs, desired.Spec.ManifestConfigs) ||
		!equality.Semantic.DeepEqual(stored.Spec.Executor, desired.Spec.Executor) {
		return false
	}
	have, want := stored.Spec.Workload.Manifests, desired.Spec.Workload.Manifests
	if len(have) != len(want) {
		return false
	}
	for index := range have {
		if !sameJSON(have[index].Raw, want[index].Raw) {
			return false
		}
	}
	return true
}

func sameJSON(stored, desired []byte) bool {
	if bytes.Equal(stored, desired) {
		return true
	}
	have, errHave := decodeExact(stored)
	want, errWant := decodeExact(desired)
	return errHave == nil && errWant == nil && sameValue(have, want)
}

func decodeExact(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

func sameValue(stored, desired any) bool {
	switch want := desired.(type) {
	case map[string]any:
		have, ok := stored.(map[string]any)
		if !ok || len(have) != len(want) {
			return false
		}
		for key, value := range want {
			other, found := have[key]
			if !found || !sameValue(other, value) {
				return false
			}
		}
		return true
	case []any:
		have, ok := stored.([]any)
		if !ok || len(have) != len(want) {
			return false
		}
		for index := range want {
			if !sameValue(have[index], want[index]) {
				return false
			}
		}
		return true
	case json.Number:
		have, ok := stored.(json.Number)
		return ok && sameNumber(string(have), string(want))
	default:
		return stored == desired
	}
}

// sameNumber: equal values, or stored is the double nearest to desired.
func sameNumber(stored, desired string) bool {
	if stored == desired {
		return true
	}
	have, okHave := exact(stored)
	want, okWant := exact(desired)
	if !okHave || !okWant {
		return false
	}
	if have.Cmp(want) == 0 {
		return true
	}
	rounded, err := strconv.ParseFloat(desired, 64)
	if err != nil {
		return false
	}
	nearest := new(big.Rat)
	if nearest.SetFloat64(rounded) == nil {
		return false
	}
	if have.Cmp(nearest) == 0 {
		return true
	}
	// The server prints the double in its shortest form, which need not be the double's exact value.
	shown, err := strconv.ParseFloat(stored, 64)
	return err == nil && shown == rounded && isShortest(stored, rounded)
}

func isShortest(text string, value float64) bool {
	shown, ok := exact(text)
	shortest, okShortest := exact(strconv.FormatFloat(value, 'g', -1, 64))
	return ok && okShortest && shown.Cmp(shortest) == 0
}

// exact reads a JSON number; exponents that would need more than a few hundred digits are left to text comparison.
func exact(text string) (*big.Rat, bool) {
	if value, err := strconv.ParseFloat(text, 64); err != nil || (value != 0 && (value > 1e300 || value < -1e300)) || len(text) > 400 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}
