package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is what is kept of an open file, or of the files of a split model,
// beside the index.
type parsed struct {
	index *driver.Index
	opts  driver.Options // for verification
	parts []part
	alone string // why the other parts of a split model were not opened
}

var (
	_ driver.MetadataFile = (*parsed)(nil)
	_ driver.NotesFile    = (*parsed)(nil)
	_ driver.Verifier     = (*parsed)(nil)
)

// part is one file.
type part struct {
	src     driver.Source
	space   driver.Space
	version uint32
	meta    []byte // all entries, as they are in the file but in private memory
	entries int
	align   int64
	data    int64 // where tensor data begins
	end     int64 // of the data of the last tensor
	split   split
}

// parse opens a file, and those that belong to it.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*parsed, error) {
	f := &parsed{index: x, opts: *o}
	f.opts.Context, f.opts.Key = nil, nil
	if err := f.add(src, 0, o); err != nil {
		return nil, err
	}
	x.Version = strconv.Itoa(int(f.parts[0].version))
	return f, f.join(o)
}

// add reads the structure of one file.
func (f *parsed) add(src driver.Source, space driver.Space, o *driver.Options) error {
	s := newScan(src, o)
	defer s.free()
	h, err := s.header()
	if err != nil {
		return err
	}
	p := part{src: src, space: space, version: h.version, entries: int(h.metadata), align: defaultAlign, split: noSplit}
	seen := false
	err = s.entries(h.metadata, func(key []byte, t valueType, at int) error {
		if string(key) == keyAlignment && !seen {
			seen = true
			return p.setAlign(t, s.b[at:], int64(at))
		}
		return p.split.note(key, t, s.b[at:], int64(at))
	})
	if err != nil {
		return err
	}
	metaEnd := s.at
	if n := uint64(f.index.Len()) + h.tensors; n > uint64(o.MaxTensors) {
		return wire.Errorf(formatName, "tensor_count", 8, format.ErrLimit, "%d tensors in all parts, at most %d are allowed", n, o.MaxTensors)
	}
	size, err := s.infos(h.tensors)
	if err != nil {
		return err
	}
	p.data, _ = wire.AlignUp(int64(s.at), p.align)
	p.end = p.data
	f.index.Grow(int(h.tensors), size.names, size.dims)
	if err := f.addTensors(s.b[metaEnd:s.at], int64(metaEnd), &p, size.open); err != nil {
		return err
	}
	if err := o.Memory.Reserve(int64(metaEnd - headerSize)); err != nil {
		return wire.Error(formatName, "metadata", headerSize, err)
	}
	p.meta = bytes.Clone(s.b[headerSize:metaEnd])
	f.parts = append(f.parts, p)
	return nil
}

// setAlign takes the alignment of data from the metadata.
func (p *part) setAlign(t valueType, b []byte, at int64) error {
	if t != typeUint32 {
		return wire.Errorf(formatName, "metadata type", at-4, format.ErrCorrupt, "type %d; the alignment is a uint32", t)
	}
	n := binary.LittleEndian.Uint32(b)
	if err := checkAlign(n); err != nil {
		return wire.Error(formatName, "metadata value", at, fmt.Errorf("%w: %w", format.ErrCorrupt, err))
	}
	p.align = int64(n)
	return nil
}

func checkAlign(n uint32) error {
	if n < minAlign || n&(n-1) != 0 {
		return fmt.Errorf("alignment %d is no power of two of at least %d", n, minAlign)
	}
	return nil
}

// record is one tensor of a file; its bytes are known to be whole.
type record struct {
	name   []byte
	rank   int
	dims   []byte
	code   uint32
	offset uint64
	at     int64 // where it begins in the file
}

// next takes one record off b, which begins at offset at of the file.
func next(b []byte, at int64) (r record, n int) {
	le := binary.LittleEndian
	name := int(le.Uint64(b))
	r.name, r.at = b[8:8+name:8+name], at
	n = 8 + name
	r.rank = int(le.Uint32(b[n:]))
	n += 4
	r.dims = b[n : n+8*r.rank]
	n += 8 * r.rank
	r.code, r.offset = le.Uint32(b[n:]), le.Uint64(b[n+4:])
	return r, n + 12
}

// Where the fields of a record are.
func (r *record) dimsAt() int64   { return r.at + 12 + int64(len(r.name)) }
func (r *record) typeAt() int64   { return r.dimsAt() + 8*int64(r.rank) }
func (r *record) offsetAt() int64 { return r.typeAt() + 4 }

func (r *record) fail(field string, at int64, err error) error {
	return wire.Error(formatName, field, at, fmt.Errorf("%w (tensor %q)", err, r.name))
}

func (r *record) failf(field string, at int64, sentinel error, text string, args ...any) error {
	return r.fail(field, at, fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...)))
}

// addTensors fills the index from records that infos found to be whole. With
// open, the size of some is known by where the next tensor begins.
func (f *parsed) addTensors(b []byte, at int64, p *part, open bool) error {
	var starts []uint64
	if open {
		for rest := b; len(rest) > 0; {
			r, n := next(rest, 0)
			starts, rest = append(starts, r.offset), rest[n:]
		}
		slices.Sort(starts)
	}
	var t driver.Tensor
	for len(b) > 0 {
		r, n := next(b, at)
		if err := f.addTensor(&r, p, starts, &t); err != nil {
			return err
		}
		b, at = b[n:], at+int64(n)
	}
	return nil
}

// addTensor adds the tensor of a record. t is scratch space.
func (f *parsed) addTensor(r *record, p *part, starts []uint64, t *driver.Tensor) error {
	t.Name, t.Space, t.Shape = r.name, p.space, f.index.Dims(r.rank)
	for i := range t.Shape {
		d := binary.LittleEndian.Uint64(r.dims[8*i:])
		if d > math.MaxInt64 {
			return r.failf("tensor dims", r.dimsAt()+8*int64(i), format.ErrCorrupt, "dim %d is %d", i, d)
		}
		t.Shape[r.rank-1-i] = int64(d)
	}
	e := elementTypeOf(r.code)
	t.DType, t.Encoding = e.dtype, e.encoding
	var err error
	if e.sized() {
		t.Size, err = e.bytes(t.Shape)
	} else {
		t.Size, err = t.Shape.Elems() // replaced below
	}
	if err != nil {
		return r.fail("tensor dims", r.dimsAt(), fmt.Errorf("%w: %w", format.ErrCorrupt, err))
	}
	if r.offset%uint64(p.align) != 0 {
		return r.failf("tensor offset", r.offsetAt(), format.ErrCorrupt, "%d is no multiple of %d, the alignment", r.offset, p.align)
	}
	room := uint64(max(0, p.src.Size()-p.data))
	if !e.sized() && t.Size > 0 {
		if t.Size = p.upToNext(r.offset, room, starts); t.Size == 0 {
			return r.failf("tensor offset", r.offsetAt(), format.ErrTruncated, "nothing is at %d of %d bytes of data", r.offset, room)
		}
	}
	switch {
	case t.Size == 0 && r.offset > room && r.offset-room < uint64(p.align):
		t.Offset = p.src.Size() // behind padding that is not there
	case r.offset > room || uint64(t.Size) > room-r.offset:
		return r.failf("tensor offset", r.offsetAt(), format.ErrTruncated, "%d bytes at %d of %d bytes of data", t.Size, r.offset, room)
	default:
		t.Offset = min(p.data, p.src.Size()) + int64(r.offset)
	}
	p.end = max(p.end, t.Offset+t.Size)
	if !f.index.Add(t) {
		return r.failf("tensor name", r.at+8, format.ErrCorrupt, "occurs twice")
	}
	return nil
}

// upToNext returns how many bytes there are from an offset to the next tensor, or
// to the end of the data.
func (p *part) upToNext(off, room uint64, starts []uint64) int64 {
	if off >= room {
		return 0
	}
	end := room
	if i, _ := slices.BinarySearch(starts, off+1); i < len(starts) {
		end = min(end, starts[i])
	}
	return int64(end - off)
}

// inFile names the file of a part in an error about it, in a copy.
func inFile(err error, path string) error {
	var e *format.Error
	if !errors.As(err, &e) || e.Path != "" {
		return err
	}
	c := *e
	c.Path = path
	return &c
}

// Verify implements driver.Verifier: it parses again and compares. The format
// has no sums.
func (f *parsed) Verify(v driver.Verification) error {
	opts := f.opts
	opts.Context = v.Context()
	kept := int64(0) // again, for as long as it is compared
	for i := range f.parts {
		kept += int64(len(f.parts[i].meta))
	}
	if err := opts.Memory.Reserve(kept); err != nil {
		return wire.Error(formatName, "metadata", headerSize, err)
	}
	defer opts.Memory.Release(kept)
	opts.Memory = nil
	var x driver.Index
	again := &parsed{index: &x}
	for i := range f.parts {
		p := &f.parts[i]
		if err := again.add(p.src, p.space, &opts); err != nil {
			return inFile(err, p.src.Path())
		}
		q := &again.parts[i]
		if p.version != q.version || !bytes.Equal(p.meta, q.meta) {
			return inFile(changed("metadata"), p.src.Path())
		}
	}
	if x.Len() != f.index.Len() {
		return changed("tensor_count")
	}
	for i := range x.Len() {
		var was, is tensor.Info
		f.index.Describe(i, &was)
		x.Describe(i, &is)
		s, _, _ := f.index.Place(i)
		t, _, _ := x.Place(i)
		if was.Name != is.Name || was.TypeName() != is.TypeName() || !was.Shape.Equal(is.Shape) || was.Offset != is.Offset || s != t {
			return inFile(changed("tensor infos"), f.partOf(s).src.Path())
		}
	}
	v.Section("header", "")
	return nil
}

func changed(field string) error {
	return wire.Errorf(formatName, field, headerSize, format.ErrCorrupt, "changed since the file was opened")
}

// partOf returns the part in a space.
func (f *parsed) partOf(s driver.Space) *part {
	for i := range f.parts {
		if f.parts[i].space == s {
			return &f.parts[i]
		}
	}
	return &f.parts[0]
}
