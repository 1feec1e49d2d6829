package load

import (
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// Enter implements memory.Owner.
func (m *Model) Enter(info *tensor.Info) error {
	if err := m.main.Enter(); err != nil || !m.touch.pending.Load() {
		return err
	}
	return m.checkInside(info.Name)
}

// checkInside checks a tensor before its first use, and calls Leave if the check fails.
func (m *Model) checkInside(name string) error {
	err := errBroken
	defer func() {
		if err != nil { // also after a panic of the reader
			m.main.Leave()
		}
	}()
	err = m.touch.check(name)
	return err
}

// Leave implements memory.Owner.
func (m *Model) Leave() { m.main.Leave() }

// Holds implements memory.Owner for the memory of all files.
func (m *Model) Holds(addr uintptr) bool { return m.spaces.holding(addr) != nil }

// Advise implements memory.Advisor for the memory of all files.
func (m *Model) Advise(a memory.Advice, b []byte) (int64, error) {
	if err := m.main.Enter(); err != nil {
		return 0, err
	}
	defer m.main.Leave()
	f := m.spaces.holding(memory.Address(b))
	switch {
	case len(b) == 0 && b != nil:
		return 0, nil
	case f == nil:
		return -1, nil // decoded, or read on demand
	}
	r := f.region.Load()
	return r.Advise(a, r.FaultOffset(memory.Address(b)), int64(len(b)))
}

// Workers implements memory.Advisor.
func (m *Model) Workers() int { return m.c.Options.Workers }

// Fault implements memory.Owner: it names the tensor that the address belongs to.
func (m *Model) Fault(addr uintptr) error {
	f := m.spaces.holding(addr) // not nil: the guard has asked Holds
	r := f.region.Load()
	off := r.FaultOffset(addr)
	return &tensor.Error{Format: m.desc.Name, Path: r.Path(), Field: m.fieldAt(f.number, off), Offset: off, Err: source.ErrCut}
}
