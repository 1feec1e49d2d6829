package source

import (
	"sync"

	"github.com/weightmap/weightmap/internal/fault"
)

// head reads a mapped file through its descriptor while the file is parsed: it is the reader of the
// region until Parsed. This avoids page faults and, on unmapping, TLB shootdowns, and the data is
// private memory that no other process changes.
type head struct {
	fd   descriptor // owned
	part            // the window of the file
	size int64      // of the window
	buf  []byte     // the beginning of the window
	pool *[]byte    // pooled memory of buf; nil until it is read
	one  [1]byte    // buffer for isCached
	iov  [1][]byte  // one as an I/O vector
}

// headSize is the size of the first read: it holds the structure of small models.
const headSize = 16 << 10

var heads = sync.Pool{New: func() any { b := make([]byte, headSize); return &b }}

// parse makes reads use the file that fd is open on, until Parsed.
func (r *Region) parse(fd descriptor, base int64) {
	h := &r.head
	h.fd = fd
	h.part = part{fd, base}
	h.size = r.size
	r.src = h
}

// parsing reports whether reads use the file and not its mapping.
func (r *Region) parsing() bool { return r.src == &r.head }

// first returns the beginning of the window, as much as can be read. It reads that once.
func (h *head) first() []byte {
	if h.pool == nil {
		h.pool = heads.Get().(*[]byte)
		b := (*h.pool)[:min(h.size, headSize)]
		n, _ := h.part.ReadAt(b, 0)
		h.buf = b[:n]
	}
	return h.buf
}

// Share lets several goroutines read the region while the file is parsed.
func (r *Region) Share() {
	if r.parsing() {
		r.head.first() // which the first read would do
	}
}

// ReadSoon asks the system to read a valid range of the window into its cache, while the file is
// parsed. It does not wait. It reports whether the beginning of the range was not in the cache.
func (r *Region) ReadSoon(off, n int64) bool {
	h := &r.head
	if !r.parsing() {
		return false
	}
	h.iov[0] = h.one[:]
	if isCached(int(h.fd), h.iov[:], h.base+off) {
		return false
	}
	readAhead(int(h.fd), h.base+off, n)
	return true
}

// Parsed ends parsing: from here on reads use the mapping, not the file, and a reader is told.
// Until then only the parser may use the region, unless Share was called. It may be called again.
func (r *Region) Parsed() {
	if r.src != nil && r.reader != nil && r.reader.Parsed != nil {
		r.reader.Parsed()
	}
	if r.parsing() {
		r.head.close()
		r.src = nil
	}
}

// close closes the file.
func (h *head) close() {
	h.fd.close()
	if h.pool != nil {
		heads.Put(h.pool)
	}
	*h = head{}
}

// ReadAt implements io.ReaderAt for a range of the window.
func (h *head) ReadAt(p []byte, off int64) (n int, err error) {
	if off < headSize && off < int64(len(h.first())) {
		n = copy(p, h.buf[off:])
	}
	if n == len(p) {
		return n, nil
	}
	k, err := h.part.ReadAt(p[n:], off+int64(n))
	return n + k, err
}

// copyAt copies a range of the window from its memory.
func (r *Region) copyAt(p []byte, off int64) (int, error) {
	if !r.IsUsed(off, int64(len(p))) {
		r.Populate(off, int64(len(p)))
	}
	n, ok := fault.Copy(p, r.win[off:])
	if !ok {
		return n, ErrCut
	}
	return n, nil
}
