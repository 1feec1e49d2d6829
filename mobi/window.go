package mobi

import (
	"sync"

	"github.com/weightmap/weightmap/format/driver"
)

// An io.ReaderAt is read in windows: small ones where data is jumped over,
// larger and larger ones where one record follows the other, so that many small
// records cost few reads.
const (
	minWindow = 1 << 10
	maxWindow = 64 << 10
)

// window hands out parts of the file in private memory while it is being
// parsed: nothing that was checked changes when another process writes to the
// file. From memory it copies no more than was asked for, so that opening
// touches no page of data that it need not.
type window struct {
	file driver.Source
	mem  []byte // the whole file, when it is in memory
	buf  []byte // what is at at, of readers
	at   int64
	next int64 // the size of the next window

	pooled *[]byte
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// open starts with a file.
func (w *window) open(file driver.Source) (err error) {
	w.file = file
	if file.InMemory() {
		w.pooled = buffers.Get().(*[]byte)
		w.buf = *w.pooled
		w.mem, err = file.Slice(0, file.Size())
	}
	return err
}

// close lets others use the memory.
func (w *window) close() {
	if w.pooled != nil && cap(w.buf) <= maxWindow {
		*w.pooled = w.buf[:0]
		buffers.Put(w.pooled)
	}
	w.pooled, w.buf = nil, nil
}

// bytes returns n bytes from off, which are valid until the next call.
func (w *window) bytes(off, n int64) ([]byte, error) {
	if size := int64(len(w.mem)); 0 <= off && off <= size && 0 <= n && n <= size-off {
		w.buf = append(w.buf[:0], w.mem[off:off+n]...)
		return w.buf, nil
	}
	if off < w.at || n > int64(len(w.buf)) || off-w.at > int64(len(w.buf))-n {
		if end := w.at + int64(len(w.buf)); off >= w.at && off <= end {
			w.next = min(2*w.next, maxWindow)
		} else {
			w.next = minWindow
		}
		w.next = max(w.next, minWindow)
		b, err := w.file.Slice(off, max(n, min(w.next, w.file.Size()-off)))
		if err != nil {
			return nil, err
		}
		w.buf, w.at = b, off
	}
	b := w.buf[off-w.at:]
	return b[:n:n], nil
}
