package pass

import "io"

// windowSize is the number of bytes that a Window maps at a time, and windowAhead how far the disk
// reads ahead of it.
const (
	windowSize  = 1 << 20
	windowAhead = 2 << 20
)

// Window reads a range of a mapping. Pages that the program does not use in place are mapped only
// while they are read. It suits bytes that are written to another file: to read them first would
// copy them twice.
type Window struct {
	mapping    Mapping // nil if the program uses the range
	off        int64   // of the range in the file
	memory     []byte  // of the range
	begin, end int     // of the window, in the range
	rest       []byte  // of the window
}

// HasWindow reports whether a range of a file is mapped, and used or can be mapped for a short time.
func HasWindow(f File, off, size int64) bool {
	m := f.Mapping()
	return m != nil && f.Memory() != nil && (m.CanForget() || IsInPlace(f, off, size))
}

// OpenWindow returns a Window of a range that HasWindow. It must be closed.
func OpenWindow(f File, off int64, memory []byte) *Window {
	w := &Window{off: off, memory: memory}
	if !IsInPlace(f, off, int64(len(memory))) {
		w.mapping = f.Mapping()
	}
	return w
}

// Next returns the next bytes, at most n, or none at the end. They are valid until the next call,
// and may fault: use them for system calls, and Read for what cannot be unwound.
func (w *Window) Next(n int) []byte {
	if len(w.rest) == 0 {
		w.advance()
	}
	b := w.rest[:min(n, len(w.rest))]
	w.rest = w.rest[len(b):]
	return b
}

// advance removes the pages of the window, and maps those of the next.
func (w *Window) advance() {
	if w.mapping != nil {
		w.mapping.Forget(w.off+int64(w.begin), int64(w.end-w.begin))
	}
	w.begin = w.end
	w.end = min(w.begin+windowSize, len(w.memory))
	w.rest = w.memory[w.begin:w.end]
	if w.mapping == nil {
		return
	}
	ahead := w.off + int64(w.begin)
	if w.begin == 0 {
		w.mapping.Prefetch(ahead, windowAhead)
	}
	w.mapping.Prefetch(ahead+windowAhead, windowSize)
	w.mapping.Populate(w.off+int64(w.begin), int64(len(w.rest)))
}

// Read implements io.Reader.
func (w *Window) Read(p []byte) (int, error) {
	n := copy(p, w.Next(len(p)))
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close removes the pages of the range.
func (w *Window) Close() {
	if w.mapping != nil {
		w.mapping.Forget(w.off, int64(len(w.memory)))
	}
}
