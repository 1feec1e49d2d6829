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
)

// parsed is what is kept of an open file, or of the files of a split model,
// beside the index.
type parsed struct {
	index *driver.Index
	opts  driver.Options // for verification
	parts []part
	alone string // why the other parts of a split model were not opened
}

// part is one file.
type part struct {
	src     driver.Source
	size    int64 // of src
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
	p := part{src: src, size: src.Size(), space: space, version: h.version, entries: int(h.metadata), align: defaultAlign, split: noSplit}
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

// record is one tensor of a file after another; their bytes are known to be whole.
type record struct {
	b     []byte // from here to the end of the last record
	n     int    // bytes of this one
	chars int    // of its name
	rank  int
	at    int64 // where it begins in the file
}

// next goes on to the next record, the first time to the first; false is the end.
func (r *record) next() bool {
	r.b, r.at = r.b[r.n:], r.at+int64(r.n)
	if len(r.b) == 0 {
		return false
	}
	r.chars = int(binary.LittleEndian.Uint64(r.b))
	r.rank = int(binary.LittleEndian.Uint32(r.b[8+r.chars:]))
	r.n = minTensor + r.chars + 8*r.rank
	return true
}

func (r *record) name() []byte     { return r.b[8 : 8+r.chars : 8+r.chars] }
func (r *record) dim(i int) uint64 { return binary.LittleEndian.Uint64(r.b[12+r.chars+8*i:]) }
func (r *record) code() uint32     { return binary.LittleEndian.Uint32(r.b[r.n-12:]) }
func (r *record) offset() uint64   { return binary.LittleEndian.Uint64(r.b[r.n-8:]) }

// Where the fields of a record are.
func (r *record) dimsAt() int64   { return r.at + 12 + int64(r.chars) }
func (r *record) offsetAt() int64 { return r.at + int64(r.n) - 8 }

func (r *record) fail(field string, at int64, err error) error {
	return wire.Error(formatName, field, at, fmt.Errorf("%w (tensor %q)", err, r.name()))
}

func (r *record) failf(field string, at int64, sentinel error, text string, args ...any) error {
	return r.fail(field, at, fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(text, args...)))
}

// addTensors fills the index from records that infos found to be whole. With
// open, the size of some is known by where the next tensor begins.
func (f *parsed) addTensors(b []byte, at int64, p *part, open bool) error {
	var starts []uint64
	if open {
		for r := (record{b: b}); r.next(); {
			starts = append(starts, r.offset())
		}
		slices.Sort(starts)
	}
	for r := (record{b: b, at: at}); r.next(); {
		if err := f.addTensor(&r, p, starts); err != nil {
			return err
		}
	}
	return nil
}

// addTensor adds the tensor of a record.
func (f *parsed) addTensor(r *record, p *part, starts []uint64) error {
	shape := f.index.Dims(r.rank)
	for i := range shape {
		d := r.dim(i)
		if d > math.MaxInt64 {
			return r.failf("tensor dims", r.dimsAt()+8*int64(i), format.ErrCorrupt, "dim %d is %d", i, d)
		}
		shape[r.rank-1-i] = int64(d)
	}
	e := elementTypeOf(r.code())
	size, err := e.bytes(shape)
	if err != nil {
		return r.fail("tensor dims", r.dimsAt(), fmt.Errorf("%w: %w", format.ErrCorrupt, err))
	}
	offset := r.offset()
	if offset&uint64(p.align-1) != 0 {
		return r.failf("tensor offset", r.offsetAt(), format.ErrCorrupt, "%d is no multiple of %d, the alignment", offset, p.align)
	}
	room := uint64(max(0, p.size-p.data))
	if !e.sized() && size > 0 {
		if size = upToNext(offset, room, starts); size == 0 {
			return r.failf("tensor offset", r.offsetAt(), format.ErrTruncated, "nothing is at %d of %d bytes of data", offset, room)
		}
	}
	var at int64
	switch {
	case size == 0 && offset > room && offset-room < uint64(p.align):
		at = p.size // behind padding that is not there
	case offset > room || uint64(size) > room-offset:
		return r.failf("tensor offset", r.offsetAt(), format.ErrTruncated, "%d bytes at %d of %d bytes of data", size, offset, room)
	default:
		at = min(p.data, p.size) + int64(offset)
	}
	p.end = max(p.end, at+size)
	var t driver.Tensor // field by field: a composite literal would be made elsewhere and copied
	t.Name, t.Shape, t.DType, t.Encoding = r.name(), shape, e.dtype, e.encoding
	t.Space, t.Offset, t.Size = p.space, at, size
	if f.index.Add(&t) != nil {
		return r.failf("tensor name", r.at+8, format.ErrCorrupt, "occurs twice")
	}
	return nil
}

// upToNext returns how many bytes there are from an offset to the next tensor, or
// to the end of the data.
func upToNext(off, room uint64, starts []uint64) int64 {
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

// Verify implements driver.Parsed: the format has no sums.
func (f *parsed) Verify(v driver.Verification) error {
	v.Section("header", "")
	return nil
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
