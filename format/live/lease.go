package live

import "github.com/weightmap/weightmap/format"

// Lease holds one generation. It is a small value that belongs to one goroutine at a time, and must
// not be copied (go vet says so): the copy would release what is released already.
// The zero Lease holds nothing.
type Lease struct {
	_ noCopy
	h *Handle
	g *generation
}

// noCopy has go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Acquire holds the current generation until Release: its model stays open, and raw slices of
// it stay valid, whatever becomes current meanwhile. It takes no lock and allocates
// nothing. After Close it is ErrClosed.
func (h *Handle) Acquire() (Lease, error) {
	for {
		g := h.current.Load()
		if g == nil {
			return Lease{}, h.errClosed()
		}
		n := g.uses.Own()
		n.Add(1)
		if !g.retired.Load() {
			return Lease{h: h, g: g}, nil
		}
		// Another generation has become current since.
		n.Add(-1)
		h.left(g)
	}
}

// Release lets the generation go. Slices of its model are invalid from here on, since an old generation
// is closed when the last lease is released, by a goroutine of its own. A second Release
// of the same Lease does nothing.
func (l *Lease) Release() {
	g := l.g
	if g == nil {
		return
	}
	l.g = nil
	g.uses.Own().Add(-1)
	if g.retired.Load() {
		l.h.left(g)
	}
}

// Model returns the model, which is not the caller's to close. After Release it is nil, which
// answers ErrClosed.
func (l *Lease) Model() *format.Model {
	if l.g == nil {
		return nil
	}
	return l.g.model
}

// Value returns what Options.Prepare made of the model, nil after Release.
func (l *Lease) Value() any {
	if l.g == nil {
		return nil
	}
	return l.g.value
}

// Generation returns the number of the generation: the first is 1, and each that becomes
// current has the next. It is 0 after Release.
func (l *Lease) Generation() uint64 {
	if l.g == nil {
		return 0
	}
	return l.g.number
}

// Intact returns ErrOverwritten if the files of the generation were overwritten in place since they were
// looked at first, as far as their sizes and times tell. An answer that was computed before
// Intact returns nil belongs to one generation. It asks the system for the state of each
// file. After Release it is ErrClosed. Of what was replaced, or cannot be changed by others (a private copy, memory), there is nothing to say.
func (l *Lease) Intact() error {
	if l.g == nil {
		return &format.Error{Offset: -1, Err: format.ErrClosed}
	}
	if l.g.shared && l.g.id.change(l.g.id.again()) == overwritten {
		return l.h.fail(ErrOverwritten)
	}
	return nil
}

// Do runs f with the model of the current generation inside Model.Do: what it touches stays
// mapped, and a fault in it is an error. f must not call Close or Release of its own lease.
func (h *Handle) Do(f func(*format.Model) error) error {
	l, err := h.Acquire()
	if err != nil {
		return err
	}
	defer l.Release()
	m := l.Model()
	return m.Do(func() error { return f(m) })
}
