// Package lz4 implements the codec "lz4": one raw LZ4 block, without frame, length or checksum.
package lz4

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"
	"github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/tensor"
)

// Codec is the codec "lz4".
var Codec library

var _ codec.Compressor = Codec

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

// DecodeInto implements codec.Codec.
func (c library) DecodeInto(dst, src []byte) error {
	if len(dst) == 0 { // the library does not specify an empty dst
		return c.DecodeTo(io.Discard, src, 0)
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

// reach is the largest distance of a match.
const reach = 64 << 10

// Window implements codec.Codec.
func (library) Window([]byte) int64 { return 2 * reach }

var errEnd = errors.New("the block ends within a sequence")

// DecodeTo implements codec.Codec. It decodes one sequence at a time, since the library can only
// decode a whole block. Like the library it accepts a block that ends with a match, although the
// format requires literals.
func (library) DecodeTo(w io.Writer, src []byte, size int64) error {
	if len(src) == 0 {
		return codec.Corrupt("lz4", errEnd)
	}
	o := output{w: w, b: make([]byte, 0, 2*reach)}
	left := size
	for len(src) > 0 {
		n, rest, ok := lengthOf(int64(src[0]>>4), src[1:])
		token := src[0] & 15
		after := int64(len(rest)) - n // a match, if any, begins with an offset of two bytes
		if !ok || after < 0 || after == 1 || n > left {
			return codec.Corrupt("lz4", errEnd)
		}
		o.literals(rest[:n])
		left -= n
		src = rest[n:]
		if len(src) == 0 {
			break
		}
		offset := int(binary.LittleEndian.Uint16(src))
		n, src, ok = lengthOf(int64(token), src[2:])
		n += 4
		if !ok || n > left || offset == 0 || int64(offset) > size-left {
			return codec.Corruptf("lz4", "a match of %d bytes begins %d bytes back, after %d of %d", n,
				offset, size-left, size)
		}
		o.match(offset, n)
		left -= n
		if o.err != nil {
			return o.err
		}
	}
	o.flush()
	if o.err != nil {
		return o.err
	}
	if left > 0 {
		return codec.Corruptf("lz4", "holds %d bytes, not %d", size-left, size)
	}
	return nil
}

// output holds the most recent bytes of the output. If it has no room, it drops bytes.
type output struct {
	w       io.Writer
	b       []byte
	written int // of b
	err     error
}

// room returns the free space, after making some if necessary.
func (o *output) room() int {
	if len(o.b) == cap(o.b) {
		o.flush()
		o.b = o.b[:copy(o.b, o.b[len(o.b)-reach:])]
		o.written = len(o.b)
	}
	return cap(o.b) - len(o.b)
}

func (o *output) flush() {
	if o.err == nil {
		_, o.err = o.w.Write(o.b[o.written:])
	}
	o.written = len(o.b)
}

func (o *output) literals(b []byte) {
	for len(b) > 0 && o.err == nil {
		n := min(o.room(), len(b))
		o.b = append(o.b, b[:n]...)
		b = b[n:]
	}
}

// match repeats n bytes from offset bytes back. The two ranges may overlap.
func (o *output) match(offset int, n int64) {
	for n > 0 && o.err == nil {
		k := min(int64(o.room()), n, int64(offset))
		o.b = append(o.b, o.b[len(o.b)-offset:][:k]...)
		n -= k
		if int(k) == offset && offset <= reach/2 {
			offset *= 2 // the pattern has doubled
		}
	}
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
