package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// Library is a compression library that has readers and writers; Stream makes
// a codec of it.
type Library interface {
	// Name is that of the codec.
	Name() string
	// NewReader decompresses src, which may be the mapping of a file: a fault
	// unwinds through the reader, which is then not given back.
	NewReader(src []byte) (Reader, error)
	// NewWriter compresses into w. The level is from 1 to 9. release, when not
	// nil, gives the writer back and is called after a Close without error.
	NewWriter(w io.Writer, level int) (z io.WriteCloser, release func(), err error)
}

// Reader decompresses one stream.
type Reader interface {
	io.Reader
	// Rest returns how many bytes of the input follow the stream, once Read has
	// answered io.EOF.
	Rest() int
	// Release gives the reader back to be used again.
	Release()
}

// Stream is the codec of a library.
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
	z, release, err := s.Library.NewWriter(w, level)
	if err != nil {
		return nil, err
	}
	return NewCounted(z, s.Name(), size, release), nil
}

// Decompress implements Codec.
func (s Stream) Decompress(src []byte, size int64) ([]byte, error) {
	if err := CheckSize(size); err != nil {
		return nil, err
	}
	return s.readExact(src, memory.Aligned(int(min(size, Ahead(len(src))))), size)
}

// DecompressInto implements Codec.
func (s Stream) DecompressInto(dst, src []byte) error {
	_, err := s.readExact(src, dst, int64(len(dst)))
	return err
}

// readExact reads size bytes and the end of the stream into buf, and into
// larger memory when that is full.
func (s Stream) readExact(src, buf []byte, size int64) ([]byte, error) {
	r, err := s.NewReader(src)
	if err != nil {
		return nil, Corrupt(s.Name(), err)
	}
	buf, n, err := Fill(r, buf, size)
	if err != nil {
		return nil, Corrupt(s.Name(), err)
	}
	if int64(n) < size {
		return nil, Corruptf(s.Name(), "ends after %d of %d bytes", n, size)
	}
	if more, err := s.atEnd(r); err != nil {
		return nil, err
	} else if more {
		return nil, Corruptf(s.Name(), "holds more than %d bytes", size)
	}
	r.Release()
	return buf, nil
}

// DecompressMax implements Codec.
func (s Stream) DecompressMax(src []byte, limit int64) ([]byte, error) {
	if err := CheckSize(limit); err != nil {
		return nil, err
	}
	r, err := s.NewReader(src)
	if err != nil {
		return nil, Corrupt(s.Name(), err)
	}
	buf, n, err := Fill(r, memory.Aligned(int(min(limit, Ahead(len(src))))), limit)
	if err != nil {
		return nil, Corrupt(s.Name(), err)
	}
	if more, err := s.atEnd(r); err != nil {
		return nil, err
	} else if more {
		return nil, TooLong(s.Name(), limit)
	}
	r.Release()
	return buf[:n:n], nil
}

// TooLong is the error for content of more than limit bytes.
func TooLong(name string, limit int64) error {
	return fmt.Errorf("%w: %s: more than %d bytes", tensor.ErrLimit, name, limit)
}

// Fill reads up to size bytes into buf, which is replaced by a larger one when
// it is full. It returns early at the end of r.
func Fill(r io.Reader, buf []byte, size int64) (filled []byte, n int, err error) {
	for int64(n) < size {
		if n == len(buf) {
			more := memory.Aligned(int(min(size, Growth*int64(n))))
			copy(more, buf)
			buf = more
		}
		k, err := read(r, buf[n:])
		n += k
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, n, err
		}
	}
	return buf, n, nil
}

// read is r.Read that makes progress or fails.
func read(r io.Reader, p []byte) (int, error) {
	for range 100 {
		if n, err := r.Read(p); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.ErrNoProgress
}

// atEnd makes sure that r ends here, its checksum included, and that it used up
// all of its input. more is true when there is another byte of content.
func (s Stream) atEnd(r Reader) (more bool, err error) {
	var one [1]byte
	n, err := read(r, one[:])
	switch {
	case n > 0:
		return true, nil
	case !errors.Is(err, io.EOF):
		return false, Corrupt(s.Name(), err)
	case r.Rest() > 0:
		return false, Corruptf(s.Name(), "%d bytes after its end", r.Rest())
	}
	return false, nil
}

// counted checks that a streaming compressor got as many bytes as announced.
type counted struct {
	w       io.WriteCloser
	name    string
	left    int64
	release func()
}

// NewCounted returns w, which must get size bytes until Close. release, when
// not nil, is called once after a Close without error.
func NewCounted(w io.WriteCloser, name string, size int64, release func()) io.WriteCloser {
	return &counted{w: w, name: name, left: size, release: release}
}

func (c *counted) Write(p []byte) (int, error) {
	if int64(len(p)) > c.left {
		return 0, fmt.Errorf("%w: %s: more bytes to compress than announced", tensor.ErrShape, c.name)
	}
	n, err := c.w.Write(p)
	c.left -= int64(n)
	return n, err
}

func (c *counted) Close() error {
	if c.left > 0 {
		return fmt.Errorf("%w: %s: %d bytes fewer to compress than announced", tensor.ErrShape, c.name, c.left)
	}
	err := c.w.Close()
	if err == nil && c.release != nil {
		c.release()
		c.release = nil
	}
	return err
}

// NoEOF keeps an early end from looking like a regular one.
func NoEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
