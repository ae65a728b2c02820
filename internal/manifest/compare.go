package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"strconv"
	"strings"

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
		!equality.Semantic.DeepEqual(deleteOption(stored), deleteOption(desired)) ||
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

// deleteOption: Maestro gives an empty one back for a work without.
func deleteOption(work *workv1.ManifestWork) workv1.DeleteOption {
	if work.Spec.DeleteOption == nil {
		return workv1.DeleteOption{}
	}
	return *work.Spec.DeleteOption
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
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return value, nil
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
	have, known := exact(stored)
	if !known {
		return false
	}
	if want, known := exact(desired); known && have.Cmp(want) == 0 {
		return true
	}
	rounded, err := strconv.ParseFloat(desired, 64)
	if err != nil {
		return false
	}
	if have.Cmp(new(big.Rat).SetFloat64(rounded)) == 0 {
		return true
	}
	// The server prints the double in its shortest form, which need not be the double's exact value.
	shortest, known := exact(strconv.FormatFloat(rounded, 'g', -1, 64))
	return known && have.Cmp(shortest) == 0
}

// exact reads a JSON number that is within the range of doubles, in both directions, and not absurdly long: the others
// would need up to a million digits.
func exact(text string) (*big.Rat, bool) {
	value, err := strconv.ParseFloat(text, 64)
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	if err != nil || len(text) > 400 || value == 0 && strings.ContainsAny(mantissa, "123456789") {
		return nil, false
	}
	if value == 0 {
		return new(big.Rat), true
	}
	return new(big.Rat).SetString(text)
}
