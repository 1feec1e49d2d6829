package mle

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"sort"
	"sync"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

// chunk is one row of the chunk table: where its bytes are in the uncompressed
// weights and in the stored ones.
type chunk struct {
	offset, size     int64 // uncompressed
	stored, storedSz int64
	checksum         uint32 // CRC-32 of the stored bytes
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
	from, to, toAt := le.Uint64(row), uint64(p.size), at
	if i+1 < p.chunks() {
		to, toAt = le.Uint64(p.rows[(i+1)*chunkRow:]), at+chunkRow
	}
	off, size := le.Uint64(row[8:]), le.Uint64(row[16:])
	switch {
	case i == 0 && from != 0:
		return fail("chunk 0 offset", at, format.ErrCorrupt, "%d, not 0", from)
	case to <= from: // they ascend to the end of the weights, so none is behind it
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
	return p.checkStored(int64(to-from), int64(size), "chunk stored size", at+16)
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

// checkChunks refuses chunks across tensors: no tensor may end in a chunk at
// or before the place where another begins in it.
func (f *parsed) checkChunks() error {
	n := f.comp.chunks()
	firstEnd := make([]int64, n)  // in (offset, offset+size] of each chunk; 0 is none
	lastStart := make([]int64, n) // in [offset, offset+size)
	for i := range f.graph.tensors {
		d := f.graph.descriptor(i)
		if !d.constant() {
			continue
		}
		off, size := int64(d.offset()), int64(d.size())
		first, last := f.comp.covering(off, size)
		lastStart[first] = max(lastStart[first], off)
		if end := off + size; firstEnd[last-1] == 0 || end < firstEnd[last-1] {
			firstEnd[last-1] = end
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

// loadChunks decompresses the chunks that hold n bytes at off, several at a
// time, and no others.
func (f *parsed) loadChunks(off, n int64, workers int) ([]byte, error) {
	first, last := f.comp.covering(off, n)
	from, to := f.comp.chunk(first), f.comp.chunk(last-1)
	in, err := f.stored(from.stored, to.stored+to.storedSz-from.stored)
	if err != nil {
		return nil, err
	}
	begin, end := from.offset, to.offset+to.size
	each := func(do func(m Method, c *chunk, stored []byte) error) error {
		return work.Each(context.Background(), last-first, workers, func(i int) error {
			c := f.comp.chunk(first + i)
			stored := in[c.stored-from.stored:][:c.storedSz]
			return f.src.Guard(func() error { return f.weightsError(do(f.comp.method, &c, stored), c.stored) })
		})
	}
	if !isPlausible(end-begin, int64(len(in))) {
		// Memory is only taken for what really comes out of them.
		err = each(func(m Method, c *chunk, stored []byte) error { return f.expand(m, io.Discard, stored, c.size) })
		if err != nil {
			return nil, err
		}
	}
	whole, err := buffer(end - begin)
	if err != nil {
		return nil, f.weightsError(err, from.stored)
	}
	err = each(func(m Method, c *chunk, stored []byte) error {
		return codecOf(m).DecompressInto(whole[c.offset-begin:][:c.size:c.size], stored)
	})
	if err != nil {
		return nil, err
	}
	return whole[off-begin:][:n:n], nil
}

// expand writes what comes out of stored bytes to w, and counts what that takes.
func (f *parsed) expand(m Method, w io.Writer, in []byte, size int64) error {
	c := codecOf(m)
	n := c.Window(in)
	if err := f.memory.Reserve(n); err != nil {
		return err
	}
	defer f.memory.Release(n)
	return c.Expand(w, in, size)
}

// verifyChunks checks the sums of the chunks and, when none is left out, of
// what comes out of all of them together.
func (f *parsed) verifyChunks(v driver.Verification) error {
	which := f.wantedChunks(v)
	sums := make([]uint32, len(which))
	err := v.Each(len(which), func(i int) (err error) {
		sums[i], err = f.verifyChunk(v, which[i])
		return err
	})
	if err != nil || len(which) < f.comp.chunks() {
		return err
	}
	sum := uint32(0)
	for i, s := range sums {
		sum = tensor.CombineCRC32(sum, s, f.comp.chunk(i).size)
	}
	return f.checkUncompressed(v, sum)
}

// storedChunk returns the stored bytes of a chunk, which its sum vouches for.
func (f *parsed) storedChunk(i int) ([]byte, error) {
	c := f.comp.chunk(i)
	b, err := f.stored(c.stored, c.storedSz)
	if err != nil {
		return nil, err
	}
	if sum := tensor.CRC32(b); sum != c.checksum {
		return nil, fail("chunk checksum", f.comp.base+int64(i)*chunkRow+24, format.ErrChecksum,
			"chunk %d: %#08x recorded, %#08x computed", i, c.checksum, sum)
	}
	return b, nil
}

// verifyChunk checks one chunk and returns the sum of its uncompressed bytes.
func (f *parsed) verifyChunk(v driver.Verification, i int) (uint32, error) {
	c := f.comp.chunk(i)
	in, err := f.storedChunk(i)
	if err != nil {
		return 0, err
	}
	if f.comp.method == MethodNone {
		return sumUncompressed(v, in)
	}
	if c.size > mostBuffered || !isPlausible(c.size, c.storedSz) {
		s := summed{v: v}
		err := f.expand(f.comp.method, &s, in, c.size)
		return s.sum, f.weightsError(err, c.stored)
	}
	// A buffer is faster than pieces, and fresh memory costs as much as fast decompression.
	buf, _ := chunkBuffers.Get().(*[]byte)
	if buf == nil || int64(cap(*buf)) < c.size {
		fresh, err := buffer(c.size)
		if err != nil {
			return 0, f.weightsError(err, c.stored)
		}
		buf = &fresh
	}
	defer chunkBuffers.Put(buf)
	out := (*buf)[:c.size]
	if err := codecOf(f.comp.method).DecompressInto(out, in); err != nil {
		return 0, f.weightsError(err, c.stored)
	}
	return sumUncompressed(v, out)
}

// isPlausible tells whether a size is believed before anything was decompressed.
func isPlausible(size, stored int64) bool { return size/16 <= stored+4<<10 }

// mostBuffered is how large a chunk may be to be decompressed in one go.
const mostBuffered = 4 << 20

var chunkBuffers sync.Pool // of *[]byte

// wantedChunks lists the chunks of the tensors that are to be verified, in order.
func (f *parsed) wantedChunks(v driver.Verification) []int {
	wanted := make([]bool, f.comp.chunks())
	for i := range f.index.Len() {
		if !v.All() && v.Wanted(i) {
			first, last := f.comp.covering(f.weightsOffset(i), f.index.Size(i))
			for k := first; k < last; k++ {
				wanted[k] = true
			}
		}
	}
	var which []int
	for k, w := range wanted {
		if w || v.All() {
			which = append(which, k)
		}
	}
	return which
}
