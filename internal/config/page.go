package config

import (
	"fmt"
	"strings"
)

//go:generate go test -run TestConfigurationPageIsUpToDate . -update

// Page is docs/configuration.md.
func Page() string {
	var page strings.Builder
	page.WriteString(pageHead)
	writeTable(&page, "maestro-worker", &Worker{})
	writeTable(&page, "maestro-cli", &CLI{})
	return page.String()
}

const pageHead = `# Configuration

<!-- Generated from internal/config by "go generate ./internal/config". Do not edit. -->

Both programs read each setting from, in this order: the flag, the environment variable, the configuration file, the
default. An empty variable counts as not set. The file is named by ` + "`--" + fileFlag + "` or `" + fileEnv + "`" + `; it is YAML (or JSON) with
the keys below, not nested. A key that the program does not know is an error, and so is a value that fails its check; all
problems are reported at once, each with its key.

TLS is not supported yet. Talking to Maestro in plaintext has to be asked for with ` + "`--grpc-insecure`" + `; without it
` + "`maestro-worker`" + ` refuses to start, and so do the commands of ` + "`maestro-cli`" + ` that read from Maestro: get, diff, build
without --apply, delete --dry-run. Its operations talk to Temporal only; validate talks to nobody.
`

func writeTable(page *strings.Builder, program string, target any) {
	fmt.Fprintf(page, "\n## %s\n\n", program)
	page.WriteString("| key and flag | environment | default | values | meaning |\n|---|---|---|---|---|\n")
	for _, key := range keysOf(target) {
		fmt.Fprintf(page, "| `%s` | %s | %s | %s | %s |\n", key.name, code(key.env), code(key.fallback), key.values(), key.doc)
	}
}

func code(text string) string {
	if text == "" {
		return "–"
	}
	return "`" + text + "`"
}

// values describes the check of a key to a person.
func (k key) values() string {
	name, rest, _ := strings.Cut(k.check, " ")
	switch name {
	case "required":
		return "text, not empty"
	case "hostport":
		return "host:port"
	case "httpurl":
		return "http or https URL"
	case "source":
		return "1 to 63 letters, digits, `-`, `.`, `_`"
	case "duration":
		return "duration, like `90s`, `5m`"
	case "oneof":
		return "`" + strings.Join(strings.Fields(rest), "`, `") + "`"
	case "range":
		return strings.Replace(rest, " ", " to ", 1)
	case "folder":
		return "folder that exists"
	}
	if k.field.Kind().String() == "bool" {
		return "`true`, `false`"
	}
	return "text"
}
