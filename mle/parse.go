package mle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
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

	inputs, outputs []uint32
	tensors         int // number of descriptors
	metadata        driver.Metadata
	names           names
	nodes           []IRNode
	beyond          int                               // number of ids without descriptor
	attributes      map[sharedText][]format.Attribute // while opening
	overlap         int64                             // bytes of attributes, each shared text once
	built           int64                             // bytes of memory for the neutral graph
	comp            *compression                      // nil without compression
	at              []int64                           // by tensor: offset in the uncompressed weights; nil if they are not compressed or encrypted

	cipher *seal.Cipher // nil without key
	plain  cached       // the decrypted section
	whole  cached       // the weights, if compressed in one piece

	flushed atomic.Bool // Verify found the reference's checksum of float16 weights, see flushedSum
}

// fail returns an error for a field of the file.
func fail(field string, offset int64, sentinel error, text string, args ...any) error {
	return wire.Errorf(formatName, field, offset, sentinel, text, args...)
}

// parse reads and checks everything but the weights.
func parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	f := &parsed{src: src, index: x, memory: o.Memory}
	if err := f.readHeader(o.Check.Sums()); err != nil {
		return nil, err
	}
	x.Version = strconv.Itoa(int(f.h.Version))
	if err := f.readSections(o.Check.Sums()); err != nil {
		return nil, err
	}
	if err := f.readGraph(); err != nil {
		return nil, err
	}
	if err := f.readTensors(); err != nil {
		return nil, err
	}
	if o.Key != nil && f.h.Features.Has(Encryption) {
		var err error
		if f.cipher, err = seal.New(o.Key); err != nil {
			return nil, wire.Error(formatName, "key", -1, err)
		}
	}
	p := &driver.Parsed{
		Own: f, Metadata: f.metadata, Signature: f.signer(), NeedsKey: f.needsKey(), LazyNotes: f.notes, Restore: restore,
		Verify: f.verify, Touch: f.touch, Authenticate: f.authenticate,
	}
	if f.at != nil {
		p.Load, p.Shares, p.Close = f.load, f.shares, f.close
	}
	var err error
	p.Graph, err = f.neutral()
	return p, err
}

// readHeader reads the header of either version and checks that the sections are within
// the file and do not overlap.
func (f *parsed) readHeader(sums bool) (err error) {
	if f.head, err = driver.Prefix(f.src, headerStruct); err != nil {
		return err
	}
	h := &f.h
	c := wire.NewCursor(formatName, f.head, 0)
	if m := c.U32("magic"); c.Err() == nil && m != magic {
		return fail("magic", 0, format.ErrMagic, "%#08x instead of %#08x", m, magic)
	}
	if err := refusePickle(f.src, f.head); err != nil {
		return err
	}
	h.Version = c.U32("version")
	if c.Err() != nil {
		return c.Err()
	}
	switch h.Version {
	case 1:
		err = h.readV1(&c, f.head, f.src.Size())
	case 2:
		err = h.readV2(&c)
	default:
		err = fail("version", atVersion, format.ErrVersion, "%d, not %d to %d", h.Version, minVersion, maxVersion)
	}
	if err == nil && sums {
		err = h.checkSum(f.head)
	}
	if err == nil {
		err = h.checkSections(f.src.Size())
	}
	return err
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

// sectionAt reads the offset and size of a section.
func sectionAt(c *wire.Cursor, offset, length string) Section {
	at := c.Offset()
	off, size := c.U64(offset), c.U64(length)
	if c.Err() == nil && (off > math.MaxInt64 || size > math.MaxInt64-off) {
		c.Failf(offset, at, tensor.ErrTruncated, "offset %d and size %d are too large for a file", off, size)
	}
	return Section{int64(off), int64(size)}
}

// readV1 reads the fields after the version, seven words of 64 bits.
func (h *Header) readV1(c *wire.Cursor, head []byte, size int64) error {
	h.HeaderSize = headerV1
	h.Metadata = sectionAt(c, "metadata_offset", "metadata_size")
	h.Graph = sectionAt(c, "graph_offset", "graph_size")
	h.Weights = sectionAt(c, "weights_offset", "weights_size")
	h.LegacySignature = c.U64("signature_offset")
	if c.Err() == nil {
		h.findShift(head, size)
	}
	return c.Err()
}

// findShift sets Shift if the file is from the exporter that wrote a header of 80 bytes
// but offsets for one of 64.
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

// readV2 reads the fields after the version.
func (h *Header) readV2(c *wire.Cursor) error {
	h.Features = Features(c.U32("feature_flags"))
	h.HeaderSize = c.U32("header_size")
	h.Metadata = sectionAt(c, "metadata_offset", "metadata_size")
	h.Graph = sectionAt(c, "graph_offset", "graph_size")
	h.Weights = sectionAt(c, "weights_offset", "weights_size")
	h.Signature = sectionAt(c, "signature_offset", "signature_size")
	h.Compression = sectionAt(c, "compression_offset", "compression_size")
	h.MetadataChecksum = c.U32("metadata_checksum")
	h.GraphChecksum = c.U32("graph_checksum")
	h.WeightsChecksum = c.U32("weights_checksum")
	h.HeaderChecksum = c.U32("header_checksum")
	h.MinReaderVersion = c.U32("min_reader_version")
	h.WriterVersion = c.U32("writer_version")
	switch {
	case c.Err() != nil:
		return c.Err()
	case h.MinReaderVersion > maxVersion:
		return fail("min_reader_version", atMinReader, format.ErrVersion, "%d, this reader knows up to %d", h.MinReaderVersion, maxVersion)
	case h.HeaderSize != headerText && h.HeaderSize != headerStruct:
		return fail("header_size", atHeaderSize, format.ErrCorrupt, "%d, neither %d nor %d", h.HeaderSize, headerText, headerStruct)
	}
	return nil
}

// checkSum compares the header checksum with that of header_size bytes and with that of
// the reference implementation, which is always of 144 bytes.
func (h *Header) checkSum(head []byte) error {
	if h.HeaderChecksum == 0 {
		return nil
	}
	if len(head) < int(h.HeaderSize) {
		return fail("header", 0, format.ErrTruncated, "%d bytes, header_size is %d", len(head), h.HeaderSize)
	}
	sum := headerSum(head[:h.HeaderSize])
	if sum == h.HeaderChecksum || len(head) >= headerStruct && headerSum(head[:headerStruct]) == h.HeaderChecksum {
		return nil
	}
	return sumError("header_checksum", atHeaderSum, h.HeaderChecksum, sum)
}

// headerSum returns the CRC-32 of the header with header_checksum zeroed.
func headerSum(head []byte) uint32 {
	sum := tensor.CRC32(head[:atHeaderSum])
	sum = tensor.UpdateCRC32(sum, padding[:4])
	return tensor.UpdateCRC32(sum, head[atHeaderSum+4:])
}

func sumError(field string, at int64, want, got uint32) error {
	return fail(field, at, format.ErrChecksum, "%#08x recorded, %#08x computed", want, got)
}

// checkSections checks that the sections are behind the header and within the file, do
// not overlap, and leave no bytes behind the last.
func (h *Header) checkSections(size int64) error {
	all := h.sections()
	end := int64(h.HeaderSize)
	if end > size {
		return fail("header", size, format.ErrTruncated, "%d bytes, %d are there", end, size)
	}
	for i, s := range all {
		if s.End() > size {
			return fail(s.name+"_offset", s.field, format.ErrTruncated, "the section reaches from %d to %d, the file ends at %d", s.Offset, s.End(), size)
		}
		end = max(end, s.End())
		if s.Size == 0 {
			continue
		}
		if s.Offset < int64(h.HeaderSize) {
			return fail(s.name+"_offset", s.field, format.ErrCorrupt, "the section begins at %d, inside the header", s.Offset)
		}
		for _, t := range all[:i] {
			if t.Size > 0 && s.Offset < t.End() && t.Offset < s.End() {
				return fail(s.name+"_offset", s.field, format.ErrCorrupt, "the section overlaps that of the %s", t.name)
			}
		}
	}
	if end < size {
		return fail("file size", end, format.ErrCorrupt, "%d bytes after the last section", size-end)
	}
	return h.checkFeatures()
}

// checkFeatures compares the flags with the sections.
func (h *Header) checkFeatures() error {
	for _, f := range []struct {
		flag Features
		name string
		Section
	}{{Compression, "compression", h.Compression}, {Signing, "signature", h.Signature}} {
		switch has := h.Features.Has(f.flag); {
		case has && f.Size == 0:
			return fail("feature_flags", atFeatures, format.ErrCorrupt, "%v is set, but there is no %s section", f.flag, f.name)
		case !has && f.Size > 0:
			return fail("feature_flags", atFeatures, format.ErrCorrupt, "%v is not set, but there is a %s section", f.flag, f.name)
		}
	}
	if h.Features.Has(Encryption) && h.Weights.Size < seal.Overhead {
		return fail("weights_size", atSections+40, format.ErrCorrupt, "%d bytes cannot hold nonce and tag", h.Weights.Size)
	}
	if h.Graph.Size < graphHead {
		return fail("graph_size", h.sections()[graphSection].field+8, format.ErrCorrupt, "%d, the counts alone take %d", h.Graph.Size, graphHead)
	}
	return nil
}

// readSections copies all sections but the weights into memory, and checks their checksums.
func (f *parsed) readSections(sums bool) (err error) {
	all, size := f.h.sections(), int64(0)
	for _, s := range all {
		size += s.Size // no overflow: sections are within the file and do not overlap
	}
	if size -= f.h.Weights.Size; size > driver.MaxStructure {
		return fail("header", atSections, format.ErrLimit, "metadata and graph take %d bytes, the limit is %d", size, int64(driver.MaxStructure))
	}
	if err := f.memory.Reserve(size); err != nil {
		return wire.Error(formatName, "header", atSections, err)
	}
	for i, b := range []*[]byte{metadataSection: &f.meta, graphSection: &f.graph, signatureSection: &f.sig, compressionSection: &f.table} {
		if b == nil || all[i].Size == 0 {
			continue
		}
		if *b, err = driver.Private(f.src, all[i].Offset, all[i].Size); err != nil {
			return err
		}
	}
	if sums {
		err = f.checkSums()
	}
	if err == nil && f.sig != nil {
		err = checkSignatureSection(f.sig, f.h.Signature.Offset)
	}
	return err
}

// checkSums compares the recorded checksums of metadata and graph.
func (f *parsed) checkSums() error {
	for i, b := range [...][]byte{f.meta, f.graph} {
		want := [...]uint32{f.h.MetadataChecksum, f.h.GraphChecksum}[i]
		if got := tensor.CRC32(b); want != 0 && got != want {
			return sumError(f.h.sections()[i].name+"_checksum", atChecksums+4*int64(i), want, got)
		}
	}
	return nil
}

// checkSignatureSection checks the size and algorithms of the signature section.
func checkSignatureSection(b []byte, base int64) error {
	c := wire.NewCursor(formatName, b, base)
	algorithm, digest := c.U8("signature algorithm"), c.U8("signature hash_algorithm")
	switch {
	case c.Err() != nil:
		return c.Err()
	case algorithm != 1:
		return fail("signature algorithm", base, format.ErrUnsupported, "%d, only 1 (Ed25519) is known", algorithm)
	case digest != 1:
		return fail("signature hash_algorithm", base+1, format.ErrUnsupported, "%d, only 1 (SHA-256) is known", digest)
	case len(b) != signatureSize:
		return fail("signature_size", signaturePos+8, format.ErrCorrupt, "%d, not %d", len(b), signatureSize)
	}
	return nil
}

// readGraph reads the counts of the graph, checks the metadata, and decodes nodes and names.
func (f *parsed) readGraph() error {
	base := f.h.Graph.Offset
	c := wire.NewCursor(formatName, f.graph, base)
	nodes, tensors := c.U32("num_nodes"), c.U32("num_tensors")
	inputs, outputs := c.U32("num_inputs"), c.U32("num_outputs")
	switch {
	case c.Err() != nil:
	case inputs > maxIDs:
		c.Failf("num_inputs", base+8, format.ErrCorrupt, "%d, there is room for %d", inputs, maxIDs)
	case outputs > maxIDs:
		c.Failf("num_outputs", base+12, format.ErrCorrupt, "%d, there is room for %d", outputs, maxIDs)
	}
	ids := c.Bytes("input_ids", 2*4*maxIDs)
	f.tensors = c.Count("num_tensors", uint64(tensors), descriptorSize)
	c.Bytes("tensors", uint64(f.tensors)*descriptorSize)
	count := c.Count("num_nodes", uint64(nodes), nodeSize)
	if c.Err() != nil {
		return c.Err()
	}
	f.inputs, f.outputs = f.ids(ids, int(inputs)), f.ids(ids[4*maxIDs:], int(outputs))

	if err := f.readMetadata(); err != nil {
		return err
	}
	if err := f.readNodes(&c, count); err != nil {
		return err
	}
	return f.names.err
}

// descriptor is an encoded tensor descriptor of the graph.
type descriptor [descriptorSize]byte

// descriptor returns descriptor i, which must exist.
func (f *parsed) descriptor(i int) *descriptor {
	return (*descriptor)(f.graph[graphHead+i*descriptorSize:])
}

func (d *descriptor) offset() uint64 { return binary.LittleEndian.Uint64(d[:]) }
func (d *descriptor) size() uint64   { return binary.LittleEndian.Uint64(d[8:]) } // 0 for a placeholder
func (d *descriptor) rank() uint32   { return binary.LittleEndian.Uint32(d[16:]) }
func (d *descriptor) code() uint8    { return d[52] } // of the dtype

// shape sets s, whose length is the rank, to the dims and returns it.
func (d *descriptor) shape(s tensor.Shape) tensor.Shape {
	for k := range s {
		s[k] = int64(binary.LittleEndian.Uint32(d[20+4*k:]))
	}
	return s
}

// totals has sums over all constants, and the end of the last one.
type totals struct {
	constants int
	dims      int
	nameBytes int
	end       int64          // of the last tensor in the uncompressed weights
	shape     [maxRank]int64 // scratch space
}

// readTensors checks the descriptors and the compression section, which depends on them,
// and fills the index.
func (f *parsed) readTensors() error {
	var sum totals
	for i := range f.tensors {
		if err := f.checkDescriptor(i, f.descriptor(i), &sum); err != nil {
			return err
		}
	}
	if f.h.Features.Has(Compression) {
		if err := f.readCompression(sum.end); err != nil {
			return err
		}
	} else if sum.end > f.h.plainSize() {
		return fail("weights_size", f.h.sections()[weightsSection].field+8, format.ErrTruncated, "%d bytes, the last tensor ends at %d", f.h.plainSize(), sum.end)
	}
	f.index.Grow(sum.constants, sum.nameBytes, sum.dims)
	if f.comp != nil || f.h.Features.Has(Encryption) {
		f.at = make([]int64, 0, sum.constants)
	}
	return f.fillIndex()
}

// checkDescriptor checks descriptor i and, if it is a constant, adds it to sum.
func (f *parsed) checkDescriptor(i int, d *descriptor, sum *totals) error {
	bad := func(field string, at int64, sentinel error, text string, args ...any) error {
		return fail(fmt.Sprintf("tensor descriptor %d %s", i, field), f.descriptorAt(i)+at, sentinel, text, args...)
	}
	dt, rank := dtypeOf(d.code()), d.rank()
	switch {
	case rank > maxRank:
		return bad("ndim", 16, format.ErrCorrupt, "%d, there is room for %d dims", rank, maxRank)
	case d.size() == 0:
		return nil
	case !dt.Valid():
		return bad("dtype", 52, format.ErrUnsupported, "unknown code %d", d.code())
	}
	size, err := d.shape(sum.shape[:rank]).ByteSize(dt)
	if err != nil {
		return bad("shape", 20, format.ErrCorrupt, "%w", err)
	}
	if uint64(size) != d.size() {
		return bad("size", 8, format.ErrCorrupt, "%d bytes, shape %v of %v takes %d", d.size(), d.shape(make(tensor.Shape, rank)), dt, size)
	}
	end := d.offset() + d.size()
	if end < d.offset() || end > 1<<62 {
		return bad("offset", 0, format.ErrTruncated, "%d bytes from %d are too large for a file", d.size(), d.offset())
	}
	sum.end = max(sum.end, int64(end))
	sum.constants++
	sum.dims += int(rank)
	sum.nameBytes += len(f.names.at(i))
	return nil
}

// descriptorAt returns the file offset of descriptor i.
func (f *parsed) descriptorAt(i int) int64 {
	return f.h.Graph.Offset + graphHead + int64(i)*descriptorSize
}

// fillIndex adds all constants to the index.
func (f *parsed) fillIndex() error {
	var t driver.Tensor
	if f.comp != nil {
		t.Compression = f.comp.method.Name()
	}
	t.Loaded = f.h.Features.Has(Encryption) || t.Compression != ""
	for i := range f.tensors {
		d := f.descriptor(i)
		if d.size() == 0 {
			continue
		}
		t.Name = append(t.Name[:0], f.names.at(i)...)
		t.DType, t.Shape = dtypeOf(d.code()), d.shape(f.index.Dims(int(d.rank())))
		t.Offset, t.Size = f.h.Weights.Offset+int64(d.offset()), int64(d.size())
		if f.at != nil {
			f.at = append(f.at, int64(d.offset()))
		}
		if t.Loaded {
			t.Offset, t.Stored = -1, f.storedSize(int64(d.offset()), t.Size)
		}
		if err := f.index.Add(&t); errors.Is(err, format.ErrCorrupt) {
			return f.nameTwice(f.names.at(i))
		} else if err != nil {
			return wire.Error(formatName, "num_tensors", f.h.Graph.Offset+4, err)
		}
	}
	return f.checkPlaceholderNames()
}

// storedSize returns tensor.Info.Stored of a compressed or encrypted tensor.
func (f *parsed) storedSize(off, size int64) int64 {
	switch {
	case f.comp == nil || f.comp.method == MethodNone:
		return size
	case f.comp.chunked:
		some := f.comp.covering(off, size)
		last := some[len(some)-1]
		return last.stored + last.storedSize - some[0].stored
	}
	return -1
}

// readCompression reads the compression section and compares it with the descriptors.
// end is the end of the last tensor.
func (f *parsed) readCompression(end int64) error {
	base := f.h.Compression.Offset
	c := wire.NewCursor(formatName, f.table, base)
	p := &compression{method: Method(c.U8("compression type")), level: c.U8("compression level"), chunked: f.h.Features.Has(ChunkedWeights)}
	f.comp = p
	reserved := c.U16("compression reserved")
	size := c.U64("uncompressed_size")
	p.checksum = c.U32("compression checksum")
	p.bits = c.U8("compression quantization_bits")
	zero := c.Bytes("compression padding", 3)
	// The tensors bound the size, which rules out decompression bombs. end is far
	// enough below 2^63 to be aligned.
	most, _ := wire.AlignUp(end, alignment)
	switch {
	case c.Err() != nil:
		return c.Err()
	case int(p.method) >= len(methods):
		return fail("compression type", base, format.ErrUnsupported, "unknown code %d", uint8(p.method))
	case reserved != 0:
		return fail("compression reserved", base+2, format.ErrCorrupt, "%#x is not 0", reserved)
	case string(zero) != "\x00\x00\x00":
		return fail("compression padding", base+17, format.ErrCorrupt, "% x is not 0", zero)
	case size < uint64(end) || size > uint64(most):
		return fail("uncompressed_size", base+4, format.ErrCorrupt, "%d, but the last tensor ends at %d", size, end)
	case p.method.lossy() && size%4 != 0:
		return fail("uncompressed_size", base+4, format.ErrCorrupt, "%d bytes are not a whole number of float32", size)
	}
	p.size = int64(size)
	if p.chunked {
		if err := f.readChunks(&c); err != nil {
			return err
		}
	} else if c.Left() > 0 {
		return fail("compression_size", compressionPos+8, format.ErrCorrupt, "%d bytes, not %d", len(f.table), compressionSize)
	} else if err := p.checkStored(p.size, f.h.plainSize(), "weights_size", weightsPos+8); err != nil {
		return err
	} else {
		p.chunks = []chunk{{size: p.size, storedSize: f.h.plainSize()}}
	}
	for i := range f.tensors {
		if d := f.descriptor(i); p.method.lossy() && d.size() > 0 && dtypeOf(d.code()) != tensor.Float32 {
			return fail(fmt.Sprintf("tensor descriptor %d dtype", i), f.descriptorAt(i)+52, format.ErrCorrupt,
				"%v in weights that are compressed as %v, which is for float32 alone", dtypeOf(d.code()), p.method)
		}
	}
	if p.chunked {
		return f.checkChunks()
	}
	return nil
}

// checkStored checks the stored size in a field, if the method determines it.
func (p *compression) checkStored(size, stored int64, field string, at int64) error {
	want := stored
	switch p.method {
	case MethodNone:
		want = size
	case MethodInt8:
		want = int8Head + size/4
	case MethodFloat16:
		want = size / 2
	}
	if want != stored {
		return fail(field, at, format.ErrCorrupt, "%d bytes take %d as %v, not %d", size, want, p.method, stored)
	}
	return nil
}

// readChunks reads the chunk table.
func (f *parsed) readChunks(c *wire.Cursor) error {
	p, stored := f.comp, f.h.plainSize()
	at := c.Offset()
	n := c.Count("chunk_count", uint64(c.U32("chunk_count")), chunkRow)
	p.base = c.Offset()
	rows := c.Bytes("chunks", uint64(n)*chunkRow)
	switch {
	case c.Err() != nil:
		return c.Err()
	case c.Left() > 0:
		return fail("compression_size", compressionPos+8, format.ErrCorrupt, "%d bytes after the chunk table", c.Left())
	case n == 0 && (p.size > 0 || stored > 0):
		return fail("chunk_count", at, format.ErrCorrupt, "no chunks for %d bytes", p.size)
	}
	if err := f.memory.Reserve(int64(n) * chunkBytes); err != nil {
		return wire.Error(formatName, "chunk_count", at, err)
	}
	p.chunks = make([]chunk, n)
	next := int64(0) // offset of the next chunk's stored bytes
	for i := range p.chunks {
		if err := p.readChunk(i, rows[i*chunkRow:], next, stored); err != nil {
			return err
		}
		next += p.chunks[i].storedSize
	}
	if n > 0 && next != stored {
		return fail("chunks", p.base, format.ErrCorrupt, "they fill %d of %d stored bytes", next, stored)
	}
	return nil
}

// readChunk reads row i, whose stored bytes must begin at next.
func (p *compression) readChunk(i int, row []byte, next, stored int64) error {
	le, at := binary.LittleEndian, p.base+int64(i)*chunkRow
	from, to, toAt := le.Uint64(row), uint64(p.size), at
	if len(row) > chunkRow {
		to, toAt = le.Uint64(row[chunkRow:]), at+chunkRow
	}
	off, size := le.Uint64(row[8:]), le.Uint64(row[16:])
	switch {
	case i == 0 && from != 0:
		return fail("chunk 0 offset", at, format.ErrCorrupt, "%d, not 0", from)
	case to <= from: // ascending to the end of the weights, so none is behind it
		return fail("chunk offset", toAt, format.ErrCorrupt, "chunk %d reaches from %d to %d of %d uncompressed bytes", i, from, to, p.size)
	case p.method.lossy() && (to-from)%4 != 0:
		return fail("chunk offset", toAt, format.ErrCorrupt, "the %d bytes of chunk %d are not a whole number of float32", to-from, i)
	case off != uint64(next):
		return fail("chunk stored offset", at+8, format.ErrCorrupt, "chunk %d begins at %d, the one before ends at %d", i, off, next)
	case size > math.MaxInt64-off || off+size > uint64(stored):
		return fail("chunk stored size", at+16, format.ErrCorrupt, "chunk %d takes %d bytes from %d, of %d", i, size, off, stored)
	case le.Uint32(row[28:]) != 0:
		return fail("chunk reserved", at+28, format.ErrCorrupt, "%#x is not 0", le.Uint32(row[28:]))
	}
	p.chunks[i] = chunk{int64(from), int64(to - from), next, int64(size), le.Uint32(row[24:])}
	return p.checkStored(int64(to-from), int64(size), "chunk stored size", at+16)
}

// checkChunks refuses chunks that span tensors: in a chunk, no tensor may end at or
// before the offset at which another begins.
func (f *parsed) checkChunks() error {
	n := len(f.comp.chunks)
	firstEnd := make([]int64, n)  // in (offset, offset+size] of each chunk; 0 means none
	lastStart := make([]int64, n) // in [offset, offset+size)
	for i := 0; n > 0 && i < f.tensors; i++ {
		d := f.descriptor(i)
		if d.size() == 0 {
			continue
		}
		off, end := int64(d.offset()), int64(d.offset()+d.size())
		first, last := f.comp.find(off), f.comp.find(end-1)
		lastStart[first] = max(lastStart[first], off)
		if firstEnd[last] == 0 || end < firstEnd[last] {
			firstEnd[last] = end
		}
	}
	for i := range n {
		if firstEnd[i] > 0 && firstEnd[i] <= lastStart[i] {
			return fail("chunk", f.comp.base+int64(i)*chunkRow, format.ErrCorrupt,
				"chunk %d holds the end of a tensor at %d and the start of another at %d", i, firstEnd[i], lastStart[i])
		}
	}
	return nil
}
