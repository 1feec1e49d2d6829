// Package gzip is the codec "gzip": one gzip member (RFC 1952) with an empty
// header, no name and no time. Its trailer, CRC-32 and length, is always checked.
//
// What compresses is a library's. What decompresses is its own: smaller by far than that of
// the library, and quicker, since it writes to where the result is wanted.
package gzip

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/weightmap/weightmap/internal/codec"
)

// Codec is the codec "gzip".
var Codec format

const name = "gzip"

// format implements codec.Codec; NewWriter and Compress are in write.go.
type format struct{}

var _ codec.Streamer = format{}

// Name implements codec.Codec.
func (format) Name() string { return name }

// Window implements codec.Codec.
func (format) Window([]byte) int64 { return 96 << 10 }

// window is what content is decompressed to that is not held: 32 KiB that copies may be
// from, and room for more.
const window = 64 << 10

// reader is an inflater and what it may need.
type reader struct {
	inflater
	window, input []byte
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// Decompress implements codec.Codec.
func (m format) Decompress(src []byte, size int64) ([]byte, error) {
	return codec.Decompress(m, src, size)
}

// DecompressInto implements codec.Codec. A fault of a mapping unwinds through it; the
// reader is not given back then.
func (format) DecompressInto(dst, src []byte) error {
	r := readers.Get().(*reader)
	r.reset(src, nil, nil)
	err := r.into(dst)
	r.reset(nil, nil, nil)
	readers.Put(r)
	if err != nil {
		return codec.Corrupt(name, err)
	}
	return nil
}

// into reads a member that fills dst, and all of the input.
func (r *reader) into(dst []byte) error {
	if err := r.header(); err != nil {
		return err
	}
	n, err := r.inflate(dst, 0)
	switch {
	case err != nil:
		return fmt.Errorf("after %d of %d bytes: %w", n, len(dst), err)
	case r.state != atEnd:
		return fmt.Errorf("holds more than %d bytes", n)
	case n < len(dst):
		return fmt.Errorf("ends after %d of %d bytes", n, len(dst))
	}
	if err := r.trailer(crc32.ChecksumIEEE(dst), int64(n)); err != nil {
		return err
	}
	return r.nothing()
}

// nothing makes sure that the input ends here.
func (r *reader) nothing() error {
	if n := r.rest(); n > 0 {
		return fmt.Errorf("%d bytes after its end", n)
	}
	if r.next() {
		return errors.New("bytes after its end")
	}
	return nil
}

// Expand implements codec.Codec.
func (m format) Expand(w io.Writer, src []byte, size int64) error {
	n, err := m.walk(w, src, size)
	switch {
	case err != nil:
		return err
	case n != size:
		return sized(n, size)
	}
	return nil
}

// sized is the error for another number of bytes than expected.
func sized(n, size int64) error {
	if n > size {
		return codec.Corruptf(name, "holds more than %d bytes", size)
	}
	return codec.Corruptf(name, "ends after %d of %d bytes", n, size)
}

// DecompressMax implements codec.Codec.
func (m format) DecompressMax(src []byte, limit int64) ([]byte, error) {
	return codec.DecompressMax(m, src, limit, func(w io.Writer) (int64, error) { return m.walk(w, src, limit) })
}

// walk writes what src holds to w, and returns how much it is. It stops behind most bytes.
func (format) walk(w io.Writer, src []byte, most int64) (int64, error) {
	if err := codec.CheckSize(most); err != nil {
		return 0, err
	}
	r := readers.Get().(*reader)
	r.reset(src, nil, nil)
	n, err := r.walk(w, most)
	r.reset(nil, nil, nil)
	readers.Put(r)
	return n, err
}

// walk is that of an input of any kind. An error of w is returned as it is.
func (r *reader) walk(w io.Writer, most int64) (n int64, err error) {
	if err := r.header(); err != nil {
		return 0, codec.Corrupt(name, err)
	}
	if r.window == nil {
		r.window = make([]byte, window)
	}
	sum, from := uint32(0), 0
	for r.state != atEnd {
		to, err := r.inflate(r.window, from)
		if err != nil {
			return n, codec.Corrupt(name, err)
		}
		b := r.window[from:to]
		if n += int64(len(b)); n > most {
			return n, nil
		}
		sum = crc32.Update(sum, crc32.IEEETable, b)
		if _, err := w.Write(b); err != nil {
			return n, err
		}
		if from = to; from == window {
			from = copy(r.window, r.window[window/2:])
		}
	}
	if err = r.trailer(sum, n); err == nil {
		err = r.nothing()
	}
	if err != nil {
		err = codec.Corrupt(name, err)
	}
	return n, err
}
