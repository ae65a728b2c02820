package config

// Maestro says where Maestro is. Plaintext without GRPCInsecure is refused where Maestro is dialled, in internal/maestro.
type Maestro struct {
	GRPCEndpoint string `key:"grpc-endpoint" env:"MAESTRO_GRPC_ENDPOINT" default:"localhost:8090" check:"hostport" doc:"Maestro's source-side gRPC server, as host:port."`
	HTTPEndpoint string `key:"http-endpoint" env:"MAESTRO_HTTP_ENDPOINT" default:"http://localhost:8000" check:"httpurl" doc:"Maestro's HTTP API, as a URL without /api."`
	GRPCInsecure bool   `key:"grpc-insecure" env:"MAESTRO_GRPC_INSECURE" default:"false" doc:"Talk to Maestro in plaintext. TLS is not supported yet, so nothing that talks to Maestro works without it."`
}

// Temporal says where Temporal is. The connection is plaintext: TLS is not supported yet.
type Temporal struct {
	TemporalAddress   string `key:"temporal-address" env:"TEMPORAL_ADDRESS" default:"localhost:7233" check:"hostport" doc:"Temporal's frontend, as host:port."`
	TemporalNamespace string `key:"temporal-namespace" env:"TEMPORAL_NAMESPACE" default:"default" check:"required" doc:"Temporal namespace."`
	TaskQueue         string `key:"task-queue" env:"TEMPORAL_TASK_QUEUE" default:"maestro-workflows" check:"required" doc:"Task queue between callers and workers; both sides need the same."`
}
