package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// The file's own flag and variable.
const (
	fileFlag = "config"
	fileEnv  = "MAESTRO_WORKFLOWS_CONFIG"
)

// AddFlags defines one flag per key of target, which is a *[Worker] or a *[CLI], and --config.
func AddFlags(flags *pflag.FlagSet, target any) {
	flags.String(fileFlag, "", "configuration file (YAML or JSON), flat keys named as the flags ["+fileEnv+"]")
	for _, key := range keysOf(target) {
		usage := strings.TrimSuffix(key.doc, ".")
		if key.env != "" {
			usage += " [" + key.env + "]"
		}
		if key.field.Kind() == reflect.Bool {
			flags.Bool(key.name, key.fallback == "true", usage)
			continue
		}
		flags.String(key.name, key.fallback, usage)
	}
}

// Load fills target, a *[Worker] or a *[CLI]: flags, else the environment, else the file, else defaults. An empty
// variable counts as not set. flags may be nil; --config or MAESTRO_WORKFLOWS_CONFIG names the file.
//
// The error has one line per problem and names the keys; target is filled as far as it was right, so that a caller can
// still report the error where it was asked to.
func Load(target any, flags *pflag.FlagSet) error {
	keys := keysOf(target)
	layers := viper.New()
	var problems []error
	if err := readFile(layers, keys, fileName(flags)); err != nil {
		problems = append(problems, err)
	}
	for _, key := range keys {
		text, err := lookUp(layers, key, flags)
		if err != nil {
			problems = append(problems, err)
			text = key.fallback
		}
		if err := key.set(text); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

func fileName(flags *pflag.FlagSet) string {
	if flags != nil {
		if flag := flags.Lookup(fileFlag); flag != nil && flag.Changed {
			return flag.Value.String()
		}
	}
	return os.Getenv(fileEnv)
}

// readFile puts the file below flags and environment, and refuses what no key has.
func readFile(layers *viper.Viper, keys []key, path string) error {
	if path == "" {
		return nil
	}
	layers.SetConfigFile(path)
	layers.SetConfigType("yaml") // JSON is YAML
	if err := layers.ReadInConfig(); err != nil {
		return fmt.Errorf("read configuration file %s: %s", path, oneLine(err))
	}
	var problems []error
	for _, name := range slices.Sorted(slices.Values(layers.AllKeys())) {
		known := func(key key) bool { return key.name == name }
		if !slices.ContainsFunc(keys, known) {
			problems = append(problems, fmt.Errorf("configuration file %s: unknown key %q", path, name))
		}
	}
	return errors.Join(problems...)
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// lookUp gives the text of the highest layer that has the key.
func lookUp(layers *viper.Viper, key key, flags *pflag.FlagSet) (string, error) {
	layers.SetDefault(key.name, key.fallback)
	if key.env != "" {
		if err := layers.BindEnv(key.name, key.env); err != nil {
			return "", fmt.Errorf("%s: %w", key.where(), err)
		}
	}
	if flags != nil && flags.Lookup(key.name) != nil {
		if err := layers.BindPFlag(key.name, flags.Lookup(key.name)); err != nil {
			return "", fmt.Errorf("%s: %w", key.where(), err)
		}
	}
	switch value := layers.Get(key.name).(type) {
	case string:
		return value, nil
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(value), nil
	default:
		return "", fmt.Errorf("%s: give a single value, not a list or a map", key.where())
	}
}
