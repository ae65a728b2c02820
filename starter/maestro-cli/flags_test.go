package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
)

// A flag that means the same everywhere is explained with the same words everywhere.
func TestFlagsThatCommandsShareReadTheSame(t *testing.T) {
	root := (&app{}).rootCommand()
	for name, commands := range map[string]int{"consumer": 6, "strip-server-fields": 4, "allow-plaintext-secrets": 3, "patience": 3, "grace": 3} {
		texts := map[string]bool{}
		found := 0
		for _, command := range root.Commands() {
			if command.Name() == "validate" && name == "consumer" {
				continue // there it is not required
			}
			command.Flags().VisitAll(func(flag *pflag.Flag) {
				if flag.Name == name {
					texts[strings.TrimPrefix(flag.Usage, ofApply)] = true
					found++
				}
			})
		}
		assert.Len(t, texts, 1, name)
		assert.Equal(t, commands, found, name)
	}
}
