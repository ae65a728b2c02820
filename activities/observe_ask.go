package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// askWithin is how long after the look a deletion may still be asked for again: later, another work could stand there.
const askWithin = 2 * time.Second

// ask asks for a deletion again that the cluster has not confirmed for a while. The operation has asked just before its
// first look. That nobody answers is no failure of the look.
func (l *look) ask(ctx context.Context, writer Writer, stored *manifest.Stored) {
	switch {
	case l.memory.Asked.IsZero():
		l.memory.Asked, l.memory.AskNext, l.changed = l.now, contract.AskAgainFirst, true
		return
	case l.now.Sub(l.memory.Asked) < l.memory.AskNext:
		return
	}
	ctx, done := context.WithTimeout(ctx, askWithin)
	defer done()
	if err := writer.Delete(ctx, l.params.Source, stored); err != nil {
		activity.GetLogger(ctx).Warn("deletion was not asked for again", "work", l.params.Name, "consumer", l.params.Consumer, "error", err)
	}
	l.memory.Asked, l.memory.AskNext, l.changed = l.now, min(2*l.memory.AskNext, contract.AskAgainMax), true
}
