package remote

import (
	"context"
	"sync"
)

// windows caches data that was fetched ahead: the beginning of the object, and pieces read while a
// model is opened. Formats read the structure in small consecutive pieces, each of which would
// otherwise be a request.
type windows struct {
	r    *Reader
	head []byte // immutable after the Reader is created

	mu      sync.RWMutex
	opening bool
	pieces  []piece // oldest first
	kept    int     // bytes of pieces
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

func (w *windows) init(r *Reader) { w.r, w.opening, w.next = r, true, r.o.Window }

// parsed ends reading ahead. The cached data remains, for verification.
func (w *windows) parsed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opening = false
}

// read reads p from off, from the cache where possible.
func (w *windows) read(ctx context.Context, p []byte, off int64) (int, error) {
	n := copy(p, w.head[min(off, int64(len(w.head))):])
	if n == len(p) {
		return n, nil
	}
	w.mu.RLock()
	n += w.copy(p[n:], off+int64(n))
	opening := w.opening
	w.mu.RUnlock()
	if n == len(p) {
		return n, nil
	}
	var err error
	if opening {
		err = w.ahead(ctx, p[n:], off+int64(n))
	} else {
		err = w.r.split(ctx, p[n:], off+int64(n), w.r.o.Part)
	}
	if err != nil {
		return n, err
	}
	return len(p), nil
}

// copy copies cached data from off on.
func (w *windows) copy(p []byte, off int64) (n int) {
	for i := len(w.pieces) - 1; i >= 0 && n < len(p); i-- {
		at := off + int64(n) - w.pieces[i].off
		if b := w.pieces[i].data; at >= 0 && at < int64(len(b)) {
			n += copy(p[n:], b[at:])
			i = len(w.pieces) // the rest may be in any piece
		}
	}
	return n
}

// ahead reads p from off and continues beyond it.
func (w *windows) ahead(ctx context.Context, p []byte, off int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.copy(p, off) // another goroutine may have fetched it
	p, off = p[n:], off+int64(n)
	if len(p) == 0 {
		return nil
	}
	if len(p) >= w.r.o.Window {
		w.end = off + int64(len(p))
		return w.r.split(ctx, p, off, 2*w.r.o.Part) // later reads need it too
	}
	from, size := w.extent(off, len(p))
	b := make([]byte, size)
	if err := w.r.split(ctx, b, from, w.r.o.Part); err != nil {
		return err
	}
	w.keep(piece{from, b})
	copy(p, b[off-from:])
	return nil
}

// extent returns the range to fetch for n bytes at off.
func (w *windows) extent(off int64, n int) (from int64, size int) {
	window, total := w.r.o.Window, w.r.version.Size
	least := max(1, window/leastPiece)
	switch gap := off - w.end; {
	case gap >= 0 && gap <= int64(w.next):
		w.next = min(2*w.next, mostPiece*window)
	case len(w.pieces) == 0 && total-off <= int64(window):
		// Formats with a directory at the end read it first, from the end of the file.
		w.next = least
		from = max(int64(len(w.head)), total-int64(window))
		return from, int(total - from)
	default:
		w.next = least
	}
	size = int(min(int64(max(n, w.next)), total-off))
	w.end = off + int64(size)
	return off, size
}

// keep adds a piece and drops the oldest ones beyond the limit.
func (w *windows) keep(p piece) {
	w.pieces = append(w.pieces, p)
	w.kept += len(p.data)
	for w.kept > mostKept*w.r.o.Window {
		w.kept -= len(w.pieces[0].data)
		w.pieces[0].data = nil
		w.pieces = w.pieces[1:]
	}
}
