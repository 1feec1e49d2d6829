package mle

import (
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
	"github.com/weightmap/weightmap/internal/codec/lz4"
	"github.com/weightmap/weightmap/internal/seal"
	"github.com/weightmap/weightmap/internal/target"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// refuse returns an error for a field of the file or an option, which cannot be written.
func refuse(field string, sentinel error, text string, args ...any) error {
	return wire.Refuse(formatName, field, "%w: %w", sentinel, fmt.Errorf(text, args...))
}

// encode starts a file.
func encode(t driver.Target, p *schema.Schema, o *settings) (driver.Encoder, error) {
	if o.Version == 2 && t.Sequential() {
		return nil, refuse("checksums", driver.ErrSequential,
			"the header of version 2 holds checksums of what follows")
	}
	from := p.Tensors
	if o.Quantized {
		p = asFloats(p)
	}
	e := &encoder{t: t, o: o, schema: p, from: from}
	err := e.layout()
	if err != nil {
		return nil, err
	}
	err = e.begin()
	if err != nil {
		return nil, err
	}
	return e.newWeights()
}

// encoder writes one file, except for the tensors.
type encoder struct {
	t      driver.Target
	o      *settings
	schema *schema.Schema // as readers see it
	from   []tensor.Info  // the tensors that the caller writes

	h       Header
	meta    []byte
	graph   []byte
	offsets []int64 // of the tensors in the uncompressed weights, and size
	size    int64   // of the uncompressed weights

	cipher *seal.Cipher // nil without encryption
	out    stored
	err    error // of write
}

// pad returns the padding behind tensor i.
func (e *encoder) pad(i int) []byte {
	return padding[:e.offsets[i+1]-e.offsets[i]-e.schema.Tensors[i].Size]
}

// layout computes all offsets that do not depend on data, and encodes metadata and graph.
func (e *encoder) layout() error {
	e.offsets = make([]int64, 0, len(e.schema.Tensors)+1)
	for i := range e.schema.Tensors {
		at := wire.AlignUp(e.size, alignment)
		e.offsets = append(e.offsets, at)
		e.size = at + e.schema.Tensors[i].Size
	}
	e.offsets = append(e.offsets, e.size)
	err := e.checkSize()
	if err != nil {
		return err
	}
	ir, err := e.ir()
	if err != nil {
		return err
	}
	graph, err := encodeGraph(ir, uint32(e.o.Version), e.offsets)
	if err != nil {
		return err
	}
	e.graph = graph
	e.meta = encodeMetadata(e.schema.Metadata, ir.Tensors)
	e.placeSections()
	return nil
}

// ir returns the graph of the options, or that of the schema.
func (e *encoder) ir() (*IR, error) {
	if e.o.IR == nil {
		return buildIR(e.schema, e.o.Version, &schema.LossList{}), nil
	}
	err := checkIR(e.o.IR, e.schema, uint32(e.o.Version))
	if err != nil {
		return nil, err
	}
	return e.o.IR, nil
}

// placeSections fills in the header, except for what depends on the weights.
func (e *encoder) placeSections() {
	h := &e.h
	h.Version = uint32(e.o.Version)
	h.HeaderSize = uint32(e.o.HeaderSize)
	h.MinReaderVersion = maxVersion // version 1 has another header
	h.WriterVersion = maxVersion
	if h.Version == 1 {
		h.HeaderSize = writtenV1
	}
	h.Metadata = Section{int64(h.HeaderSize), int64(len(e.meta))}
	h.Graph = behind(h.Metadata, len(e.graph))
	h.Weights.Offset = h.Graph.End()
	if e.size > 0 {
		h.Weights.Offset = wire.AlignUp(h.Graph.End(), alignment)
	}
}

// behind returns a section of the given size after s.
func behind(s Section, size int) Section {
	return Section{wire.AlignUp(s.End(), 8), int64(size)}
}

// checkSize refuses weights that are too large for the options.
func (e *encoder) checkSize() error {
	encrypts := e.o.common.Key != nil
	switch {
	case e.o.method == MethodLZ4 && !e.o.Chunked && e.size > lz4.MaxSize:
		return refuse("compression", format.ErrLimit,
			"%d bytes of weights do not fit in one LZ4 block; chunks do", e.size)
	case encrypts && e.size > seal.MaxPlain:
		return refuse("key", format.ErrLimit, "%d bytes of weights are more than AES-GCM takes", e.size)
	case (encrypts || e.o.collects()) && e.size > math.MaxInt/4:
		return refuse("weights", format.ErrLimit, "%d bytes must be held in memory", e.size)
	}
	return nil
}

// features returns the flags of the file.
func (o *settings) features() (flags Features) {
	if o.Version == 1 {
		return 0
	}
	// Readers that ignore the Encryption flag must not take ciphertext for weights:
	// the checksum in the compression section makes them fail.
	plain := o.method == MethodNone && o.common.Key == nil
	flags.set(Compression, !plain)
	flags.set(Quantized, o.method.lossy())
	flags.set(ChunkedWeights, o.Chunked)
	flags.set(Encryption, o.common.Key != nil)
	flags.set(Signing, o.signer != nil)
	flags.set(MemoryMapping, plain) // every tensor is at a multiple of 64
	return flags
}

func (f *Features) set(flag Features, on bool) {
	if on {
		*f |= flag
	}
}

// begin writes what precedes the weights, except the header of version 2.
func (e *encoder) begin() error {
	e.h.Features = e.o.features()
	if e.o.common.Key != nil {
		cipher, err := seal.New(e.o.common.Key)
		if err != nil {
			return wire.Refuse(formatName, "key", "%w", err)
		}
		e.cipher = cipher
	}
	if e.h.Version == 1 {
		e.h.Weights.Size = e.size
		e.write(0, e.headerBytes())
	}
	e.write(e.h.Metadata.Offset, e.meta)
	e.write(e.h.Graph.Offset, e.graph)
	return e.err
}

// write writes b at off. It skips empty sections, for sequential targets. The first error sticks.
func (e *encoder) write(off int64, b []byte) {
	if len(b) > 0 && e.err == nil {
		_, e.err = e.t.WriteAt(b, off)
	}
}

// Finish writes what follows the weights, and the header.
func (e *encoder) Finish() error {
	h := &e.h
	if e.cipher != nil {
		err := e.encrypt()
		if err != nil {
			return err
		}
	}
	if h.Version == 1 {
		return nil
	}
	h.Weights.Size = e.out.size
	h.WeightsChecksum = e.out.sum
	h.MetadataChecksum = tensor.CRC32(e.meta)
	h.GraphChecksum = tensor.CRC32(e.graph)
	end := h.Weights.End()
	if h.Features.Has(Compression) {
		b := e.compressionBytes()
		h.Compression = behind(h.Weights, len(b))
		e.write(h.Compression.Offset, b)
		end = h.Compression.End()
	}
	if e.err != nil {
		return e.err
	}
	return h.finish(e.t, end, make([]byte, h.HeaderSize), e.o.signer, e.o.common)
}

// encrypt seals the weights, which are in memory, and writes them.
func (e *encoder) encrypt() error {
	plain := e.out.to.(*target.Memory).Bytes()[:e.out.size]
	out, err := e.cipher.Seal(plain, e.headerBytes()[:aadSize])
	if err != nil {
		return err
	}
	e.out.size = int64(len(out))
	e.out.sum = tensor.CRC32(out)
	e.write(e.h.Weights.Offset, out)
	return e.err
}

// headerBytes returns the header with its checksum.
func (e *encoder) headerBytes() []byte {
	b := make([]byte, e.h.HeaderSize)
	e.h.put(b)
	return b
}

// compressionBytes returns the compression section.
func (e *encoder) compressionBytes() []byte {
	var w wire.Buffer
	w.U8(uint8(e.o.method)) // type
	w.U8(uint8(e.o.level))
	w.U16(0)                       // reserved
	w.U64(uint64(e.size))          // uncompressed_size
	w.U32(uint32(e.out.original))  // checksum
	w.U8(methods[e.o.method].bits) // quantization_bits
	w.Zeros(3)                     // padding
	if !e.o.Chunked {
		return w
	}
	w.U32(uint32(len(e.out.chunks))) // chunk_count
	for _, c := range e.out.chunks {
		w.I64(c.Offset)
		w.I64(c.Stored)     // stored offset
		w.I64(c.StoredSize) // stored size
		w.U32(c.Checksum)
		w.U32(0) // reserved
	}
	return w
}
