package sink

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/tensor"
)

// summer sums memory on a goroutine of its own.
type summer struct {
	over   atomic.Bool // nobody waits for the result any more
	joined bool
	done   chan error
}

// startSum starts to sum b, which must not change or go before wait or stop.
func startSum(sum io.Writer, b []byte) *summer {
	s := &summer{done: make(chan error, 1)}
	go func() { s.done <- s.run(sum, b) }()
	return s
}

// run is on a goroutine that no guard of the caller covers: b may lie in a file
// that is being cut short.
func (s *summer) run(sum io.Writer, b []byte) error {
	err := fault.Guard(func() error {
		for len(b) > 0 && !s.over.Load() {
			n := min(len(b), piece)
			if _, err := sum.Write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
		return nil
	})
	if errors.As(err, new(*fault.Error)) {
		return fmt.Errorf("%w: the data went away while it was read: %w", tensor.ErrTruncated, err)
	}
	return err
}

// wait returns when all is summed.
func (s *summer) wait() error {
	s.joined = true
	return <-s.done
}

// stop gives up, but returns only when the memory is not read any more.
func (s *summer) stop() {
	if !s.joined {
		s.over.Store(true)
		s.wait()
	}
}
