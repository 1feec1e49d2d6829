package zip

import (
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/strided"
	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// Tensors loads and verifies the tensors of a model whose data is in entries.
type Tensors struct {
	Index  *driver.Index
	Memory *driver.Memory
	Checks bool // Load compares checksums
	Zipped bool // some entries are in archives
	Stores []Entry
	Places []Place // by tensor
	Words  []Word  // the entries that are structure
}

// Place locates the elements of a tensor.
type Place struct {
	Store        int
	From, Extent int64   // range of the content of the entry
	Elem         int     // size of an element
	Swap         int     // size of the words if they are big-endian, or 0
	Stride       []int64 // in elements; nil if they are contiguous
	Text         *Text   // nil if the content has the elements as they are
}

// Text is a range of the content of an entry that has bytes in the form of a text. The range of a
// Place is then one of these bytes.
type Text struct {
	At, Len int64 // range of the content
	Size    int64 // number of bytes in it
	Decode  func(dst, text []byte) error
}

// Locate sets the fields of t that follow from its place in the entry.
func (e *Entry) Locate(t *driver.Tensor, p *Place) {
	t.Offset = e.At + p.From
	if e.Packed {
		t.Compression = "deflate"
		t.Stored = e.Stored
	}
	if e.Packed || p.Stride != nil || p.Swap > 0 || p.Text != nil {
		t.Loaded = true
		t.Offset = -1
	}
}

// dataAlign is the alignment of data that suffices for every dtype.
const dataAlign = 16

// Load returns the little-endian elements of tensor i in row-major order.
func (t *Tensors) Load(i int) ([]byte, error) {
	b, err := t.load(i)
	return b, t.located(i, err)
}

// An expanded tensor repeats the elements of its storage. These limit the size of the copy.
const (
	expandFloor = 1 << 30
	expandRatio = 16
)

func (t *Tensors) load(i int) ([]byte, error) {
	p := &t.Places[i]
	s := &t.Stores[p.Store]
	size := t.Index.Size(i)
	most := max(expandFloor, expandRatio*s.Size)
	if size > most {
		return nil, fmt.Errorf("%w: it repeats %d bytes up to %d, at most %d are made", tensor.ErrLimit,
			p.Extent, size, most)
	}
	err := wire.CheckSize(size)
	if err != nil {
		return nil, err
	}
	aside := s.aside(p)
	err = t.Memory.Reserve(aside)
	if err != nil {
		return nil, err
	}
	defer t.Memory.Release(aside)
	b, err := t.elements(i)
	if err != nil {
		return nil, err
	}
	if s.inflatesTo(p) {
		return b, nil
	}
	out := memory.Aligned(int(size))
	if p.Stride == nil {
		copy(out, b)
	} else {
		strided.Gather(out, b, t.Index.Shape(i), p.Stride, p.Elem)
	}
	if p.Swap > 0 {
		vector.Swap(out, p.Swap)
	}
	return out, nil
}

// inflatesTo reports whether the end of the inflated content is the tensor at p: aligned, with the
// elements as they are.
func (e *Entry) inflatesTo(p *Place) bool {
	isPlain := p.Stride == nil && p.Swap == 0 && p.Text == nil
	return e.Packed && isPlain && p.From%dataAlign == 0 && p.Extent == e.Size-p.From
}

// aside returns the memory that loading the tensor at p takes besides its elements, for which the
// engine has reserved some.
func (e *Entry) aside(p *Place) int64 {
	text := int64(0)
	if p.Text != nil {
		text = p.Text.Len + p.Text.Size
	}
	switch {
	case e.inflatesTo(p):
		return p.From
	case e.Packed:
		return e.Size + text
	case e.Src.InMemory():
		return text
	}
	return p.Extent + text
}

// elements returns the elements of tensor i as they are in its entry, which may alias the file.
func (t *Tensors) elements(i int) ([]byte, error) {
	p := &t.Places[i]
	if p.Text == nil {
		return t.content(i, p.From, p.Extent)
	}
	text, err := t.content(i, p.Text.At, p.Text.Len)
	if err != nil {
		return nil, err
	}
	b := make([]byte, p.Text.Size)
	err = p.Text.Decode(b, text)
	if err != nil {
		return nil, err
	}
	return b[p.From:][:p.Extent], nil
}

// content returns a range of the content of the entry of tensor i.
func (t *Tensors) content(i int, at, n int64) ([]byte, error) {
	s := &t.Stores[t.Places[i].Store]
	if !s.Packed && !t.Checks {
		return s.Src.Slice(s.At+at, n)
	}
	b, err := s.Content(t.Memory)
	if err != nil {
		return nil, err
	}
	if t.Checks {
		sum := t.sumFor(i)
		err := s.compare(&sum, b)
		if err != nil {
			return nil, err
		}
	}
	return b[at:][:n], nil
}

// located adds the name and file of tensor i to an error without a location.
func (t *Tensors) located(i int, err error) error {
	if err == nil || errors.As(err, new(*tensor.Error)) {
		return err
	}
	s := &t.Stores[t.Places[i].Store]
	return wire.Place(wire.Error("", t.field(i), t.offset(i), err), "", s.Src.Path(), "")
}

func (t *Tensors) field(i int) string { return fmt.Sprintf("tensor %q", t.Index.Name(i)) }

// offset is that of tensor i for errors: of its bytes, if they are in the file as they are and its
// checksums agree.
func (t *Tensors) offset(i int) int64 {
	s := &t.Stores[t.Places[i].Store]
	_, at, _ := t.Index.Place(i)
	if t.Index.Loaded(i) || s.Sum != s.LocalSum {
		return s.At
	}
	return at
}
