package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// readExact reads size bytes and the end of the stream from r, whose
// compressed form lies in in; both must end together.
func readExact(name string, r io.Reader, in *bytes.Reader, size int64) ([]byte, error) {
	return readInto(name, r, in, memory.Aligned(int(min(size, ahead(int(in.Size()))))), size)
}

// readInto is readExact into buf, and into larger memory when that is full.
func readInto(name string, r io.Reader, in *bytes.Reader, buf []byte, size int64) ([]byte, error) {
	buf, n, err := fill(r, buf, size)
	if err != nil {
		return nil, corrupt(name, err)
	}
	if int64(n) < size {
		return nil, corruptf(name, "ends after %d of %d bytes", n, size)
	}
	if more, err := atEnd(name, r, in); err != nil {
		return nil, err
	} else if more {
		return nil, corruptf(name, "holds more than %d bytes", size)
	}
	return buf, nil
}

// readMax reads all of r, at most limit bytes.
func readMax(name string, r io.Reader, in *bytes.Reader, limit int64) ([]byte, error) {
	buf, n, err := fill(r, memory.Aligned(int(min(limit, ahead(int(in.Size()))))), limit)
	if err != nil {
		return nil, corrupt(name, err)
	}
	if more, err := atEnd(name, r, in); err != nil {
		return nil, err
	} else if more {
		return nil, tooLong(name, limit)
	}
	return buf[:n:n], nil
}

func tooLong(name string, limit int64) error {
	return fmt.Errorf("%w: %s: more than %d bytes", tensor.ErrLimit, name, limit)
}

// fill reads up to size bytes into buf, which is replaced by a larger one when
// it is full. It returns early at the end of r.
func fill(r io.Reader, buf []byte, size int64) (filled []byte, n int, err error) {
	for int64(n) < size {
		if n == len(buf) {
			more := memory.Aligned(int(min(size, growth*int64(n))))
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

// atEnd makes sure that r ends here, its checksum included, and that it used
// up all of in. more is true when there is another byte of content.
func atEnd(name string, r io.Reader, in *bytes.Reader) (more bool, err error) {
	var one [1]byte
	n, err := read(r, one[:])
	switch {
	case n > 0:
		return true, nil
	case !errors.Is(err, io.EOF):
		return false, corrupt(name, err)
	case in.Len() > 0:
		return false, corruptf(name, "%d bytes after its end", in.Len())
	}
	return false, nil
}

// counted checks that a streaming compressor got as many bytes as announced.
type counted struct {
	w    io.WriteCloser
	name string
	left int64
	done func() // gives the compressor back; nil when there is no pool
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
	if err == nil && c.done != nil {
		c.done()
		c.done = nil
	}
	return err
}

// reading is readExact or readMax.
type reading func(name string, r io.Reader, in *bytes.Reader, size int64) ([]byte, error)

// noEOF keeps an early end from looking like a regular one.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
