package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/tensor"
)

// Library is a compression library. Stream turns it into a codec.
type Library interface {
	Name() string
	// Window returns the most memory in bytes that a reader of src needs.
	Window(src []byte) int64
	// Size returns the size stored in src, which is not verified, or -1.
	Size(src []byte) int64
	// NewReader returns a reader that decompresses src, which may alias a mapped file. A page fault
	// unwinds through the reader, which is then not released.
	NewReader(src []byte) (Reader, error)
	// NewWriter returns a writer that compresses size bytes to w at a level from 1 to 9. release
	// returns it to the pool; it is called after a Close without error.
	NewWriter(w io.Writer, level int, size int64) (z io.WriteCloser, release func(), err error)
}

// Reader decompresses one stream.
type Reader interface {
	io.Reader
	// Rest returns the number of input bytes after the stream. It is valid after io.EOF.
	Rest() int
	// Release returns the reader to the pool.
	Release()
}

// Stream is the codec for a Library.
type Stream struct{ Library }

// Compress implements Codec.
func (s Stream) Compress(src []byte, level int) ([]byte, error) {
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

// NewWriter implements Streamer.
func (s Stream) NewWriter(w io.Writer, level int, size int64) (io.WriteCloser, error) {
	level, err := CheckLevel(level)
	if err != nil {
		return nil, err
	}
	z, release, err := s.Library.NewWriter(w, level, size)
	if err != nil {
		return nil, err
	}
	return &writer{z, release}, nil
}

// writer releases the library's writer on Close.
type writer struct {
	io.WriteCloser
	release func()
}

func (w *writer) Close() error {
	err := w.WriteCloser.Close()
	if err == nil {
		w.release()
	}
	return err
}

// Decompress implements Codec.
func (s Stream) Decompress(src []byte, size int64) ([]byte, error) { return Decompress(s, src, size) }

// DecompressInto implements Codec.
func (s Stream) DecompressInto(dst, src []byte) error {
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

// Expand implements Codec. The content may exceed the address space.
func (s Stream) Expand(w io.Writer, src []byte, size int64) error {
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

// DecompressMax implements Streamer. It first tries the size stored in the stream. If that is
// wrong, it decompresses twice, first to count the bytes.
func (s Stream) DecompressMax(src []byte, limit int64) ([]byte, error) {
	if err := CheckSize(limit); err != nil {
		return nil, err
	}
	if size := s.Size(src); size >= 0 && size <= limit {
		if out, err := s.Decompress(src, size); err == nil {
			return out, nil
		}
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
	return s.Decompress(src, n)
}

// reader turns a library's errors into tensor.ErrCorrupt.
type reader struct {
	Reader
	name string
}

func (s Stream) open(src []byte) (*reader, error) {
	r, err := s.NewReader(src)
	if err != nil {
		return nil, Corrupt(s.Name(), NoEOF(err))
	}
	return &reader{r, s.Name()}, nil
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = Corrupt(r.name, err)
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
	if n < size {
		return Corruptf(r.name, "ends after %d of %d bytes", n, size)
	}
	more, err := io.ReadFull(r, make([]byte, 1))
	switch {
	case more > 0:
		return Corruptf(r.name, "holds more than %d bytes", size)
	case !errors.Is(err, io.EOF):
		return err
	case r.Rest() > 0:
		return Corruptf(r.name, "%d bytes after its end", r.Rest())
	}
	r.Release()
	return nil
}

// NoEOF replaces io.EOF by io.ErrUnexpectedEOF.
func NoEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
