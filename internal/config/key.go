package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// key is one setting: the tags of a field, and the field itself.
type key struct {
	name, env, fallback, check, doc string
	field                           reflect.Value
}

// keysOf lists the settings of a *Worker or a *CLI, in the order of the fields.
func keysOf(target any) []key { return fieldsOf(reflect.ValueOf(target).Elem()) }

func fieldsOf(structure reflect.Value) []key {
	var keys []key
	for i := range structure.NumField() {
		field := structure.Type().Field(i)
		if field.Anonymous {
			keys = append(keys, fieldsOf(structure.Field(i))...)
			continue
		}
		keys = append(keys, key{
			name: field.Tag.Get("key"), env: field.Tag.Get("env"), fallback: field.Tag.Get("default"),
			check: field.Tag.Get("check"), doc: field.Tag.Get("doc"), field: structure.Field(i),
		})
	}
	return keys
}

// where names everything that can set the key.
func (k key) where() string {
	if k.env == "" {
		return fmt.Sprintf("%s (--%s)", k.name, k.name)
	}
	return fmt.Sprintf("%s (--%s, %s)", k.name, k.name, k.env)
}

// set checks a text and stores it; a text that is refused leaves the field at its default.
func (k key) set(text string) error {
	if err := k.store(k.fallback); err != nil {
		return fmt.Errorf("%s: default %q: %w", k.where(), k.fallback, err)
	}
	if text == k.fallback {
		return nil
	}
	if err := runCheck(k.check, text); err != nil {
		return fmt.Errorf("%s %q: %w", k.where(), text, err)
	}
	if err := k.store(text); err != nil {
		return fmt.Errorf("%s %q: %w", k.where(), text, err)
	}
	return nil
}

func (k key) store(text string) error {
	switch target := k.field.Addr().Interface().(type) {
	case *string:
		*target = text
	case *bool:
		value, err := parseBool(text)
		if err != nil {
			return err
		}
		*target = value
	case *int:
		value, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("give a whole number")
		}
		*target = value
	case *time.Duration:
		value, err := time.ParseDuration(text)
		if err != nil {
			return errDuration
		}
		*target = value
	default:
		return fmt.Errorf("fields of type %s are not supported", k.field.Type())
	}
	return nil
}

// parseBool takes what the old tool took (true, 1, yes), and the opposites; everything else is an error and not false.
func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1", "yes":
		return true, nil
	case "false", "0", "no":
		return false, nil
	default:
		return false, fmt.Errorf("give true or false")
	}
}
