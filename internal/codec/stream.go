package codec

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// Reader decompresses one stream.
type Reader interface {
	io.Reader
	// Reset starts to read src, which may alias a mapped file: a page fault may unwind through
	// Read.
	Reset(src []byte) error
	// Rest returns the number of input bytes after the stream. It is valid after io.EOF.
	Rest() int
}

// SizedWriter is a Writer that records the size of the content.
type SizedWriter interface {
	Writer
	// ResetContentSize is Reset for content of a size.
	ResetContentSize(w io.Writer, size int64)
}

// Writer compresses one stream.
type Writer interface {
	io.WriteCloser
	Reset(w io.Writer)
}

// Writers returns a writer for a level from 1 to 9. What it writes does not depend on the sizes of
// the writes. Programs that only read do not link a method that they do not call: 110 kB of gzip.
type Writers interface {
	NewWriter(level int) (Writer, error)
}

// Stream is the codec for a compression library. It is safe for concurrent use. Readers and writers
// are created on first use and pooled.
type Stream struct {
	Name string // "gzip", "zstd" or "brotli"
	// WindowOf returns the most memory in bytes that a reader of src needs.
	WindowOf  func(src []byte) int64
	NewReader func() (Reader, error)
	Writers   Writers

	readers sync.Pool     // of Reader
	writers [10]sync.Pool // of Writer, by level
}

// Window implements Codec.
func (s *Stream) Window(src []byte) int64 { return s.WindowOf(src) }

// Compress returns src compressed as one stream. Levels go from 1 (fastest) to 9 (smallest); 0
// means DefaultLevel. Any other level is ErrLevel.
func (s *Stream) Compress(src []byte, level int) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(len(src)/2 + 64)
	w, err := s.NewWriter(&out, level, int64(len(src)))
	if err == nil {
		_, err = w.Write(src)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// NewWriter returns a writer that compresses size bytes to w. The output is complete after Close. A
// writer need not be closed.
func (s *Stream) NewWriter(w io.Writer, level int, size int64) (io.WriteCloser, error) {
	level, err := CheckLevel(level)
	if err != nil {
		return nil, err
	}
	z, ok := s.writers[level].Get().(Writer)
	if !ok {
		if z, err = s.Writers.NewWriter(level); err != nil {
			return nil, err
		}
	}
	if sized, ok := z.(SizedWriter); ok {
		sized.ResetContentSize(w, size)
	} else {
		z.Reset(w)
	}
	return &writer{z, &s.writers[level]}, nil
}

// writer returns to its pool on Close.
type writer struct {
	Writer
	pool *sync.Pool
}

func (w *writer) Close() error {
	err := w.Writer.Close()
	if err == nil {
		w.pool.Put(w.Writer)
	}
	return err
}

// DecodeInto implements Codec.
func (s *Stream) DecodeInto(dst, src []byte) error {
	return s.exactly(nil, dst, src, int64(len(dst)))
}

// DecodeTo implements Codec.
func (s *Stream) DecodeTo(w io.Writer, src []byte, size int64) error {
	if size < 0 {
		return Corruptf(s.Name, "decompressed size %d", size)
	}
	return s.exactly(w, make([]byte, min(size, piece)), src, size)
}

// prefix fills dst with the beginning of the content of src.
func (s *Stream) prefix(dst, src []byte) error {
	r, err := s.reader()
	if err != nil {
		return err
	}
	if err := r.Reset(src); err != nil {
		return Corrupt(s.Name, err)
	}
	if _, err := io.ReadFull(r, dst); err != nil {
		return Corrupt(s.Name, err)
	}
	s.keep(r, src)
	return nil
}

// piece is the size of the buffer for streams that do not go to memory.
const piece = 32 << 10

func (s *Stream) exactly(w io.Writer, buf, src []byte, size int64) error {
	n, err := s.decompress(w, buf, src, size)
	switch {
	case err != nil:
		return err
	case n < size:
		return Corruptf(s.Name, "ends after %d of %d bytes", n, size)
	case n > size:
		return Corruptf(s.Name, "holds more than %d bytes", size)
	}
	return nil
}

// decompress decompresses src by way of buf to w, or into buf if w is nil, and returns the number
// of bytes. If there are more than limit, it stops and returns a larger number. It checks the end
// of the stream and that no input is left.
func (s *Stream) decompress(w io.Writer, buf, src []byte, limit int64) (n int64, err error) {
	r, err := s.reader()
	if err != nil {
		return 0, err
	}
	if err := r.Reset(src); err != nil {
		return 0, Corrupt(s.Name, err)
	}
	more := make([]byte, 1)
	for err == nil && n <= limit {
		to := more
		switch {
		case n < limit && w == nil:
			to = buf[n:]
		case n < limit:
			to = buf[:min(limit-n, int64(len(buf)))]
		}
		var k int
		k, err = r.Read(to)
		if n += int64(k); w != nil && n <= limit {
			if _, failed := w.Write(to[:k]); failed != nil {
				return n, failed
			}
		}
	}
	switch {
	case n > limit:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, Corrupt(s.Name, err)
	case r.Rest() > 0:
		return n, Corruptf(s.Name, "%d bytes after its end", r.Rest())
	}
	s.keep(r, src)
	return n, nil
}

// reader returns a reader that was used before, or a new one.
func (s *Stream) reader() (Reader, error) {
	if r, ok := s.readers.Get().(Reader); ok {
		return r, nil
	}
	return s.NewReader()
}

// keep keeps the reader of src for the next stream.
func (s *Stream) keep(r Reader, src []byte) {
	if s.Window(src) <= mostPooled {
		s.readers.Put(r)
	}
}

// mostPooled is the largest window of a reader that is kept for the next stream.
const mostPooled = 20 << 20
