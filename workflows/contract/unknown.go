package contract

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// plainRequest has Request's fields without its UnmarshalJSON.
type plainRequest Request

// UnmarshalJSON reads a request and keeps the names of keys that no field has. They are refused by [Request.Check] and
// not here, because a workflow whose input cannot be read has no outcome that could be reported: a misspelled "wait" or
// "generation" must neither be ignored nor end without a word.
func (r *Request) UnmarshalJSON(raw []byte) error {
	var plain plainRequest
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err
	}
	plain.UnknownFields = append(plain.UnknownFields, unknownKeys(raw, reflect.TypeFor[Request](), "")...)
	*r = Request(plain)
	return nil
}

// unknownKeys of an object, in the order of their names. Keys match fields as encoding/json does, whatever their case.
func unknownKeys(raw []byte, fields reflect.Type, prefix string) []string {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	var unknown []string
	for key, value := range object {
		field, found := fields.FieldByNameFunc(func(name string) bool {
			field, _ := fields.FieldByName(name)
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			return strings.EqualFold(tag, key)
		})
		switch {
		case !found:
			unknown = append(unknown, prefix+key)
		case field.Type == reflect.TypeFor[*Report](), field.Type == reflect.TypeFor[*HyperFleetReport]():
			unknown = append(unknown, unknownKeys(value, field.Type.Elem(), prefix+key+".")...)
		}
	}
	slices.Sort(unknown)
	return unknown
}
