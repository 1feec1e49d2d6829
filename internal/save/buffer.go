package save

// buffer collects small writes that follow one another: of a model of many small tensors
// each would otherwise cost a system call.
type buffer struct {
	output
	mem []byte // not yet written
	off int64  // where mem belongs
	end int64  // of all that was written
}

func newBuffer(t output) *buffer { return &buffer{output: t, mem: make([]byte, 0, piece)} }

// WriteAt implements io.WriterAt. An error may belong to an earlier write.
func (b *buffer) WriteAt(p []byte, off int64) (int, error) {
	at, room := b.off+int64(len(b.mem)), cap(b.mem)-len(b.mem)
	if gap := off - at; at == b.end && gap > 0 && gap+int64(len(p)) <= int64(room) {
		b.mem = append(b.mem, make([]byte, gap)...)
		at, room = off, room-int(gap)
	}
	if off != at || len(p) > room || len(p) >= cap(b.mem) {
		if err := b.flush(); err != nil {
			return 0, err
		}
		b.off = off
	}
	b.end = max(b.end, off+int64(len(p)))
	if len(p) >= cap(b.mem) {
		return b.output.WriteAt(p, off)
	}
	b.mem = append(b.mem, p...)
	return len(p), nil
}

func (b *buffer) flush() error {
	if len(b.mem) == 0 {
		return nil
	}
	if _, err := b.output.WriteAt(b.mem, b.off); err != nil {
		return err
	}
	b.mem = b.mem[:0]
	return nil
}

// ReadAt implements io.ReaderAt.
func (b *buffer) ReadAt(p []byte, off int64) (int, error) {
	if err := b.flush(); err != nil {
		return 0, err
	}
	return b.output.ReadAt(p, off)
}

// Truncate implements driver.Target.
func (b *buffer) Truncate(size int64) error {
	if err := b.flush(); err != nil {
		return err
	}
	b.end = max(b.end, size)
	return b.output.Truncate(size)
}

// Commit implements output.
func (b *buffer) Commit(sync bool) error {
	if err := b.flush(); err != nil {
		b.Abort()
		return err
	}
	return b.output.Commit(sync)
}
