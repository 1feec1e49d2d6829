package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/pierrec/lz4/v4"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// lz4Codec is one raw LZ4 block, without frame, length or checksum.
type lz4Codec struct{}

// MaxLZ4 is how many bytes are compressed into one block at most: 2 GiB less
// 32 MiB, LZ4_MAX_INPUT_SIZE of the reference implementation.
const MaxLZ4 = 0x7E000000

var (
	lz4Fast sync.Pool // of *lz4.Compressor
	lz4High sync.Pool // of *lz4.CompressorHC
)

func (lz4Codec) Name() string { return "lz4" }

// Compress uses the fast compressor up to level 2 and the thorough one above.
func (lz4Codec) Compress(src []byte, level int) ([]byte, error) {
	level, err := checkLevel(level)
	if err != nil {
		return nil, err
	}
	if len(src) > MaxLZ4 {
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
		c, ok := lz4Fast.Get().(*lz4.Compressor)
		if !ok {
			c = new(lz4.Compressor)
		}
		n, err := c.CompressBlock(src, dst)
		lz4Fast.Put(c)
		return n, err
	}
	c, ok := lz4High.Get().(*lz4.CompressorHC)
	if !ok {
		c = new(lz4.CompressorHC)
	}
	c.Level = lz4.Level1 << (level - 1)
	n, err := c.CompressBlock(src, dst)
	lz4High.Put(c)
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

func (c lz4Codec) Decompress(src []byte, size int64) ([]byte, error) {
	if err := checkSize(size); err != nil {
		return nil, err
	}
	// A block says nowhere how much it holds. Counting costs little beside
	// decompressing, but is needed only where memory is at stake.
	if size > ahead(len(src)) {
		if n, err := lz4Size(src); err != nil {
			return nil, corrupt("lz4", err)
		} else if n != size {
			return nil, corruptf("lz4", "holds %d bytes, not %d", n, size)
		}
	}
	dst := memory.Aligned(int(size))
	if err := c.DecompressInto(dst, src); err != nil {
		return nil, err
	}
	return dst, nil
}

func (lz4Codec) DecompressInto(dst, src []byte) error {
	if len(dst) == 0 {
		// The library refuses to look at a block that yields nothing.
		if n, err := lz4Size(src); err != nil {
			return corrupt("lz4", err)
		} else if n > 0 {
			return corruptf("lz4", "holds %d bytes, not 0", n)
		}
		return nil
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		touch(src)
		return corrupt("lz4", err)
	}
	if n != len(dst) {
		return corruptf("lz4", "holds %d bytes, not %d", n, len(dst))
	}
	return nil
}

// touch reads a byte of every page. Where the library has no assembly it
// recovers from all panics, memory faults of a truncated file too, and takes
// them for corrupt data: touching raises the fault again for the caller's guard.
func touch(src []byte) {
	const page = 4096
	sum := byte(0)
	for i := 0; i < len(src); i += page {
		sum += src[i]
	}
	if len(src) > 0 {
		sum += src[len(src)-1]
	}
	touched.Store(uint32(sum)) // so that the loop is not optimised away
}

var touched atomic.Uint32

func (c lz4Codec) DecompressMax(src []byte, limit int64) ([]byte, error) {
	if err := checkSize(limit); err != nil {
		return nil, err
	}
	n, err := lz4Size(src)
	if err != nil {
		return nil, corrupt("lz4", err)
	}
	if n > limit {
		return nil, tooLong("lz4", limit)
	}
	return c.Decompress(src, n)
}

var errLZ4End = fmt.Errorf("the block ends within a sequence")

// lz4Size adds up the lengths of all sequences of a block. Like the library it
// takes a block that ends with a match, where the format wants literals.
func lz4Size(src []byte) (int64, error) {
	total := int64(0)
	for {
		if len(src) == 0 {
			if total > 0 {
				return total, nil
			}
			return 0, errLZ4End
		}
		token := src[0]
		src = src[1:]
		n, rest, ok := lz4Length(int64(token>>4), src)
		if !ok || n > int64(len(rest)) {
			return 0, errLZ4End
		}
		total += n
		src = rest[n:]
		if len(src) == 0 {
			return total, nil
		}
		if len(src) < 2 {
			return 0, errLZ4End
		}
		if offset := int64(binary.LittleEndian.Uint16(src)); offset == 0 || offset > total {
			return 0, fmt.Errorf("a match begins %d bytes back, after %d", offset, total)
		}
		n, src, ok = lz4Length(int64(token&15), src[2:])
		if !ok || total > math.MaxInt64/2 {
			return 0, errLZ4End
		}
		total += n + 4
	}
}

// lz4Length reads the bytes that continue a length of 15.
func lz4Length(n int64, src []byte) (length int64, rest []byte, ok bool) {
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
