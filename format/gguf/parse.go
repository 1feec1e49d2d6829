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
	index  *driver.Index
	memory *driver.Memory
	parts  []part
	no     int // of the file among the parts of a split model, from 1, if the others are not open
	count  int // of all parts, 0 if the model is not split
}

// part is one file.
type part struct {
	src     driver.Source
	size    int64 // of src
	space   driver.Space
	entries []entry // those with large values without them
	meta    int64   // the end of the metadata
	align   int64
	head    int64 // the end of the records of tensors
	data    int64 // where tensor data begins
	end     int64 // of the data of the last tensor
	said    [len(fileKeys)]located
}

// parser reads the files of a model, one after the other.
type parser struct {
	f    *parsed
	opts *driver.ParseOptions
	d    *decoder // of the current file
	part part     // that file
}

// Parse implements driver.Driver. It opens the other parts of a split model too.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed,
	error) {
	f := &parsed{index: x, memory: o.Memory}
	p := &parser{f: f, opts: o}
	err := p.readFile(src, 0)
	if err != nil {
		return nil, err
	}
	err = p.join()
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

// readFile reads the structure of one file and adds it to the parts.
func (p *parser) readFile(src driver.Source, space driver.Space) error {
	head := driver.ReadHead(src, p.opts)
	p.d = &decoder{r: wire.HeadRecord(formatName, head, 0, src.Size()), head: head}
	p.part = part{src: src, size: src.Size(), space: space}
	err := p.readStructure()
	closeErr := head.Close(p.d.r.Offset())
	if err != nil {
		return err
	}
	if closeErr != nil {
		return closeErr
	}
	p.f.parts = append(p.f.parts, p.part)
	return nil
}

// readStructure reads the header, the metadata and the records of the tensors.
func (p *parser) readStructure() error {
	r := &p.d.r
	h := readHeader(r)
	header := *r // for errors about all parts
	if r.Err() != nil {
		return r.Err()
	}
	if p.part.space == 0 {
		p.f.index.Version = strconv.Itoa(int(h.version))
	}
	err := p.readEntries(h.entries)
	if err != nil {
		return err
	}
	n := uint64(p.f.index.Len()) + h.tensors
	if n > uint64(driver.MaxTensors) {
		header.BadField("tensor_count", format.ErrLimit,
			"%d tensors in all parts, at most %d are allowed", n, driver.MaxTensors)
		return header.Err()
	}
	p.part.meta = r.Offset()
	return p.addTensors(int(h.tensors))
}

const (
	entryBytes = 96 // the memory of an entry in a list that grows, besides its key and its value
	// mostKept is the size up to which values are kept. Larger ones, such as a vocabulary, are read
	// again when they are used.
	mostKept = 16 << 10
)

// readEntries reads n entries of the metadata, which follow the header.
func (p *parser) readEntries(n uint64) error {
	r := &p.d.r
	for range n { // which is false if the size of a reader is: what was read justifies the memory
		p.part.entries = append(p.part.entries, p.d.entry())
		e := &p.part.entries[len(p.part.entries)-1]
		if r.Err() != nil {
			return named(r.Err(), "key", e.key)
		}
		err := p.keep(e)
		if err != nil {
			return named(err, "key", e.key)
		}
		err = p.part.note(e)
		if err != nil {
			return named(err, "key", e.key)
		}
	}
	p.part.align = cmp.Or(p.part.said[alignment].value, defaultAlign)
	return nil
}

// keep gives an entry that was just read memory for its value, unless that is large.
func (p *parser) keep(e *entry) error {
	kept := e.size
	if e.size > mostKept {
		e.value = nil
		kept = 0
	}
	err := p.opts.Memory.Reserve(entryBytes + int64(len(e.key)) + kept)
	if err != nil {
		return wire.Error(formatName, "metadata value", e.at, err)
	}
	e.value = bytes.Clone(e.value)
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

// named adds the name of an entry or a tensor to an error.
func named(err error, what, name string) error {
	e, ok := err.(*tensor.Error)
	if !ok {
		return err
	}
	return wire.Error(e.Format, e.Field, e.Offset, fmt.Errorf("%w (%s %q)", e.Err, what, name))
}

// addTensors adds n tensors to the index. It reads their records twice, since the end of the last
// one says where the data begins.
func (p *parser) addTensors(n int) error {
	r := &p.d.r
	from := r.Offset()
	names := 0
	dims := 0
	sized := true
	for i := range r.Records("", n, 0) {
		p.d.expect(from, uint64(i), uint64(n), minTensor)
		t := p.d.record()
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
	p.part.head = r.Offset()
	p.part.data = wire.AlignUp(p.part.head, p.part.align)
	p.part.end = p.part.data
	p.f.index.Grow(n, names, dims)
	var starts []uint64 // of the data of all tensors, sorted, if the size of any depends on it
	if !sized {
		r.MoveTo(from)
		for range r.Records("", n, 0) {
			starts = append(starts, p.d.record().offset)
		}
		slices.Sort(starts)
	}
	r.MoveTo(from)
	for range r.Records("", n, 0) {
		t := p.d.record()
		p.addTensor(&t, starts)
		if r.Err() != nil {
			return named(r.Err(), "tensor", string(t.name))
		}
	}
	return nil
}

// encodingBytes is the memory of the encoding of a type that is not in the table.
const encodingBytes = 128

// addTensor adds the tensor of a record that was just read.
func (p *parser) addTensor(row *record, starts []uint64) {
	r := &p.d.r
	e := typeOf(row.typ)
	if row.typ >= uint32(len(elementTypes)) {
		err := p.opts.Memory.Reserve(encodingBytes)
		if err != nil {
			r.FailField("tensor type", err)
		}
	}
	var t driver.Tensor // field by field: a composite literal would be made elsewhere and copied
	t.Name = row.name
	t.DType = e.dtype
	t.Encoding = e.encoding
	t.Space = p.part.space
	t.Shape = p.f.index.Dims(row.dims.Len())
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
	align := uint64(p.part.align)
	if row.offset&(align-1) != 0 {
		r.BadField("tensor offset", format.ErrCorrupt, "%d is no multiple of %d, the alignment",
			row.offset, align)
	}
	if !e.sized() && size > 0 {
		t.Size = p.sizeUpTo(starts, row.offset)
	}
	p.place(row, &t)
	if r.Err() != nil {
		return
	}
	p.part.end = max(p.part.end, t.Offset+t.Size)
	err = p.f.index.Add(&t)
	if err != nil {
		r.FailField("tensor name", err)
	}
}

// sizeUpTo returns the number of bytes from an offset of the data to where the next tensor begins.
func (p *parser) sizeUpTo(starts []uint64, offset uint64) int64 {
	room := p.part.room()
	end := room
	i, _ := slices.BinarySearch(starts, offset+1)
	if i < len(starts) {
		end = min(end, starts[i])
	}
	size := int64(end - offset)
	if size <= 0 {
		p.d.r.BadField("tensor offset", format.ErrTruncated, "nothing is at %d of %d bytes of data",
			offset, room)
	}
	return size
}

// place checks the offset of a record and sets that of its tensor, whose size is known.
func (p *parser) place(row *record, t *driver.Tensor) {
	r := &p.d.r
	room := p.part.room()
	if t.Size == 0 && row.offset > room && row.offset-room < uint64(p.part.align) {
		t.Offset = p.part.size // behind padding that is not there
		return
	}
	if row.offset > room || uint64(t.Size) > room-row.offset {
		r.BadField("tensor offset", format.ErrTruncated, "%d bytes at %d of %d bytes of data", t.Size,
			row.offset, room)
		return
	}
	t.Offset = min(p.part.data, p.part.size) + int64(row.offset)
}

// room returns the number of bytes of data.
func (p *part) room() uint64 { return uint64(max(0, p.size-p.data)) }
