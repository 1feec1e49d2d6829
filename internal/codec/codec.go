// Package codec holds the general-purpose compressors that formats use, behind
// one interface and a lookup by name: "gzip", "zstd", "lz4" and "brotli".
//
// What they decompress comes from files that nobody vouches for. So a codec
// takes exactly one stream and no byte after it, checks the sums the stream
// has, and yields exactly as many bytes as the caller expects. A size that a
// file merely claims is never trusted with memory: up to a moderate ratio the
// result is allocated at once, above it the buffer grows with what arrives.
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
	// Name is the one Lookup knows the codec by.
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

// The errors that are the caller's, not the input's.
var (
	ErrUnknown = errors.New("unknown codec")
	ErrLevel   = errors.New("compression level out of range 1 to 9")
)

// Lookup returns the codec of that name, or ErrUnknown.
func Lookup(name string) (Codec, error) {
	switch name {
	case "gzip":
		return gzipCodec{}, nil
	case "zstd":
		return zstdCodec{}, nil
	case "lz4":
		return lz4Codec{}, nil
	case "brotli":
		return brotliCodec{}, nil
	}
	return nil, fmt.Errorf("%w: %q (known: brotli, gzip, lz4, zstd)", ErrUnknown, name)
}

// checkLevel checks a level and replaces 0.
func checkLevel(level int) (int, error) {
	switch {
	case level == 0:
		return DefaultLevel, nil
	case level < 0 || level > 9:
		return 0, fmt.Errorf("%w: %d", ErrLevel, level)
	}
	return level, nil
}

// corrupt is the error for input that is not what it should be.
func corrupt(name string, err error) error {
	return fmt.Errorf("%w: %s: %w", tensor.ErrCorrupt, name, err)
}

func corruptf(name, format string, args ...any) error {
	return corrupt(name, fmt.Errorf(format, args...))
}

// checkSize refuses sizes that no buffer can have on this platform.
func checkSize(size int64) error {
	switch {
	case size < 0:
		return fmt.Errorf("%w: decompressed size %d", tensor.ErrCorrupt, size)
	case size > math.MaxInt-4096:
		return fmt.Errorf("%w: %d bytes are more than this platform can address", tensor.ErrLimit, size)
	}
	return nil
}

// ahead is how much may be allocated before anything arrived, for n bytes of
// input. Weights hardly ever compress better than this.
func ahead(n int) int64 { return 16*int64(n) + 64<<10 }

// growth is the factor by which buffers grow beyond that.
const growth = 4
