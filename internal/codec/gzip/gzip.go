// Package gzip implements the codec "gzip": one gzip member (RFC 1952). The writer stores no name
// and no time. The reader always verifies CRC-32 and length.
package gzip

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/weightmap/weightmap/internal/codec"
)

// Codec is the codec "gzip".
var Codec codec.Streamer = codec.Stream{Library: library{}}

type library struct{}

var (
	readers sync.Pool     // of *reader
	writers [10]sync.Pool // of *gzip.Writer, by level
)

func (library) Name() string { return "gzip" }

func (library) Window([]byte) int64 { return 64 << 10 }

// Size returns the length in the trailer, which is modulo 4 GiB.
func (library) Size(src []byte) int64 {
	if len(src) < 4 {
		return -1
	}
	return int64(binary.LittleEndian.Uint32(src[len(src)-4:]))
}

func (library) NewWriter(w io.Writer, level int, _ int64) (io.WriteCloser, func(), error) {
	pool := &writers[level]
	z, ok := pool.Get().(*gzip.Writer)
	if ok {
		z.Reset(w)
	} else {
		var err error
		if z, err = gzip.NewWriterLevel(w, deflateLevel(level)); err != nil {
			return nil, nil, err
		}
	}
	return z, func() { pool.Put(z) }, nil
}

// deflateLevel maps the default level to 7. Up to level 6 compress/flate stores a block that has no
// repetitions; higher levels make use of the uneven distribution of bytes in weights.
func deflateLevel(level int) int {
	if level == codec.DefaultLevel {
		return 7
	}
	return level
}

// reader is a decompressor with its input.
type reader struct {
	gzip.Reader
	src bytes.Reader
	in  *bufio.Reader // of src
}

func (library) NewReader(src []byte) (codec.Reader, error) {
	z, ok := readers.Get().(*reader)
	if !ok {
		z = &reader{in: bufio.NewReader(nil)}
	}
	rest, err := skipTexts(src)
	if err != nil {
		return nil, err
	}
	z.src.Reset(rest)
	var from io.Reader = &z.src
	if len(rest) < len(src) {
		from = io.MultiReader(bytes.NewReader(plainHeader), from)
	}
	z.in.Reset(from)
	if err := z.Reset(z.in); err != nil {
		return nil, err
	}
	z.Multistream(false)
	return z, nil
}

func (z *reader) Rest() int { return z.in.Buffered() + z.src.Len() }

func (z *reader) Release() {
	z.src.Reset(nil)
	readers.Put(z)
}
