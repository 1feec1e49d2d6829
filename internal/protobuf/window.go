package protobuf

import (
	"bytes"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/tensor"
)

// Window reads a part of a file piece by piece into private memory: small pieces
// where data is jumped over, larger and larger ones where all is looked at.
type Window struct {
	src        driver.Source
	base, size int64
	least      int64 // bytes of one piece
	most       int64
	Buf        []byte
	next       int64 // where the last piece ended
	n          int64 // its size
}

const (
	minCopied = 256 // of memory
	minFetch  = 512 // behind a reader
	maxWindow = 256 << 10
)

// fill reads at least n bytes.
func (w *Window) fill(at, n int64) ([]byte, error) {
	if n > w.most {
		return nil, Defectf(at, tensor.ErrLimit, "%d bytes that are not data, the limit is %d", n, w.most)
	}
	if at <= w.next && at > w.next-64 {
		w.n = min(2*w.n, maxWindow)
	} else {
		w.n = w.least
	}
	w.n = max(w.n, w.least)
	n = min(max(n, w.n), w.size-at)
	w.next = at + n
	b, err := w.src.Slice(w.base+at, n)
	switch {
	case err != nil || !w.src.InMemory():
		return b, err
	case n > maxWindow:
		return bytes.Clone(b), nil
	case int64(cap(w.Buf)) < n:
		w.Buf = make([]byte, n)
	}
	return w.Buf[:copy(w.Buf[:n], b)], nil
}

// NewWindow makes a window of size bytes at base, with at most so many at a time.
func NewWindow(src driver.Source, base, size, most int64) *Window {
	w := &Window{src: src, base: base, size: size, least: minCopied, most: most}
	if !src.InMemory() {
		w.least = minFetch
	}
	return w
}
