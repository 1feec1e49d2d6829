package mag

import "github.com/weightmap/weightmap/internal/sink"

// penSize is how many bytes of neighbouring small tensors are gathered into
// one write.
const penSize = 256 << 10

// pen writes to a target and joins small writes that follow each other.
type pen struct {
	t    sink.Target
	buf  []byte
	off  int64 // of buf[0] in the file
	high int64 // end of what was written
}

// WriteAt takes p for offset off; it may stay in the buffer until flush.
func (w *pen) WriteAt(p []byte, off int64) (int, error) {
	w.high = max(w.high, off+int64(len(p)))
	large := len(p) > penSize/2
	if large || off != w.off+int64(len(w.buf)) || len(w.buf)+len(p) > penSize {
		if err := w.flush(); err != nil {
			return 0, err
		}
		w.off = off
	}
	if large {
		n, err := w.t.WriteAt(p, off)
		w.off = off + int64(n)
		return n, err
	}
	if w.buf == nil {
		w.buf = make([]byte, 0, penSize)
	}
	w.buf = append(w.buf, p...)
	return len(p), nil
}

// flush writes what is in the buffer.
func (w *pen) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	n, err := w.t.WriteAt(w.buf, w.off)
	w.off += int64(n)
	w.buf = w.buf[:0]
	return err
}

// pad fills from off to the next multiple of 64, whose offset it returns.
func (w *pen) pad(off int64) (int64, error) {
	n := int(-off & (dataAlign - 1))
	if n == 0 {
		return off, nil
	}
	_, err := w.WriteAt(gap[:n], off)
	return off + int64(n), err
}

var gap = func() (b [dataAlign]byte) {
	for i := range b {
		b[i] = gapByte
	}
	return b
}()
