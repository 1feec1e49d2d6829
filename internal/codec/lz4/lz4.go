// Package lz4 is the codec "lz4": one raw LZ4 block, without frame, length or
// checksum.
package lz4

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"

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

var (
	fast sync.Pool // of *lz4.Compressor
	high sync.Pool // of *lz4.CompressorHC
)

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
	dst := make([]byte, lz4.CompressBlockBound(len(src))+16)
	n, err := compressBlock(dst, src, level)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		// The compressor answers so for no bytes, and may for what does not shrink.
		return literals(src), nil
	}
	return dst[:n:n], nil
}

func compressBlock(dst, src []byte, level int) (int, error) {
	if level <= 2 {
		c, ok := fast.Get().(*lz4.Compressor)
		if !ok {
			c = new(lz4.Compressor)
		}
		n, err := c.CompressBlock(src, dst)
		fast.Put(c)
		return n, err
	}
	c, ok := high.Get().(*lz4.CompressorHC)
	if !ok {
		c = new(lz4.CompressorHC)
	}
	c.Level = lz4.Level1 << (level - 1)
	n, err := c.CompressBlock(src, dst)
	high.Put(c)
	return n, err
}

// literals makes a block of one sequence without a match.
func literals(src []byte) []byte {
	n := len(src)
	out := make([]byte, 0, n+n/255+2)
	if n < 15 {
		out = append(out, byte(n)<<4)
	} else {
		out = append(out, 15<<4)
		for n -= 15; n >= 255; n -= 255 {
			out = append(out, 255)
		}
		out = append(out, byte(n))
	}
	return append(out, src...)
}

func (c library) Decompress(src []byte, size int64) ([]byte, error) {
	return codec.Decompress(c, src, size)
}

func (library) DecompressInto(dst, src []byte) error {
	if len(dst) == 0 {
		// The library refuses to look at a block that yields nothing.
		if n, err := contentSize(src); err != nil {
			return codec.Corrupt("lz4", err)
		} else if n > 0 {
			return codec.Corruptf("lz4", "holds %d bytes, not 0", n)
		}
		return nil
	}
	// A fault in the library's assembly could not be unwound: it reads a copy.
	n, err := lz4.UncompressBlock(bytes.Clone(src), dst)
	if err != nil {
		return codec.Corrupt("lz4", err)
	}
	if n != len(dst) {
		return codec.Corruptf("lz4", "holds %d bytes, not %d", n, len(dst))
	}
	return nil
}

func (c library) DecompressMax(src []byte, limit int64) ([]byte, error) {
	if err := codec.CheckSize(limit); err != nil {
		return nil, err
	}
	n, err := contentSize(src)
	if err != nil {
		return nil, codec.Corrupt("lz4", err)
	}
	if n > limit {
		return nil, codec.TooLong("lz4", limit)
	}
	return c.Decompress(src, n)
}

// Window is what a match can reach back, and as much to be written next.
func (library) Window([]byte) int64 { return 2 * reach }

const reach = 64 << 10

// Expand decodes the sequences of a block one after the other. The library decodes
// whole blocks only. Where nobody wants the bytes their number will do: a block has no
// other sum.
func (library) Expand(w io.Writer, src []byte, size int64) error {
	n, err := contentSize(src)
	switch {
	case err != nil:
		return codec.Corrupt("lz4", err)
	case n != size:
		return codec.Corruptf("lz4", "holds %d bytes, not %d", n, size)
	case w == io.Discard:
		return nil
	}
	o := output{w: w, b: make([]byte, 0, 2*reach)}
	// The block may be a mapping that has changed since: nothing is believed.
	left := size
	for len(src) > 0 && o.err == nil {
		token := src[0]
		n, rest, ok := lengthOf(int64(token>>4), src[1:])
		if !ok || n > int64(len(rest)) || n > left {
			return codec.Corrupt("lz4", errEnd)
		}
		o.literals(rest[:n])
		left -= n
		if src = rest[n:]; len(src) == 0 {
			break
		}
		if len(src) < 2 {
			return codec.Corrupt("lz4", errEnd)
		}
		offset := int(binary.LittleEndian.Uint16(src))
		n, src, ok = lengthOf(int64(token&15), src[2:])
		if !ok || n > left-4 || offset == 0 || int64(offset) > size-left {
			return codec.Corrupt("lz4", errEnd)
		}
		o.match(offset, n+4)
		left -= n + 4
	}
	o.flush()
	if o.err == nil && left > 0 {
		return codec.Corruptf("lz4", "holds %d bytes, not %d", size-left, size)
	}
	return o.err
}

// output holds the latest bytes of what is written.
type output struct {
	w       io.Writer
	b       []byte
	written int // of b
	err     error
}

// room makes sure that there is some, and returns how much.
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
	for len(b) > 0 {
		n := min(o.room(), len(b))
		o.b = append(o.b, b[:n]...)
		b = b[n:]
	}
}

// match repeats n bytes from offset bytes back, which may be its own.
func (o *output) match(offset int, n int64) {
	for n > 0 && o.err == nil {
		// What lies between the source and the end can be copied at once.
		k := int(min(int64(o.room()), n))
		k = min(k, offset)
		o.b = append(o.b, o.b[len(o.b)-offset:][:k]...)
		n -= int64(k)
		if k == offset && offset < reach/2 {
			offset *= 2 // the pattern has doubled
		}
	}
}

var errEnd = fmt.Errorf("the block ends within a sequence")

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
		src = src[1:]
		n, rest, ok := lengthOf(int64(token>>4), src)
		if !ok || n > int64(len(rest)) {
			return 0, errEnd
		}
		total += n
		src = rest[n:]
		if len(src) == 0 {
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
