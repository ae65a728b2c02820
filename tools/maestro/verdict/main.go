// Package main says what Maestro's own validation answers, built with the versions that the server is built with. Each
// line of the standard input is a question as JSON: {"object": …} about one object, {"new": …} about the payload of a
// create, {"new": …, "old": …} about that of an update. Each line of the standard output is the answer as a JSON text,
// empty for yes.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	"github.com/openshift-online/maestro/pkg/services"
)

func main() {
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		answer := ""
		if refusal := validate(line); refusal != nil {
			answer = refusal.Error()
		}
		if err := out.Encode(answer); err != nil {
			log.Fatal(err)
		}
	}
}

func validate(line []byte) error {
	// Numbers become doubles, as in the server; what does not decode, it cannot decode either.
	var asked struct{ Object, New, Old map[string]any }
	if err := json.Unmarshal(line, &asked); err != nil {
		return err
	}
	switch {
	case asked.Object != nil:
		return services.ValidateObject(asked.Object)
	case asked.Old != nil:
		return services.ValidateManifestBundleUpdate(asked.New, asked.Old)
	default:
		return services.ValidateManifestBundle(asked.New)
	}
}
