package source

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weightmap/weightmap/internal/fault"
	"github.com/weightmap/weightmap/internal/pass"
)

// PieceSize is the number of bytes that a sealed region compares at once.
const PieceSize = pass.PieceSize

// Sealer seals the regions of one model. A sealed region keeps a hash of each piece as it was read
// first, or as a signature says, and compares every piece that it reads later, in private memory.
type Sealer struct {
	// Changed is the error for bytes that differ.
	Changed error
	// Memory limits the memory of a model.
	Memory Memory

	kept [keptPieces]keptPiece
}

// Forget drops the pieces that are kept, so that the next reads read the file.
func (s *Sealer) Forget() {
	for i := range s.kept {
		k := &s.kept[i]
		k.mu.Lock()
		k.of = nil
		k.mu.Unlock()
	}
}

// keptPieces is how many pieces stay in memory, so that small reads next to each other read a piece
// once.
const keptPieces = 8

// keptPiece is a piece that was read and compared.
type keptPiece struct {
	mu    sync.Mutex
	of    *seal
	piece int
	buf   *[]byte // nil at first, and if the memory limit leaves no room
}

// pieceBuffers has memory for pieces.
var pieceBuffers = sync.Pool{New: func() any {
	b := make([]byte, PieceSize)
	return &b
}}

var pieceSeed = maphash.MakeSeed()

// seal is what a sealed region compares with.
type seal struct {
	by     *Sealer
	size   int64
	ends   []int64                     // of signed ranges, in order, up to size; nil for none
	first  []int                       // by range: the number of its first piece
	check  func(i int, b []byte) error // compares range i with its signature; nil without ranges
	sums   []atomic.Uint64             // by piece; 0 for one that was not read yet
	shown  []atomic.Uint32             // by piece, one bit: it was compared in place
	mu     sync.Mutex
	inWork map[int]chan struct{} // ranges that are being checked
}

// Seal makes r compare what it reads. Without ends, a piece counts as it is read first: the caller
// reads all of them and authenticates what it has read. Otherwise r consists of ranges with these
// ends, and check is called with the bytes of a range before any of them is used. Call Seal before
// r is shared.
func (s *Sealer) Seal(r *Region, ends []int64, check func(i int, b []byte) error) error {
	c := &seal{by: s, size: r.size, ends: ends, check: check, inWork: make(map[int]chan struct{})}
	pieces := 0
	from := int64(0)
	for _, end := range ends {
		c.first = append(c.first, pieces)
		pieces += countPieces(end - from)
		from = end
	}
	if ends == nil {
		pieces = countPieces(r.size)
	}
	const wordBytes, rangeBytes = 8, 16
	shown := (pieces + 31) / 32
	if err := s.Memory.Reserve(int64(pieces)*wordBytes + int64(shown)*4 + int64(len(ends))*rangeBytes); err != nil {
		return r.fail(-1, err)
	}
	c.sums = make([]atomic.Uint64, pieces)
	c.shown = make([]atomic.Uint32, shown)
	r.seal = c
	return nil
}

// SealAs makes r compare what it reads with what was read of other, a sealed region of the same
// file. It reports whether the files have the same size. Call it before r is shared. The file of
// other may be closed.
func (r *Region) SealAs(other *Region) bool {
	if r.size != other.size {
		return false
	}
	r.seal = other.seal
	return true
}

// countPieces returns the number of pieces of a range of n bytes.
func countPieces(n int64) int { return int((n + PieceSize - 1) / PieceSize) }

// Sealed reports whether r compares what it reads. Bytes of its memory may then be used only after
// Show.
func (r *Region) Sealed() bool { return r.seal != nil }

// Show compares a valid range of the memory of a sealed region, before a slice of it is used in
// place. It compares each piece once: what another process changes later is not noticed. Call it
// between Enter and Leave.
func (r *Region) Show(off, n int64) error {
	if r.seal == nil || n == 0 {
		return nil
	}
	return r.seal.show(r, off, off+n)
}

// unit is what is compared at once: a piece, or a signed range that was not checked yet.
type unit struct {
	lo, hi int64
	piece  int // the first
	signed int // the range, -1 for a piece
}

// unitAt returns the unit with the byte at off.
func (c *seal) unitAt(off int64) unit {
	k := -1
	lo := int64(0)
	hi := c.size
	piece := 0
	if c.ends != nil {
		k, _ = slices.BinarySearch(c.ends, off+1)
		hi = c.ends[k]
		piece = c.first[k]
		if k > 0 {
			lo = c.ends[k-1]
		}
	}
	n := int((off - lo) / PieceSize)
	if c.check != nil && c.sums[piece+n].Load() == 0 {
		return unit{lo, hi, piece, k}
	}
	lo += int64(n) * PieceSize
	return unit{lo, min(lo+PieceSize, hi), piece + n, -1}
}

// compare compares the bytes of a unit with what is known of them.
func (c *seal) compare(u unit, b []byte) error {
	if u.signed >= 0 {
		if err := c.check(u.signed, b); err != nil {
			return err
		}
	}
	for i := u.piece; len(b) > 0; i++ {
		n := min(len(b), PieceSize)
		sum := max(1, maphash.Bytes(pieceSeed, b[:n]))
		if !c.sums[i].CompareAndSwap(0, sum) && c.sums[i].Load() != sum {
			return fmt.Errorf("%w: bytes %d to %d changed since the model was opened", c.by.Changed, u.lo, u.hi)
		}
		b = b[n:]
	}
	return nil
}

// read is Region.read for a sealed region. It returns the number of bytes that it has compared, and
// leaves no others in p.
func (c *seal) read(ctx context.Context, r *Region, p []byte, off int64) (n int, err error) {
	for n < len(p) {
		rest := p[n:]
		at := off + int64(n)
		u := c.unitAt(at)
		var k int
		if u.lo == at && u.hi-u.lo <= int64(len(rest)) {
			k, err = c.readUnits(ctx, r, rest, u)
		} else {
			k, err = c.readPart(ctx, r, rest, u, at)
		}
		n += k
		if err != nil {
			clear(p[n:])
			return n, err
		}
	}
	return n, nil
}

// readUnits reads u and the units after it that fit into p, with one call of a reader, and returns
// their size.
func (c *seal) readUnits(ctx context.Context, r *Region, p []byte, u unit) (int, error) {
	end := u.hi
	for r.src != nil && end < u.lo+int64(len(p)) {
		next := c.unitAt(end)
		if next.hi-u.lo > int64(len(p)) {
			break
		}
		end = next.hi
	}
	p = p[:end-u.lo]
	if _, err := r.fetch(ctx, p, u.lo); err != nil {
		return 0, err
	}
	for at := u.lo; at < end; {
		v := c.unitAt(at)
		if err := c.compare(v, p[at-u.lo:v.hi-u.lo]); err != nil {
			return int(at - u.lo), err
		}
		at = v.hi
	}
	return len(p), nil
}

// readPart fills p with bytes of u from off on, as far as u reaches, and returns their number.
func (c *seal) readPart(ctx context.Context, r *Region, p []byte, u unit, off int64) (int, error) {
	if u.signed >= 0 {
		return c.readRange(ctx, r, p, u, off)
	}
	k := &c.by.kept[u.piece%keptPieces]
	k.mu.Lock()
	if k.of == c && k.piece == u.piece {
		defer k.mu.Unlock()
		return copy(p, (*k.buf)[off-u.lo:u.hi-u.lo]), nil
	}
	k.mu.Unlock()
	buf := pieceBuffers.Get().(*[]byte)
	b := (*buf)[:u.hi-u.lo]
	_, err := r.fetch(ctx, b, u.lo)
	if err == nil {
		err = c.compare(u, b)
	}
	if err != nil {
		pieceBuffers.Put(buf)
		return 0, err
	}
	n := copy(p, b[off-u.lo:])
	c.by.keep(k, c, u.piece, buf)
	return n, nil
}

// keep makes a piece the one that is kept in k. It takes ownership of buf.
func (s *Sealer) keep(k *keptPiece, of *seal, piece int, buf *[]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.buf == nil && s.Memory.Reserve(PieceSize) != nil {
		pieceBuffers.Put(buf)
		return
	}
	if k.buf != nil {
		pieceBuffers.Put(k.buf)
	}
	k.of = of
	k.piece = piece
	k.buf = buf
}

// readRange is readPart for a signed range that was not checked yet. One goroutine reads the range;
// others that need it wait, and get 0 bytes: they read a piece then.
func (c *seal) readRange(ctx context.Context, r *Region, p []byte, u unit, off int64) (int, error) {
	c.mu.Lock()
	if c.sums[u.piece].Load() != 0 { // another goroutine has checked it since u was made
		c.mu.Unlock()
		return 0, nil
	}
	if others, ok := c.inWork[u.signed]; ok {
		c.mu.Unlock()
		select {
		case <-others:
			return 0, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	done := make(chan struct{})
	c.inWork[u.signed] = done
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.inWork, u.signed)
		c.mu.Unlock()
		close(done)
	}()
	if err := c.by.Memory.Reserve(u.hi - u.lo); err != nil {
		return 0, err
	}
	defer c.by.Memory.Release(u.hi - u.lo)
	b := make([]byte, u.hi-u.lo)
	if _, err := r.fetch(ctx, b, u.lo); err != nil {
		return 0, err
	}
	if err := c.compare(u, b); err != nil {
		return 0, err
	}
	return copy(p, b[off-u.lo:]), nil
}

// show is Show.
func (c *seal) show(r *Region, off, end int64) error {
	for at := off; at < end; {
		u := c.unitAt(at)
		if u.signed >= 0 {
			if _, err := c.readRange(context.Background(), r, nil, u, u.lo); err != nil {
				return r.fail(u.lo, err)
			}
			continue
		}
		word := &c.shown[u.piece/32]
		bit := uint32(1) << (u.piece % 32)
		at = u.hi
		if word.Load()&bit != 0 {
			continue
		}
		if err := c.compareInPlace(r, u); err != nil {
			return r.fail(u.lo, err)
		}
		word.Or(bit)
	}
	return nil
}

// compareInPlace compares a piece as it is in memory. It hashes a copy, since assembly with a stack
// frame cannot be unwound after a fault.
func (c *seal) compareInPlace(r *Region, u unit) error {
	buf := pieceBuffers.Get().(*[]byte)
	defer pieceBuffers.Put(buf)
	b := (*buf)[:u.hi-u.lo]
	r.Populate(u.lo, u.hi-u.lo)
	if _, ok := fault.Copy(b, r.win[u.lo:u.hi]); !ok {
		return ErrCut
	}
	return c.compare(u, b)
}
