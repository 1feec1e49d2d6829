package mobi

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is an open file, except for its index.
type parsed struct {
	driver.Parsed
	entries   [4]driver.Entry // the metadata
	head      [headerSize]byte
	digits    [10]byte // while parsing, the name of the current constant
	src       driver.Source
	index     *driver.Index
	header    Header
	model     modelInfo
	graph     driver.Graph
	operators []Operator
	members   []member // by ascending index
	wrong     error    // the footer is; for touch, whose calls do not overlap
}

// modelInfo is the model metadata section, including the specs.
type modelInfo struct {
	name      string
	framework uint32
	created   uint64
	flags     Flags // of a plan; a file has them in its header
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
	wire.Cursor
	opts *driver.Options

	room  int64 // limit on the decoded structure, in bytes; 0 for none
	built int64 // bytes decoded so far

	// For notes.
	padding   int64 // bytes between the specs and the constants
	dataAt    int64 // offset of the first constant's data
	unflagged int   // number of gzip members without the flag
}

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	x.Version = "1"
	p := &parser{parsed: &parsed{src: src, index: x}, opts: o}
	if err := p.readHeader(); err != nil {
		return nil, err
	}
	h := &p.header
	around := headerSize + int64(h.TensorOffset) - int64(h.MetadataOffset) + int64(h.FileSize) - int64(h.GraphOffset) // all but the constants
	if around > driver.MaxStructure {
		return nil, wire.Errorf(name, "metadata and operator graph", -1, format.ErrLimit, "larger than the %d bytes that are allowed", driver.MaxStructure)
	}
	if err := o.Memory.Reserve(around); err != nil {
		return nil, wire.Error(name, "metadata and operator graph", -1, err)
	}
	p.room = o.Memory.Room(around)
	if err := p.readSections(); err != nil {
		return nil, err
	}
	f := p.parsed
	f.Own, f.Metadata, f.Graph, f.Notes, f.Restore, f.Verify, f.Touch = f, f.metadata(), &f.graph, p.notes(), f.restore, f.verify, f.touch
	if len(f.members) > 0 {
		f.Load = f.load
	}
	return &f.Parsed, nil
}

// readSections reads everything behind the header.
func (p *parser) readSections() error {
	var w wire.Window
	w.Open(p.src)
	defer w.Close()
	err := p.readMetadata(&w)
	if err == nil {
		err = p.readConstants(&w)
	}
	if err == nil {
		err = p.readGraph(&w)
	}
	return err
}

// open moves the cursor to the section between from and to. Its bytes are private
// and valid until the window moves.
func (p *parser) open(w *wire.Window, from, to int64) error {
	b, err := w.Bytes(from, to-from)
	p.Cursor = wire.NewCursor(name, b, from)
	return err
}

// blankSum replaces the checksum in the header that it covers.
var blankSum [4]byte

// readHeader reads and checks the header.
func (p *parser) readHeader() error {
	b, err := driver.First(p.src, p.head[:])
	if err != nil {
		return err
	}
	p.Cursor = wire.NewCursor(name, b, 0)
	h := &p.header
	h.Magic = p.U32("magic")
	if h.Magic != magicNumber && h.Magic != magicASCII {
		p.Failf("magic", 0, format.ErrMagic, "%08x", h.Magic)
	}
	if h.Version = p.U16("version"); h.Version != version {
		p.Failf("version", 4, format.ErrVersion, "%d", h.Version)
	}
	reserved := p.U16("reserved")
	h.Checksum = p.U32("header checksum")
	h.Flags = Flags(p.U32("flags"))
	h.FileSize = p.U32("total file size")
	h.MetadataOffset = p.U32("metadata offset")
	h.TensorOffset = p.U32("tensor data offset")
	h.GraphOffset = p.U32("operator graph offset")
	if p.Err() == nil && p.opts.Check.Sums() && h.Checksum != 0 {
		sum := tensor.UpdateCRC32(tensor.UpdateCRC32(tensor.CRC32(b[:checksumAt]), blankSum[:]), b[checksumAt+4:])
		if sum != h.Checksum {
			p.Failf("header checksum", checksumAt, format.ErrChecksum, "stored %08x, computed %08x", h.Checksum, sum)
		}
	}
	if reserved != 0 {
		p.Failf("reserved", 6, format.ErrCorrupt, "is %#x, not 0", reserved)
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
	case p.Err() != nil:
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

// reserve counts n bytes of memory for the current section.
func (p *parser) reserve(field string, n int) {
	err := p.opts.Memory.Reserve(int64(n))
	if p.built += int64(n); err == nil && p.room > 0 && p.built > p.room {
		err = fmt.Errorf("%w: more than %d bytes of memory, unless Options.MaxMemory is set", format.ErrLimit, p.room)
	}
	if err != nil {
		p.Fail(field, p.Offset(), err)
	}
}

// readMetadata reads the model metadata and the specs, up to the first constant.
func (p *parser) readMetadata(w *wire.Window) error {
	if err := p.open(w, int64(p.header.MetadataOffset), int64(p.header.TensorOffset)); err != nil {
		return err
	}
	p.modelMetadata()
	p.padding = p.Left()
	at := p.Offset()
	for i, b := range p.Bytes("padding", uint64(p.Left())) {
		if b != 0 {
			return p.Failf("padding", at+int64(i), format.ErrCorrupt, "%#x between the specs and the constants", b)
		}
	}
	return p.Err()
}

func (p *parser) modelMetadata() {
	m := &p.model
	m.name = p.text("model name", uint64(p.U32("model name length")))
	m.framework = p.U32("framework version")
	m.created = p.U64("creation timestamp")
	nIn, nOut := uint64(p.U32("input count")), uint64(p.U32("output count"))
	if p.Count("input and output count", nIn+nOut, specMin); p.Err() == nil {
		m.inputs, m.outputs = p.specs(int(nIn)), p.specs(int(nOut))
	}
}

// specs reads n specs.
func (p *parser) specs(n int) []Spec {
	p.reserve("spec", n*specBytes)
	list, seen := make([]Spec, 0, n), map[string]bool{}
	for len(list) < n && p.Err() == nil {
		at := p.Offset()
		s := Spec{Name: p.name("spec name", uint64(p.U32("spec name length")))}
		rank := p.U16("spec rank")
		s.Type = DataType(p.U16("spec data type"))
		dims := p.Bytes("spec shape", 8*uint64(rank))
		p.reserve("spec", dimBytes*len(dims)/8)
		s.Dims = elements[uint64](dims, 8)
		if seen[s.Name] {
			p.Failf("spec name", at, format.ErrCorrupt, "%q occurs twice", s.Name)
		}
		seen[s.Name] = true
		list = append(list, s)
	}
	return list
}

// utf8 reads n bytes of UTF-8.
func (p *parser) utf8(field string, n uint64) string {
	at := p.Offset()
	b := p.Bytes(field, n)
	if !utf8.Valid(b) {
		p.Failf(field, at, format.ErrCorrupt, "is not valid UTF-8")
	}
	return string(b)
}

// text reads n bytes of UTF-8 without NUL bytes.
func (p *parser) text(field string, n uint64) string {
	at := p.Offset()
	s := p.utf8(field, n)
	if strings.IndexByte(s, 0) >= 0 {
		p.Failf(field, at, format.ErrCorrupt, "contains a NUL byte")
	}
	return s
}

// name reads a text of n bytes that must not be empty.
func (p *parser) name(field string, n uint64) string {
	at := p.Offset()
	s := p.text(field, n)
	if s == "" {
		p.Failf(field, at, format.ErrCorrupt, "is empty")
	}
	return s
}

// readConstants reads the records of all constants. The file does not store their
// number.
func (p *parser) readConstants(w *wire.Window) error {
	off, end := int64(p.header.TensorOffset), int64(p.header.GraphOffset)
	for n := 0; off < end; n++ {
		if n == driver.MaxTensors {
			return wire.Errorf(name, "constants", off, format.ErrLimit, "more than %d", n)
		}
		if n%cancelEvery == 0 && p.opts.Context.Err() != nil {
			return p.opts.Context.Err()
		}
		next, err := p.constant(w, off, end)
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
func recordHeader(w *wire.Window, off, end int64) ([]byte, error) {
	if end-off < recordMin {
		return nil, wire.Errorf(name, "constant", off, format.ErrTruncated, "%d bytes are left before the operator graph", end-off)
	}
	b, err := w.Peek(off, 8)
	if err != nil {
		return nil, err
	}
	rank := int64(binary.LittleEndian.Uint16(b[6:]))
	if recordMin+8*rank > end-off {
		return nil, wire.Errorf(name, "constant shape", off+8, format.ErrTruncated, "rank %d with %d bytes left before the operator graph", rank, end-off)
	}
	return w.Bytes(off, recordMin+8*rank)
}

// constant adds the constant of the record at off to the index. The record must end at or
// before end; constant returns where.
func (p *parser) constant(w *wire.Window, off, end int64) (next int64, err error) {
	b, err := recordHeader(w, off, end)
	if err != nil {
		return 0, err
	}
	id, typ, size := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint64(b[len(b)-8:])
	t := driver.Tensor{Offset: off + int64(len(b)), DType: DataType(typ &^ gzipFlag).DType()}
	fail := func(field string, rel int, sentinel error, text string, args ...any) (int64, error) {
		return 0, wire.Errorf(name, "constant "+constantName(id)+" "+field, off+int64(rel), sentinel, text, args...)
	}
	if left := end - t.Offset; size > uint64(left) {
		return 0, wire.Errorf(name, "constant data size", t.Offset-8, format.ErrTruncated, "constant %d has %d bytes, %d are left before the operator graph", id, size, left)
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
		if size >= 2 {
			if b, err = w.Bytes(t.Offset, 2); err != nil {
				return 0, err
			}
			packed = b[0] == 0x1F && b[1] == 0x8B
		}
		if !packed {
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
func (p *parser) readGraph(w *wire.Window) error {
	if err := p.open(w, int64(p.header.GraphOffset), p.header.graphEnd()); err != nil {
		return err
	}
	if p.operators = p.readOperators(); p.Err() != nil {
		return p.Err()
	}
	for id, q := range quantizationsOf(p.operators) {
		if i, ok := p.lookup(id); ok {
			p.index.SetQuant(i, q)
		}
	}
	p.graph = p.neutralGraph()
	return nil
}

func (p *parser) readOperators() []Operator {
	n := p.Count("operator count", uint64(p.U32("operator count")), operatorMin)
	if p.reserve("operators", n*operatorBytes); p.Err() != nil {
		return nil
	}
	ops := make([]Operator, 0, n)
	for len(ops) < n && p.Err() == nil {
		ops = append(ops, p.operator())
	}
	if p.Err() == nil && p.Left() > 0 {
		p.Failf("operators", p.Offset(), format.ErrCorrupt, "%d bytes between the last operator and the footer", p.Left())
	}
	return ops
}

func (p *parser) operator() Operator {
	op := Operator{Type: OpType(p.U16("operator type"))}
	in, out := p.U16("operator input count"), p.U16("operator output count")
	n := uint64(p.U16("operator parameter count"))
	op.Inputs = elements[uint32](p.Bytes("operator inputs", 4*uint64(in)), 4)
	op.Outputs = elements[uint32](p.Bytes("operator outputs", 4*uint64(out)), 4)
	params := p.Count("operator parameter count", n, paramMin)
	p.reserve("operators", idBytes*(len(op.Inputs)+len(op.Outputs)))
	if params == 0 {
		return op
	}
	op.Params = make([]Param, 0, params)
	seen := make(map[string]bool, params)
	for len(op.Params) < params && p.Err() == nil {
		at := p.Offset()
		q := p.param()
		if seen[q.Name] {
			p.Failf("parameter name", at, format.ErrCorrupt, "%q occurs twice", q.Name)
		}
		seen[q.Name] = true
		op.Params = append(op.Params, q)
	}
	return op
}

// param reads a parameter.
func (p *parser) param() Param {
	at := p.Offset()
	q := Param{Name: p.name("parameter name", uint64(p.U16("parameter name length")))}
	code := p.U8("parameter type")
	valueAt := p.Offset()
	if int(code) >= len(paramTypes) {
		p.Failf("parameter type", valueAt-1, format.ErrUnsupported, "type %d", code)
		return q
	}
	switch t := &paramTypes[code]; {
	case code == paramString:
		q.Value = p.utf8("parameter value", uint64(p.U32("parameter string length")))
	case t.list:
		n := p.I32("parameter array count")
		if n < 0 {
			p.Failf("parameter array count", valueAt, format.ErrCorrupt, "is %d", n)
		}
		q.Value = t.decode(p.Bytes("parameter array", uint64(uint32(n))*t.size))
	default:
		b := p.Bytes("parameter value", t.size)
		if code == paramBool && p.Err() == nil && b[0] > 1 {
			p.Failf("parameter value", valueAt, format.ErrCorrupt, "bool is %d", b[0])
		}
		q.Value = t.decode(b)
	}
	p.reserve("operators", paramBytes+int(p.Offset()-at))
	return q
}

// The memory of elements of the structure in bytes, without names and values.
const (
	operatorBytes = 200
	idBytes       = 36
	paramBytes    = 72
	specBytes     = 48 + 64
	dimBytes      = 8 + 24
)

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
	unsound, unknown, extended := 0, 0, 0
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
	for i := range p.index.Len() {
		if q := p.index.Quant(i); q != nil && !sound(q, p.index.DType(i), p.index.Shape(i)) {
			unsound++
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
	add(unsound, "constants with unsound quantization parameters: %d")
	return notes
}
