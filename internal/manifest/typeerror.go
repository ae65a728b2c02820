package manifest

import (
	"encoding/json"
	"errors"
	"reflect"
)

// typeError names the place of a value that is of another type than the API's.
func (f *findings) typeError(at place, raw []byte, err error) {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) || mismatch.Offset == 0 {
		f.add(at, "%s: correct the field", plainError(err))
		return
	}
	path, value := trailTo(raw, int(mismatch.Offset)-1)
	at = place{at.document, path.below(at.path)}
	if mismatch.Type.Kind() == reflect.String && isScalar(value) {
		f.noText(at, value)
		return
	}
	f.add(at, "%s: want %s", kindOf(value), typeName(mismatch.Type))
}

func typeName(wanted reflect.Type) string {
	switch wanted.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return typeName(wanted.Elem())
	default:
		return "a number"
	}
}

func isScalar(value []byte) bool {
	kind := kindOf(value)
	return kind != "an object" && kind != "a list"
}

// noText names a value that has to be a text. The hint repeats it as it stands in the file, where no stands for false
// and 01 for 1.
func (f *findings) noText(at place, value []byte) {
	switch {
	case f.full():
	case !isScalar(value):
		f.list = append(f.list, finding{place: at, text: kindOf(value) + ": want a text"})
	default:
		f.list = append(f.list, finding{place: at, text: kindOf(value) + ", want a text", scalar: value})
	}
}
