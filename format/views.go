package format

import (
	"fmt"
	"iter"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/tensor"
)

// Tensor returns the tensor with the given name. The error is ErrNotFound if there is none, and
// ErrClosed after Close; a view that comes with an error returns it from all its accessors. Tensor
// takes some tens of nanoseconds and does not allocate.
func (m *Model) Tensor(name string) (v tensor.View, err error) {
	m = m.opened()
	i, ok := m.index.Lookup(name)
	if !ok || m.main.Closed() {
		return m.missing(name, tensorField(name))
	}
	err = m.at(i, &v)
	return v, err
}

// missing returns the error for a tensor that does not exist.
func (m *Model) missing(name, field string) (tensor.View, error) {
	err := tensor.ErrNotFound
	if m.main.Closed() {
		err = tensor.ErrClosed
	}
	return failed(&tensor.Info{Name: name, Offset: -1}, &tensor.Error{Format: m.desc.Name, Path: m.path, Field: field, Offset: -1, Err: err})
}

// At returns tensor i in file order, for 0 <= i < Len. The view of any other i returns ErrNotFound.
// Of a directory of files, and of external data, each is mapped when a tensor of it is first used.
func (m *Model) At(i int) (v tensor.View) {
	m = m.opened()
	if uint(i) >= uint(m.index.Len()) {
		v, _ = m.missing("", fmt.Sprintf("tensor %d", i))
		return v
	}
	space, _, _ := m.index.Place(i)
	if m.spaces.files[space].isUnused() && !m.index.Loaded(i) {
		return tensor.View(memory.NewLazy[tensor.Info](m.info(i), pending{&m.owners[space]}))
	}
	_ = m.at(i, &v)
	return v
}

// at makes the view of tensor i, and maps its file if necessary. It takes a pointer to avoid
// copying views.
func (m *Model) at(i int, v *tensor.View) error {
	space, off, size := m.index.Place(i)
	info := m.info(i)
	f := m.spaces.files[space]
	var data []byte
	if !m.index.Loaded(i) {
		r := f.region.Load()
		if !isInside(r, off, size) {
			var err error
			r, err = m.findInside(f, i, info.Name, off, size)
			if err != nil {
				*v, err = failed(info, err)
				return err
			}
		}
		data = inPlace(r, off, size)
	}
	*v = tensor.View(memory.New[tensor.Info](info, &m.owners[space], data))
	return nil
}

// isInside reports whether a region has a range. It may be nil.
func isInside(r *source.Region, off, size int64) bool {
	return r != nil && off >= 0 && size <= r.Size()-off
}

// inPlace returns the bytes of a range of a region, or nil if they are not in memory.
func inPlace(r *source.Region, off, size int64) []byte {
	mem := r.Bytes()
	if mem == nil {
		return nil
	}
	return mem[off : off+size : off+size]
}

// Tensors iterates over the tensors by name, in the order of their records in the file, with the
// views of At. The view of a tensor in a missing file returns that error from all its accessors.
func (m *Model) Tensors() iter.Seq2[string, tensor.View] {
	m = m.opened()
	return func(yield func(string, tensor.View) bool) {
		m.spaces.hold()
		defer m.spaces.release()
		for i := range m.index.Len() {
			if !yield(m.index.Name(i), m.At(i)) {
				return
			}
		}
	}
}

// info returns the description of tensor i, which never moves.
func (m *Model) info(i int) *tensor.Info {
	table := m.infos.Load()
	if table == nil {
		fresh := make(infoTable, (m.index.Len()+blockSize-1)/blockSize)
		m.infos.CompareAndSwap(nil, &fresh)
		table = m.infos.Load()
	}
	at := &(*table)[i/blockSize]
	b := at.Load()
	if b == nil {
		b = &infoBlock{}
		first := i / blockSize * blockSize
		for k := range min(m.index.Len()-first, blockSize) {
			m.index.Describe(first+k, &b[k])
		}
		if !at.CompareAndSwap(nil, b) {
			b = at.Load() // another goroutine's
		}
	}
	return &b[i%blockSize]
}

// pending owns a tensor of a file that is mapped when a tensor of it is first used.
type pending struct{ *owner }

var _ memory.Lazy[tensor.Info] = pending{}

// Map implements memory.Lazy.
func (p pending) Map(info *tensor.Info) memory.Ref[tensor.Info] {
	r := p.f.region.Load()
	if isInside(r, info.Offset, info.Size) {
		return memory.New[tensor.Info](info, p.owner, inPlace(r, info.Offset, info.Size))
	}
	var v tensor.View
	i, _ := p.m.index.Lookup(info.Name)
	_ = p.m.at(i, &v)
	return memory.Ref[tensor.Info](v)
}

// IsViewed implements memory.Lazy.
func (p pending) IsViewed(info *tensor.Info) bool {
	i, _ := p.m.index.Lookup(info.Name)
	return p.m.copied(i) == ""
}
