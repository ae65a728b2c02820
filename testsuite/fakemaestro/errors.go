package fakemaestro

import (
	"fmt"
	"net/http"
	"strconv"
)

// errorCode is the number in the server's "maestro-N" codes.
type errorCode int

const (
	codeForbidden  errorCode = 4
	codeConflict   errorCode = 6
	codeNotFound   errorCode = 7
	codeValidation errorCode = 8
	codeGeneral    errorCode = 9
	codeMalformed  errorCode = 17
	codeBadRequest errorCode = 21
)

// httpStatus is the status with which the HTTP API answers the code.
func (c errorCode) httpStatus() int {
	switch c {
	case codeForbidden:
		return http.StatusForbidden
	case codeConflict:
		return http.StatusConflict
	case codeNotFound:
		return http.StatusNotFound
	case codeValidation, codeMalformed, codeBadRequest:
		return http.StatusBadRequest
	case codeGeneral:
		return http.StatusInternalServerError
	}
	panic(fmt.Sprintf("fakemaestro: error code %d has no status", int(c)))
}

// serviceError is what every operation of the server fails with. Over gRPC only its text travels, behind a few words
// about the operation and with code Unknown; over HTTP it is a JSON body.
type serviceError struct {
	code   errorCode
	reason string
}

func (e *serviceError) Error() string { return fmt.Sprintf("maestro-%d: %s", e.code, e.reason) }

func failf(code errorCode, format string, args ...any) *serviceError {
	return &serviceError{code: code, reason: fmt.Sprintf(format, args...)}
}

// errorBody is the JSON of an error answer, keys in the server's order.
type errorBody struct {
	Code        string `json:"code"`
	Href        string `json:"href"`
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	OperationID string `json:"operation_id"`
	Reason      string `json:"reason"`
}

func (e *serviceError) body(operationID string) errorBody {
	number := strconv.Itoa(int(e.code))
	return errorBody{
		Code:        "maestro-" + number,
		Href:        basePath + "/errors/" + number,
		ID:          number,
		Kind:        "Error",
		OperationID: operationID,
		Reason:      e.reason,
	}
}

// The database's own words, which the server passes on. They are matched by clients, so they are spelled out.
const (
	consumerMissing = `ERROR: insert or update on table "resources" violates foreign key constraint ` +
		`"fk_resources_consumers" (SQLSTATE 23503)`
	consumerInUse = `ERROR: update or delete on table "consumers" violates foreign key constraint ` +
		`"fk_resources_consumers" on table "resources" (SQLSTATE 23503)`
	unsupportedEscape = `ERROR: unsupported Unicode escape sequence (SQLSTATE 22P05)`
)
