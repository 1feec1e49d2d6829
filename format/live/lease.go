package live

import (
	"cmp"

	"github.com/weightmap/weightmap/format"
)

// Lease keeps one generation open. It is a small value that belongs to one goroutine at a time, and must
// not be copied, which go vet reports. The zero Lease holds nothing.
type Lease struct {
	_ noCopy
	g *generation
}

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Acquire returns a lease of the current generation. Until its Release the model stays open and raw slices of
// it stay valid, even when another generation becomes current. Acquire takes no lock and allocates
// nothing. After Close it returns ErrClosed.
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

// Release ends the lease. Slices of its model are invalid afterwards, since an old generation is closed when its
// last lease is released. A second Release of the same Lease does nothing.
func (l *Lease) Release() {
	if g := l.g; g != nil {
		l.g = nil
		g.release()
	}
}

// none is the generation of a Lease that holds nothing.
var none generation

func (l *Lease) held() *generation { return cmp.Or(l.g, &none) }

// Model returns the model, which the caller must not close. After Release it is nil, and its methods return
// ErrClosed.
func (l *Lease) Model() *format.Model { return l.held().model }

// Value returns the result of Options.Prepare for the model, nil after Release.
func (l *Lease) Value() any { return l.held().value }

// Generation returns the number of the generation, which counts from 1. It is 0 after Release.
func (l *Lease) Generation() uint64 { return l.held().number }

// Intact returns ErrOverwritten if the size or times of a file of the generation show that it was overwritten in
// place since it was opened. A result that was computed before Intact returned nil belongs to one generation.
// Intact calls stat for each file. A file that was replaced, and one in memory, cannot change. After Release the
// error is ErrClosed.
func (l *Lease) Intact() error {
	if l.g == nil {
		return &format.Error{Offset: -1, Err: format.ErrClosed}
	}
	if l.g.shared() && l.g.id.change(look(l.g.id.paths)) == overwritten {
		return l.g.h.fail(ErrOverwritten)
	}
	return nil
}

// Do calls f with the model of the current generation inside Model.Do: the model stays mapped, and a file that
// is cut short is an error. f must not close the model.
func (h *Handle) Do(f func(*format.Model) error) error {
	l, err := h.Acquire()
	if err != nil {
		return err
	}
	defer l.Release()
	m := l.Model()
	return m.Do(func() error { return f(m) })
}
