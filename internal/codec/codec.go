// Package codec implements what all codecs of general-purpose compression have in common. Each
// codec is a package below this one (gzip, deflate, zstd, lz4, brotli), so that a format links only
// those it imports.
//
// Formats decompress only with the functions in inflate.go, and only this package and those below
// it import a library that decompresses. There are two kinds of content. The size of data is known
// from the rest of the file: Data, DataInto and DataTo return exactly that size. Nothing bounds the
// size of a section of structure but its stored size: Section refuses what exceeds a multiple of
// that, before it allocates. Both count their memory.
//
// The input is untrusted. A codec accepts exactly one stream without trailing bytes, verifies the
// stream's checksums, and returns exactly as many bytes as the caller expects: a different size, a
// wrong checksum, a truncated stream and trailing bytes are tensor.ErrCorrupt. The same input and
// level always give the same output.
package codec

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/weightmap/weightmap/tensor"
)

// DefaultLevel is the level used for 0.
const DefaultLevel = 6

// ErrLevel is returned for a level out of range.
var ErrLevel = errors.New("compression level out of range 1 to 9")

// CheckLevel returns the level to use: DefaultLevel for 0, or ErrLevel if it is out of range.
func CheckLevel(level int) (int, error) {
	if level < 0 || level > 9 {
		return 0, fmt.Errorf("%w: %d", ErrLevel, level)
	}
	return cmp.Or(level, DefaultLevel), nil
}

// Compressor is a codec that also compresses.
type Compressor interface {
	Codec
	// Compress returns src compressed as one stream. Levels go from 1 (fastest) to 9 (smallest); 0
	// means DefaultLevel. Any other level is ErrLevel.
	Compress(src []byte, level int) ([]byte, error)
}

// Corrupt returns the error for invalid input. In err, io.EOF means an early end.
func Corrupt(name string, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %s: %w", tensor.ErrCorrupt, name, err)
}

// Corruptf is Corrupt with a formatted message.
func Corruptf(name, format string, args ...any) error {
	return Corrupt(name, fmt.Errorf(format, args...))
}

// Ahead returns the number of bytes that may be allocated for n bytes of input before the size is
// verified. Weights hardly ever compress better.
func Ahead(n int) int64 { return 16*int64(n) + 1<<20 }
