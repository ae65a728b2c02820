package contract_test

import (
	"context"
	"testing"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
	"github.com/openshift-hyperfleet/maestro-workflows/testsuite/fakemaestro"
)

func TestFakeStrict(t *testing.T) {
	t.Parallel()
	Run(t, fakeBackend(t, fakemaestro.Strict))
}

func TestFakeLoose(t *testing.T) {
	t.Parallel()
	Run(t, fakeBackend(t, fakemaestro.Loose))
}

func fakeBackend(t *testing.T, generation fakemaestro.Generation) Backend {
	server := fakemaestro.New(t, fakemaestro.Options{Generation: generation})
	return Backend{
		Maestro:    maestro.Config{GRPCEndpoint: server.GRPCAddress(), HTTPEndpoint: server.HTTPURL(), Source: source},
		Broker:     server.BrokerAddress(),
		Generation: generation,
		Authority:  generation == fakemaestro.Loose,
		AddConsumer: func(_ context.Context, name string) error {
			_, err := server.AddConsumer(name)
			return err
		},
	}
}
