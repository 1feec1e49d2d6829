// Package codec defines the interface of the general-purpose compressors that formats use. Each
// compressor is a package below this one (gzip, zstd, lz4, brotli), so that a format links only
// those it imports.
//
// The input is untrusted. A codec accepts exactly one stream without trailing bytes, verifies the
// stream's checksums, and returns exactly as many bytes as the caller expects. If the expected size
// is in a moderate ratio to the input, the result is allocated at once. Otherwise the stream is
// first decompressed piece by piece to verify its size.
//
// Encoders and decoders are created on first use and pooled.
package codec

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// Codec compresses and decompresses byte slices. It is safe for concurrent use. The same input and
// level always give the same output.
type Codec interface {
	// Name is "gzip", "zstd", "lz4" or "brotli".
	Name() string
	// Compress returns src compressed as one stream. Levels go from 1 (fastest) to 9 (smallest); 0
	// means DefaultLevel. Any other level is ErrLevel.
	Compress(src []byte, level int) ([]byte, error)
	// Decompress decompresses src, which must be one stream of exactly size bytes. The result is
	// aligned to 64 bytes. A different size, a wrong checksum, a truncated stream and trailing
	// bytes are tensor.ErrCorrupt.
	Decompress(src []byte, size int64) ([]byte, error)
	// DecompressInto is like Decompress with size len(dst), but writes to dst. After an error the
	// contents of dst are undefined.
	DecompressInto(dst, src []byte) error
	// Expand decompresses src to w, with the same errors as Decompress. It needs no more memory
	// than Window returns.
	Expand(w io.Writer, src []byte, size int64) error
	// Window returns the memory in bytes that Expand needs for src.
	Window(src []byte) int64
}

// Streamer is a Codec that can process data sequentially: all but lz4, which is used here for
// single blocks.
type Streamer interface {
	Codec
	// DecompressMax is like Decompress for an unknown size. If the size exceeds limit, the error is
	// tensor.ErrLimit.
	DecompressMax(src []byte, limit int64) ([]byte, error)
	// NewWriter returns a writer that compresses size bytes to w. The output is complete after
	// Close and does not depend on the sizes of the writes. A writer need not be closed.
	NewWriter(w io.Writer, level int, size int64) (io.WriteCloser, error)
}

// DefaultLevel is the level used for 0.
const DefaultLevel = 6

// ErrLevel is returned for a level out of range.
var ErrLevel = errors.New("compression level out of range 1 to 9")

// CheckLevel returns the level to use: DefaultLevel for 0, or ErrLevel if it is out of range.
func CheckLevel(level int) (int, error) {
	switch {
	case level == 0:
		return DefaultLevel, nil
	case level < 0 || level > 9:
		return 0, fmt.Errorf("%w: %d", ErrLevel, level)
	}
	return level, nil
}

// Corrupt returns the error for invalid input.
func Corrupt(name string, err error) error {
	return fmt.Errorf("%w: %s: %w", tensor.ErrCorrupt, name, err)
}

// Corruptf is Corrupt with a formatted message.
func Corruptf(name, format string, args ...any) error {
	return Corrupt(name, fmt.Errorf(format, args...))
}

// CheckSize fails for sizes that exceed the address space.
func CheckSize(size int64) error {
	switch {
	case size < 0:
		return fmt.Errorf("%w: decompressed size %d", tensor.ErrCorrupt, size)
	case size > math.MaxInt-4096:
		return fmt.Errorf("%w: %d bytes are more than this platform can address", tensor.ErrLimit, size)
	}
	return nil
}

// Ahead returns the number of bytes that may be allocated for n bytes of input before the size is
// verified. Weights hardly ever compress better.
func Ahead(n int) int64 { return 16*int64(n) + 1<<20 }

// Decompress implements Codec.Decompress with c.Expand and c.DecompressInto.
func Decompress(c Codec, src []byte, size int64) ([]byte, error) {
	if err := CheckSize(size); err != nil {
		return nil, err
	}
	if size > Ahead(len(src)) {
		if err := c.Expand(io.Discard, src, size); err != nil {
			return nil, err
		}
	}
	dst := memory.Aligned(int(size))
	if err := c.DecompressInto(dst, src); err != nil {
		return nil, err
	}
	return dst, nil
}
