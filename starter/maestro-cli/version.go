package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// buildInfo is what the linker was told.
type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and build date, as text or with --output json",
		Args:  noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			settings, err := settingsOf(command)
			if err != nil {
				return failed("version", err)
			}
			if settings.Output == "json" {
				err = a.print(settings.Output, a.build)
			} else {
				_, err = fmt.Fprintf(a.stdout, "version: %s\ncommit: %s\ndate: %s\n", a.build.Version, a.build.Commit, a.build.Date)
			}
			if err != nil {
				return &failure{reason: reasonOutput, where: "version", err: err}
			}
			return nil
		},
	}
}
