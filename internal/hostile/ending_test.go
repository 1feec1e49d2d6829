package hostile

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/weightmap/weightmap/internal/testhost"
)

// ending is a context that is canceled after a number of calls of Err.
type ending struct {
	context.Context
	looks atomic.Int64
}

func (e *ending) Err() error {
	if e.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func endingAfter(n int64) context.Context {
	e := &ending{Context: context.Background()}
	e.looks.Store(n)
	return e
}

// thinly reports whether tests should run only some of their cases.
func thinly() bool { return testing.Short() || testhost.Race }
