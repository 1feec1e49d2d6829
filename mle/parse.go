package mle

import (
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// parsed is an open file, except for its index. Everything but the weights is in private
// memory, since another process may write to a mapped file.
type parsed struct {
	src    driver.Source
	index  *driver.Index
	memory *driver.Memory

	h         Header
	fields    wire.Record // of the header
	head      []byte      // the first 144 bytes: the header, and more if it is shorter
	meta      []byte      // the metadata section, nil if missing
	table     []byte      // the compression section, nil if missing
	sig       []byte      // the signature section, nil if missing
	signature signature

	metadata schema.Metadata
	ir       IR
	beyond   int         // number of ids without descriptor
	comp     compression // MethodNone without the section
	at       []int64     // by tensor: offset in the uncompressed weights; nil for plain weights

	declared declaredSums

	cipher *seal.Cipher // nil without key
	plain  cached       // the decrypted section
	whole  cached       // the weights, if compressed in one piece

	flushed atomic.Bool // Verify found the reference's checksum of float16 weights, see flushedSum
}

// parser reads everything but the weights.
type parser struct {
	f             *parsed
	graph         []byte // the graph section, nil if missing
	descriptorsAt int64  // file offset
	constants     int    // their number, and that of all bytes of their names and of dims
	nameBytes     int
	dims          int
	end           int64                               // of the last tensor in the uncompressed weights
	attributes    map[shared[byte]][]schema.Attribute // decoded, until the neutral graph has them
	overlap       int64                               // bytes of attributes, each shared text once
	built         int64                               // bytes of memory for the neutral graph
}

// errorf returns an error for a field of the file.
func errorf(field string, offset int64, sentinel error, text string, args ...any) error {
	return wire.Errorf(formatName, field, offset, sentinel, text, args...)
}

// corruptf returns an error for an invalid value of a field of the file.
func corruptf(field string, offset int64, text string, args ...any) error {
	return errorf(field, offset, format.ErrCorrupt, text, args...)
}

// Parse implements driver.Driver. It reads and checks everything but the weights.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed,
	error) {
	f := &parsed{src: src, index: x, memory: o.Memory}
	p := &parser{f: f}
	err := p.parse()
	if err != nil {
		return nil, err
	}
	if o.Key != nil && f.encrypted() {
		f.cipher, err = seal.New(o.Key)
		if err != nil {
			return nil, wire.Error(formatName, "key", -1, err)
		}
	}
	x.Version = strconv.Itoa(int(f.h.Version))
	graph, err := p.neutral()
	if err != nil {
		return nil, err
	}
	return &driver.Parsed{
		Own:          f,
		Metadata:     f.metadata,
		Graph:        graph,
		Signature:    f.signer(),
		NeedsKey:     f.needsKey(),
		LazyNotes:    f.notes,
		Restore:      restore,
		Load:         f.load,
		Stream:       f.stream,
		Shares:       f.shares,
		Section:      f,
		Close:        f.close,
		Sums:         f.sums,
		SumsOf:       f.sumsOf,
		Authenticate: f.authenticate,
		CheckClaim:   f.checkClaim,
	}, nil
}

// parse reads the parts of the file in the order in which they depend on each other.
func (p *parser) parse() error {
	err := p.readHeader()
	if err != nil {
		return err
	}
	err = p.readSections()
	if err != nil {
		return err
	}
	err = p.readGraph()
	if err != nil {
		return err
	}
	err = p.readCompression()
	if err != nil {
		return err
	}
	return p.fillIndex()
}

// readSections copies all sections but the weights into memory, and checks their checksums.
func (p *parser) readSections() error {
	f := p.f
	h := &f.h
	// No overflow: sections are within the file and do not overlap.
	size := h.Metadata.Size + h.Graph.Size + h.Signature.Size + h.Compression.Size
	err := f.memory.Structure(size)
	if err != nil {
		return wire.Error(formatName, "header", headerPlaces, err)
	}
	err = f.memory.Reserve(size)
	if err != nil {
		return wire.Error(formatName, "header", headerPlaces, err)
	}
	for _, s := range []struct {
		section Section
		bytes   *[]byte
	}{{h.Metadata, &f.meta}, {h.Graph, &p.graph}, {h.Signature, &f.sig}, {h.Compression, &f.table}} {
		if s.section.Size == 0 {
			continue
		}
		*s.bytes, err = driver.Private(f.src, s.section.Offset, s.section.Size)
		if err != nil {
			return err
		}
	}
	err = p.checkSections()
	if err != nil {
		return err
	}
	return p.readSignature()
}

// readGraph reads the counts of the graph, the metadata with the names, nodes, attributes
// and descriptors.
func (p *parser) readGraph() error {
	f := p.f
	r := wire.NewRecord(formatName, p.graph, f.h.Graph.Offset)
	g := readGraphHead(&r)
	p.descriptorsAt = r.Offset()
	nodesAt := p.descriptorsAt + int64(g.tensors)*descriptorSize
	if r.Err() != nil {
		return r.Err()
	}
	err := f.memory.Reserve(int64(g.tensors)*descriptorBytes + int64(g.nodes)*nodeSize)
	if err != nil {
		return wire.Error(formatName, "num_tensors", r.At("num_tensors"), err)
	}
	f.ir.Tensors = make([]Descriptor, g.tensors)
	f.ir.Inputs = p.ids(g.inputs, int(g.numInputs))
	f.ir.Outputs = p.ids(g.outputs, int(g.numOutputs))
	err = p.readMetadata()
	if err != nil {
		return err
	}
	r.MoveTo(nodesAt)
	p.readNodes(&r, int(g.nodes))
	if r.Err() != nil {
		return r.Err()
	}
	err = p.readNames()
	if err != nil {
		return err
	}
	return p.readDescriptors()
}

// graphCounts is what precedes the descriptors.
type graphCounts struct {
	nodes, tensors        uint32
	numInputs, numOutputs uint32
	inputs, outputs       wire.Uint32s
}

func readGraphHead(r *wire.Record) (g graphCounts) {
	g.nodes = r.U32("num_nodes")
	g.tensors = r.U32("num_tensors")
	g.numInputs = r.U32("num_inputs")
	checkIDs(r, g.numInputs)
	g.numOutputs = r.U32("num_outputs")
	checkIDs(r, g.numOutputs)
	g.inputs = r.Uint32s("input_ids", maxIDs)
	g.outputs = r.Uint32s("output_ids", maxIDs)
	r.Fits("num_tensors", uint64(g.tensors), descriptorSize)
	r.Fits("num_nodes", uint64(g.nodes), nodeSize)
	return g
}

// checkIDs checks a number of ids, the field just read.
func checkIDs(r *wire.Record, n uint32) {
	if n > maxIDs {
		r.Bad(format.ErrCorrupt, "%d, there is room for %d", n, maxIDs)
	}
}

// descriptor is a tensor descriptor as it is in the file.
type descriptor struct {
	offset uint64
	size   uint64
	rank   uint32
	dims   wire.Uint32s
	dtype  uint8
}

// readDescriptor reads a descriptor. It is for errors, whose fields have the names here.
func readDescriptor(r *wire.Record) (d descriptor) {
	d.offset = r.U64("offset")
	d.size = r.U64("size")
	d.rank = r.U32("ndim")
	if d.rank > maxRank {
		r.Bad(format.ErrCorrupt, "%d, there is room for %d dims", d.rank, maxRank)
	}
	d.dims = r.Uint32s("shape", maxRank)
	d.dtype = r.U8("dtype")
	r.Skip("reserved", 3)
	return d
}

// decodeDescriptor decodes the descriptor that b begins with. It is readDescriptor without the names
// of the fields and the check: with them, opening 300 tensors takes 1.1 times as long.
func decodeDescriptor(b []byte) (d descriptor) {
	const shapeAt = 8 + 8 + 4 // offset, size, ndim
	const dtypeAt = shapeAt + 4*maxRank
	d.offset = binary.LittleEndian.Uint64(b)
	d.size = binary.LittleEndian.Uint64(b[8:])
	d.rank = binary.LittleEndian.Uint32(b[16:])
	d.dims = b[shapeAt:dtypeAt]
	d.dtype = b[dtypeAt]
	return d
}

// readDescriptors reads the descriptors, except for their names, and checks the dtypes and
// sizes of constants.
func (p *parser) readDescriptors() error {
	all := p.f.ir.Tensors
	rows := p.graph[p.descriptorsAt-p.f.h.Graph.Offset:]
	ranks := 0
	for i := range all {
		rank := decodeDescriptor(rows[i*descriptorSize:]).rank
		if rank > maxRank {
			return p.descriptorFields(i).Err()
		}
		ranks += int(rank)
	}
	dims := make([]int64, 0, ranks) // shared by all
	for i := range all {
		row := decodeDescriptor(rows[i*descriptorSize:])
		from := len(dims)
		for k := range int(row.rank) {
			dims = append(dims, int64(row.dims.At(k)))
		}
		d := &all[i]
		d.Offset = row.offset
		d.Size = int64(row.size)
		d.Code = row.dtype
		d.DType = dtypes[row.dtype]
		d.Shape = dims[from:len(dims):len(dims)]
		if !d.Constant() {
			continue
		}
		err := p.checkConstant(i, d)
		if err != nil {
			return err
		}
	}
	return nil
}

// checkConstant checks descriptor i, that of a constant, and counts it.
func (p *parser) checkConstant(i int, d *Descriptor) error {
	if !d.DType.Valid() {
		return p.descriptorErrorf(i, "dtype", format.ErrUnsupported, "unknown code %d", d.Code)
	}
	size, err := d.Shape.ByteSize(d.DType)
	if err != nil {
		return p.descriptorErrorf(i, "shape", format.ErrCorrupt, "%w", err)
	}
	if size != d.Size {
		return p.descriptorErrorf(i, "size", format.ErrCorrupt, "%d bytes, shape %v of %v takes %d",
			uint64(d.Size), d.Shape, d.DType, size)
	}
	end := d.Offset + uint64(size)
	if end < d.Offset || end > 1<<62 {
		return p.descriptorErrorf(i, "offset", format.ErrTruncated,
			"%d bytes from %d are too large for a file", size, d.Offset)
	}
	p.end = max(p.end, int64(end))
	p.constants++
	p.nameBytes += len(d.Name)
	p.dims += len(d.Shape)
	return nil
}

// descriptorErrorf returns an error for a field of descriptor i.
func (p *parser) descriptorErrorf(i int, field string, sentinel error, text string,
	args ...any) error {
	r := p.descriptorFields(i)
	r.BadField(field, sentinel, text, args...)
	return r.Err()
}

// descriptorFields reads descriptor i again, since errors need the places of its fields.
func (p *parser) descriptorFields(i int) *wire.Record {
	r := wire.NewRecord(formatName, p.graph, p.f.h.Graph.Offset)
	r.MoveTo(p.descriptorsAt + int64(i)*descriptorSize)
	r.BeginItem("tensor descriptor", int64(i))
	readDescriptor(&r)
	return &r
}

// fillIndex adds all constants to the index and refuses names that occur twice.
func (p *parser) fillIndex() error {
	f := p.f
	t := driver.Tensor{Compression: f.comp.Method.Name()}
	t.Loaded = f.encrypted() || t.Compression != ""
	lossy := f.comp.Method.lossy()
	f.index.Grow(p.constants, p.nameBytes, p.dims)
	for i := range f.ir.Tensors {
		d := &f.ir.Tensors[i]
		if !d.Constant() {
			continue
		}
		if lossy && d.DType != tensor.Float32 {
			return p.descriptorErrorf(i, "dtype", format.ErrCorrupt,
				"%v in weights that are compressed as %v, which is for float32 alone", d.DType, f.comp.Method)
		}
		t.Name = append(t.Name[:0], d.Name...)
		t.DType = d.DType
		t.Shape = d.Shape
		t.Offset = f.h.Weights.Offset + int64(d.Offset)
		t.Size = d.Size
		if f.table != nil || f.encrypted() {
			f.at = append(f.at, int64(d.Offset))
		}
		if t.Loaded {
			t.Offset = -1
			t.Stored = -1
		}
		if f.comp.chunked {
			_, _, stored := f.comp.covering(int64(d.Offset), t.Size)
			t.Stored = stored.Size
		}
		err := f.index.Add(&t)
		if errors.Is(err, format.ErrCorrupt) {
			return p.nameTwice(d.Name)
		}
		if err != nil {
			r := wire.NewRecord(formatName, p.graph, f.h.Graph.Offset)
			readGraphHead(&r)
			r.FailField("num_tensors", err)
			return r.Err()
		}
	}
	if p.constants == len(f.ir.Tensors) {
		return nil
	}
	seen := make(map[string]bool, len(f.ir.Tensors)) // placeholders too
	for i := range f.ir.Tensors {
		name := f.ir.Tensors[i].Name
		if seen[name] {
			return p.nameTwice(name)
		}
		seen[name] = true
	}
	return nil
}

func (p *parser) nameTwice(name string) error {
	return corruptf(namesKey, p.f.h.Metadata.Offset, "%q occurs twice", name)
}

// readCompression reads the compression section and compares it with the descriptors.
func (p *parser) readCompression() error {
	f := p.f
	comp := &f.comp
	comp.Stored = f.h.plainSize()
	if f.table == nil {
		if p.end > comp.Stored {
			return f.headerErrorf("weights_size", format.ErrTruncated,
				"%d bytes, the last tensor ends at %d",
				comp.Stored, p.end)
		}
		return nil
	}
	r := wire.NewRecord(formatName, f.table, f.h.Compression.Offset)
	comp.chunked = f.h.Features.Has(ChunkedWeights)
	size := comp.readHead(&r)
	// The tensors bound the size, which rules out decompression bombs. p.end is far
	// enough below 2^63 to be aligned.
	most := wire.AlignUp(p.end, alignment)
	if size < uint64(p.end) || size > uint64(most) {
		r.BadField("uncompressed_size", format.ErrCorrupt, "%d, but the last tensor ends at %d", size,
			p.end)
	}
	if comp.Method.lossy() && size%4 != 0 {
		r.BadField("uncompressed_size", format.ErrCorrupt, "%d bytes are not a whole number of float32",
			size)
	}
	comp.Uncompressed = int64(size)
	comp.fields = r
	if comp.chunked {
		err := p.readChunks(&r)
		if err != nil {
			return err
		}
	}
	switch {
	case r.Err() != nil:
		return r.Err()
	case r.Left() > 0:
		return f.headerErrorf("compression_size", format.ErrCorrupt, "%d bytes more than expected",
			r.Left())
	case comp.chunked:
		return p.checkChunks()
	}
	comp.chunks = []chunk{{StoredSize: comp.Stored}}
	want := comp.storedAs(comp.Uncompressed, comp.Stored)
	if want != comp.Stored {
		return f.headerErrorf("weights_size", format.ErrCorrupt, storedText, comp.Uncompressed, want,
			comp.Method, comp.Stored)
	}
	return nil
}

// readHead reads the section up to the chunk table.
func (c *compression) readHead(r *wire.Record) (uncompressed uint64) {
	c.Method = Method(r.U8("compression type"))
	if int(c.Method) >= len(methods) {
		r.Bad(format.ErrUnsupported, "unknown code %d", uint8(c.Method))
	}
	c.Level = r.U8("compression level")
	reserved := r.U16("compression reserved")
	if reserved != 0 {
		r.Bad(format.ErrCorrupt, "%#x is not 0", reserved)
	}
	uncompressed = r.U64("uncompressed_size")
	c.Checksum = r.U32("compression checksum")
	c.QuantizationBits = r.U8("compression quantization_bits")
	bits := c.Method.info().bits
	if c.QuantizationBits != bits {
		r.Bad(format.ErrCorrupt, "%d, %v needs %d", c.QuantizationBits, c.Method, bits)
	}
	r.Text("compression padding", "\x00\x00\x00", format.ErrCorrupt)
	return uncompressed
}

// storedAs returns the stored size of size bytes: stored, unless the method determines it.
func (c *compression) storedAs(size, stored int64) int64 {
	switch c.Method {
	case MethodNone:
		return size
	case MethodInt8:
		return int8Head + size/4
	case MethodFloat16:
		return size / 2
	}
	return stored
}

const storedText = "%d bytes take %d as %v, not %d"

// chunkBytes is the memory of a chunk and its declared checksum.
const chunkBytes = 448

// readChunks reads the chunk table.
func (p *parser) readChunks(r *wire.Record) error {
	f := p.f
	comp := &f.comp
	r.Begin()
	count := r.U32("chunk_count")
	comp.Chunks = int(count)
	if count == 0 && (comp.Uncompressed > 0 || comp.Stored > 0) {
		r.Bad(format.ErrCorrupt, "no chunks for %d bytes", comp.Uncompressed)
	}
	r.Fits("chunk_count", uint64(count), chunkRow)
	if r.Err() != nil {
		return r.Err()
	}
	err := f.memory.Reserve(int64(count) * chunkBytes)
	if err != nil {
		r.FailField("chunk_count", err)
		return r.Err()
	}
	comp.base = r.Offset()
	comp.chunks = make([]chunk, count)
	for i := range r.Records("chunk", len(comp.chunks), chunkRow) {
		comp.chunks[i] = readChunk(r)
	}
	return r.Err()
}

func readChunk(r *wire.Record) (c chunk) {
	c.Offset = r.I64("offset")
	c.Stored = r.I64("stored offset")
	c.StoredSize = r.I64("stored size")
	c.Checksum = r.U32("checksum")
	reserved := r.U32("reserved")
	if reserved != 0 {
		r.Bad(format.ErrCorrupt, "%#x is not 0", reserved)
	}
	return c
}

// chunkErrorf returns an error for a field of row i of the chunk table.
func (f *parsed) chunkErrorf(i int, field string, text string, args ...any) error {
	r := f.chunkFields(i)
	r.BadField(field, format.ErrCorrupt, text, args...)
	return r.Err()
}

// chunkFields returns the Record of row i of the chunk table.
func (f *parsed) chunkFields(i int) wire.Record {
	r := wire.NewRecord(formatName, f.table, f.h.Compression.Offset)
	r.MoveTo(f.comp.base + int64(i)*chunkRow)
	r.BeginItem("chunk", int64(i))
	readChunk(&r)
	return r
}

// checkChunks checks the rows of the chunk table one by one, and refuses chunks that span tensors.
func (p *parser) checkChunks() error {
	f := p.f
	comp := &f.comp
	next := int64(0) // offset of the next chunk's stored bytes
	for i := range comp.chunks {
		err := p.checkChunk(i, next)
		if err != nil {
			return err
		}
		next += comp.chunks[i].StoredSize
	}
	if next != comp.Stored {
		return corruptf("chunks", comp.base, "they fill %d of %d stored bytes", next, comp.Stored)
	}
	return p.checkSpans()
}

// checkChunk checks row i, whose stored bytes must begin at next.
func (p *parser) checkChunk(i int, next int64) error {
	f := p.f
	comp := &f.comp
	c := &comp.chunks[i]
	to := comp.Uncompressed
	toChunk := i // the row that says where the chunk ends
	if i+1 < len(comp.chunks) {
		to = comp.chunks[i+1].Offset
		toChunk = i + 1
	}
	size := to - c.Offset
	want := comp.storedAs(size, c.StoredSize)
	switch {
	case i == 0 && c.Offset != 0:
		return f.chunkErrorf(i, "offset", "%d, not 0", uint64(c.Offset))
	case uint64(to) <= uint64(c.Offset): // ascending to the end of the weights, so none is behind it
		return f.chunkErrorf(toChunk, "offset", "chunk %d reaches from %d to %d of %d uncompressed bytes",
			i, uint64(c.Offset), uint64(to), comp.Uncompressed)
	case comp.Method.lossy() && size%4 != 0:
		return f.chunkErrorf(toChunk, "offset",
			"the %d bytes of chunk %d are not a whole number of float32",
			size, i)
	case c.Stored != next:
		return f.chunkErrorf(i, "stored offset", "it begins at %d, the chunk before ends at %d",
			uint64(c.Stored), next)
	case c.StoredSize < 0 || c.StoredSize > comp.Stored-next:
		return f.chunkErrorf(i, "stored size", "it takes %d bytes from %d, of %d", uint64(c.StoredSize),
			next, comp.Stored)
	case c.StoredSize != want:
		return f.chunkErrorf(i, "stored size", storedText, size, want, comp.Method, c.StoredSize)
	}
	return nil
}

// checkSpans refuses chunks that span tensors: in a chunk, no tensor may end at or
// before the offset at which another begins.
func (p *parser) checkSpans() error {
	f := p.f
	var ends []int64
	for i := range f.ir.Tensors {
		d := &f.ir.Tensors[i]
		if d.Constant() {
			ends = append(ends, int64(d.Offset)+d.Size)
		}
	}
	slices.Sort(ends)
	for i := range f.ir.Tensors {
		d := &f.ir.Tensors[i]
		before, _ := slices.BinarySearch(ends, int64(d.Offset)+1)
		if !d.Constant() || before == 0 {
			continue
		}
		k := f.comp.find(int64(d.Offset))
		if ends[before-1] > f.comp.chunks[k].Offset {
			return f.chunkErrorf(k, "offset",
				"the chunk holds the end of a tensor at %d and the start of another at %d",
				ends[before-1], d.Offset)
		}
	}
	return nil
}
