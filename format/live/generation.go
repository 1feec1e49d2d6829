package live

import (
	"cmp"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/stripes"
	"github.com/weightmap/weightmap/tensor"
)

// generation is a model that is or was current. It is closed once, after it was retired and its
// last lease was released; package stripes explains how that is detected.
type generation struct {
	h       *Handle
	retired atomic.Bool // no longer current: the last Release closes it
	ended   atomic.Bool // it is being closed

	model  *format.Model
	value  any // result of Options.Prepare
	number uint64
	id     identity
	since  time.Time
	took   time.Duration // load time
	stats  format.Stats  // after loading

	_    [128]byte // avoids false sharing of retired with uses
	uses stripes.Counter
}

// shared reports whether the model is mapped or read on demand: a writer of its files can change
// it.
func (g *generation) shared() bool { return g.stats.Mapped+g.stats.OnDemand > 0 }

// The waits of retire between two looks: about 30 ms in total.
const (
	shortest = 60 * time.Microsecond
	longest  = 256 * shortest
)

// retire closes a generation that is no longer current when its last lease is released. It first
// waits for short leases, because unmapping may take milliseconds, which would delay the request
// that releases last or the next one on its processor.
func (g *generation) retire() error {
	for wait := shortest; g.uses.Sum() != 0 && wait <= longest; wait *= 2 {
		time.Sleep(wait)
	}
	g.retired.Store(true)
	if g.unheld() {
		return g.end()
	}
	return nil
}

// release ends a lease, and closes a retired generation after the last.
func (g *generation) release() {
	g.uses.Own().Add(-1)
	if g.retired.Load() && g.unheld() {
		go g.end()
	}
}

// unheld reports whether a retired generation has no leases. It returns true to one caller only.
func (g *generation) unheld() bool {
	n := g.uses.Sum()
	if n < 0 {
		panic("live: a Lease was released more than once, by way of a copy")
	}
	return n == 0 && g.ended.CompareAndSwap(false, true)
}

// end closes the result of Prepare and the model.
func (g *generation) end() (err error) {
	if c, ok := g.value.(io.Closer); ok {
		err = c.Close()
	}
	err = errors.Join(err, g.model.Close())
	g.h.update(func(s *Stats) {
		delete(g.h.all, g)
		if err != nil {
			s.LastError = err
			s.LastErrorTime = time.Now()
		}
	})
	return err
}

// Lease keeps one generation open. It is a small value that belongs to one goroutine at a time, and
// must not be copied, which go vet reports. The zero Lease holds nothing.
type Lease struct {
	_ [0]sync.Mutex // makes go vet report copies
	g *generation
}

// Acquire returns a lease of the current generation. Until its Release the model stays open and raw
// slices of it stay valid, even when another generation becomes current. Acquire takes no lock and
// allocates nothing. After Close it returns ErrClosed.
func (h *Handle) Acquire() (Lease, error) {
	for {
		g := h.current.Load()
		if g == nil {
			return Lease{}, h.errClosed()
		}
		g.uses.Own().Add(1)
		if !g.retired.Load() {
			return Lease{g: g}, nil
		}
		g.release() // another generation became current in the meantime
	}
}

// Release ends the lease. Slices of its model are invalid afterwards, since an old generation is
// closed when its last lease is released. A second Release of the same Lease does nothing.
func (l *Lease) Release() {
	if g := l.g; g != nil {
		l.g = nil
		g.release()
	}
}

// none is the generation of a Lease that holds nothing.
var none generation

func (l *Lease) held() *generation { return cmp.Or(l.g, &none) }

// Model returns the model, which the caller must not close. After Release it is nil, and its
// methods return ErrClosed.
func (l *Lease) Model() *format.Model { return l.held().model }

// Value returns the result of Options.Prepare for the model, nil after Release.
func (l *Lease) Value() any { return l.held().value }

// Generation returns the number of the generation, which counts from 1. It is 0 after Release.
func (l *Lease) Generation() uint64 { return l.held().number }

// Intact returns ErrOverwritten if the size or times of a file of the generation show that it was
// overwritten in place since it was opened. A result that was computed before Intact returned nil
// belongs to one generation. Intact calls stat for each file. A file that was replaced, and one in
// memory, cannot change. After Release the error is ErrClosed.
func (l *Lease) Intact() error {
	if l.g == nil {
		return &tensor.Error{Offset: -1, Err: format.ErrClosed}
	}
	if l.g.shared() && l.g.id.change(look(l.g.id.paths)) == overwritten {
		return l.g.h.fail(ErrOverwritten)
	}
	return nil
}

// Do calls f with the model of the current generation inside Model.Guard: the model stays mapped,
// and a file that is cut short is an error. f must not close the model.
func (h *Handle) Do(f func(*format.Model) error) error {
	l, err := h.Acquire()
	if err != nil {
		return err
	}
	defer l.Release()
	m := l.Model()
	return m.Guard(func() error { return f(m) })
}
