package mobi

import (
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
	out       driver.Parsed
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

// parser reads a file from beginning to end.
type parser struct {
	r    wire.Record // in the current section
	f    *parsed
	file *wire.Window
	opts *driver.ParseOptions

	room  int64 // limit on the decoded structure, in bytes; 0 for none
	built int64 // bytes decoded so far

	// For notes.
	padding   int64 // bytes between the specs and the constants
	dataAt    int64 // offset of the first constant's data
	unflagged int   // number of gzip members without the flag
	unsound   int   // number of constants with unsound quantization parameters
}

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed,
	error) {
	x.Version = "1"
	p := &parser{f: &parsed{src: src, account: o.Memory, index: x}, opts: o}
	err := p.readHeader()
	if err != nil {
		return nil, err
	}
	h := &p.f.header
	around := headerSize + int64(h.TensorOffset) - int64(h.MetadataOffset) +
		int64(h.FileSize) - int64(h.GraphOffset) // all but the constants
	err = o.Memory.Structure(around)
	if err != nil {
		return nil, wire.Error(formatName, "metadata and operator graph", -1, err)
	}
	err = o.Memory.Reserve(around)
	if err != nil {
		return nil, wire.Error(formatName, "metadata and operator graph", -1, err)
	}
	p.room = o.Memory.Room(around)
	p.file = wire.Open(src)
	defer p.file.Close()
	err = p.readSections()
	if err != nil {
		return nil, err
	}
	f := p.f
	f.out.Own = f
	f.out.Metadata = f.metadata()
	f.out.Graph = &f.graph
	f.out.Notes = p.notes()
	f.out.Restore = f.restore
	f.out.Sums = f.sums
	f.out.SumsOf = f.sumsOf
	if len(f.members) > 0 {
		f.out.Load = f.load
		f.out.Stream = f.stream
	}
	return &f.out, nil
}

// readSections reads what follows the header. The bytes of a section are private and valid until
// the window moves.
func (p *parser) readSections() error {
	h := &p.f.header
	from := int64(h.MetadataOffset)
	b, err := p.file.Bytes(from, int64(h.TensorOffset)-from)
	if err != nil {
		return err
	}
	p.r.Continue(b, from)
	p.readMetadata()
	if p.r.Err() != nil {
		return p.r.Err()
	}
	err = p.readConstants()
	if err != nil {
		return err
	}
	from = int64(h.GraphOffset)
	size := h.graphEnd() - from
	b, err = p.file.Bytes(from, size+footerSize)
	if err != nil {
		return err
	}
	p.f.footer = binary.LittleEndian.Uint32(b[size:])
	p.r.Continue(b[:size], from)
	p.readOperators()
	if p.r.Err() != nil {
		return p.r.Err()
	}
	p.useOperators()
	return nil
}

// readHeader reads and checks the header.
func (p *parser) readHeader() error {
	f := p.f
	b := f.head[:min(headerSize, f.src.Size())]
	_, err := f.src.ReadAt(b, 0)
	if err != nil {
		return err
	}
	p.r = wire.NewRecord(formatName, b, 0)
	r := &p.r
	h, reserved := readHeaderFields(r)
	f.header = h
	p.checkHeaderSum(b)
	if reserved != 0 {
		r.BadField("reserved", format.ErrCorrupt, "%#x is not 0", reserved)
	}
	p.checkOffsets()
	if r.Err() != nil && isReference(b) {
		return wire.Errorf(formatName, "header", 0, format.ErrUnsupported,
			"this is the container of ml-framework's MobileModelWriter "+
				"(a header of 30 bytes, a checksum of too few), "+
				"which no reader supports, not a MOBI file of the specification")
	}
	return r.Err()
}

// checkHeaderSum compares the checksum of the header b.
func (p *parser) checkHeaderSum(b []byte) {
	r := &p.r
	f := p.f
	if r.Err() != nil {
		return
	}
	f.declareHeader(r.At("header checksum"))
	_, err := f.src.Compare(&f.declared[headerSum], b, 0)
	if err != nil {
		r.FailField("header checksum", err)
	}
}

// checkOffsets compares the sizes and offsets in the header with each other and with
// the file.
func (p *parser) checkOffsets() {
	r := &p.r
	h := &p.f.header
	size := p.f.src.Size()
	total := int64(h.FileSize)
	switch {
	case total > size:
		r.BadField("total file size", format.ErrTruncated, "%d bytes, the file has %d", total, size)
	case total < size:
		r.BadField("total file size", format.ErrCorrupt, "%d bytes, the file has %d", total, size)
	case h.MetadataOffset < headerSize:
		r.BadField("metadata offset", format.ErrCorrupt, "%d is within the header", h.MetadataOffset)
	case h.TensorOffset <= h.MetadataOffset:
		r.BadField("tensor data offset", format.ErrCorrupt,
			"%d is not after the metadata offset, %d", h.TensorOffset, h.MetadataOffset)
	case h.GraphOffset < h.TensorOffset:
		r.BadField("operator graph offset", format.ErrCorrupt,
			"%d is before the tensor data offset, %d", h.GraphOffset, h.TensorOffset)
	case int64(h.GraphOffset) > h.graphEnd():
		r.BadField("operator graph offset", format.ErrTruncated,
			"%d leaves no room for the footer in %d bytes", h.GraphOffset, size)
	}
}

// isReference reports whether an invalid header is that of the reference writer: it
// has no reserved field, so that all fields from the checksum on are two bytes
// earlier, and the metadata follows it directly.
func isReference(b []byte) bool {
	if len(b) < referenceHeader {
		return false
	}
	magic := binary.LittleEndian.Uint32(b)
	total := binary.LittleEndian.Uint32(b[14:])
	metadata := binary.LittleEndian.Uint32(b[18:])
	tensors := binary.LittleEndian.Uint32(b[22:])
	graph := binary.LittleEndian.Uint32(b[26:])
	if magic != magicNumber && magic != magicASCII {
		return false
	}
	return metadata == referenceHeader && metadata < tensors && tensors < graph && graph < total
}

// readConstants reads the records of all constants. The file does not store their
// number.
func (p *parser) readConstants() error {
	off := int64(p.f.header.TensorOffset)
	end := int64(p.f.header.GraphOffset)
	for n := 0; off < end; n++ {
		if n == driver.MaxTensors {
			return wire.Errorf(formatName, "constants", off, format.ErrLimit, "more than %d", n)
		}
		if n%cancelEvery == 0 && p.opts.Context.Err() != nil {
			return p.opts.Context.Err()
		}
		c, err := p.readRecord(off, end)
		if err != nil {
			return err
		}
		off, err = p.addConstant(&c, end)
		if err != nil {
			return err
		}
	}
	return nil
}

// cancelEvery is the number of records between checks of the context.
const cancelEvery = 1024

// readRecord reads the header of the record at off, all but the data. Its dims are valid until the
// window moves.
func (p *parser) readRecord(off, end int64) (c constantRecord, err error) {
	if end-off < recordMin {
		return c, wire.Errorf(formatName, "constant", off, format.ErrTruncated,
			"%d bytes are left before the operator graph", end-off)
	}
	b, err := p.file.Peek(off, 8)
	if err != nil {
		return c, err
	}
	size := recordMin + 8*int64(binary.LittleEndian.Uint16(b[6:]))
	b, err = p.file.Bytes(off, min(size, end-off))
	if err != nil {
		return c, err
	}
	if int64(len(b)) < size {
		err := p.constantFields(off, b).Err()
		if err == nil { // another process has changed the number of dims since
			err = wire.Errorf(formatName, "constant", off, format.ErrTruncated,
				"%d bytes, %d are left before the operator graph", size, end-off)
		}
		return c, err
	}
	c = decodeConstant(b)
	c.at = off
	c.dataAt = off + size
	return c, nil
}

// decodeConstant decodes the record header b. It is readConstant without the names of the fields:
// with them, opening 300 constants takes 1.1 times as long.
func decodeConstant(b []byte) (c constantRecord) {
	sizeAt := len(b) - 8
	c.id = binary.LittleEndian.Uint32(b)
	c.dataType = binary.LittleEndian.Uint16(b[4:])
	c.dims = b[8:sizeAt]
	c.size = binary.LittleEndian.Uint64(b[sizeAt:])
	return c
}

// constantFields reads the record header b at off again, since errors need the places of its fields.
func (p *parser) constantFields(off int64, b []byte) *wire.Record {
	p.r.Continue(b, off)
	p.r.BeginItem("constant", int64(binary.LittleEndian.Uint32(b)))
	readConstant(&p.r)
	return &p.r
}

// constantErrorf returns an error about a field of a constant.
func (p *parser) constantErrorf(c *constantRecord, field string, sentinel error, text string,
	args ...any) error {
	b, err := p.file.Bytes(c.at, c.dataAt-c.at)
	if err != nil {
		return err
	}
	r := p.constantFields(c.at, b)
	r.BadField(field, sentinel, text, args...)
	return r.Err()
}

// addConstant adds a constant whose header was just read to the index. The record must end at or
// before end; addConstant returns where.
func (p *parser) addConstant(c *constantRecord, end int64) (next int64, err error) {
	f := p.f
	left := end - c.dataAt
	if c.size > uint64(left) {
		return 0, p.constantErrorf(c, "data size", format.ErrTruncated,
			"%d bytes, %d are left before the operator graph", c.size, left)
	}
	var t driver.Tensor // field by field: a composite literal would be made elsewhere and copied
	code := c.dataType &^ gzipFlag
	t.DType = DataType(code).DType()
	if !t.DType.Valid() {
		return 0, p.constantErrorf(c, "data type", format.ErrUnsupported, "%d", code)
	}
	t.Shape = f.index.Dims(c.dims.Len())
	for i := range t.Shape {
		d := c.dims.At(i)
		if d > math.MaxInt64 {
			return 0, p.dimError(c, i, d)
		}
		t.Shape[i] = int64(d)
	}
	t.Size, err = t.Shape.ByteSize(t.DType)
	if err != nil {
		return 0, p.constantErrorf(c, "dims", format.ErrCorrupt, "%w", err)
	}
	t.Offset = c.dataAt
	isPacked, err := p.isPacked(c, &t)
	if err != nil {
		return 0, err
	}
	if f.index.Len() == 0 {
		p.dataAt = t.Offset
	}
	next = t.Offset + int64(c.size)
	if isPacked {
		f.members = append(f.members, member{f.index.Len(), t.Offset, int64(c.size)})
		t.Offset = -1
		t.Stored = int64(c.size)
		t.Compression = "gzip"
		t.Loaded = true
	}
	t.Name = strconv.AppendUint(f.digits[:0], uint64(c.id), 10)
	err = f.index.Add(&t)
	if err != nil {
		return 0, p.constantErrorf(c, "id", format.ErrCorrupt, "occurs twice")
	}
	return next, nil
}

// dimError returns an error about dim i of a constant.
func (p *parser) dimError(c *constantRecord, i int, d uint64) error {
	b, err := p.file.Bytes(c.at, c.dataAt-c.at)
	if err != nil {
		return err
	}
	r := p.constantFields(c.at, b)
	r.BadItem("dims", i, format.ErrCorrupt, "dim %d is %d", i, d)
	return r.Err()
}

// isPacked reports whether the data of a constant is a gzip member: it has the flag, or another
// size than its shape takes and the magic of gzip.
func (p *parser) isPacked(c *constantRecord, t *driver.Tensor) (bool, error) {
	if c.dataType&gzipFlag != 0 {
		return true, nil
	}
	if uint64(t.Size) == c.size {
		return false, nil
	}
	b, err := p.file.Bytes(t.Offset, min(2, int64(c.size)))
	if err != nil {
		return false, err
	}
	if string(b) != "\x1F\x8B" {
		return false, p.constantErrorf(c, "data size", format.ErrCorrupt,
			"%d bytes, but %v %v takes %d", c.size, t.DType, t.Shape, t.Size)
	}
	p.unflagged++
	return true, nil
}

// useOperators sets the quantization parameters that operators have, and builds the neutral graph.
func (p *parser) useOperators() {
	f := p.f
	for id, q := range quantizationsOf(f.operators) {
		i, ok := f.lookup(id)
		if !ok {
			continue
		}
		f.index.SetQuant(i, q)
		if !sound(q, f.index.DType(i), f.index.Shape(i)) {
			p.unsound++
		}
	}
	f.graph = f.neutralGraph()
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
func (p *parser) notes() []string {
	var notes []string
	h := &p.f.header
	if h.Magic == magicASCII {
		notes = append(notes, "magic in ASCII order (MOBI)")
	}
	if h.Checksum == 0 {
		notes = append(notes, "header checksum not recorded")
	}
	reserved := h.Flags &^ flagsKnown
	if reserved != 0 {
		notes = append(notes, fmt.Sprintf("reserved flag bits %#x are set", uint32(reserved)))
	}
	if h.MetadataOffset > headerSize {
		notes = append(notes, fmt.Sprintf("%d bytes between header and metadata are ignored",
			h.MetadataOffset-headerSize))
	}
	// The writer pads for the alignment of the first constant.
	isAligned := p.f.index.Len() > 0 && p.dataAt%alignment == 0
	if p.padding >= alignment || p.padding > 0 && !isAligned {
		notes = append(notes, fmt.Sprintf("%d bytes of zero padding before the constants", p.padding))
	}
	if p.unflagged > 0 {
		notes = append(notes, fmt.Sprintf("constants compressed without the flag: %d", p.unflagged))
	}
	notes = append(notes, p.operatorNotes()...)
	if p.unsound > 0 {
		notes = append(notes, fmt.Sprintf("constants with unsound quantization parameters: %d",
			p.unsound))
	}
	return notes
}

// operatorNotes lists the irregularities of operators.
func (p *parser) operatorNotes() []string {
	unknown := 0
	extended := 0
	for i := range p.f.operators {
		op := &p.f.operators[i]
		if !op.Type.Known() {
			unknown++
		}
		for _, q := range op.Params {
			switch q.Value.(type) {
			case string, []int64:
				extended++
			}
		}
	}
	var notes []string
	if unknown > 0 {
		notes = append(notes, fmt.Sprintf("operators of unknown types: %d", unknown))
	}
	if extended > 0 {
		notes = append(notes,
			fmt.Sprintf("parameters of types beyond the specification (string, int64 array): %d", extended))
	}
	return notes
}
