// Package lz4 implements the codec "lz4": one raw LZ4 block, without frame, length or checksum.
package lz4

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/tensor"
)

// Codec is the codec "lz4". Its methods are those of codec.Stream.
var Codec library

type library struct{}

// MaxSize is the largest input for one block: 2 GiB less 32 MiB, LZ4_MAX_INPUT_SIZE of the
// reference implementation.
const MaxSize = 0x7E000000

// Compress uses the fast compressor up to level 2 and the high-compression one above.
func (library) Compress(src []byte, level int) ([]byte, error) {
	level, err := codec.CheckLevel(level)
	if err != nil {
		return nil, err
	}
	if len(src) > MaxSize {
		return nil, fmt.Errorf("%w: %d bytes do not fit in one LZ4 block", tensor.ErrLimit, len(src))
	}
	if len(src) == 0 {
		return []byte{0}, nil // the library returns no bytes for an empty input
	}
	dst := make([]byte, lz4.CompressBlockBound(len(src)))
	var n int
	if level <= 2 {
		n, err = lz4.CompressBlock(src, dst, nil)
	} else {
		n, err = lz4.CompressBlockHC(src, dst, lz4.Level1<<(level-1), nil, nil)
	}
	return dst[:n:n], err
}

func (c library) DecompressInto(dst, src []byte) error {
	if len(dst) == 0 { // the library does not specify an empty dst
		return c.Expand(io.Discard, src, 0)
	}
	// Copy src: a fault in the library's assembly code could not be recovered.
	n, err := lz4.UncompressBlock(bytes.Clone(src), dst)
	if err != nil {
		return codec.Corrupt("lz4", err)
	}
	if n != len(dst) {
		return codec.Corruptf("lz4", "holds %d bytes, not %d", n, len(dst))
	}
	return nil
}

// Window returns the size of the decompressed block.
func (library) Window(src []byte) int64 {
	n, _ := count(src)
	return n
}

// Expand checks the size of the block before it allocates memory for it.
func (c library) Expand(w io.Writer, src []byte, size int64) error {
	n, err := count(src)
	if err != nil {
		return codec.Corrupt("lz4", err)
	}
	if n != size {
		return codec.Corruptf("lz4", "holds %d bytes, not %d", n, size)
	}
	if w == io.Discard || n == 0 {
		return nil
	}
	dst := make([]byte, n)
	if err := c.DecompressInto(dst, src); err != nil {
		return err
	}
	_, err = w.Write(dst)
	return err
}

var errEnd = errors.New("the block ends within a sequence")

// count returns the size of the decompressed block without decompressing it.
func count(src []byte) (size int64, err error) {
	if len(src) == 0 {
		return 0, errEnd
	}
	for len(src) > 0 {
		token := int64(src[0])
		literals, rest, ok := lengthOf(token>>4, src[1:])
		if !ok || literals > int64(len(rest)) {
			return 0, errEnd
		}
		size += literals
		if src = rest[literals:]; len(src) == 0 { // the last sequence has no match
			break
		}
		if len(src) < 2 {
			return 0, errEnd
		}
		match, rest, ok := lengthOf(token&15, src[2:])
		if !ok {
			return 0, errEnd
		}
		size += match + 4
		src = rest
	}
	return size, nil
}

// lengthOf reads the bytes that extend a length of 15.
func lengthOf(n int64, src []byte) (length int64, rest []byte, ok bool) {
	if n < 15 {
		return n, src, true
	}
	for i, b := range src {
		n += int64(b)
		if b < 255 {
			return n, src[i+1:], true
		}
	}
	return 0, nil, false
}
