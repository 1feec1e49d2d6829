// Package gzip implements the codec "gzip": one gzip member (RFC 1952). The writer stores no name
// and no time. The reader always verifies CRC-32 and length.
// It refuses names and comments of more than 511 bytes.
package gzip

import (
	"bytes"

	"github.com/klauspost/compress/gzip"
	"github.com/weightmap/weightmap/internal/codec"
)

// Codec is the codec "gzip".
var Codec = &codec.Stream{
	Name: "gzip", WindowOf: func([]byte) int64 { return 64 << 10 },
	NewReader: func() (codec.Reader, error) { return new(reader), nil }, Writers: writers{},
}

type writers struct{}

// NewWriter maps the default level to 7. Up to level 6 compress/flate stores a block that has no
// repetitions; higher levels make use of the uneven distribution of bytes in weights.
func (writers) NewWriter(level int) (codec.Writer, error) {
	if level == codec.DefaultLevel {
		level = 7
	}
	return gzip.NewWriterLevel(nil, level)
}

// reader is a decompressor with its input.
type reader struct {
	gzip.Reader
	src bytes.Reader
}

func (z *reader) Reset(src []byte) error {
	z.src.Reset(src)
	if err := z.Reader.Reset(&z.src); err != nil {
		return err
	}
	z.Multistream(false)
	return nil
}

func (z *reader) Rest() int { return z.src.Len() }
