package format

import (
	"errors"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
	"github.com/weightmap/weightmap/tensor"
)

var (
	_ memory.Owner[tensor.Info] = (*owner)(nil)
	_ memory.Advisor            = (*owner)(nil)
)

// Enter implements memory.Owner. It calls checkTouch while tensors are not checked yet.
func (o *owner) Enter(info *tensor.Info) error {
	if err := o.m.main.Enter(); err != nil || !o.m.touch.pending.Load() {
		return err
	}
	return o.checkInside(info.Name)
}

// checkInside checks a tensor before its first use, and leaves the model if the check fails.
func (o *owner) checkInside(name string) error {
	err := errBroken
	defer func() {
		if err != nil { // also after a panic of the reader
			o.m.main.Leave()
		}
	}()
	err = o.m.checkTouch(name)
	return err
}

// Leave implements memory.Owner.
func (o *owner) Leave() { o.m.main.Leave() }

// Holds implements memory.Owner for the memory of all files.
func (o *owner) Holds(addr uintptr) bool { return o.m.holds(addr) }

// Advise implements memory.Advisor for the memory of all files.
func (o *owner) Advise(a memory.Advice, b []byte) (int64, error) {
	if err := o.m.main.Enter(); err != nil {
		return 0, err
	}
	defer o.m.main.Leave()
	of := o.m.spaces.holding(memory.Address(b))
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
func (o *owner) Workers() int { return o.m.c.options.Workers }

// Fault implements memory.Owner: it names the tensor that the address belongs to.
func (o *owner) Fault(addr uintptr) error {
	return o.m.fault(addr)
}

// Expose implements memory.Owner: the model's own file and this one must outlive the slice.
func (o *owner) Expose(info *tensor.Info, b []byte) error {
	r := o.f.region.Load()
	if o.m.touch.pending.Load() || r.Sealed() {
		if err := o.Enter(info); err != nil {
			return err
		}
		err := o.Show(b)
		o.Leave()
		if err != nil {
			return err
		}
	}
	if err := o.m.main.Expose(); err != nil {
		return err
	}
	r.MarkMemory(b)
	if o.f.number == 0 {
		return nil
	}
	return r.Expose()
}

// Show implements memory.Owner. It finds the place of b by its address, which no description can
// get wrong.
func (o *owner) Show(b []byte) error {
	r := o.f.region.Load()
	r.MarkMemory(b)
	if !r.Sealed() {
		return nil
	}
	return r.Show(r.FaultOffset(memory.Address(b)), int64(len(b)))
}

// Load implements memory.Owner. It returns the bytes of a tensor, or of a part of a tensor behind a
// reader. It keeps the results of the driver and copies of misaligned tensors; data from a reader
// goes into the cache.
func (o *owner) Load(info *tensor.Info) ([]byte, error) {
	i, _ := o.m.index.Lookup(info.Name)
	r := o.f.region.Load()
	switch {
	case o.m.index.Loaded(i):
		return o.m.decoded(i, true)
	case !r.InMemory():
		return o.m.cache.read(r, info.Offset, info.Size)
	}
	return o.m.copy(i, true, func() ([]byte, error) {
		b, err := r.Copy(info.Offset, info.Size)
		return b, o.m.explainTensor(err, info.Name)
	})
}

// File implements memory.Owner.
func (o *owner) File(info *tensor.Info) (pass.File, int64) {
	r := o.f.region.Load()
	if r == nil {
		return nil, 0
	}
	if o.m.parsed.Load != nil {
		i, _ := o.m.index.Lookup(info.Name)
		if o.m.index.Loaded(i) {
			return nil, 0
		}
	}
	return r, info.Offset
}

// Explain implements memory.Owner.
func (o *owner) Explain(info *tensor.Info, err error) error {
	if err == nil {
		return nil
	}
	field := tensorField(info.Name)
	if errors.As(err, new(*tensor.Error)) {
		return o.m.locate(err, o.f.path(), field)
	}
	return &tensor.Error{Format: o.m.desc.Name, Path: o.f.path(), Field: field, Offset: info.Offset, Err: err}
}

// unlisted owns tensors that are not in the index. Their file is mapped on first
// use, no checksum is verified before that, and copies are not cached.
type unlisted struct{ *owner }

// Enter implements memory.Owner.
func (l unlisted) Enter(info *tensor.Info) error {
	if err := l.m.main.Enter(); err != nil {
		return err
	}
	_, err := l.m.find(l.f, -1, info.Name, info.Offset, info.Size)
	if err != nil {
		l.m.main.Leave()
	}
	return err
}

// File implements memory.Owner.
func (l unlisted) File(info *tensor.Info) (pass.File, int64) {
	r := l.f.region.Load()
	if r == nil {
		return nil, 0
	}
	return r, info.Offset
}

// Load implements memory.Owner.
func (l unlisted) Load(info *tensor.Info) ([]byte, error) {
	return l.f.region.Load().Copy(info.Offset, info.Size)
}

// lend implements lender.
func (m *Model) lend(f *file, info *tensor.Info) tensor.View {
	if f == nil {
		v, _ := failed(info, m.about(info.Name, info.Offset, errUnknown))
		return v
	}
	return tensor.View(memory.New[tensor.Info](info, unlisted{&owner{m, f}}, nil))
}

// failed returns err and a view whose methods return it.
func failed(info *tensor.Info, err error) (tensor.View, error) {
	return tensor.View(memory.New[tensor.Info](info, memory.Failed[tensor.Info]{Err: err}, nil)), err
}
