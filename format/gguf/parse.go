package gguf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is an open file, or the files of a split model.
type parsed struct {
	index *driver.Index
	opts  *driver.ParseOptions
	parts []part
	no    int // of the file among the parts of a split model, from 1, if the others are not open
	count int // of all parts, 0 if the model is not split
}

// part is one file.
type part struct {
	src   driver.Source
	size  int64 // of src
	space driver.Space
	meta  []byte // all entries, as they are in the file
	at    []int  // where each begins in meta
	count int    // of entries
	align int64
	head  int64 // the end of the records of tensors
	data  int64 // where tensor data begins
	end   int64 // of the data of the last tensor
	said  [len(fileKeys)]located
}

// atBytes is the memory of the place of an entry, and countAt the offset of their number.
const (
	atBytes = 8
	countAt = 16
)

// Parse implements driver.Driver. It opens the other parts of a split model too.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	f := &parsed{index: x, opts: o}
	err := f.add(src, 0)
	if err == nil {
		err = f.join()
	}
	if err != nil {
		return nil, err
	}
	own := &f.parts[0]
	return &driver.Parsed{
		Own: f, LazyMetadata: f.neutral, LazyValue: f.value, LazyNotes: f.notes, Native: f.native, Sums: sums, Part: f.no, Parts: f.count,
		HeaderSize: own.head, DataOffset: own.data, Alignment: own.align,
	}, nil
}

// sums implements driver.Parsed: no checksum covers anything.
func sums() []driver.Sum { return []driver.Sum{{Name: "header"}} }

// add reads the structure of one file.
func (f *parsed) add(src driver.Source, space driver.Space) (err error) {
	d := &decoder{head: driver.ReadHead(src, f.opts)}
	d.Cursor = wire.HeadCursor(formatName, d.head, src.Size())
	defer func() {
		if closeErr := d.head.Close(d.Offset()); err == nil {
			err = closeErr
		}
	}()
	version, tensors, count := d.header()
	if space == 0 {
		f.index.Version = strconv.Itoa(int(version))
	}
	p := part{src: src, size: src.Size(), space: space, count: int(count)}
	if d.Err() == nil {
		if err := f.opts.Memory.Reserve(atBytes * int64(count)); err != nil {
			return wire.Error(formatName, "metadata_kv_count", countAt, err)
		}
		p.at = make([]int, 0, count)
	}
	for i := uint64(0); i < count && d.Err() == nil; i++ {
		p.at = append(p.at, int(d.Offset()-headerSize))
		e := d.entry()
		err := d.Err()
		if err == nil {
			err = p.note(&e)
		}
		if err != nil {
			return named(err, "key", e.key)
		}
	}
	if n := uint64(f.index.Len()) + tensors; n > uint64(driver.MaxTensors) {
		d.Failf("tensor_count", 8, format.ErrLimit, "%d tensors in all parts, at most %d are allowed", n, driver.MaxTensors)
	}
	p.align = cmp.Or(p.said[alignment].value, defaultAlign)
	meta := d.Offset()
	if err := f.addTensors(d, &p, tensors); err != nil {
		return err
	}
	if err := f.opts.Memory.Reserve(meta - headerSize); err != nil {
		return wire.Error(formatName, "metadata", headerSize, err)
	}
	p.meta = bytes.Clone(d.Window(headerSize, meta))
	f.parts = append(f.parts, p)
	return nil
}

// header reads and checks the first 24 bytes.
func (d *decoder) header() (version uint32, tensors, entries uint64) {
	if m := d.Bytes("magic", 4); m != nil && string(m) != magic {
		d.Failf("magic", 0, format.ErrMagic, "the file begins with % x, not %q", m, magic)
	}
	version = d.U32("version")
	switch swapped := bits.ReverseBytes32(version); {
	case version == 2 || version == 3:
	case swapped >= 1 && swapped <= 3:
		d.Failf("version", 4, format.ErrVersion, "0x%08x is %d with its bytes swapped: the file is big-endian, and only little-endian ones are read: "+
			"swap the bytes of a copy with gguf-convert-endian COPY little, of the Python package gguf", version, swapped)
	case version == 1:
		d.Failf("version", 4, format.ErrVersion, "1, which was written in August 2023 only: convert the model again, with llama.cpp's convert_hf_to_gguf.py --outfile OUT.gguf DIR")
	default:
		d.Failf("version", 4, format.ErrVersion, "%d, only 2 and 3 are known", version)
	}
	tensors, entries = d.U64("tensor_count"), d.U64("metadata_kv_count")
	left := uint64(d.Left())
	switch {
	case tensors > left/minTensor:
		d.Failf("tensor_count", 8, format.ErrTruncated, "%d tensors take at least %d bytes each, %d are left", tensors, minTensor, left)
	case entries > (left-tensors*minTensor)/minEntry:
		d.Failf("metadata_kv_count", 16, format.ErrTruncated, "%d entries take at least %d bytes each, %d are left", entries, minEntry, left-tensors*minTensor)
	}
	return version, tensors, entries
}

func checkAlign(n uint32) error {
	if n < minAlign || n&(n-1) != 0 {
		return fmt.Errorf("alignment %d is no power of two of at least %d", n, minAlign)
	}
	return nil
}

// named adds the name of an entry or a tensor to an error.
func named(err error, what string, name []byte) error {
	if e, ok := err.(*tensor.Error); ok {
		err = wire.Error(e.Format, e.Field, e.Offset, fmt.Errorf("%w (%s %q)", e.Err, what, name))
	}
	return err
}

// addTensors adds n tensors to the index. It reads their records twice, since the end of the last one says where the data begins.
func (f *parsed) addTensors(d *decoder, p *part, n uint64) error {
	from, names, dims, sized := d.Offset(), 0, 0, true
	for i := uint64(0); i < n && d.Err() == nil; i++ {
		d.expect(from, i, n, minTensor)
		r := d.record(true)
		names, dims = names+len(r.name), dims+len(r.dims)/8
		sized = sized && r.typ < uint32(len(elementTypes)) && elementTypes[r.typ].sized()
	}
	if d.Err() != nil {
		return d.Err()
	}
	p.head = d.Offset()
	p.data = wire.AlignUp(p.head, p.align)
	p.end = p.data
	f.index.Grow(int(n), names, dims)
	records := wire.NewCursor(formatName, d.Window(from, d.Offset()), from)
	var starts []uint64 // of the data of all tensors, sorted, if the size of any depends on it
	again := &decoder{Cursor: records}
	for !sized && again.Left() > 0 {
		starts = append(starts, again.record(false).offset)
	}
	slices.Sort(starts)
	for again.Cursor = records; again.Left() > 0; {
		r := again.record(false)
		if err := f.addTensor(again, &r, p, starts); err != nil {
			return named(err, "tensor", r.name)
		}
	}
	return nil
}

// encodingBytes is the memory of the encoding of a type that is not in the table.
const encodingBytes = 128

// addTensor adds the tensor of a record that d has read.
func (f *parsed) addTensor(d *decoder, r *record, p *part, starts []uint64) error {
	offsetAt := d.Offset() - 8
	dimsAt := offsetAt - 4 - int64(len(r.dims))
	e := typeOf(r.typ)
	if r.typ >= uint32(len(elementTypes)) {
		if err := f.opts.Memory.Reserve(encodingBytes); err != nil {
			d.Fail("tensor type", offsetAt-4, err)
		}
	}
	var t driver.Tensor // field by field: a composite literal would be made elsewhere and copied
	t.Name, t.DType, t.Encoding, t.Space = r.name, e.dtype, e.encoding, p.space
	t.Shape = f.index.Dims(len(r.dims) / 8)
	for i := range t.Shape {
		n := binary.LittleEndian.Uint64(r.dims[8*i:])
		if n > math.MaxInt64 {
			d.Failf("tensor dims", dimsAt+8*int64(i), format.ErrCorrupt, "dim %d is %d", i, n)
		}
		t.Shape[len(t.Shape)-1-i] = int64(n)
	}
	var err error
	if t.Size, err = e.bytes(t.Shape); err != nil {
		d.Failf("tensor dims", dimsAt, format.ErrCorrupt, "%w", err)
	}
	if r.offset&uint64(p.align-1) != 0 {
		d.Failf("tensor offset", offsetAt, format.ErrCorrupt, "%d is no multiple of %d, the alignment", r.offset, p.align)
	}
	room := uint64(max(0, p.size-p.data))
	if !e.sized() && t.Size > 0 {
		end := room
		if i, _ := slices.BinarySearch(starts, r.offset+1); i < len(starts) {
			end = min(end, starts[i])
		}
		if t.Size = int64(end - r.offset); t.Size <= 0 {
			d.Failf("tensor offset", offsetAt, format.ErrTruncated, "nothing is at %d of %d bytes of data", r.offset, room)
		}
	}
	switch {
	case t.Size == 0 && r.offset > room && r.offset-room < uint64(p.align):
		t.Offset = p.size // behind padding that is not there
	case r.offset > room || uint64(t.Size) > room-r.offset:
		d.Failf("tensor offset", offsetAt, format.ErrTruncated, "%d bytes at %d of %d bytes of data", t.Size, r.offset, room)
	default:
		t.Offset = min(p.data, p.size) + int64(r.offset)
	}
	p.end = max(p.end, t.Offset+t.Size)
	if d.Err() == nil {
		if err := f.index.Add(&t); err != nil {
			d.Fail("tensor name", dimsAt-4-int64(len(r.name)), err)
		}
	}
	return d.Err()
}
