package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// A Model owns the views of its main file; a space owns the views of another file.
var (
	_ memory.Owner[tensor.Info] = (*Model)(nil)
	_ memory.Owner[tensor.Info] = (*space)(nil)
	_ memory.Owner[tensor.Info] = failure{}
	_ memory.Advisor            = (*Model)(nil)
)

// Enter implements memory.Owner.
func (m *Model) Enter(info *tensor.Info) error {
	if err := m.main.Enter(); err != nil {
		return err
	}
	if m.touch.pending.Load() {
		return m.checkInside(info.Name)
	}
	return nil
}

// checkInside checks a tensor before its first use, and calls Leave if the check fails.
func (m *Model) checkInside(name string) error {
	good := false
	defer func() {
		if !good { // after an error, or a panic of the reader
			m.main.Leave()
		}
	}()
	err := m.touch.check(name)
	good = err == nil
	return err
}

// Leave implements memory.Owner.
func (m *Model) Leave() { m.main.Leave() }

// Lend implements memory.Owner.
func (m *Model) Lend(info *tensor.Info) error {
	if m.touch.pending.Load() {
		if err := m.Enter(info); err != nil {
			return err
		}
		m.main.Leave()
	}
	return m.main.Lend()
}

// Load implements memory.Owner.
func (m *Model) Load(info *tensor.Info) ([]byte, error) { return m.load(m.main, info) }

// load returns the bytes of a tensor, or of a part of a tensor behind a reader. It keeps
// the results of the driver and copies of misaligned tensors; data from a reader goes
// into the cache.
func (m *Model) load(r *source.Region, info *tensor.Info) ([]byte, error) {
	i, ok := m.index.Lookup(info.Name)
	if !ok {
		return nil, tensor.ErrClosed // the view belongs to a failed model
	}
	if m.index.Loaded(i) {
		return m.copy(i, true, func() ([]byte, error) { return m.decode(i) })
	}
	if !r.InMemory() {
		return m.cache.read(r, info.Offset, info.Size)
	}
	return m.copy(i, true, func() ([]byte, error) {
		b, err := r.Slice(info.Offset, info.Size)
		if err != nil {
			return nil, err
		}
		c := memory.Aligned(len(b))
		copy(c, b)
		return c, nil
	})
}

// decode calls the driver to load tensor i, and checks the result.
func (m *Model) decode(i int) ([]byte, error) {
	b, err := m.parsed.Load(i)
	if err == nil && int64(len(b)) != m.index.Size(i) {
		err = m.errorf(tensorField(m.index.Name(i)), -1, tensor.ErrCorrupt, "%d bytes were loaded, it has %d", len(b), m.index.Size(i))
	}
	return b, err
}

// Ranged implements memory.Owner: parts of tensors that are not in memory can be read.
func (m *Model) Ranged(info *tensor.Info) bool { return m.ranged(m.main, info) }

func (m *Model) ranged(r *source.Region, info *tensor.Info) bool {
	return !r.InMemory() && info.Offset >= 0 && info.Compression == "" && !m.isLoaded(info)
}

func (m *Model) isLoaded(info *tensor.Info) bool {
	i, ok := m.index.Lookup(info.Name)
	return !ok || m.index.Loaded(i)
}

// ReadAt implements memory.Owner.
func (m *Model) ReadAt(ctx context.Context, info *tensor.Info, p []byte, off int64) error {
	_, err := m.main.ReadAtContext(ctx, p, info.Offset+off)
	return err
}

// Holds implements memory.Owner for the memory of all files.
func (m *Model) Holds(addr uintptr) bool { return m.main.Holds(addr) || m.spaces.holding(addr) != nil }

// Advise implements memory.Advisor for the memory of all files.
func (m *Model) Advise(a memory.Advice, b []byte) (int64, error) {
	if err := m.main.Enter(); err != nil {
		return 0, err
	}
	defer m.main.Leave()
	r, addr := m.main, memory.Address(b)
	if s := m.spaces.holding(addr); s != nil {
		r = s.region.Load()
	}
	switch {
	case b == nil || len(b) > 0 && !r.Holds(addr):
		return -1, nil // decoded, or read on demand
	case len(b) == 0:
		return 0, nil
	}
	return r.Advise(a, r.FaultOffset(addr), int64(len(b)))
}

// Workers implements memory.Advisor.
func (m *Model) Workers() int { return m.workers }

// Fault implements memory.Owner: it names the tensor that the address belongs to.
func (m *Model) Fault(addr uintptr) error {
	r, number := m.main, driver.Space(0)
	if !r.Holds(addr) {
		s := m.spaces.holding(addr)
		if s == nil {
			return m.errorf("", -1, tensor.ErrTruncated, "memory fault at %#x", addr)
		}
		r, number = s.region.Load(), s.number
	}
	off := r.FaultOffset(addr)
	_, path := r.Origin()
	return &tensor.Error{Format: m.desc.Name, Path: path, Field: m.fieldAt(number, off), Offset: off, Err: source.ErrCut}
}

// fieldAt names the tensor whose bytes contain an offset of a space, or returns "".
func (m *Model) fieldAt(n driver.Space, off int64) string {
	for i := range m.index.Len() {
		if s, at, size := m.index.Place(i); s == n && at >= 0 && at <= off && off < at+size {
			return tensorField(m.index.Name(i))
		}
	}
	return ""
}

// locate returns a copy of an error about an offset of the model's own file, with the tensor's name.
func (m *Model) locate(err error) error {
	e, ok := err.(*tensor.Error)
	if !ok || e.Field != "" || e.Offset < 0 || e.Path != m.path {
		return err
	}
	c := *e
	c.Field = m.fieldAt(0, e.Offset)
	return &c
}

// Explain implements memory.Owner.
func (m *Model) Explain(info *tensor.Info, err error) error {
	return explainTensor(info, err, m.desc.Name, m.path)
}

// explainTensor is explain for an error that happened with a tensor.
func explainTensor(info *tensor.Info, err error, format, path string) error {
	if errors.As(err, new(*tensor.Error)) || err == nil {
		return explain(err, format, path)
	}
	return &tensor.Error{Format: format, Path: path, Field: tensorField(info.Name), Offset: info.Offset, Err: err}
}

// failure is the owner of views that were returned with an error. Explain returns that
// error in place of any other, such as a wrong dtype.
type failure struct{ err error }

func (f failure) Enter(*tensor.Info) error          { return f.err }
func (f failure) Leave()                            {}
func (f failure) Lend(*tensor.Info) error           { return f.err }
func (f failure) Load(*tensor.Info) ([]byte, error) { return nil, f.err }
func (f failure) Ranged(*tensor.Info) bool          { return false }
func (f failure) Holds(uintptr) bool                { return false }
func (f failure) Fault(addr uintptr) error          { return fmt.Errorf("memory fault at %#x", addr) }
func (f failure) Explain(*tensor.Info, error) error { return f.err }
func (f failure) ReadAt(context.Context, *tensor.Info, []byte, int64) error {
	return f.err
}
