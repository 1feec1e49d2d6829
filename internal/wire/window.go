package wire

import (
	"io"
	"sync"
)

// Window reads a file piece by piece into memory that nobody else changes: small
// pieces where data is jumped over, larger and larger ones where all is looked at.
type Window struct {
	file Sized
	buf  *buffer // of the pool
	have []byte  // what is at at of the file
	at   int64
	size int64 // of the piece

	recorded bool // all of have
}

// Sized is a file that knows its size.
type Sized interface {
	io.ReaderAt
	Size() int64
}

const (
	leastPiece = 512
	mostPiece  = 64 << 10
)

// buffer is what windows share.
type buffer struct {
	piece [mostPiece]byte
	ahead ahead
}

var windows = sync.Pool{New: func() any { return new(buffer) }}

// Open starts at the beginning of a file.
func (w *Window) Open(file Sized) {
	*w = Window{file: file, buf: windows.Get().(*buffer)}
	w.buf.ahead.n, w.buf.ahead.period = 0, 0
}

// Close lets others use the memory.
func (w *Window) Close() {
	if w.buf != nil {
		windows.Put(w.buf)
	}
	*w = Window{}
}

// Prove makes sure that a file has bytes up to end, before memory is allocated for them.
func Prove(file io.ReaderAt, end int64) error {
	if end <= 0 {
		return nil
	}
	if p, ok := file.(interface{ Prove(end int64) error }); ok {
		return p.Prove(end) // which knows better than to read
	}
	_, err := file.ReadAt(make([]byte, 1), end-1)
	return err
}

// source is a file whose structure is recorded: see driver.Source.
type source interface {
	ReadAhead(p []byte, off int64) (int, error)
	Record(b []byte, off int64) error
}

// Peek is Bytes of what may turn out to be no structure, or is read again with more.
func (w *Window) Peek(off, n int64) ([]byte, error) {
	b, err := w.piece(off, n)
	if err != nil {
		return nil, err
	}
	return b[:n:n], nil
}

// Bytes returns n bytes from off, which the file has. They are valid until the next call.
func (w *Window) Bytes(off, n int64) ([]byte, error) {
	b, err := w.piece(off, n)
	if err != nil {
		return nil, err
	}
	if src, ok := w.file.(source); ok {
		err = src.Record(b[:n], off)
	}
	return b[:n:n], err
}

// Piece returns n bytes from off, which the file has, and those behind that came with them.
func (w *Window) Piece(off, n int64) ([]byte, error) {
	b, err := w.piece(off, n)
	if src, ok := w.file.(source); ok && err == nil && !w.recorded {
		w.recorded = true
		err = src.Record(w.have, w.at)
	}
	return b, err
}

func (w *Window) piece(off, n int64) ([]byte, error) {
	end := w.at + int64(len(w.have))
	if off >= w.at && off <= end-n {
		return w.have[off-w.at:], nil
	}
	// What is jumped over is less than what comes with it.
	if off >= w.at && off-end <= w.size {
		w.size = min(max(2*w.size, leastPiece), mostPiece)
	} else {
		w.size = leastPiece
	}
	return w.read(off, max(n, min(w.size, w.file.Size()-off)))
}

// read replaces the piece.
func (w *Window) read(off, n int64) ([]byte, error) {
	w.have = nil
	b := w.buf.piece[:]
	w.buf.ahead.read(w.file, off, off+n)
	if n > mostPiece {
		if err := Prove(w.file, off+n); err != nil {
			return nil, err
		}
		b = make([]byte, n)
	}
	b = b[:n]
	read := w.file.ReadAt
	if src, ok := w.file.(source); ok {
		read = src.ReadAhead
	}
	if _, err := read(b, off); err != nil {
		return nil, err
	}
	w.have, w.at, w.recorded = b, off, false
	return b, nil
}
