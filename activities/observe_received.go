package activities

import (
	"fmt"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// received ends when the agent has reported for the version, whatever it says: then it knows that version's deleteOption.
func (l *look) received(stored *manifest.Stored) (*contract.ObserveResult, *contract.Error) {
	if stored.Version != l.params.Version || stored.DeletedAt != nil {
		return l.failed(stored, contract.ErrVersionConflict, fmt.Sprintf("version %d was written over version %d", stored.Version, l.params.Version)), nil
	}
	evaluation := manifest.Evaluate(stored.Status, stored.Version, l.expression)
	if stored.Status.Reported && stored.Status.ObservedVersion >= l.params.Version {
		result := l.snapshot(stored, evaluation, fmt.Sprintf("the agent has received version %d", l.params.Version))
		result.Outcome = contract.ObserveMet
		return &result, nil
	}
	text := fmt.Sprintf("the agent has not reported for version %d yet, its last report is for version %d", l.params.Version, stored.Status.ObservedVersion)
	l.remember(l.snapshot(stored, evaluation, text))
	return nil, contract.Errorf(contract.ErrNotReady, "%s", text)
}
