package config

import "time"

// Worker configures maestro-worker. It has no source ID: each request names its own.
type Worker struct {
	Maestro
	Temporal
	MaxInFlight         int           `key:"maestro-max-in-flight" env:"MAESTRO_MAX_IN_FLIGHT" default:"32" check:"range 1 32" doc:"Requests that are in flight to Maestro at once. The server deadlocks its own database pool above about 50."`
	CallTimeout         time.Duration `key:"maestro-call-timeout" env:"MAESTRO_CALL_TIMEOUT" default:"10s" check:"duration" doc:"Timeout of a single request to Maestro."`
	Activities          int           `key:"max-activities" env:"MAX_ACTIVITIES" default:"200" check:"range 1 10000" doc:"Activities that run at once in this process. A wait between two looks at a work runs none."`
	ResultsDir          string        `key:"results-dir" env:"RESULTS_DIR" default:"" check:"folder" doc:"Folder below which requests may ask for a results file (report.resultsFile). Empty: such requests are refused."`
	HyperFleetURL       string        `key:"hyperfleet-url" env:"HYPERFLEET_URL" default:"" check:"httpurl" doc:"HyperFleet API that requests may ask for a report to (report.hyperfleet), as a URL without /api. Empty: such reports fail, and the outcome says so."`
	HyperFleetTokenFile string        `key:"hyperfleet-token-file" env:"HYPERFLEET_TOKEN_FILE" default:"" doc:"File with the bearer token for the HyperFleet API. It is read for each request, so that a replaced token is used at once. Empty: no token is sent."`
	HyperFleetTimeout   time.Duration `key:"hyperfleet-timeout" env:"HYPERFLEET_TIMEOUT" default:"10s" check:"duration" doc:"Timeout of a single request to the HyperFleet API."`
	LogLevel            string        `key:"log-level" env:"LOG_LEVEL" default:"info" check:"oneof debug info warn error" doc:"Lowest level that is logged."`
	LogFormat           string        `key:"log-format" env:"LOG_FORMAT" default:"json" check:"oneof json text" doc:"Form of the log lines."`
}
