package mobi

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/wire"
)

// parsed is an open file, except for its index.
type parsed struct {
	driver.Parsed
	entries   [4]schema.Entry // the metadata
	head      [headerSize]byte
	digits    [10]byte // while parsing, the name of the current constant
	src       driver.Source
	account   *driver.Memory // of the options
	index     *driver.Index
	header    Header
	model     modelInfo
	graph     schema.Graph
	operators []Operator
	members   []member // by ascending index
	footer    uint32

	// The declared checksums, and memory for that of the header.
	declared     [numSums]driver.Sum
	headerDigest [1]driver.Digest
	ranges       [1]driver.Range
	zeroed       [1]driver.Range
}

// modelInfo is the model metadata section, including the specs.
type modelInfo struct {
	name      string
	framework uint32
	created   uint64
	flags     Flags // of a schema; a file has them in its header
	inputs    []Spec
	outputs   []Spec
}

// member is a constant stored as a gzip member.
type member struct {
	tensor         int // in the index
	offset, stored int64
}

// parser reads a file from beginning to end. Its cursor is in the current section.
type parser struct {
	*parsed
	coder
	file *wire.Window
	opts *driver.ParseOptions

	// For notes.
	padding   int64 // bytes between the specs and the constants
	dataAt    int64 // offset of the first constant's data
	unflagged int   // number of gzip members without the flag
	unsound   int   // number of constants with unsound quantization parameters
}

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed, error) {
	x.Version = "1"
	p := &parser{parsed: &parsed{src: src, account: o.Memory, index: x}, opts: o}
	if err := p.readHeader(); err != nil {
		return nil, err
	}
	h := &p.header
	around := headerSize + int64(h.TensorOffset) - int64(h.MetadataOffset) + int64(h.FileSize) - int64(h.GraphOffset) // all but the constants
	if err := cmp.Or(o.Memory.Structure(around), o.Memory.Reserve(around)); err != nil {
		return nil, wire.Error(name, "metadata and operator graph", -1, err)
	}
	p.memory, p.room = o.Memory, o.Memory.Room(around)
	p.file = wire.Open(src)
	defer p.file.Close()
	err := p.section(int64(h.MetadataOffset), int64(h.TensorOffset), p.readMetadata)
	if err == nil {
		err = p.readConstants()
	}
	if err == nil {
		err = p.readTail()
	}
	if err != nil {
		return nil, err
	}
	f := p.parsed
	f.Own = f
	f.Metadata = f.metadata()
	f.Graph = &f.graph
	f.Notes = p.notes()
	f.Restore = f.restore
	f.Sums = f.sums
	f.SumsOf = f.sumsOf
	if len(f.members) > 0 {
		f.Load = f.load
		f.Stream = f.stream
	}
	return &f.Parsed, nil
}

// section reads the section between from and to with the cursor. Its bytes are private
// and valid until the window moves.
func (p *parser) section(from, to int64, read func()) error {
	b, err := p.file.Bytes(from, to-from)
	if err != nil {
		return err
	}
	p.Cursor = wire.NewCursor(name, b, from)
	read()
	return p.Err()
}

// readTail reads the operator graph and the footer.
func (p *parser) readTail() error {
	from, size := int64(p.header.GraphOffset), p.header.graphEnd()-int64(p.header.GraphOffset)
	b, err := p.file.Bytes(from, size+footerSize)
	if err != nil {
		return err
	}
	p.footer = binary.LittleEndian.Uint32(b[size:])
	p.Cursor = wire.NewCursor(name, b[:size], from)
	p.readGraph()
	return p.Err()
}

// readHeader reads and checks the header.
func (p *parser) readHeader() error {
	b := p.head[:min(headerSize, p.src.Size())]
	if _, err := p.src.ReadAt(b, 0); err != nil {
		return err
	}
	p.Cursor = wire.NewCursor(name, b, 0)
	h := &p.header
	p.codeHeader(h)
	if p.Err() == nil {
		p.declareHeader()
		if _, err := p.src.Compare(&p.declared[headerSum], b, 0); err != nil {
			p.Fail("header checksum", checksumAt, err)
		}
	}
	if p.Err() == nil && b[6]|b[7] != 0 {
		p.Failf("reserved", 6, format.ErrCorrupt, "is % x, not 0", b[6:8])
	}
	p.checkOffsets()
	if p.Err() != nil && isReference(b) {
		return wire.Errorf(name, "header", 0, format.ErrUnsupported, "this is the container of ml-framework's MobileModelWriter (a header of 30 bytes, a checksum of too few), which no reader supports, not a MOBI file of the specification")
	}
	return p.Err()
}

// checkOffsets compares the sizes and offsets in the header with each other and with
// the file.
func (p *parser) checkOffsets() {
	h, size := &p.header, p.src.Size()
	switch total := int64(h.FileSize); {
	case total > size:
		p.Failf("total file size", 16, format.ErrTruncated, "%d bytes, the file has %d", total, size)
	case total < size:
		p.Failf("total file size", 16, format.ErrCorrupt, "%d bytes, the file has %d", total, size)
	case h.MetadataOffset < headerSize:
		p.Failf("metadata offset", 20, format.ErrCorrupt, "%d is within the header", h.MetadataOffset)
	case h.TensorOffset <= h.MetadataOffset:
		p.Failf("tensor data offset", 24, format.ErrCorrupt, "%d is not after the metadata offset, %d", h.TensorOffset, h.MetadataOffset)
	case h.GraphOffset < h.TensorOffset:
		p.Failf("operator graph offset", 28, format.ErrCorrupt, "%d is before the tensor data offset, %d", h.GraphOffset, h.TensorOffset)
	case int64(h.GraphOffset) > h.graphEnd():
		p.Failf("operator graph offset", 28, format.ErrTruncated, "%d leaves no room for the footer in %d bytes", h.GraphOffset, size)
	}
}

// isReference reports whether an invalid header is that of the reference writer: it
// has no reserved field, so that all fields from the checksum on are two bytes
// earlier, and the metadata follows it directly.
func isReference(b []byte) bool {
	if len(b) < referenceHeader {
		return false
	}
	u32 := binary.LittleEndian.Uint32
	magic, total, meta, tensors, graph := u32(b), u32(b[14:]), u32(b[18:]), u32(b[22:]), u32(b[26:])
	return (magic == magicNumber || magic == magicASCII) && meta == referenceHeader && meta < tensors && tensors < graph && graph < total
}

// readMetadata reads the model metadata and the specs, up to the first constant.
func (p *parser) readMetadata() {
	p.codeModel(&p.model)
	p.padding = p.Left()
	if rest := bytes.TrimLeft(p.Bytes("padding", uint64(p.Left())), "\x00"); len(rest) > 0 {
		p.Failf("padding", p.Offset()-int64(len(rest)), format.ErrCorrupt, "%#x between the specs and the constants", rest[0])
	}
}

// readConstants reads the records of all constants. The file does not store their
// number.
func (p *parser) readConstants() error {
	off, end := int64(p.header.TensorOffset), int64(p.header.GraphOffset)
	for n := 0; off < end; n++ {
		if n == driver.MaxTensors {
			return p.Failf("constants", off, format.ErrLimit, "more than %d", n)
		}
		if n%cancelEvery == 0 && p.opts.Context.Err() != nil {
			return p.opts.Context.Err()
		}
		next, err := p.constant(off, end)
		if err != nil {
			return err
		}
		off = next
	}
	return nil
}

// cancelEvery is the number of records between checks of the context.
const cancelEvery = 1024

// recordHeader returns the header of the record at off, all but the data. It is valid until the window moves.
func (p *parser) recordHeader(off, end int64) ([]byte, error) {
	if end-off < recordMin {
		return nil, p.Failf("constant", off, format.ErrTruncated, "%d bytes are left before the operator graph", end-off)
	}
	b, err := p.file.Peek(off, 8)
	if err != nil {
		return nil, err
	}
	rank := int64(binary.LittleEndian.Uint16(b[6:]))
	if recordMin+8*rank > end-off {
		return nil, p.Failf("constant shape", off+8, format.ErrTruncated, "rank %d with %d bytes left before the operator graph", rank, end-off)
	}
	return p.file.Bytes(off, recordMin+8*rank)
}

// constant adds the constant of the record at off to the index. The record must end at or
// before end; constant returns where.
func (p *parser) constant(off, end int64) (next int64, err error) {
	b, err := p.recordHeader(off, end)
	if err != nil {
		return 0, err
	}
	id, typ, size := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint64(b[len(b)-8:])
	t := driver.Tensor{Offset: off + int64(len(b)), DType: DataType(typ &^ gzipFlag).DType()}
	fail := func(field string, rel int, sentinel error, text string, args ...any) (int64, error) {
		return 0, p.Failf("constant "+constantName(id)+" "+field, off+int64(rel), sentinel, text, args...)
	}
	if left := end - t.Offset; size > uint64(left) {
		return 0, p.Failf("constant data size", t.Offset-8, format.ErrTruncated, "constant %d has %d bytes, %d are left before the operator graph", id, size, left)
	}
	if !t.DType.Valid() {
		return fail("data type", 4, format.ErrUnsupported, "%d", typ&^gzipFlag)
	}
	next = t.Offset + int64(size)
	t.Shape = p.index.Dims((len(b) - recordMin) / 8)
	for i := range t.Shape {
		d := binary.LittleEndian.Uint64(b[8+8*i:])
		if d > math.MaxInt64 {
			return fail("shape", 8+8*i, format.ErrCorrupt, "dim %d is %d", i, d)
		}
		t.Shape[i] = int64(d)
	}
	if t.Size, err = t.Shape.ByteSize(t.DType); err != nil {
		return fail("shape", 8, format.ErrCorrupt, "%w", err)
	}
	packed := typ&gzipFlag != 0
	if !packed && uint64(t.Size) != size {
		sizeAt := len(b) - 8
		if b, err = p.file.Bytes(t.Offset, min(2, int64(size))); err != nil {
			return 0, err
		}
		if packed = string(b) == "\x1F\x8B"; !packed {
			return fail("data size", sizeAt, format.ErrCorrupt, "%d bytes, but %v %v takes %d", size, t.DType, t.Shape, t.Size)
		}
		p.unflagged++
	}
	if p.index.Len() == 0 {
		p.dataAt = t.Offset
	}
	if packed {
		p.members = append(p.members, member{p.index.Len(), t.Offset, int64(size)})
		t.Offset, t.Stored, t.Compression, t.Loaded = -1, int64(size), "gzip", true
	}
	t.Name = strconv.AppendUint(p.digits[:0], uint64(id), 10)
	if p.index.Add(&t) != nil {
		return fail("id", 0, format.ErrCorrupt, "occurs twice")
	}
	return next, nil
}

// readGraph reads the operators and builds the neutral graph.
func (p *parser) readGraph() {
	if p.codeOperators(&p.operators); p.Left() > 0 {
		p.Failf("operators", p.Offset(), format.ErrCorrupt, "%d bytes between the last operator and the footer", p.Left())
	}
	if p.Err() != nil {
		return
	}
	for id, q := range quantizationsOf(p.operators) {
		if i, ok := p.lookup(id); ok {
			p.index.SetQuant(i, q)
			if !sound(q, p.index.DType(i), p.index.Shape(i)) {
				p.unsound++
			}
		}
	}
	p.graph = p.neutralGraph()
}

// lookup returns the index of the constant with the given id.
func (f *parsed) lookup(id uint32) (int, bool) {
	var digits [10]byte
	return f.index.LookupBytes(strconv.AppendUint(digits[:0], uint64(id), 10))
}

func (f *parsed) isConstant(id uint32) bool {
	_, ok := f.lookup(id)
	return ok
}

// notes lists irregularities that readers tolerate.
func (p *parser) notes() (notes []string) {
	add := func(n int, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, n))
		}
	}
	unknown, extended := 0, 0
	for i := range p.operators {
		if !p.operators[i].Type.Known() {
			unknown++
		}
		for _, q := range p.operators[i].Params {
			switch q.Value.(type) {
			case string, []int64:
				extended++
			}
		}
	}
	h := &p.header
	if h.Magic == magicASCII {
		notes = append(notes, "magic in ASCII order (MOBI)")
	}
	if h.Checksum == 0 {
		notes = append(notes, "header checksum not recorded")
	}
	if bits := h.Flags &^ flagsKnown; bits != 0 {
		notes = append(notes, fmt.Sprintf("reserved flag bits %#x are set", uint32(bits)))
	}
	add(int(h.MetadataOffset)-headerSize, "%d bytes between header and metadata are ignored")
	// The writer pads for the alignment of the first constant.
	if aligned := p.index.Len() > 0 && p.dataAt%alignment == 0; p.padding >= alignment || !aligned {
		add(int(p.padding), "%d bytes of zero padding before the constants")
	}
	add(p.unflagged, "constants compressed without the flag: %d")
	add(unknown, "operators of unknown types: %d")
	add(extended, "parameters of types beyond the specification (string, int64 array): %d")
	add(p.unsound, "constants with unsound quantization parameters: %d")
	return notes
}
