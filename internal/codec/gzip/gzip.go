// Package gzip is the codec "gzip": one gzip member (RFC 1952) with an empty
// header, no name and no time. Its trailer, CRC-32 and length, is always checked.
package gzip

import (
	"bytes"
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

func (library) Window() int64 { return 64 << 10 }

func (library) NewWriter(w io.Writer, level int) (io.WriteCloser, func(), error) {
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

// deflateLevel returns the level of the deflate library that stands for ours. Its
// fast levels, up to 6, store a block in which they find no repetitions as it
// is. Weights rarely repeat, but their bytes are unevenly distributed, which
// only levels from 7 on make use of: so do ours from the default on.
func deflateLevel(level int) int {
	if level == codec.DefaultLevel {
		return 7
	}
	return level
}

// reader is a decompressor and what it reads from.
type reader struct {
	gzip.Reader
	in bytes.Reader
}

func (library) NewReader(src []byte) (codec.Reader, error) {
	body, err := skipTexts(src)
	if err != nil {
		return nil, err
	}
	z, ok := readers.Get().(*reader)
	if !ok {
		z = new(reader)
	}
	z.in.Reset(body)
	var from io.Reader = &z.in
	if len(body) < len(src) {
		from = &headed{plainHeader, &z.in}
	}
	if err := z.Reset(from); err != nil {
		return nil, codec.NoEOF(err)
	}
	z.Multistream(false)
	return z, nil
}

func (z *reader) Rest() int { return z.in.Len() }

func (z *reader) Release() {
	z.in.Reset(nil)
	readers.Put(z)
}
