package config

// CLI configures maestro-cli: what its commands have in common.
type CLI struct {
	Maestro
	Temporal
	SourceID      string `key:"source-id" env:"MAESTRO_SOURCE_ID" default:"maestro-cli" check:"source" doc:"Maestro source ID. It is a part of every work's identity: all writers of a deployment use the same, for ever."`
	ResultsPath   string `key:"results-path" env:"RESULTS_PATH" default:"" doc:"File that apply, build --apply, delete and wait write their outcome to. Empty: none."`
	ResultsFormat string `key:"results-format" env:"RESULTS_FORMAT" default:"status-reporter" check:"oneof status-reporter statusresult" doc:"Form of the results file: what the status-reporter accepts, or exactly the StatusResult."`
	Output        string `key:"output" default:"yaml" check:"oneof yaml json" doc:"Form of the document on standard output."`
	Verbose       bool   `key:"verbose" default:"false" doc:"Log more, on standard error."`
}
