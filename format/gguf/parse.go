package gguf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
)

// parsed is an open file, or the files of a split model.
type parsed struct {
	index *driver.Index
	opts  *driver.Options
	parts []part
	alone string // why the other parts of a split model are not open
}

// part is one file.
type part struct {
	src   driver.Source
	size  int64 // of src
	space driver.Space
	meta  []byte // all entries, as they are in the file
	count int    // of entries
	align int64  // 0 while no entry says it
	data  int64  // where tensor data begins
	end   int64  // of the data of the last tensor
	split split
}

// Parse implements driver.Driver. It opens the other parts of a split model too.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	f := &parsed{index: x, opts: o}
	if err := f.add(src, 0); err != nil {
		return nil, err
	}
	if err := f.join(); err != nil {
		return nil, err
	}
	return &driver.Parsed{Own: f, LazyMetadata: f.neutral, LazyNotes: f.notes, Native: f.native, Verify: verify}, nil
}

// verify reports that no checksum covers anything; the engine checks that the structure is unchanged.
func verify(v driver.Verification) error {
	v.Section("header", "")
	return nil
}

// add reads the structure of one file.
func (f *parsed) add(src driver.Source, space driver.Space) (err error) {
	d := &decoder{head: driver.ReadHead(src, f.opts), size: src.Size()}
	defer func() {
		if closeErr := d.head.Close(int64(d.at)); err == nil {
			err = closeErr
		}
	}()
	version, tensors, count := d.header()
	if space == 0 {
		f.index.Version = strconv.Itoa(int(version))
	}
	p := part{src: src, size: src.Size(), space: space, split: noSplit, count: int(count)}
	for i := uint64(0); i < count && d.err == nil; i++ {
		if e := d.entry(); d.err == nil {
			d.err = ofEntry(p.note(&e), e.key)
		}
	}
	p.align = cmp.Or(p.align, defaultAlign)
	if n := uint64(f.index.Len()) + tensors; n > uint64(driver.MaxTensors) {
		d.failf("tensor_count", 8, format.ErrLimit, "%d tensors in all parts, at most %d are allowed", n, driver.MaxTensors)
	}
	from := d.at
	size := d.records(tensors)
	if d.err != nil {
		return d.err
	}
	p.data, _ = wire.AlignUp(int64(d.at), p.align)
	p.end = p.data
	f.index.Grow(int(tensors), size.names, size.dims)
	if err := f.addTensors(d.b[from:d.at], from, &p); err != nil {
		return err
	}
	if err := f.opts.Memory.Reserve(int64(from - headerSize)); err != nil {
		return wire.Error(formatName, "metadata", headerSize, err)
	}
	p.meta = bytes.Clone(d.b[headerSize:from])
	f.parts = append(f.parts, p)
	return nil
}

// header reads and checks the first 24 bytes.
func (d *decoder) header() (version uint32, tensors, entries uint64) {
	if m := d.take("magic", 4); m != nil && string(m) != magic {
		d.failf("magic", 0, format.ErrMagic, "the file begins with % x, not %q", m, magic)
	}
	b := d.take("version", 4)
	if b == nil {
		return 0, 0, 0
	}
	version = binary.LittleEndian.Uint32(b)
	switch swapped := binary.BigEndian.Uint32(b); {
	case version == 2 || version == 3:
	case swapped >= 1 && swapped <= 3:
		d.failf("version", 4, format.ErrVersion, "0x%08x is %d with its bytes swapped: the file is big-endian, and only little-endian ones are read", version, swapped)
	default:
		d.failf("version", 4, format.ErrVersion, "%d, only 2 and 3 are known", version)
	}
	tensors, entries = d.u64("tensor_count"), d.u64("metadata_kv_count")
	left := uint64(d.size) - headerSize
	switch {
	case d.err != nil:
	case tensors > left/minTensor:
		d.failf("tensor_count", 8, format.ErrTruncated, "%d tensors take at least %d bytes each, %d are left", tensors, minTensor, left)
	case entries > (left-tensors*minTensor)/minEntry:
		d.failf("metadata_kv_count", 16, format.ErrTruncated, "%d entries take at least %d bytes each, %d are left", entries, minEntry, left-tensors*minTensor)
	}
	return version, tensors, entries
}

// note evaluates an entry that describes the file; the first of each key applies.
func (p *part) note(e *entry) error {
	if string(e.key) != keyAlignment || p.align != 0 {
		return p.split.note(e)
	}
	if e.typ != typeUint32 {
		return wire.Errorf(formatName, "metadata type", int64(e.at-4), format.ErrCorrupt, "type %d; the alignment is a uint32", e.typ)
	}
	n := binary.LittleEndian.Uint32(e.value)
	if err := checkAlign(n); err != nil {
		return wire.Error(formatName, "metadata value", int64(e.at), fmt.Errorf("%w: %w", format.ErrCorrupt, err))
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

// ofEntry returns a copy of err that names the entry.
func ofEntry(err error, key []byte) error {
	var e *format.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Err = fmt.Errorf("%w (key %q)", e.Err, key)
	return &c
}

// extent is the result of the first pass over the tensors.
type extent struct {
	names, dims int
}

// records checks n tensors as far as possible before the beginning of the data is known.
func (d *decoder) records(n uint64) (x extent) {
	from := d.at
	var r record
	for i := uint64(0); i < n && d.err == nil; i++ {
		if at := d.at; !r.decode(d.b[at:]) || r.typ() >= maxCode || driver.CheckName(r.name()) != nil {
			d.expect(from, i, n, minTensor)
			d.record()
			r.decode(d.b[at:])
		} else {
			d.at += len(r.b)
		}
		if d.err == nil {
			x.names += r.chars
			x.dims += len(r.dims()) / 8
		}
	}
	return x
}

// addTensors fills the index from the records b, which begin at an offset of the file.
func (f *parsed) addTensors(b []byte, at int, p *part) error {
	var r record
	records := b
	starts := sync.OnceValue(func() (all []uint64) {
		var r record
		for b := records; r.decode(b); b = b[len(r.b):] {
			all = append(all, r.offset())
		}
		slices.Sort(all)
		return all
	})
	for ; r.decode(b); b, at = b[len(r.b):], at+len(r.b) {
		if field, fieldAt, err := f.addTensor(&r, p, starts); err != nil {
			return wire.Error(formatName, field, int64(at+fieldAt), fmt.Errorf("%w (tensor %q)", err, r.name()))
		}
	}
	return nil
}

// addTensor adds the tensor of a record, whose size may follow from where others start, or returns the field that is wrong and its place in the record.
func (f *parsed) addTensor(r *record, p *part, starts func() []uint64) (field string, fieldAt int, err error) {
	dims, offset := r.dims(), r.offset()
	shape := f.index.Dims(len(dims) / 8)
	for i := range shape {
		n := binary.LittleEndian.Uint64(dims[8*i:])
		if n > math.MaxInt64 {
			return "tensor dims", r.dimsAt() + 8*i, fmt.Errorf("%w: dim %d is %d", format.ErrCorrupt, i, n)
		}
		shape[len(shape)-1-i] = int64(n)
	}
	e := elementTypeOf(r.typ())
	size, err := e.bytes(shape)
	if err != nil {
		return "tensor dims", r.dimsAt(), fmt.Errorf("%w: %w", format.ErrCorrupt, err)
	}
	if offset&uint64(p.align-1) != 0 {
		return "tensor offset", r.offsetAt(), fmt.Errorf("%w: %d is no multiple of %d, the alignment", format.ErrCorrupt, offset, p.align)
	}
	room := uint64(max(0, p.size-p.data))
	if !e.sized() && size > 0 {
		if size = upToNext(offset, room, starts()); size <= 0 {
			return "tensor offset", r.offsetAt(), fmt.Errorf("%w: nothing is at %d of %d bytes of data", format.ErrTruncated, offset, room)
		}
	}
	var at int64
	switch {
	case size == 0 && offset > room && offset-room < uint64(p.align):
		at = p.size // behind padding that is not there
	case offset > room || uint64(size) > room-offset:
		return "tensor offset", r.offsetAt(), fmt.Errorf("%w: %d bytes at %d of %d bytes of data", format.ErrTruncated, size, offset, room)
	default:
		at = min(p.data, p.size) + int64(offset)
	}
	p.end = max(p.end, at+size)
	var t driver.Tensor // field by field: a composite literal would be made elsewhere and copied
	t.Name, t.Shape, t.DType, t.Encoding = r.name(), shape, e.dtype, e.encoding
	t.Space, t.Offset, t.Size = p.space, at, size
	return "tensor name", 8, f.index.Add(&t)
}

// upToNext returns the number of bytes from an offset to the next tensor, or to the end
// of the data. The offset must not be beyond that.
func upToNext(off, room uint64, starts []uint64) int64 {
	end := room
	if i, _ := slices.BinarySearch(starts, off+1); i < len(starts) {
		end = min(end, starts[i])
	}
	return int64(end - off)
}
