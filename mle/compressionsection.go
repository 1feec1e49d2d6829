package mle

import (
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/tensor"
)

// compression is the compression section: how the weights are compressed, and
// the chunk table when they are cut into chunks.
type compression struct {
	method   Method
	level    uint8
	bits     uint8
	size     int64  // of the uncompressed weights
	checksum uint32 // CRC-32 of the uncompressed weights

	chunked bool
	rows    []byte // chunk table
	base    int64  // of the table in the file
}

// parseCompression reads the section and checks the chunk table against the
// size of the stored weights. end is where the last tensor ends.
func parseCompression(b []byte, base int64, chunked bool, stored, end int64) (*compression, error) {
	c := wire.NewCursor(formatName, b, base)
	p := &compression{method: Method(c.U8("compression type")), level: c.U8("compression level"), chunked: chunked}
	reserved := c.U16("compression reserved")
	size := c.U64("uncompressed_size")
	p.checksum = c.U32("compression checksum")
	p.bits = c.U8("compression quantization_bits")
	padding := c.Bytes("compression padding", 3)
	if c.Err() != nil {
		return nil, c.Err()
	}
	switch {
	case int(p.method) >= len(methods):
		return nil, fail("compression type", base, format.ErrUnsupported, "unknown code %d", uint8(p.method))
	case reserved != 0:
		return nil, fail("compression reserved", base+2, format.ErrCorrupt, "%#x is not 0", reserved)
	case string(padding) != "\x00\x00\x00":
		return nil, fail("compression padding", base+17, format.ErrCorrupt, "% x is not 0", padding)
	}
	// What the tensors need bounds the size, so that no bomb is ever inflated. They
	// end far enough below 2^63 to be aligned.
	if most, _ := wire.AlignUp(end, alignment); size < uint64(end) || size > uint64(most) {
		return nil, fail("uncompressed_size", base+4, format.ErrCorrupt, "%d, but the last tensor ends at %d", size, end)
	}
	if p.method.lossy() && size%4 != 0 {
		return nil, fail("uncompressed_size", base+4, format.ErrCorrupt, "%d bytes are not a whole number of float32", size)
	}
	p.size = int64(size)
	if !chunked {
		if c.Left() > 0 {
			return nil, fail("compression_size", compressionPos+8, format.ErrCorrupt, "%d bytes, not %d", len(b), compressionSize)
		}
		return p, p.checkStored(p.size, stored, "weights_size", weightsPos+8)
	}
	return p, p.readChunks(&c, stored)
}

// checkStored checks a stored size, which a field states, where the method decides it.
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

// readCompression parses the section and compares it with the descriptors. end is
// where the last tensor ends.
func (f *parsed) readCompression(end int64) (err error) {
	f.comp, err = parseCompression(f.table, f.h.Compression.Offset, f.h.Features.Has(ChunkedWeights), f.h.plainSize(), end)
	if err != nil {
		return err
	}
	if f.comp.method.lossy() {
		for i := range f.graph.tensors {
			if d := f.graph.descriptor(i); d.constant() && dtypeOf(d.code()) != tensor.Float32 {
				return fail(tensorField(i)+" dtype", f.graph.base+int64(f.graph.descriptorAt(i)+52), format.ErrCorrupt,
					"%v in weights that are compressed as %v, which is for float32 alone", dtypeOf(d.code()), f.comp.method)
			}
		}
	}
	if f.comp.chunked {
		return f.checkChunks()
	}
	return nil
}
