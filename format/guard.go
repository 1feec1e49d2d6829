package format

import (
	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// within calls f, which may access the file, between Enter and Leave.
func (m *Model) within(f func() error) error {
	return m.explain(m.Guard(f))
}

// inside returns the result of f, which may access the file.
func inside[T any](m *Model, f func() (T, error)) (v T, err error) {
	err = m.within(func() (err error) {
		v, err = f()
		return err
	})
	return v, err
}

// guard turns faults in any memory of the model into errors.
func (m *Model) guard(f func() error) error {
	addr, err := fault.Guard(m.holds, f)
	if addr != 0 {
		return m.fault(addr)
	}
	return err
}

// holds reports whether an address is in the memory of any file of the model.
func (m *Model) holds(addr uintptr) bool { return m.spaces.holding(addr) != nil }

// fault returns the error for an address that the model holds and that cannot be read. It names the
// tensor there.
func (m *Model) fault(addr uintptr) error {
	of := m.spaces.holding(addr)
	r := of.region.Load()
	off := r.FaultOffset(addr)
	return &tensor.Error{Format: m.desc.Name, Path: r.Path(), Field: m.fieldAt(of.number, off), Offset: off, Err: source.ErrCut}
}

// Guard calls f and guards its use of raw slices of the model's tensors (View.Bytes, tensor.As).
// Close waits until f returns. If f reads bytes that a file lost because it was cut short, f ends
// there and Guard returns ErrTruncated, which names the tensor. Calls of Guard and View.Use nest; f
// must not call Close.
//
// The guard covers the calling goroutine only: a goroutine that f starts must call Guard itself, or
// a fault in it ends the process. A system call with missing bytes as its argument returns EFAULT
// to f.
func (m *Model) Guard(f func() error) error {
	m = m.opened()
	if err := m.main.Enter(); err != nil {
		return err
	}
	defer m.main.Leave()
	return m.guard(f)
}
