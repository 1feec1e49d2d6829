// Package codec is the interface of the general-purpose compressors that
// formats use. Each is a package below this one (gzip, zstd, lz4, brotli), so
// that a format links only those it imports.
//
// What they decompress comes from files that nobody vouches for. So a codec
// takes exactly one stream and no byte after it, checks the sums the stream
// has, and yields exactly as many bytes as the caller expects. A size that a
// file merely claims is never trusted with memory: up to a moderate ratio the
// result is allocated at once, above it the stream must first prove its size,
// decompressed piece by piece and thrown away. The result is held once, except
// that content of moderate size which nobody announced is gathered in pieces first.
//
// Nothing is built when the program starts; encoders and decoders are made at
// first use and kept in pools.
package codec

import (
	"errors"
	"fmt"
	"io"
	"math"

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
	// wrong sum, an early end, bytes after the end.
	Decompress(src []byte, size int64) ([]byte, error)
	// DecompressInto is Decompress of len(dst) bytes into the caller's memory,
	// whose contents are undefined after an error.
	DecompressInto(dst, src []byte) error
	// DecompressMax is Decompress for a size nobody knows: up to max bytes,
	// or tensor.ErrLimit.
	DecompressMax(src []byte, max int64) ([]byte, error)
	// Expand writes what Decompress returns to w, piece by piece, and fails when that
	// would. It holds no more than Window says.
	Expand(w io.Writer, src []byte, size int64) error
	// Window returns how many bytes it takes to expand src.
	Window(src []byte) int64
}

// Streamer is a Codec that can also compress from front to back without
// having all the input at once: all but lz4, whose format here is one block.
type Streamer interface {
	Codec
	// NewWriter compresses size bytes into w, which are complete after Close;
	// how they are cut into writes does not matter. A writer that is given up
	// may be dropped. Another number of bytes than size is an error at Close.
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

// Corrupt is the error for input that is not what it should be.
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

// Ahead is how much may be allocated before anything was proved, for n bytes of
// input. Weights hardly ever compress better than this, and the metadata and the
// graph of ordinary models are decompressed once.
func Ahead(n int) int64 { return 16*int64(n) + 1<<20 }
