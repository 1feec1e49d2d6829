package mle

import (
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
	meta      []byte      // the metadata section; this one and the next are nil if missing
	graph     []byte
	table     []byte // the compression section
	sig       []byte
	signature signature

	metadata      schema.Metadata
	ir            IR
	descriptorsAt int64 // file offset
	constants     int   // their number, and that of all bytes of their names and of dims
	nameBytes     int
	dims          int
	end           int64                               // of the last tensor in the uncompressed weights
	beyond        int                                 // number of ids without descriptor
	attributes    map[shared[byte]][]schema.Attribute // while opening
	overlap       int64                               // bytes of attributes, each shared text once
	built         int64                               // bytes of memory for the neutral graph
	comp          compression                         // MethodNone without the section
	at            []int64                             // by tensor: offset in the uncompressed weights; nil for plain weights

	declared declaredSums

	cipher *seal.Cipher // nil without key
	plain  cached       // the decrypted section
	whole  cached       // the weights, if compressed in one piece

	flushed atomic.Bool // Verify found the reference's checksum of float16 weights, see flushedSum
}

// fail returns an error for a field of the file.
func fail(field string, offset int64, sentinel error, text string, args ...any) error {
	return wire.Errorf(formatName, field, offset, sentinel, text, args...)
}

// corrupt returns an error for an invalid value of a field of the file.
func corrupt(field string, offset int64, text string, args ...any) error {
	return fail(field, offset, format.ErrCorrupt, text, args...)
}

// Parse implements driver.Driver. It reads and checks everything but the weights.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (*driver.Parsed,
	error) {
	f := &parsed{src: src, index: x, memory: o.Memory}
	err := f.parse()
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
	graph, err := f.neutral()
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
func (f *parsed) parse() error {
	err := f.readHeader()
	if err != nil {
		return err
	}
	err = f.readSections()
	if err != nil {
		return err
	}
	err = f.readGraph()
	if err != nil {
		return err
	}
	err = f.readCompression()
	if err != nil {
		return err
	}
	return f.fillIndex()
}

// readSections copies all sections but the weights into memory, and checks their checksums.
func (f *parsed) readSections() error {
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
	}{{h.Metadata, &f.meta}, {h.Graph, &f.graph}, {h.Signature, &f.sig}, {h.Compression, &f.table}} {
		if s.section.Size == 0 {
			continue
		}
		*s.bytes, err = driver.Private(f.src, s.section.Offset, s.section.Size)
		if err != nil {
			return err
		}
	}
	err = f.checkSections()
	if err != nil {
		return err
	}
	return f.readSignature()
}

// readGraph reads the counts of the graph, the metadata with the names, nodes, attributes
// and descriptors.
func (f *parsed) readGraph() error {
	r := wire.NewRecord(formatName, f.graph, f.h.Graph.Offset)
	g := readGraphHead(&r)
	f.descriptorsAt = r.Offset()
	nodesAt := f.descriptorsAt + int64(g.tensors)*descriptorSize
	if r.Err() != nil {
		return r.Err()
	}
	err := f.memory.Reserve(int64(g.tensors)*descriptorBytes + int64(g.nodes)*nodeSize)
	if err != nil {
		return wire.Error(formatName, "num_tensors", r.At("num_tensors"), err)
	}
	f.ir.Tensors = make([]Descriptor, g.tensors)
	f.ir.Inputs = f.ids(g.inputs, int(g.numInputs))
	f.ir.Outputs = f.ids(g.outputs, int(g.numOutputs))
	err = f.readMetadata()
	if err != nil {
		return err
	}
	r.MoveTo(nodesAt)
	f.readNodes(&r, int(g.nodes))
	if r.Err() != nil {
		return r.Err()
	}
	err = f.readNames()
	if err != nil {
		return err
	}
	r.MoveTo(f.descriptorsAt)
	f.readDescriptors(&r)
	return r.Err()
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

const descriptorList = "tensor descriptor"

// descriptor is a tensor descriptor as it is in the file.
type descriptor struct {
	offset uint64
	size   uint64
	rank   uint32
	dims   wire.Uint32s
	dtype  uint8
}

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

// readDescriptors reads the descriptors, except for their names, and checks the dtypes and
// sizes of constants.
func (f *parsed) readDescriptors(r *wire.Record) {
	ranks := 0
	for range r.Records(descriptorList, len(f.ir.Tensors), descriptorSize) {
		d := readDescriptor(r)
		ranks += int(min(d.rank, maxRank))
	}
	dims := make([]int64, 0, ranks) // shared by all
	r.MoveTo(f.descriptorsAt)
	for i := range r.Records(descriptorList, len(f.ir.Tensors), descriptorSize) {
		row := readDescriptor(r)
		from := len(dims)
		for k := range int(row.rank) {
			dims = append(dims, int64(row.dims.At(k)))
		}
		d := &f.ir.Tensors[i]
		d.Offset = row.offset
		d.Size = int64(row.size)
		d.Code = row.dtype
		d.DType = dtypes[row.dtype]
		d.Shape = dims[from:len(dims):len(dims)]
		if d.Constant() {
			f.checkConstant(r, d)
		}
	}
}

// checkConstant checks the descriptor of a constant, which was just read, and counts it.
func (f *parsed) checkConstant(r *wire.Record, d *Descriptor) {
	if !d.DType.Valid() {
		r.BadField("dtype", format.ErrUnsupported, "unknown code %d", d.Code)
		return
	}
	size, err := d.Shape.ByteSize(d.DType)
	if err != nil {
		r.BadField("shape", format.ErrCorrupt, "%w", err)
		return
	}
	if size != d.Size {
		r.BadField("size", format.ErrCorrupt, "%d bytes, shape %v of %v takes %d", uint64(d.Size),
			d.Shape, d.DType, size)
	}
	end := d.Offset + uint64(size)
	if end < d.Offset || end > 1<<62 {
		r.BadField("offset", format.ErrTruncated, "%d bytes from %d are too large for a file", size,
			d.Offset)
	}
	f.end = max(f.end, int64(end))
	f.constants++
	f.nameBytes += len(d.Name)
	f.dims += len(d.Shape)
}

// badDescriptor returns an error for a field of descriptor i.
func (f *parsed) badDescriptor(i int, field string, sentinel error, text string,
	args ...any) error {
	r := wire.NewRecord(formatName, f.graph, f.h.Graph.Offset)
	r.MoveTo(f.descriptorsAt + int64(i)*descriptorSize)
	r.BeginItem(descriptorList, int64(i))
	readDescriptor(&r)
	r.BadField(field, sentinel, text, args...)
	return r.Err()
}

// fillIndex adds all constants to the index and refuses names that occur twice.
func (f *parsed) fillIndex() error {
	t := driver.Tensor{Compression: f.comp.Method.Name()}
	t.Loaded = f.encrypted() || t.Compression != ""
	lossy := f.comp.Method.lossy()
	f.index.Grow(f.constants, f.nameBytes, f.dims)
	for i := range f.ir.Tensors {
		d := &f.ir.Tensors[i]
		if !d.Constant() {
			continue
		}
		if lossy && d.DType != tensor.Float32 {
			return f.badDescriptor(i, "dtype", format.ErrCorrupt,
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
			return f.nameTwice(d.Name)
		}
		if err != nil {
			r := wire.NewRecord(formatName, f.graph, f.h.Graph.Offset)
			readGraphHead(&r)
			r.FailField("num_tensors", err)
			return r.Err()
		}
	}
	if f.constants == len(f.ir.Tensors) {
		return nil
	}
	seen := make(map[string]bool, len(f.ir.Tensors)) // placeholders too
	for i := range f.ir.Tensors {
		name := f.ir.Tensors[i].Name
		if seen[name] {
			return f.nameTwice(name)
		}
		seen[name] = true
	}
	return nil
}

func (f *parsed) nameTwice(name string) error {
	return corrupt(namesKey, f.h.Metadata.Offset, "%q occurs twice", name)
}

// readCompression reads the compression section and compares it with the descriptors.
func (f *parsed) readCompression() error {
	p := &f.comp
	p.Stored = f.h.plainSize()
	if f.table == nil {
		if f.end > p.Stored {
			return f.bad("weights_size", format.ErrTruncated, "%d bytes, the last tensor ends at %d",
				p.Stored, f.end)
		}
		return nil
	}
	r := wire.NewRecord(formatName, f.table, f.h.Compression.Offset)
	p.chunked = f.h.Features.Has(ChunkedWeights)
	size := p.readHead(&r)
	// The tensors bound the size, which rules out decompression bombs. f.end is far
	// enough below 2^63 to be aligned.
	most := wire.AlignUp(f.end, alignment)
	if size < uint64(f.end) || size > uint64(most) {
		r.BadField("uncompressed_size", format.ErrCorrupt, "%d, but the last tensor ends at %d", size,
			f.end)
	}
	if p.Method.lossy() && size%4 != 0 {
		r.BadField("uncompressed_size", format.ErrCorrupt, "%d bytes are not a whole number of float32",
			size)
	}
	p.Uncompressed = int64(size)
	p.fields = r
	if p.chunked {
		err := f.readChunks(&r)
		if err != nil {
			return err
		}
	}
	switch {
	case r.Err() != nil:
		return r.Err()
	case r.Left() > 0:
		return f.bad("compression_size", format.ErrCorrupt, "%d bytes more than expected", r.Left())
	case p.chunked:
		return f.checkChunks()
	}
	p.chunks = []chunk{{StoredSize: p.Stored}}
	want := p.storedAs(p.Uncompressed, p.Stored)
	if want != p.Stored {
		return f.bad("weights_size", format.ErrCorrupt, storedText, p.Uncompressed, want, p.Method,
			p.Stored)
	}
	return nil
}

// readHead reads the section up to the chunk table.
func (p *compression) readHead(r *wire.Record) (uncompressed uint64) {
	p.Method = Method(r.U8("compression type"))
	if int(p.Method) >= len(methods) {
		r.Bad(format.ErrUnsupported, "unknown code %d", uint8(p.Method))
	}
	p.Level = r.U8("compression level")
	reserved := r.U16("compression reserved")
	if reserved != 0 {
		r.Bad(format.ErrCorrupt, "%#x is not 0", reserved)
	}
	uncompressed = r.U64("uncompressed_size")
	p.Checksum = r.U32("compression checksum")
	p.QuantizationBits = r.U8("compression quantization_bits")
	bits := p.Method.info().bits
	if p.QuantizationBits != bits {
		r.Bad(format.ErrCorrupt, "%d, %v needs %d", p.QuantizationBits, p.Method, bits)
	}
	r.Text("compression padding", "\x00\x00\x00", format.ErrCorrupt)
	return uncompressed
}

// storedAs returns the stored size of size bytes: stored, unless the method determines it.
func (p *compression) storedAs(size, stored int64) int64 {
	switch p.Method {
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
func (f *parsed) readChunks(r *wire.Record) error {
	p := &f.comp
	r.Begin()
	count := r.U32("chunk_count")
	p.Chunks = int(count)
	if count == 0 && (p.Uncompressed > 0 || p.Stored > 0) {
		r.Bad(format.ErrCorrupt, "no chunks for %d bytes", p.Uncompressed)
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
	p.base = r.Offset()
	p.chunks = make([]chunk, count)
	for i := range r.Records("chunk", len(p.chunks), chunkRow) {
		p.chunks[i] = readChunk(r)
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

// badChunk returns an error for a field of row i of the chunk table.
func (f *parsed) badChunk(i int, field string, text string, args ...any) error {
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
func (f *parsed) checkChunks() error {
	p := &f.comp
	next := int64(0) // offset of the next chunk's stored bytes
	for i := range p.chunks {
		err := f.checkChunk(i, next)
		if err != nil {
			return err
		}
		next += p.chunks[i].StoredSize
	}
	if next != p.Stored {
		return corrupt("chunks", p.base, "they fill %d of %d stored bytes", next, p.Stored)
	}
	return f.checkSpans()
}

// checkChunk checks row i, whose stored bytes must begin at next.
func (f *parsed) checkChunk(i int, next int64) error {
	p := &f.comp
	c := &p.chunks[i]
	to := p.Uncompressed
	toChunk := i // the row that says where the chunk ends
	if i+1 < len(p.chunks) {
		to = p.chunks[i+1].Offset
		toChunk = i + 1
	}
	size := to - c.Offset
	want := p.storedAs(size, c.StoredSize)
	switch {
	case i == 0 && c.Offset != 0:
		return f.badChunk(i, "offset", "%d, not 0", uint64(c.Offset))
	case uint64(to) <= uint64(c.Offset): // ascending to the end of the weights, so none is behind it
		return f.badChunk(toChunk, "offset", "chunk %d reaches from %d to %d of %d uncompressed bytes",
			i, uint64(c.Offset), uint64(to), p.Uncompressed)
	case p.Method.lossy() && size%4 != 0:
		return f.badChunk(toChunk, "offset", "the %d bytes of chunk %d are not a whole number of float32",
			size, i)
	case c.Stored != next:
		return f.badChunk(i, "stored offset", "it begins at %d, the chunk before ends at %d",
			uint64(c.Stored), next)
	case c.StoredSize < 0 || c.StoredSize > p.Stored-next:
		return f.badChunk(i, "stored size", "it takes %d bytes from %d, of %d", uint64(c.StoredSize),
			next, p.Stored)
	case c.StoredSize != want:
		return f.badChunk(i, "stored size", storedText, size, want, p.Method, c.StoredSize)
	}
	return nil
}

// checkSpans refuses chunks that span tensors: in a chunk, no tensor may end at or
// before the offset at which another begins.
func (f *parsed) checkSpans() error {
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
			return f.badChunk(k, "offset",
				"the chunk holds the end of a tensor at %d and the start of another at %d",
				ends[before-1], d.Offset)
		}
	}
	return nil
}
