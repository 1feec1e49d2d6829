package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// Library is a compression library.
type Library interface {
	// Name returns "gzip", "zstd" or "brotli".
	Name() string
	// Window returns the most memory in bytes that a reader of src needs.
	Window(src []byte) int64
	NewReader() (Reader, error)
	// NewWriter returns a writer for a level from 1 to 9. What it writes does not depend on the sizes
	// of the writes.
	NewWriter(level int) (Writer, error)
}

// Reader decompresses one stream.
type Reader interface {
	io.Reader
	// Reset starts to read src, which may alias a mapped file: a page fault may unwind through Read.
	Reset(src []byte) error
	// Rest returns the number of input bytes after the stream. It is valid after io.EOF.
	Rest() int
}

// Writer compresses one stream.
type Writer interface {
	io.WriteCloser
	// Reset starts to compress size bytes to w.
	Reset(w io.Writer, size int64)
}

// Stream is the codec for a Library. It is safe for concurrent use. Readers and writers are created
// on first use and pooled.
type Stream struct {
	Library
	readers sync.Pool     // of Reader
	writers [10]sync.Pool // of Writer, by level
}

// Compress returns src compressed as one stream. Levels go from 1 (fastest) to 9 (smallest); 0 means
// DefaultLevel. Any other level is ErrLevel.
func (s *Stream) Compress(src []byte, level int) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(len(src)/2 + 64)
	w, err := s.NewWriter(&out, level, int64(len(src)))
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(src); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
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
		if z, err = s.Library.NewWriter(level); err != nil {
			return nil, err
		}
	}
	z.Reset(w, size)
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

// Decompress decompresses src, which must be one stream of exactly size bytes. The result is aligned
// to 64 bytes. If its size is out of proportion to src, the stream is first decompressed piece by
// piece to verify the size.
func (s *Stream) Decompress(src []byte, size int64) ([]byte, error) {
	if err := CheckSize(size); err != nil {
		return nil, err
	}
	if size > Ahead(len(src)) {
		if err := s.Expand(io.Discard, src, size); err != nil {
			return nil, err
		}
	}
	dst := memory.Aligned(int(size))
	if err := s.DecompressInto(dst, src); err != nil {
		return nil, err
	}
	return dst, nil
}

// DecompressInto is like Decompress with size len(dst), but writes to dst. After an error the
// contents of dst are undefined.
func (s *Stream) DecompressInto(dst, src []byte) error {
	r, err := s.open(src)
	if err != nil {
		return err
	}
	n, err := io.ReadFull(r, dst)
	if errors.Is(err, tensor.ErrCorrupt) {
		return err
	}
	return r.end(int64(n), int64(len(dst)))
}

// Expand decompresses src to w, with the same errors as Decompress. It needs no more memory than
// Window returns. The content may exceed the address space.
func (s *Stream) Expand(w io.Writer, src []byte, size int64) error {
	if size < 0 {
		return Corruptf(s.Name(), "decompressed size %d", size)
	}
	r, err := s.open(src)
	if err != nil {
		return err
	}
	n, err := r.copyTo(w, size)
	if err != nil {
		return err
	}
	return r.end(n, size)
}

// DecompressMax is like Decompress for an unknown size: it decompresses twice, first to count the bytes. If the size
// exceeds limit, the error is tensor.ErrLimit.
func (s *Stream) DecompressMax(src []byte, limit int64) ([]byte, error) {
	if err := CheckSize(limit); err != nil {
		return nil, err
	}
	r, err := s.open(src)
	if err != nil {
		return nil, err
	}
	n, err := r.copyTo(io.Discard, limit+1)
	switch {
	case err != nil:
		return nil, err
	case n > limit:
		return nil, fmt.Errorf("%w: %s: more than %d bytes", tensor.ErrLimit, s.Name(), limit)
	}
	if err := r.end(n, n); err != nil {
		return nil, err
	}
	return s.Decompress(src, n)
}

// reader turns a library's errors into tensor.ErrCorrupt.
type reader struct {
	Reader
	stream *Stream
}

func (s *Stream) open(src []byte) (*reader, error) {
	z, ok := s.readers.Get().(Reader)
	if !ok {
		var err error
		if z, err = s.NewReader(); err != nil {
			return nil, err
		}
	}
	if err := z.Reset(src); err != nil {
		return nil, Corrupt(s.Name(), NoEOF(err))
	}
	return &reader{z, s}, nil
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = Corrupt(r.stream.Name(), err)
	}
	return n, err
}

// copyTo writes at most limit bytes to w. It is like io.Copy, but io.Copy would link the code for
// copying files.
func (r *reader) copyTo(w io.Writer, limit int64) (n int64, err error) {
	b := make([]byte, min(limit, 32<<10))
	for n < limit {
		k, err := r.Read(b[:min(limit-n, int64(len(b)))])
		if _, failed := w.Write(b[:k]); failed != nil {
			return n, failed
		}
		if n += int64(k); err == io.EOF {
			break
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// end checks that n equals size, that the stream ends there, and that no input is left.
func (r *reader) end(n, size int64) error {
	name := r.stream.Name()
	if n < size {
		return Corruptf(name, "ends after %d of %d bytes", n, size)
	}
	more, err := io.ReadFull(r, make([]byte, 1))
	switch {
	case more > 0:
		return Corruptf(name, "holds more than %d bytes", size)
	case !errors.Is(err, io.EOF):
		return err
	case r.Rest() > 0:
		return Corruptf(name, "%d bytes after its end", r.Rest())
	}
	r.stream.readers.Put(r.Reader)
	return nil
}
