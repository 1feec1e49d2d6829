package remote

import (
	"context"
	"slices"
)

// windows caches data that was fetched ahead: the first window, and pieces read while a model is
// opened. Formats read the structure in small consecutive pieces, each of which would otherwise be
// a request.
type windows struct {
	opening bool
	pieces  []piece // the first window, then the others, oldest first
	kept    int     // bytes of those others
	next    int     // the size of the latest piece
	end     int64   // where the latest read ended
}

type piece struct {
	off  int64
	data []byte
}

// Multiples of Options.Window.
const (
	leastPiece = 16 // divisor, for scattered structure
	mostPiece  = 4  // for contiguous structure
	mostKept   = 8  // of pieces
)

// cached copies what is in memory of p from off on, and reports whether to read ahead.
func (r *Reader) cached(p []byte, off int64) (n int, opening bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i := len(r.pieces) - 1; i >= 0 && n < len(p); i-- {
		at := off + int64(n) - r.pieces[i].off
		if b := r.pieces[i].data; at >= 0 && at < int64(len(b)) {
			n += copy(p[n:], b[at:])
			i = len(r.pieces) // the rest may be in any piece
		}
	}
	return n, r.opening
}

// ahead reads p from off and continues beyond it.
func (r *Reader) ahead(ctx context.Context, p []byte, off int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(p) >= r.o.Window {
		r.windows.end = off + int64(len(p))
		return r.split(ctx, p, off, 2*r.o.Part) // later reads need it too
	}
	from, size := r.extent(off, len(p))
	b := make([]byte, size)
	if err := r.split(ctx, b, from, r.o.Part); err != nil {
		return err
	}
	r.keep(piece{from, b}, mostKept*r.o.Window)
	copy(p, b[off-from:])
	return nil
}

// extent returns the range to fetch for n bytes at off.
func (r *Reader) extent(off int64, n int) (from int64, size int) {
	w := &r.windows
	window := r.o.Window
	total := r.version.Size
	least := max(1, window/leastPiece)
	switch gap := off - w.end; {
	case gap >= 0 && gap <= int64(w.next):
		w.next = min(2*w.next, mostPiece*window)
	case len(w.pieces) == 1 && total-off <= int64(window):
		// Formats with a directory at the end read it first, from the end of the file.
		w.next = least
		from = max(int64(len(w.pieces[0].data)), total-int64(window))
		return from, int(total - from)
	default:
		w.next = least
	}
	size = int(min(int64(max(n, w.next)), total-off))
	w.end = off + int64(size)
	return off, size
}

// keep adds a piece and drops the oldest ones but the first window beyond the limit of bytes.
func (w *windows) keep(p piece, most int) {
	w.pieces = append(w.pieces, p)
	w.kept += len(p.data)
	for w.kept > most {
		w.kept -= len(w.pieces[1].data)
		w.pieces = slices.Delete(w.pieces, 1, 2)
	}
}
