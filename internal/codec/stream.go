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

var _ Compressor = (*Stream)(nil)

// Compress implements Compressor.
func (s *Stream) Compress(src []byte, level int) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(len(src)/2 + 64)
	w, err := s.NewWriter(&out, level, int64(len(src)))
	if err != nil {
		return nil, err
	}
	_, err = w.Write(src)
	if err != nil {
		return nil, err
	}
	err = w.Close()
	if err != nil {
		return nil, err
	}
	return out.Bytes(), nil
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
		z, err = s.Writers.NewWriter(level)
		if err != nil {
			return nil, err
		}
	}
	sized, ok := z.(SizedWriter)
	if ok {
		sized.ResetContentSize(w, size)
	} else {
		z.Reset(w)
	}
	return &pooledWriter{z, &s.writers[level]}, nil
}

// pooledWriter returns to its pool on Close.
type pooledWriter struct {
	Writer
	pool *sync.Pool
}

func (w *pooledWriter) Close() error {
	err := w.Writer.Close()
	if err != nil {
		return err
	}
	w.pool.Put(w.Writer)
	return nil
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
	err = r.Reset(src)
	if err != nil {
		return Corrupt(s.Name, err)
	}
	_, err = io.ReadFull(r, dst)
	if err != nil {
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
	err = r.Reset(src)
	if err != nil {
		return 0, Corrupt(s.Name, err)
	}
	more := make([]byte, 1)
	for {
		to := more
		switch {
		case n < limit && w == nil:
			to = buf[n:]
		case n < limit:
			to = buf[:min(limit-n, int64(len(buf)))]
		}
		k, err := r.Read(to)
		n += int64(k)
		if n > limit {
			return n, nil
		}
		if w != nil {
			_, writeErr := w.Write(to[:k])
			if writeErr != nil {
				return n, writeErr
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return n, Corrupt(s.Name, err)
		}
	}
	if r.Rest() > 0 {
		return n, Corruptf(s.Name, "%d bytes after its end", r.Rest())
	}
	s.keep(r, src)
	return n, nil
}

// reader returns a reader that was used before, or a new one.
func (s *Stream) reader() (Reader, error) {
	r, ok := s.readers.Get().(Reader)
	if ok {
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
