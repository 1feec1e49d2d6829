package sink

// Buffer collects writes that follow one another into few large ones, which another
// goroutine makes while the next is collected. A model of many small tensors would
// otherwise cost a system call for each, and one of larger ones the time of summing
// besides that of writing.
type Buffer struct {
	t   Target
	w   *behind
	mem *[]byte // what is being filled, or nil
	n   int     // how much of it is
	off int64   // where it belongs
	end int64   // of all that was written
}

// NewBuffer writes to t, which is nobody else's before Flush. What the Buffer still holds
// is lost without that. In any case it ends with Release.
func NewBuffer(t Target) *Buffer { return &Buffer{t: t, w: newBehind(t)} }

// Sequential is what the target is.
func (b *Buffer) Sequential() bool { return b.t.Sequential() }

// large is the size of data that are written at once, from where the caller has them. Copying
// less than that spares the caller the time of writing; for more, others keep as busy.
const large = 2 * batch

// widest is the widest gap that is filled with zeros instead of left out.
const widest = 4096

// WriteAt implements io.WriterAt. An error may belong to an earlier write.
func (b *Buffer) WriteAt(p []byte, off int64) (int, error) {
	if len(p) >= large {
		return b.direct(p, off)
	}
	if !b.bridge(off) {
		if err := b.hand(); err != nil {
			return 0, err
		}
		b.off = off
	}
	b.end = max(b.end, off+int64(len(p)))
	for done := 0; done < len(p); {
		if b.mem == nil {
			b.mem = b.w.take()
		}
		n := copy((*b.mem)[b.n:b.full()], p[done:])
		b.n += n
		done += n
		if b.n == b.full() {
			if err := b.hand(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

// full is how much is collected before it is written: the more the larger the file is
// already, so that writing starts early and the last batch is not most of a small file.
func (b *Buffer) full() int { return int(min(int64(len(*b.mem)), max(piece, b.off/2))) }

// direct writes what is too large to be collected.
func (b *Buffer) direct(p []byte, off int64) (int, error) {
	if err := b.Flush(); err != nil {
		return 0, err
	}
	n, err := b.t.WriteAt(p, off)
	b.off = off + int64(n)
	b.end = max(b.end, b.off)
	return n, err
}

// bridge reports whether a write at off goes on where the last one ended, or after a
// small gap, with nothing behind it that zeros could take the place of.
func (b *Buffer) bridge(off int64) bool {
	at := b.off + int64(b.n)
	gap := off - at
	if gap == 0 {
		return true
	}
	if b.n == 0 || at < b.end || gap < 0 || gap > widest || gap >= int64(b.full()-b.n) {
		return false
	}
	clear((*b.mem)[b.n:][:gap])
	b.n += int(gap)
	return true
}

// hand has what is held written by the other goroutine, unless that would take longer to
// wake.
func (b *Buffer) hand() error {
	if b.n == 0 {
		return nil
	}
	if b.n < piece {
		return b.Flush()
	}
	err := b.w.put(placed{b.mem, b.n, b.off})
	b.off += int64(b.n)
	b.mem, b.n = nil, 0
	return err
}

// Flush writes what is held, and waits until all is written.
func (b *Buffer) Flush() error {
	if b.n == 0 {
		return b.w.wait()
	}
	err := b.w.now(placed{b.mem, b.n, b.off})
	b.off += int64(b.n)
	b.n = 0
	return err
}

// Release waits for the other goroutine and gives up the memory, with what it holds.
func (b *Buffer) Release() {
	b.w.release(b.mem)
	b.mem, b.n = nil, 0
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
	b.end = max(b.end, size)
	return b.t.Truncate(size)
}
