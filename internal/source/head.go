package source

import (
	"sync"

	"github.com/weightmap/weightmap/internal/fault"
)

// head reads a mapped file through its descriptor while the file is parsed. This avoids
// page faults and, on unmapping, TLB shootdowns, and the data is private memory that no
// other process changes.
type head struct {
	on   bool
	fd   descriptor // owned
	part            // the window of the file
	buf  []byte     // the beginning of the window
	err  error      // why buf is short
	pool *[]byte    // pooled memory of buf
	one  [1]byte    // buffer for isCached
	iov  [1][]byte  // one as an I/O vector
}

// headSize is the size of the first read: it holds the structure of small models.
const headSize = 16 << 10

var heads = sync.Pool{New: func() any { b := make([]byte, headSize); return &b }}

func (h *head) open(fd descriptor, base int64) { h.on, h.fd, h.part = true, fd, part{fd, base} }

// close closes the descriptor. It may be called again.
func (h *head) close() {
	if !h.on {
		return
	}
	h.fd.close()
	if h.pool != nil {
		heads.Put(h.pool)
	}
	*h = head{}
}

// first returns the beginning of the window, which has size bytes. It reads that once.
func (h *head) first(size int64) ([]byte, error) {
	if h.pool == nil {
		h.pool = heads.Get().(*[]byte)
		b := (*h.pool)[:min(size, headSize)]
		n, err := h.ReadAt(b, 0)
		h.buf, h.err = b[:n], err
	}
	return h.buf, h.err
}

// ReadSoon asks the system to read a valid range of the window into its cache, while the file is parsed. It
// does not wait. It reports whether the beginning of the range was not in the cache.
func (r *Region) ReadSoon(off, n int64) bool {
	h := &r.head
	if !h.on {
		return false
	}
	h.iov[0] = h.one[:]
	if isCached(int(h.fd), h.iov[:], h.base+off) {
		return false
	}
	readAhead(int(h.fd), h.base+off, n)
	return true
}

// Parsed ends parsing of a region that was opened with Options.Parse: from here on reads use
// the mapping, not the file. Until then only the parser may use the region.
func (r *Region) Parsed() {
	r.head.close()
	r.tellParsed()
}

// Head returns the first n bytes, or all if there are fewer. They are valid until
// Parsed.
func (r *Region) Head(n int64) ([]byte, error) {
	n = min(n, r.size)
	if !r.head.on || n > headSize {
		return r.Slice(0, n)
	}
	b, err := r.head.first(r.size)
	if int64(len(b)) < n {
		return nil, r.fail(int64(len(b)), err)
	}
	return b[:n], nil
}

// readHead is ReadAt while parsing, for a range of the window.
func (r *Region) readHead(p []byte, off int64) (n int, err error) {
	if off < headSize {
		b, err := r.head.first(r.size)
		if off < int64(len(b)) {
			n = copy(p, b[off:])
		}
		if n < len(p) && err != nil {
			return n, err
		}
	}
	if n < len(p) {
		var k int
		k, err = r.head.ReadAt(p[n:], off+int64(n))
		n += k
	}
	return n, err
}

// copyAt copies a range of the window from its memory.
func (r *Region) copyAt(p []byte, off int64) (int, error) {
	r.Populate(off, int64(len(p)))
	n, ok := fault.Copy(p, r.win[off:], r.base+uintptr(off))
	if !ok {
		return n, ErrCut
	}
	return n, nil
}
