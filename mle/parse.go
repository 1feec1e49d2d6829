package mle

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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

	h                       Header
	head                    []byte // the first 144 bytes: the header, and more if it is shorter
	meta, graph, table, sig []byte // the sections metadata, graph, compression and signature; nil if missing

	metadata                   schema.Metadata
	ir                         IR
	constants, nameBytes, dims int                                 // numbers and bytes of constants, their names and their dims
	end                        int64                               // of the last tensor in the uncompressed weights
	beyond                     int                                 // number of ids without descriptor
	attributes                 map[shared[byte]][]schema.Attribute // while opening
	overlap                    int64                               // bytes of attributes, each shared text once
	built                      int64                               // bytes of memory for the neutral graph
	comp                       compression                         // MethodNone without the section
	at                         []int64                             // by tensor: offset in the uncompressed weights; nil if they are not compressed or encrypted

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
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.ParseOptions) (_ *driver.Parsed, err error) {
	f := &parsed{src: src, index: x, memory: o.Memory}
	for _, read := range []func() error{f.readHeader, f.readSections, f.readGraph, f.readCompression, f.fillIndex} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	if o.Key != nil && f.encrypted() {
		if f.cipher, err = seal.New(o.Key); err != nil {
			return nil, wire.Error(formatName, "key", -1, err)
		}
	}
	x.Version = strconv.Itoa(int(f.h.Version))
	p := &driver.Parsed{
		Own: f, Metadata: f.metadata, Signature: f.signer(), NeedsKey: f.needsKey(), LazyNotes: f.notes, Restore: restore,
		Load: f.load, Stream: f.stream, Shares: f.shares, Section: f, Close: f.close, Sums: f.sums, SumsOf: f.sumsOf,
		Authenticate: f.authenticate, CheckClaim: f.checkClaim,
	}
	p.Graph, err = f.neutral()
	return p, err
}

// readHeader reads the header of either version and checks that the sections are within
// the file and do not overlap.
func (f *parsed) readHeader() (err error) {
	if f.head, err = driver.Prefix(f.src, headerStruct); err != nil {
		return err
	}
	h, c := &f.h, wire.NewCursor(formatName, f.head, 0)
	if m := c.U32("magic"); c.Err() == nil && m != magic {
		return fail("magic", 0, format.ErrMagic, "%#08x instead of %#08x", m, magic)
	}
	if err := refusePickle(f.src, f.head); err != nil {
		return err
	}
	h.Version = c.U32("version")
	if c.Err() == nil && (h.Version < minVersion || h.Version > maxVersion) {
		return fail("version", atVersion, format.ErrVersion, "%d, not %d to %d", h.Version, minVersion, maxVersion)
	}
	for _, f := range h.fields() {
		_, _ = binary.Decode(c.Bytes(f.name, uint64(binary.Size(f.value))), binary.LittleEndian, f.value) // c has the error
	}
	for _, s := range h.sections() {
		if off, size := uint64(s.Offset), uint64(s.Size); off > math.MaxInt64 || size > math.MaxInt64-off {
			return h.fail(s.name+"_offset", tensor.ErrTruncated, "offset %d and size %d are too large for a file", off, size)
		}
	}
	if h.Version == 1 {
		h.HeaderSize, h.LegacySignature = headerV1, c.U64("signature_offset")
	}
	switch {
	case c.Err() != nil:
		return c.Err()
	case h.MinReaderVersion > maxVersion:
		return h.fail("min_reader_version", format.ErrVersion, "%d, this reader knows up to %d", h.MinReaderVersion, maxVersion)
	case h.Version == 1:
		h.findShift(f.head, f.src.Size())
	case h.HeaderSize != headerText && h.HeaderSize != headerStruct:
		return h.fail("header_size", format.ErrCorrupt, "%d, neither %d nor %d", h.HeaderSize, headerText, headerStruct)
	}
	if err := f.checkHeader(); err != nil {
		return err
	}
	return h.checkPlaces(f.src.Size())
}

// refusePickle returns an error for the container of another program that has the same
// magic number and holds a Python pickle.
func refusePickle(src driver.Source, head []byte) error {
	const fixed = 24
	size := uint64(src.Size())
	if len(head) <= fixed || head[fixed] != '{' {
		return nil
	}
	a, b := binary.LittleEndian.Uint64(head[8:]), binary.LittleEndian.Uint64(head[16:])
	if a > size || b > size || fixed+a+b != size || b == 0 {
		return nil
	}
	first, err := src.Slice(int64(fixed+a), 1)
	if err != nil || first[0] != 0x80 {
		return err
	}
	return fail("magic", 0, format.ErrUnsupported, "this is a container of a Python pickle with the magic of MLE, not a model; pickles are never read")
}

// findShift sets Shift if a version 1 file is from the exporter that wrote a header of 80
// bytes but offsets for one of 64.
func (h *Header) findShift(head []byte, size int64) {
	const end = headerV1 + exportShift
	last := max(h.Metadata.End(), h.Graph.End(), h.Weights.End())
	if h.Metadata.Offset != headerV1 || size-last != exportShift || len(head) <= end || head[end] != '{' ||
		[exportShift]byte(head[headerV1:]) != [exportShift]byte{} {
		return
	}
	h.Shift = exportShift
	for _, s := range []*Section{&h.Metadata, &h.Graph, &h.Weights} {
		s.Offset += exportShift
	}
}

// sumOfHeader returns the CRC-32 of the header with header_checksum zeroed.
func sumOfHeader(head []byte) uint32 {
	sum := tensor.CRC32(head[:atHeaderSum])
	sum = tensor.UpdateCRC32(sum, padding[:4])
	return tensor.UpdateCRC32(sum, head[atHeaderSum+4:])
}

// checkPlaces checks that the sections are behind the header and within the file, do
// not overlap, leave no bytes behind the last, and match the flags.
func (h *Header) checkPlaces(size int64) error {
	all := h.sections()
	end := int64(h.HeaderSize)
	if end > size {
		return fail("header", size, format.ErrTruncated, "%d bytes, %d are there", end, size)
	}
	for i, s := range all {
		if s.End() > size {
			return h.fail(s.name+"_offset", format.ErrTruncated, "the section reaches from %d to %d, the file ends at %d", s.Offset, s.End(), size)
		}
		end = max(end, s.End())
		if s.Size == 0 {
			continue
		}
		if s.Offset < int64(h.HeaderSize) {
			return h.fail(s.name+"_offset", format.ErrCorrupt, "the section begins at %d, inside the header", s.Offset)
		}
		for _, t := range all[:i] {
			if t.Size > 0 && s.Offset < t.End() && t.Offset < s.End() {
				return h.fail(s.name+"_offset", format.ErrCorrupt, "the section overlaps the one at %s_offset", t.name)
			}
		}
	}
	switch {
	case end < size:
		return corrupt("file size", end, "%d bytes after the last section", size-end)
	case h.Features.Has(Compression) != (h.Compression.Size > 0), h.Features.Has(Signing) != (h.Signature.Size > 0):
		return h.fail("feature_flags", format.ErrCorrupt, "%v, but the sections of compression and signature have %d and %d bytes",
			h.Features, h.Compression.Size, h.Signature.Size)
	case h.plainSize() < 0:
		return h.fail("weights_size", format.ErrCorrupt, "%d bytes cannot hold nonce and tag", h.Weights.Size)
	case h.Graph.Size < graphHead:
		return h.fail("graph_size", format.ErrCorrupt, "%d, the counts alone take %d", h.Graph.Size, graphHead)
	}
	return nil
}

// readSections copies all sections but the weights into memory, and checks their checksums.
func (f *parsed) readSections() (err error) {
	h := &f.h
	// No overflow: sections are within the file and do not overlap.
	size := h.Metadata.Size + h.Graph.Size + h.Signature.Size + h.Compression.Size
	if err := cmp.Or(f.memory.Structure(size), f.memory.Reserve(size)); err != nil {
		return wire.Error(formatName, "header", atFields+8, err)
	}
	read := func(s Section) (b []byte) {
		if s.Size > 0 && err == nil {
			b, err = driver.Private(f.src, s.Offset, s.Size)
		}
		return b
	}
	f.meta, f.graph, f.sig, f.table = read(h.Metadata), read(h.Graph), read(h.Signature), read(h.Compression)
	if err == nil {
		err = f.checkSections()
	}
	if err == nil && f.sig != nil {
		err = f.checkSignatureSection()
	}
	return err
}

// checkSignatureSection checks the size and algorithms of the signature section.
func (f *parsed) checkSignatureSection() error {
	at := f.h.Signature.Offset
	c := wire.NewCursor(formatName, f.sig, at)
	algorithm, digest := c.U8("signature algorithm"), c.U8("signature hash_algorithm")
	switch {
	case c.Err() != nil:
		return c.Err()
	case algorithm != 1:
		return fail("signature algorithm", at, format.ErrUnsupported, "%d, only 1 (Ed25519) is known", algorithm)
	case digest != 1:
		return fail("signature hash_algorithm", at+1, format.ErrUnsupported, "%d, only 1 (SHA-256) is known", digest)
	case len(f.sig) != signatureSize:
		return f.h.fail("signature_size", format.ErrCorrupt, "%d, not %d", len(f.sig), signatureSize)
	}
	return nil
}

// readGraph reads the counts of the graph, the metadata with the names, nodes, attributes
// and descriptors.
func (f *parsed) readGraph() error {
	base := f.h.Graph.Offset
	c := wire.NewCursor(formatName, f.graph, base)
	nodes, tensors := c.U32("num_nodes"), c.U32("num_tensors")
	inputs, outputs := c.U32("num_inputs"), c.U32("num_outputs")
	switch {
	case inputs > maxIDs:
		c.Failf("num_inputs", base+8, format.ErrCorrupt, "%d, there is room for %d", inputs, maxIDs)
	case outputs > maxIDs:
		c.Failf("num_outputs", base+12, format.ErrCorrupt, "%d, there is room for %d", outputs, maxIDs)
	}
	ids := c.Bytes("input_ids", 2*4*maxIDs)
	n := c.Count("num_tensors", uint64(tensors), descriptorSize)
	rows := c.Bytes("tensors", uint64(n)*descriptorSize)
	count := c.Count("num_nodes", uint64(nodes), nodeSize)
	nodeRows := c.Bytes("nodes", uint64(count)*nodeSize)
	if c.Err() != nil {
		return c.Err()
	}
	if err := f.memory.Reserve(int64(n)*descriptorBytes + int64(len(nodeRows))); err != nil {
		return wire.Error(formatName, "num_tensors", base+4, err)
	}
	f.ir.Tensors = make([]Descriptor, n)
	f.ir.Inputs, f.ir.Outputs = f.ids(ids, int(inputs)), f.ids(ids[4*maxIDs:], int(outputs))
	if err := f.readMetadata(); err != nil {
		return err
	}
	if err := f.readNodes(nodeRows, c.Offset()-base); err != nil {
		return err
	}
	if err := f.readNames(); err != nil {
		return err
	}
	return f.readDescriptors(rows)
}

// readDescriptors decodes the descriptors, except for their names, and checks the ranks, and
// the dtypes and sizes of constants.
func (f *parsed) readDescriptors(rows []byte) error {
	le, ranks := binary.LittleEndian, 0
	for i := range f.ir.Tensors {
		ranks += int(min(le.Uint32(rows[i*descriptorSize+16:]), maxRank))
	}
	dims := make([]int64, 0, ranks) // shared by all
	for i := range f.ir.Tensors {
		d, row := &f.ir.Tensors[i], (*[descriptorSize]byte)(rows[i*descriptorSize:])
		rank := le.Uint32(row[16:])
		if rank > maxRank {
			return f.badDescriptor(i, "ndim", 16, format.ErrCorrupt, "%d, there is room for %d dims", rank, maxRank)
		}
		d.Offset, d.Size, d.Code, d.DType = le.Uint64(row[:]), int64(le.Uint64(row[8:])), row[52], dtypes[row[52]]
		from := len(dims)
		for k := range rank {
			dims = append(dims, int64(le.Uint32(row[20+4*k:])))
		}
		d.Shape = dims[from:len(dims):len(dims)]
		if !d.Constant() {
			continue
		}
		if !d.DType.Valid() {
			return f.badDescriptor(i, "dtype", 52, format.ErrUnsupported, "unknown code %d", d.Code)
		}
		size, err := d.Shape.ByteSize(d.DType)
		if err != nil {
			return f.badDescriptor(i, "shape", 20, format.ErrCorrupt, "%w", err)
		}
		if size != d.Size {
			return f.badDescriptor(i, "size", 8, format.ErrCorrupt, "%d bytes, shape %v of %v takes %d", uint64(d.Size), d.Shape, d.DType, size)
		}
		end := d.Offset + uint64(size)
		if end < d.Offset || end > 1<<62 {
			return f.badDescriptor(i, "offset", 0, format.ErrTruncated, "%d bytes from %d are too large for a file", size, d.Offset)
		}
		f.end = max(f.end, int64(end))
		f.constants, f.nameBytes, f.dims = f.constants+1, f.nameBytes+len(d.Name), f.dims+len(d.Shape)
	}
	return nil
}

// badDescriptor returns an error for the field at an offset of descriptor i.
func (f *parsed) badDescriptor(i int, field string, at int64, sentinel error, text string, args ...any) error {
	at += f.h.Graph.Offset + graphHead + int64(i)*descriptorSize
	return fail(fmt.Sprintf("tensor descriptor %d %s", i, field), at, sentinel, text, args...)
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
			return f.badDescriptor(i, "dtype", 52, format.ErrCorrupt, "%v in weights that are compressed as %v, which is for float32 alone", d.DType, f.comp.Method)
		}
		t.Name, t.DType, t.Shape = append(t.Name[:0], d.Name...), d.DType, d.Shape
		t.Offset, t.Size = f.h.Weights.Offset+int64(d.Offset), d.Size
		if f.table != nil || f.encrypted() {
			f.at = append(f.at, int64(d.Offset))
		}
		if t.Loaded {
			t.Offset, t.Stored = -1, -1
		}
		if f.comp.chunked {
			_, _, stored := f.comp.covering(int64(d.Offset), t.Size)
			t.Stored = stored.Size
		}
		switch err := f.index.Add(&t); {
		case err == nil:
		case errors.Is(err, format.ErrCorrupt):
			return f.nameTwice(d.Name)
		default:
			return wire.Error(formatName, "num_tensors", f.h.Graph.Offset+4, err)
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
			return f.h.fail("weights_size", format.ErrTruncated, "%d bytes, the last tensor ends at %d", p.Stored, f.end)
		}
		return nil
	}
	base := f.h.Compression.Offset
	c := wire.NewCursor(formatName, f.table, base)
	p.chunked = f.h.Features.Has(ChunkedWeights)
	p.Method, p.Level = Method(c.U8("compression type")), c.U8("compression level")
	reserved := c.U16("compression reserved")
	size := c.U64("uncompressed_size")
	p.Checksum = c.U32("compression checksum")
	p.QuantizationBits = c.U8("compression quantization_bits")
	zero := c.Bytes("compression padding", 3)
	// The tensors bound the size, which rules out decompression bombs. f.end is far
	// enough below 2^63 to be aligned.
	most := wire.AlignUp(f.end, alignment)
	switch {
	case c.Err() != nil:
		return c.Err()
	case int(p.Method) >= len(methods):
		return fail("compression type", base, format.ErrUnsupported, "unknown code %d", uint8(p.Method))
	case reserved != 0:
		return corrupt("compression reserved", base+2, "%#x is not 0", reserved)
	case p.QuantizationBits != methods[p.Method].bits:
		return corrupt("compression quantization_bits", base+16, "%d, %v needs %d", p.QuantizationBits, p.Method, methods[p.Method].bits)
	case string(zero) != "\x00\x00\x00":
		return corrupt("compression padding", base+17, "% x is not 0", zero)
	case size < uint64(f.end) || size > uint64(most):
		return corrupt("uncompressed_size", base+4, "%d, but the last tensor ends at %d", size, f.end)
	case p.Method.lossy() && size%4 != 0:
		return corrupt("uncompressed_size", base+4, "%d bytes are not a whole number of float32", size)
	}
	p.Uncompressed = int64(size)
	n, rows := 0, []byte(nil)
	if p.chunked {
		n = c.Count("chunk_count", uint64(c.U32("chunk_count")), chunkRow)
		rows = c.Bytes("chunks", uint64(n)*chunkRow)
	}
	switch {
	case c.Err() != nil:
		return c.Err()
	case c.Left() > 0:
		return f.h.fail("compression_size", format.ErrCorrupt, "%d bytes more than expected", c.Left())
	}
	if p.chunked {
		return f.readChunks(n, rows)
	}
	p.chunks = []chunk{{StoredSize: p.Stored}}
	if want := p.storedAs(p.Uncompressed, p.Stored); want != p.Stored {
		return f.h.fail("weights_size", format.ErrCorrupt, storedText, p.Uncompressed, want, p.Method, p.Stored)
	}
	return nil
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

// readChunks reads the n rows of the chunk table.
func (f *parsed) readChunks(n int, rows []byte) error {
	p, at := &f.comp, f.h.Compression.Offset+compressionSize
	p.base, p.Chunks = at+4, n
	if n == 0 && (p.Uncompressed > 0 || p.Stored > 0) {
		return corrupt("chunk_count", at, "no chunks for %d bytes", p.Uncompressed)
	}
	if err := f.memory.Reserve(int64(n) * chunkBytes); err != nil {
		return wire.Error(formatName, "chunk_count", at, err)
	}
	p.chunks = make([]chunk, n)
	_, _ = binary.Decode(rows, binary.LittleEndian, p.chunks) // there are n
	next := int64(0)                                          // offset of the next chunk's stored bytes
	for i := range p.chunks {
		if err := p.checkChunk(i, next); err != nil {
			return err
		}
		next += p.chunks[i].StoredSize
	}
	if next != p.Stored {
		return corrupt("chunks", p.base, "they fill %d of %d stored bytes", next, p.Stored)
	}
	return f.checkChunks()
}

// checkChunk checks row i, whose stored bytes must begin at next.
func (p *compression) checkChunk(i int, next int64) error {
	c, at := &p.chunks[i], p.base+int64(i)*chunkRow
	to, toAt := p.Uncompressed, at
	if i+1 < len(p.chunks) {
		to, toAt = p.chunks[i+1].Offset, at+chunkRow
	}
	want := p.storedAs(to-c.Offset, c.StoredSize)
	switch {
	case i == 0 && c.Offset != 0:
		return corrupt("chunk 0 offset", at, "%d, not 0", uint64(c.Offset))
	case uint64(to) <= uint64(c.Offset): // ascending to the end of the weights, so none is behind it
		return corrupt("chunk offset", toAt, "chunk %d reaches from %d to %d of %d uncompressed bytes", i, uint64(c.Offset), uint64(to), p.Uncompressed)
	case p.Method.lossy() && (to-c.Offset)%4 != 0:
		return corrupt("chunk offset", toAt, "the %d bytes of chunk %d are not a whole number of float32", to-c.Offset, i)
	case c.Stored != next:
		return corrupt("chunk stored offset", at+8, "chunk %d begins at %d, the one before ends at %d", i, uint64(c.Stored), next)
	case c.StoredSize < 0 || c.StoredSize > p.Stored-next:
		return corrupt("chunk stored size", at+16, "chunk %d takes %d bytes from %d, of %d", i, uint64(c.StoredSize), next, p.Stored)
	case c.Reserved != 0:
		return corrupt("chunk reserved", at+28, "%#x is not 0", c.Reserved)
	case c.StoredSize != want:
		return corrupt("chunk stored size", at+16, storedText, to-c.Offset, want, p.Method, c.StoredSize)
	}
	return nil
}

// checkChunks refuses chunks that span tensors: in a chunk, no tensor may end at or
// before the offset at which another begins.
func (f *parsed) checkChunks() error {
	var ends []int64
	for i := range f.ir.Tensors {
		if d := &f.ir.Tensors[i]; d.Constant() {
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
		if k := f.comp.find(int64(d.Offset)); ends[before-1] > f.comp.chunks[k].Offset {
			return corrupt("chunk", f.comp.base+int64(k)*chunkRow,
				"chunk %d holds the end of a tensor at %d and the start of another at %d", k, ends[before-1], d.Offset)
		}
	}
	return nil
}
