// Package lz4 is the codec "lz4": one raw LZ4 block, without frame, length or
// checksum.
package lz4

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/pierrec/lz4/v4"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/tensor"
)

// Codec is the codec "lz4".
var Codec codec.Codec = library{}

type library struct{}

// MaxSize is how many bytes are compressed into one block at most: 2 GiB less
// 32 MiB, LZ4_MAX_INPUT_SIZE of the reference implementation.
const MaxSize = 0x7E000000

func (library) Name() string { return "lz4" }

// Compress uses the fast compressor up to level 2 and the thorough one above.
func (library) Compress(src []byte, level int) ([]byte, error) {
	level, err := codec.CheckLevel(level)
	if err != nil {
		return nil, err
	}
	if len(src) > MaxSize {
		return nil, fmt.Errorf("%w: %d bytes do not fit in one LZ4 block", tensor.ErrLimit, len(src))
	}
	if len(src) == 0 {
		return []byte{0}, nil // the library writes nothing
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

func (c library) Decompress(src []byte, size int64) ([]byte, error) {
	return codec.Decompress(c, src, size)
}

func (library) DecompressInto(dst, src []byte) error {
	// The library leaves unsaid what it does with an empty result; a fault in its
	// assembly could not be unwound, so it reads a copy.
	if len(dst) == 0 {
		return checkSize(src, 0)
	}
	n, err := lz4.UncompressBlock(bytes.Clone(src), dst)
	if err != nil {
		return codec.Corrupt("lz4", err)
	}
	if n != len(dst) {
		return codec.Corruptf("lz4", "holds %d bytes, not %d", n, len(dst))
	}
	return nil
}

// Window is all of the content: the library decodes whole blocks.
func (library) Window(src []byte) int64 {
	n, err := contentSize(src)
	if err != nil {
		return 0
	}
	return n + int64(len(src))
}

// Expand only counts what goes to io.Discard: a block has no checksum.
func (c library) Expand(w io.Writer, src []byte, size int64) error {
	if err := checkSize(src, size); err != nil || w == io.Discard {
		return err
	}
	dst, err := c.Decompress(src, size)
	if err == nil {
		_, err = w.Write(dst)
	}
	return err
}

func checkSize(src []byte, size int64) error {
	n, err := contentSize(src)
	if err != nil {
		return codec.Corrupt("lz4", err)
	}
	if n != size {
		return codec.Corruptf("lz4", "holds %d bytes, not %d", n, size)
	}
	return nil
}

var errEnd = errors.New("the block ends within a sequence")

// contentSize adds up the lengths of all sequences of a block. Like the library it
// takes a block that ends with a match, where the format wants literals.
func contentSize(src []byte) (int64, error) {
	total := int64(0)
	for {
		if len(src) == 0 {
			if total > 0 {
				return total, nil
			}
			return 0, errEnd
		}
		token := src[0]
		n, rest, ok := lengthOf(int64(token>>4), src[1:])
		if !ok || n > int64(len(rest)) {
			return 0, errEnd
		}
		total += n
		if src = rest[n:]; len(src) == 0 {
			return total, nil
		}
		if len(src) < 2 {
			return 0, errEnd
		}
		if offset := int64(binary.LittleEndian.Uint16(src)); offset == 0 || offset > total {
			return 0, fmt.Errorf("a match begins %d bytes back, after %d", offset, total)
		}
		n, src, ok = lengthOf(int64(token&15), src[2:])
		if !ok || total > math.MaxInt64/2 {
			return 0, errEnd
		}
		total += n + 4
	}
}

// lengthOf reads the bytes that continue a length of 15.
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
