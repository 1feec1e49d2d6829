package mle

import (
	"encoding/binary"
	"math"
	"sort"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/wire"
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

// chunk is one row of the chunk table: where its bytes lie in the uncompressed
// weights and in the stored ones.
type chunk struct {
	offset, size     int64 // uncompressed
	stored, storedSz int64
	checksum         uint32 // CRC-32 of the stored bytes
}

// parseCompression reads the section and checks the chunk table against the
// size of the stored weights. end is where the last tensor ends.
func parseCompression(b []byte, base int64, chunked bool, stored, end int64) (*compression, error) {
	c := wire.NewCursor(formatName, b, base)
	p := &compression{method: Method(c.U8("type")), level: c.U8("level"), chunked: chunked}
	reserved := c.U16("reserved")
	size := c.U64("uncompressed_size")
	p.checksum = c.U32("checksum")
	p.bits = c.U8("quantization_bits")
	padding := c.Bytes("padding", 3)
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
	// What the tensors need bounds the size, so that no bomb is ever inflated.
	if most, ok := wire.AlignUp(end, alignment); size < uint64(end) || size > uint64(most) || !ok {
		return nil, fail("uncompressed_size", base+4, format.ErrCorrupt, "%d, but the last tensor ends at %d", size, end)
	}
	p.size = int64(size)
	if !chunked {
		if c.Left() > 0 {
			return nil, fail("compression_size", compressionPos+8, format.ErrCorrupt, "%d bytes, not %d", len(b), compressionSize)
		}
		return p, p.checkStored(0, p.size, stored, base+4)
	}
	return p, p.readChunks(&c, stored)
}

// checkStored checks the stored size where the method decides it.
func (p *compression) checkStored(i int, size, stored, at int64) error {
	want := stored
	switch p.method {
	case MethodNone:
		want = size
	case MethodInt8:
		want = int8Head + size/4
	case MethodFloat16:
		want = size / 2
	}
	if p.method.lossy() && size%4 != 0 {
		return fail("uncompressed_size", at, format.ErrCorrupt, "%d bytes are no whole number of float32", size)
	}
	if want != stored {
		return fail("stored size", at, format.ErrCorrupt, "part %d of %d bytes takes %d as %v, not %d", i, size, want, p.method, stored)
	}
	return nil
}

// readChunks reads the chunk table.
func (p *compression) readChunks(c *wire.Cursor, stored int64) error {
	at := c.Offset()
	n := c.Count("chunk_count", uint64(c.U32("chunk_count")), chunkRow)
	p.base = c.Offset()
	p.rows = c.Bytes("chunks", uint64(n)*chunkRow)
	if c.Err() != nil {
		return c.Err()
	}
	if c.Left() > 0 {
		return fail("compression_size", compressionPos+8, format.ErrCorrupt, "%d bytes after the chunk table", c.Left())
	}
	if n == 0 && (p.size > 0 || stored > 0) {
		return fail("chunk_count", at, format.ErrCorrupt, "no chunks for %d bytes", p.size)
	}
	next := int64(0)
	for i := range n {
		if err := p.checkRow(i, next, stored); err != nil {
			return err
		}
		next = p.chunk(i).stored + p.chunk(i).storedSz
	}
	if n > 0 && next != stored {
		return fail("chunks", p.base, format.ErrCorrupt, "they fill %d of %d stored bytes", next, stored)
	}
	return nil
}

// checkRow checks row i, whose stored bytes must begin at next.
func (p *compression) checkRow(i int, next, stored int64) error {
	le, at := binary.LittleEndian, p.base+int64(i)*chunkRow
	row := p.rows[i*chunkRow:][:chunkRow]
	from, to := le.Uint64(row), uint64(p.size)
	if i+1 < p.chunks() {
		to = le.Uint64(p.rows[(i+1)*chunkRow:])
	}
	off, size := le.Uint64(row[8:]), le.Uint64(row[16:])
	switch {
	case i == 0 && from != 0:
		return fail("chunk 0 offset", at, format.ErrCorrupt, "%d, not 0", from)
	case to <= from || to > uint64(p.size):
		return fail("chunk offset", at, format.ErrCorrupt, "chunk %d reaches from %d to %d of %d uncompressed bytes", i, from, to, p.size)
	case off != uint64(next):
		return fail("chunk stored offset", at+8, format.ErrCorrupt, "chunk %d begins at %d, the one before ends at %d", i, off, next)
	case size > math.MaxInt64-off || off+size > uint64(stored):
		return fail("chunk stored size", at+16, format.ErrCorrupt, "chunk %d takes %d bytes from %d, of %d", i, size, off, stored)
	case le.Uint32(row[28:]) != 0:
		return fail("chunk reserved", at+28, format.ErrCorrupt, "%#x is not 0", le.Uint32(row[28:]))
	}
	return p.checkStored(i, int64(to-from), int64(size), at+16)
}

// chunks returns the number of chunks.
func (p *compression) chunks() int { return len(p.rows) / chunkRow }

// chunk returns row i, which exists and was checked.
func (p *compression) chunk(i int) chunk {
	le, row := binary.LittleEndian, p.rows[i*chunkRow:][:chunkRow]
	c := chunk{
		offset: int64(le.Uint64(row)), stored: int64(le.Uint64(row[8:])),
		storedSz: int64(le.Uint64(row[16:])), checksum: le.Uint32(row[24:]),
	}
	c.size = p.size - c.offset
	if i+1 < p.chunks() {
		c.size = int64(le.Uint64(p.rows[(i+1)*chunkRow:])) - c.offset
	}
	return c
}

// find returns the chunk that holds byte off of the uncompressed weights.
func (p *compression) find(off int64) int {
	return sort.Search(p.chunks(), func(i int) bool {
		return int64(binary.LittleEndian.Uint64(p.rows[i*chunkRow:])) > off
	}) - 1
}

// covering returns the chunks from first up to, but without, last that hold n
// bytes at off. n is not 0.
func (p *compression) covering(off, n int64) (first, last int) {
	return p.find(off), p.find(off+n-1) + 1
}

// storedSize returns how many stored bytes the chunks take that hold n bytes at
// off.
func (p *compression) storedSize(off, n int64) int64 {
	first, last := p.covering(off, n)
	end := p.chunk(last - 1)
	return end.stored + end.storedSz - p.chunk(first).stored
}
