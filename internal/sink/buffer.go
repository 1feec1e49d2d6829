package sink

import "io"

// Buffer collects small writes that follow one another into few large ones. A
// model of many small tensors would otherwise cost a system call for each.
type Buffer struct {
	t   Target
	buf []byte // not yet written
	off int64  // where buf belongs
}

// NewBuffer writes to t. What it still holds is lost without Flush.
func NewBuffer(t Target) *Buffer { return &Buffer{t: t} }

// Sequential is what the target is.
func (b *Buffer) Sequential() bool { return b.t.Sequential() }

// WriteAt implements io.WriterAt. An error may belong to an earlier write.
func (b *Buffer) WriteAt(p []byte, off int64) (int, error) {
	large := len(p) >= piece/2
	if large || off != b.off+int64(len(b.buf)) || len(b.buf)+len(p) > piece {
		if err := b.Flush(); err != nil {
			return 0, err
		}
		b.off = off
	}
	if large {
		n, err := b.t.WriteAt(p, off)
		b.off = off + int64(n)
		return n, err
	}
	if b.buf == nil {
		b.buf = make([]byte, 0, piece)
	}
	b.buf = append(b.buf, p...)
	return len(p), nil
}

// Flush writes what is held.
func (b *Buffer) Flush() error {
	if len(b.buf) == 0 {
		return nil
	}
	n, err := b.t.WriteAt(b.buf, b.off)
	if err == nil && n < len(b.buf) {
		err = io.ErrShortWrite
	}
	b.off += int64(len(b.buf))
	b.buf = b.buf[:0]
	return err
}

// ReadAt implements io.ReaderAt.
func (b *Buffer) ReadAt(p []byte, off int64) (int, error) {
	if err := b.Flush(); err != nil {
		return 0, err
	}
	return b.t.ReadAt(p, off)
}

// Truncate implements Target.
func (b *Buffer) Truncate(size int64) error {
	if err := b.Flush(); err != nil {
		return err
	}
	return b.t.Truncate(size)
}
