package activities

import (
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// application gives an error the form in which Temporal stores it. The text of the whole chain is kept, the type is
// that of the innermost contract error.
func application(err error) error {
	if err == nil {
		return nil
	}
	return (&contract.Error{Type: contract.TypeOf(err), Message: err.Error(), Delay: delayOf(err)}).Application()
}
