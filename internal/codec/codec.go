// Package codec is the interface of the general-purpose compressors that
// formats use. Each is a package below this one (gzip, zstd, lz4, brotli), so
// that a format links only those it imports.
//
// The input is hostile. A codec takes exactly one stream and no byte after it,
// checks the checksums the stream has, and yields exactly as many bytes as the
// caller expects. A size that a file merely claims is not allocated: up to a
// moderate ratio the result is allocated at once, above it the stream must first
// prove its size, decompressed piece by piece and dropped.
//
// Encoders and decoders are made at first use and kept in pools.
package codec

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// Codec compresses and decompresses byte slices. It is safe for concurrent
// use. The same input and level always give the same bytes.
type Codec interface {
	// Name is "gzip", "zstd", "lz4" or "brotli".
	Name() string
	// Compress returns src as one stream. Levels go from 1 (fast) to 9
	// (small); 0 means DefaultLevel. Others are ErrLevel.
	Compress(src []byte, level int) ([]byte, error)
	// Decompress returns the size bytes that src, exactly one stream, holds,
	// aligned to 64 bytes. Anything else is tensor.ErrCorrupt: another size, a
	// wrong checksum, an early end, bytes after the end.
	Decompress(src []byte, size int64) ([]byte, error)
	// DecompressInto is Decompress of len(dst) bytes into the caller's memory,
	// whose contents are undefined after an error.
	DecompressInto(dst, src []byte) error
	// Expand writes what Decompress returns to w, and fails when that would. It
	// holds no more than Window says.
	Expand(w io.Writer, src []byte, size int64) error
	// Window returns how many bytes of memory it takes to expand src.
	Window(src []byte) int64
}

// Streamer is a Codec that works from front to back: all but lz4, whose format here
// is one block.
type Streamer interface {
	Codec
	// DecompressMax is Decompress for an unknown size: up to limit bytes, or
	// tensor.ErrLimit.
	DecompressMax(src []byte, limit int64) ([]byte, error)
	// NewWriter compresses size bytes into w, which are complete after Close;
	// how they are cut into writes does not matter. A writer may be dropped
	// without Close.
	NewWriter(w io.Writer, level int, size int64) (io.WriteCloser, error)
}

// DefaultLevel stands for level 0.
const DefaultLevel = 6

// ErrLevel is the caller's error, not the input's.
var ErrLevel = errors.New("compression level out of range 1 to 9")

// CheckLevel checks a level and replaces 0.
func CheckLevel(level int) (int, error) {
	switch {
	case level == 0:
		return DefaultLevel, nil
	case level < 0 || level > 9:
		return 0, fmt.Errorf("%w: %d", ErrLevel, level)
	}
	return level, nil
}

// Corrupt makes the error for bad input.
func Corrupt(name string, err error) error {
	return fmt.Errorf("%w: %s: %w", tensor.ErrCorrupt, name, err)
}

// Corruptf is Corrupt with a text.
func Corruptf(name, format string, args ...any) error {
	return Corrupt(name, fmt.Errorf(format, args...))
}

// CheckSize refuses sizes that no buffer can have on this platform.
func CheckSize(size int64) error {
	switch {
	case size < 0:
		return fmt.Errorf("%w: decompressed size %d", tensor.ErrCorrupt, size)
	case size > math.MaxInt-4096:
		return fmt.Errorf("%w: %d bytes are more than this platform can address", tensor.ErrLimit, size)
	}
	return nil
}

// Ahead returns how many bytes may be allocated for n bytes of input before anything
// was proved. Weights hardly ever compress better.
func Ahead(n int) int64 { return 16*int64(n) + 1<<20 }

// Decompress is Codec.Decompress by means of Expand and DecompressInto.
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
