package wire

import (
	"io"
	"sync"
)

// Window reads a file into private memory: in small pieces where the parser skips
// data, and in pieces of growing size where it reads everything.
type Window struct {
	file  File
	piece [mostPiece]byte
	ahead ahead
	have  []byte // the bytes at offset at of the file
	at    int64
	size  int64 // of the piece

	recorded bool // all of have is recorded
}

// File is a file whose structure is recorded: see driver.Source.
type File interface {
	io.ReaderAt
	Size() int64
	ReadAhead(p []byte, off int64) (int, error)
	Record(b []byte, off int64) error
}

const (
	leastPiece = 512
	mostPiece  = 64 << 10
)

var windows = sync.Pool{New: func() any { return new(Window) }}

// Open returns a Window of a file. The caller must call Close once.
func Open(file File) *Window {
	w := windows.Get().(*Window)
	w.file = file
	w.size = 0
	w.ahead.n = 0
	w.ahead.period = 0
	return w
}

// Close returns the memory to the pool.
func (w *Window) Close() {
	w.file = nil
	w.have = nil
	windows.Put(w)
}

// Prover is a file that may know which bytes exist without reading them.
type Prover interface {
	Prove(end int64) error
}

// Prove checks that a file has bytes up to end, before memory is allocated for them.
func Prove(file io.ReaderAt, end int64) error {
	if end <= 0 {
		return nil
	}
	p, ok := file.(Prover)
	if ok {
		return p.Prove(end)
	}
	_, err := file.ReadAt(make([]byte, 1), end-1)
	return err
}

// Peek is Bytes for data that may not be structure, or that is read again as part of a larger
// range.
func (w *Window) Peek(off, n int64) ([]byte, error) {
	b, err := w.read(off, n)
	if err != nil {
		return nil, err
	}
	return b[:n:n], nil
}

// Bytes returns n bytes at off, a valid range of the file. They are valid until the next call.
func (w *Window) Bytes(off, n int64) ([]byte, error) {
	b, err := w.Peek(off, n)
	if err != nil {
		return nil, err
	}
	return b, w.file.Record(b, off)
}

// Piece returns at least n bytes at off, a valid range of the file: all that were read.
func (w *Window) Piece(off, n int64) ([]byte, error) {
	b, err := w.read(off, n)
	if err != nil {
		return nil, err
	}
	if w.recorded {
		return b, nil
	}
	w.recorded = true
	return b, w.file.Record(w.have, w.at)
}

func (w *Window) read(off, n int64) ([]byte, error) {
	end := w.at + int64(len(w.have))
	if off >= w.at && off <= end-n {
		return w.have[off-w.at:], nil
	}
	// The gap is smaller than a piece.
	if off >= w.at && off-end <= w.size {
		w.size = min(max(2*w.size, leastPiece), mostPiece)
	} else {
		w.size = leastPiece
	}
	n = max(n, min(w.size, w.file.Size()-off))
	w.ahead.read(w.file, off, off+n)
	w.have = nil
	b := w.piece[:min(n, mostPiece)]
	if n > mostPiece {
		err := Prove(w.file, off+n)
		if err != nil {
			return nil, err
		}
		b = make([]byte, n)
	}
	_, err := w.file.ReadAhead(b, off)
	if err != nil {
		return nil, err
	}
	w.have = b
	w.at = off
	w.recorded = false
	return b, nil
}
