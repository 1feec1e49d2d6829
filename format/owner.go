package format

import (
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// Enter implements memory.Owner.
func (f *file) Enter(info *tensor.Info) error {
	if err := f.main.Enter(); err != nil || !f.touch.pending.Load() {
		return err
	}
	return f.checkInside(info.Name)
}

// checkInside checks a tensor before its first use, and leaves the model if the check fails.
func (f *file) checkInside(name string) error {
	err := errBroken
	defer func() {
		if err != nil { // also after a panic of the reader
			f.main.Leave()
		}
	}()
	err = f.touch.check(name)
	return err
}

// Leave implements memory.Owner.
func (f *file) Leave() { f.main.Leave() }

// Holds implements memory.Owner for the memory of all files.
func (f *file) Holds(addr uintptr) bool { return f.spaces.holding(addr) != nil }

// Advise implements memory.Advisor for the memory of all files.
func (f *file) Advise(a memory.Advice, b []byte) (int64, error) {
	if err := f.main.Enter(); err != nil {
		return 0, err
	}
	defer f.main.Leave()
	of := f.spaces.holding(memory.Address(b))
	switch {
	case len(b) == 0 && b != nil:
		return 0, nil
	case of == nil:
		return -1, nil // decoded, or read on demand
	}
	r := of.region.Load()
	return r.Advise(a, r.FaultOffset(memory.Address(b)), int64(len(b)))
}

// Workers implements memory.Advisor.
func (f *file) Workers() int { return f.c.options.Workers }

// Fault implements memory.Owner: it names the tensor that the address belongs to.
func (f *file) Fault(addr uintptr) error {
	of := f.spaces.holding(addr) // not nil: the guard has asked Holds
	r := of.region.Load()
	off := r.FaultOffset(addr)
	return &tensor.Error{Format: f.desc.Name, Path: r.Path(), Field: f.fieldAt(of.number, off), Offset: off, Err: source.ErrCut}
}
