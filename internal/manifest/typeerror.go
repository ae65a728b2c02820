package manifest

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
)

// maxTypeErrors of one input are named; each costs another reading of it.
const maxTypeErrors = 10

// typeError names the place of a value that is of another type than the API's, and gives the document with null in its
// place; nil when it cannot be told which value it is.
func (f *findings) typeError(at place, raw []byte, err error) []byte {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) || mismatch.Offset == 0 {
		f.add(at, "%s: correct the field", plainError(err))
		return nil
	}
	path, value := trailTo(raw, int(mismatch.Offset)-1)
	at = place{at.document, path.below(at.path)}
	switch {
	case path.is(fieldMetadata, "*") && slices.Contains(serverFields, path[1].key):
		f.add(at, setByServer)
	case mismatch.Type.Kind() == reflect.String && isScalar(value):
		f.noText(at, value)
	default:
		f.add(at, "%s: want %s", kindOf(value), typeName(mismatch.Type))
	}
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	start := cap(raw) - cap(value) // the value is a part of the document
	return slices.Concat(raw[:start], []byte("null"), raw[start+len(value):])
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
