package source

import (
	"runtime"
	"sync/atomic"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/pass"
)

var (
	_ pass.File    = (*Region)(nil)
	_ pass.Mapping = (*Region)(nil)
)

// Memory implements pass.File.
func (r *Region) Memory() []byte {
	if r.src != nil || r.seal != nil {
		return nil
	}
	return r.Bytes()
}

// Mapping implements pass.File. It is nil while the file is parsed, which reads the open file.
func (r *Region) Mapping() pass.Mapping {
	if r.ra == nil || r.src != nil {
		return nil
	}
	return r
}

// Kind implements pass.File.
func (r *Region) Kind() pass.Kind {
	k := pass.Kind{IsReader: r.IsReader()}
	if r.seal != nil {
		k.Align = PieceSize
	}
	return k
}

// used has a bit for each piece of PieceSize of a mapping: the program has used it in place, so
// that its pages are mapped.
type used []atomic.Uint32

// has reports whether the program has used a piece.
func (u used) has(piece uint64) bool { return u[piece/32].Load()>>(piece%32)&1 != 0 }

// IsUsed implements pass.Mapping.
func (r *Region) IsUsed(off, n int64) bool {
	bits := r.used.Load()
	if bits == nil || n == 0 {
		return false
	}
	for i := off / PieceSize; i*PieceSize < off+n; i++ {
		if !bits.has(uint64(i)) {
			return false
		}
	}
	return true
}

// MarkMemory is MarkUsed for a part of the memory of the mapping. It is called for each slice that
// is returned.
func (r *Region) MarkMemory(b []byte) {
	off := uint64(memory.Address(b) - memory.Address(r.win))
	bits := r.used.Load()
	if bits != nil && len(b) > 0 {
		last := off + uint64(len(b)) - 1
		if off < uint64(r.size) && last < uint64(r.size) && bits.has(off/PieceSize) && bits.has(last/PieceSize) {
			return
		}
	}
	r.MarkUsed(int64(off), int64(len(b)))
}

// MarkUsed implements pass.Mapping.
func (r *Region) MarkUsed(off, n int64) {
	n = min(n, r.size-off)
	if r.ra == nil || off < 0 || n <= 0 {
		return
	}
	bits := r.used.Load()
	if bits == nil {
		fresh := make(used, countPieces(r.size)/32+1)
		r.used.CompareAndSwap(nil, &fresh)
		bits = r.used.Load()
	}
	first := off / PieceSize
	last := (off + n - 1) / PieceSize
	for i := first; i <= last; i++ {
		(*bits)[i/32].Or(1 << (i % 32))
	}
}

// markEvicted says that the pages of a range are not mapped any more.
func (r *Region) markEvicted(off, n int64) {
	bits := r.used.Load()
	if bits == nil {
		return
	}
	from := (off + PieceSize - 1) / PieceSize
	to := (off + n) / PieceSize
	if off+n == r.size {
		to = int64(countPieces(r.size))
	}
	for from < to {
		word := &(*bits)[from/32]
		count := min(32-from%32, to-from)
		if word.Load() != 0 { // most are 0, and a file is evicted often while it is converted
			word.And(^(uint32(1<<count-1) << (from % 32)))
		}
		from += count
	}
}

// populateOver is the size below which Populate does nothing, since a page fault maps as much.
const populateOver = 64 << 10

// Populate maps a range of the window, and reads it if it is not in memory, with a system call: a
// page fault would occupy a processor while the disk reads. It is a hint. Call it between Enter and
// Leave. It does nothing for heap memory and readers, nor on systems other than Linux and Android.
func (r *Region) Populate(off, n int64) {
	if r.ra != nil && n >= populateOver {
		populate(r.mem, r.skip+int(off), r.skip+int(off+n))
		runtime.Gosched() // a short system call keeps its processor and would delay timers
	}
}
