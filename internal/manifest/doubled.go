package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// doubledKeys names the keys that an object of valid JSON holds twice, of which a decoder would keep the last one
// without a word.
func doubledKeys(data []byte) error {
	w := &walker{decoder: json.NewDecoder(bytes.NewReader(data))}
	w.decoder.UseNumber()
	if err := w.value(); err != nil {
		return err
	}
	return errors.Join(w.doubled...)
}

type walker struct {
	decoder *json.Decoder
	path    []string
	doubled []error
}

func (w *walker) value() error {
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return w.object()
	case json.Delim('['):
		return w.array()
	default:
		return nil
	}
}

func (w *walker) object() error {
	seen := map[string]bool{}
	for w.decoder.More() {
		token, err := w.decoder.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if seen[key] && len(w.doubled) < maxDoubled {
			w.doubled = append(w.doubled, fmt.Errorf("key %q is set twice in %q", key, strings.Join(w.path, ".")))
		}
		seen[key] = true
		if err := w.in(key); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token()
	return err
}

func (w *walker) array() error {
	for index := 0; w.decoder.More(); index++ {
		if err := w.in(fmt.Sprint(index)); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token()
	return err
}

// in reads the value under a key.
func (w *walker) in(key string) error {
	w.path = append(w.path, key)
	err := w.value()
	w.path = w.path[:len(w.path)-1]
	return err
}
