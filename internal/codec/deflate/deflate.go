// Package deflate implements the codec "deflate": one raw DEFLATE stream (RFC 1951), which has no
// checksum. It only decompresses.
package deflate

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/weightmap/weightmap/internal/codec"
)

// Codec is the codec "deflate".
var Codec = &codec.Stream{
	Name:     "deflate",
	WindowOf: func([]byte) int64 { return 64 << 10 },
	NewReader: func() (codec.Reader, error) {
		return &reader{Reader: flate.NewReader(nil)}, nil
	},
}

// reader is a decompressor with its input.
type reader struct {
	io.Reader
	src bytes.Reader
}

func (z *reader) Reset(src []byte) error {
	z.src.Reset(src)
	return z.Reader.(flate.Resetter).Reset(&z.src, nil)
}

func (z *reader) Rest() int { return z.src.Len() }
