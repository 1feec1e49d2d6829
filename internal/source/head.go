package source

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/weightmap/weightmap/internal/fault"
)

// head is what a mapped file is read through while it is parsed: its descriptor. The
// mapping is not touched then, which spares the page faults of opening and, when it is
// unmapped again, telling other processors. What is read is private memory, which
// nobody changes.
type head struct {
	on   bool
	fd   int       // of our own, -1 for none
	file *os.File  // of the caller's, instead
	base int64     // where the window begins in it
	buf  []byte    // the beginning of the window
	err  error     // why there is no more of it
	pool *[]byte   // that it goes back to
	one  [1]byte   // that isCached reads
	iov  [1][]byte // of it
}

// headSize is how much is read at first: it holds the structure of small models.
const headSize = 16 << 10

var heads = sync.Pool{New: func() any { b := make([]byte, headSize); return &b }}

func (h *head) open(fd int) { h.on, h.fd = true, fd }

func (h *head) borrow(f *os.File, base int64) { h.on, h.fd, h.file, h.base = true, -1, f, base }

// close ends it, and again does nothing.
func (h *head) close() {
	if !h.on {
		return
	}
	if h.fd >= 0 {
		closeFile(h.fd)
	}
	if h.pool != nil {
		heads.Put(h.pool)
	}
	*h = head{fd: -1}
}

// readAt fills p from offset off of the window, which has the range.
func (h *head) readAt(p []byte, off int64) (int, error) {
	for n := 0; n < len(p); {
		k, err := 0, error(nil)
		if h.file != nil {
			k, err = h.file.ReadAt(p[n:], h.base+off+int64(n))
		} else {
			k, err = pread(h.fd, p[n:], h.base+off+int64(n))
		}
		if n += max(k, 0); n == len(p) {
			break
		}
		if errors.Is(err, io.EOF) || err == nil && k == 0 {
			return n, ErrCut
		}
		if err != nil {
			return n, err
		}
	}
	return len(p), nil
}

// first reads the beginning of the window, which has size bytes, and returns what it has
// of it. It is read once.
func (h *head) first(size int64) ([]byte, error) {
	if h.pool == nil {
		h.pool = heads.Get().(*[]byte)
		b := (*h.pool)[:min(size, headSize)]
		n, err := h.readAt(b, 0)
		h.buf, h.err = b[:n], err
	}
	return h.buf, h.err
}

// ReadSoon has the system read a range of the window, which has it, into its cache while the file is parsed. It
// returns before that is there, and reports whether the beginning was not.
func (r *Region) ReadSoon(off, n int64) bool {
	h := &r.head
	if !h.on {
		return false
	}
	fd := h.fd
	if h.file != nil {
		fd = int(h.file.Fd())
	}
	h.iov[0] = h.one[:]
	if isCached(fd, h.iov[:], h.base+off) {
		return false
	}
	readAhead(fd, h.base+off, n)
	return true
}

// Parsed ends the time when a region that was opened with Options.Parse is read through
// its file; from here on it is its mapping. Whoever parses is alone with the region
// until then.
func (r *Region) Parsed() {
	r.head.close()
	r.tellParsed()
}

// Head returns the first n bytes, or all when there are fewer. They are valid
// until Parsed.
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
		k, err = r.head.readAt(p[n:], off+int64(n))
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
