package gguf

import (
	"bytes"
	"cmp"
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

// atBytes is the memory of the place of an entry.
const atBytes = 8

// Parse implements driver.Driver. It opens the other parts of a split model too.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed,
	error) {
	f := &parsed{index: x, opts: o}
	err := f.add(src, 0)
	if err != nil {
		return nil, err
	}
	err = f.join()
	if err != nil {
		return nil, err
	}
	own := &f.parts[0]
	return &driver.Parsed{
		Own:          f,
		LazyMetadata: f.neutral,
		LazyValue:    f.value,
		LazyNotes:    f.notes,
		Native:       f.native,
		Sums:         sums,
		Part:         f.no,
		Parts:        f.count,
		HeaderSize:   own.head,
		DataOffset:   own.data,
		Alignment:    own.align,
	}, nil
}

// sums implements driver.Parsed: no checksum covers anything.
func sums() []driver.Sum { return []driver.Sum{{Name: "header"}} }

// add reads the structure of one file.
func (f *parsed) add(src driver.Source, space driver.Space) error {
	head := driver.ReadHead(src, f.opts)
	d := &decoder{r: wire.HeadRecord(formatName, head, src.Size()), head: head}
	err := f.addFile(d, src, space)
	closeErr := head.Close(d.r.Offset())
	if err != nil {
		return err
	}
	return closeErr
}

func (f *parsed) addFile(d *decoder, src driver.Source, space driver.Space) error {
	h := readHeader(&d.r)
	header := d.r // for errors about all parts
	if d.r.Err() != nil {
		return d.r.Err()
	}
	if space == 0 {
		f.index.Version = strconv.Itoa(int(h.version))
	}
	err := f.opts.Memory.Reserve(atBytes * int64(h.entries))
	if err != nil {
		d.r.FailField("metadata_kv_count", err)
		return d.r.Err()
	}
	p := part{src: src, size: src.Size(), space: space, count: int(h.entries)}
	p.at = make([]int, 0, h.entries)
	for range p.count {
		p.at = append(p.at, int(d.r.Offset()-headerSize))
		e := d.entry()
		if d.r.Err() != nil {
			return named(d.r.Err(), "key", e.key)
		}
		err := p.note(&e)
		if err != nil {
			return named(err, "key", e.key)
		}
	}
	n := uint64(f.index.Len()) + h.tensors
	if n > uint64(driver.MaxTensors) {
		header.BadField("tensor_count", format.ErrLimit,
			"%d tensors in all parts, at most %d are allowed", n, driver.MaxTensors)
		return header.Err()
	}
	p.align = cmp.Or(p.said[alignment].value, defaultAlign)
	meta := d.r.Offset()
	err = f.addTensors(d, &p, int(h.tensors))
	if err != nil {
		return err
	}
	err = f.opts.Memory.Reserve(meta - headerSize)
	if err != nil {
		return wire.Error(formatName, "metadata", headerSize, err)
	}
	p.meta = bytes.Clone(d.r.Window(headerSize, meta))
	f.parts = append(f.parts, p)
	return nil
}

// header is the first 24 bytes.
type header struct {
	version uint32
	tensors uint64
	entries uint64
}

func readHeader(r *wire.Record) (h header) {
	r.Text("magic", magic, format.ErrMagic)
	h.version = r.U32("version")
	swapped := bits.ReverseBytes32(h.version)
	switch {
	case h.version == 2 || h.version == 3:
	case swapped >= 1 && swapped <= 3:
		r.Bad(format.ErrVersion, "0x%08x is %d with its bytes swapped: the file is big-endian, and only "+
			"little-endian ones are read: swap the bytes of a copy with gguf-convert-endian COPY little, "+
			"of the Python package gguf", h.version, swapped)
	case h.version == 1:
		r.Bad(format.ErrVersion, "1, which was written in August 2023 only: convert the model again, "+
			"with llama.cpp's convert_hf_to_gguf.py --outfile OUT.gguf DIR")
	default:
		r.Bad(format.ErrVersion, "%d, only 2 and 3 are known", h.version)
	}
	h.tensors = r.U64("tensor_count")
	h.entries = r.U64("metadata_kv_count")
	r.Fits("tensor_count", h.tensors, minTensor)
	r.Fits("metadata_kv_count", h.entries, minEntry)
	return h
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

// addTensors adds n tensors to the index. It reads their records twice, since the end of the last
// one says where the data begins.
func (f *parsed) addTensors(d *decoder, p *part, n int) error {
	r := &d.r
	from := r.Offset()
	names := 0
	dims := 0
	sized := true
	for i := range r.Records("", n, 0) {
		d.expect(from, uint64(i), uint64(n), minTensor)
		t := d.record()
		err := driver.CheckName(t.name)
		if err != nil {
			r.FailField("tensor name", err)
		}
		names += len(t.name)
		dims += t.dims.Len()
		sized = sized && t.typ < uint32(len(elementTypes)) && elementTypes[t.typ].sized()
	}
	if r.Err() != nil {
		return r.Err()
	}
	p.head = r.Offset()
	p.data = wire.AlignUp(p.head, p.align)
	p.end = p.data
	f.index.Grow(n, names, dims)
	var starts []uint64 // of the data of all tensors, sorted, if the size of any depends on it
	if !sized {
		r.MoveTo(from)
		for range r.Records("", n, 0) {
			starts = append(starts, d.record().offset)
		}
		slices.Sort(starts)
	}
	r.MoveTo(from)
	for range r.Records("", n, 0) {
		t := d.record()
		f.addTensor(r, &t, p, starts)
		if r.Err() != nil {
			return named(r.Err(), "tensor", t.name)
		}
	}
	return nil
}

// encodingBytes is the memory of the encoding of a type that is not in the table.
const encodingBytes = 128

// addTensor adds the tensor of a record that was just read.
func (f *parsed) addTensor(r *wire.Record, row *record, p *part, starts []uint64) {
	e := typeOf(row.typ)
	if row.typ >= uint32(len(elementTypes)) {
		err := f.opts.Memory.Reserve(encodingBytes)
		if err != nil {
			r.FailField("tensor type", err)
		}
	}
	var t driver.Tensor // field by field: a composite literal would be made elsewhere and copied
	t.Name = row.name
	t.DType = e.dtype
	t.Encoding = e.encoding
	t.Space = p.space
	t.Shape = f.index.Dims(row.dims.Len())
	for i := range t.Shape {
		n := row.dims.At(i)
		if n > math.MaxInt64 {
			r.BadItem("tensor dims", i, format.ErrCorrupt, "dim %d is %d", i, n)
		}
		t.Shape[len(t.Shape)-1-i] = int64(n)
	}
	size, err := e.bytes(t.Shape)
	if err != nil {
		r.BadField("tensor dims", format.ErrCorrupt, "%w", err)
	}
	t.Size = size
	if row.offset&uint64(p.align-1) != 0 {
		r.BadField("tensor offset", format.ErrCorrupt, "%d is no multiple of %d, the alignment",
			row.offset, p.align)
	}
	room := uint64(max(0, p.size-p.data))
	if !e.sized() && t.Size > 0 {
		end := room
		i, _ := slices.BinarySearch(starts, row.offset+1)
		if i < len(starts) {
			end = min(end, starts[i])
		}
		t.Size = int64(end - row.offset)
		if t.Size <= 0 {
			r.BadField("tensor offset", format.ErrTruncated, "nothing is at %d of %d bytes of data",
				row.offset, room)
		}
	}
	switch {
	case t.Size == 0 && row.offset > room && row.offset-room < uint64(p.align):
		t.Offset = p.size // behind padding that is not there
	case row.offset > room || uint64(t.Size) > room-row.offset:
		r.BadField("tensor offset", format.ErrTruncated, "%d bytes at %d of %d bytes of data", t.Size,
			row.offset, room)
	default:
		t.Offset = min(p.data, p.size) + int64(row.offset)
	}
	p.end = max(p.end, t.Offset+t.Size)
	if r.Err() != nil {
		return
	}
	err = f.index.Add(&t)
	if err != nil {
		r.FailField("tensor name", err)
	}
}
