package starter

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// unavailable: Temporal did not answer, or answered that it cannot now.
func unavailable(err error) bool {
	var down *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	var busy *serviceerror.ResourceExhausted
	if errors.As(err, &down) || errors.As(err, &late) || errors.As(err, &busy) {
		return true
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return true
	default:
		return false
	}
}

// reached marks the errors of a Temporal that cannot be reached, and gives refusals of an update their type.
func reached(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case unavailable(err) && ctx.Err() == nil, errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", ErrTemporalUnavailable, err)
	case contract.TypeOf(err) != contract.ErrInternal:
		var application *temporal.ApplicationError
		if errors.As(err, &application) {
			return &contract.Error{Type: contract.TypeOf(err), Message: application.Message(), Cause: err}
		}
	}
	return err
}

func isType(err error, errorType string) bool {
	var application *temporal.ApplicationError
	return errors.As(err, &application) && application.Type() == errorType
}
