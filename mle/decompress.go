package mle

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weightmap/weightmap/format"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/brotli"
	"github.com/weightmap/weightmap/internal/codec/lz4"
	"github.com/weightmap/weightmap/internal/codec/zstd"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/tensor"
)

// int8Head is what comes before the integers of MethodInt8: f32 scale, u8 zero
// point, three zero bytes.
const int8Head = 8

// codecOf returns the codec of a method that has one.
func codecOf(m Method) (codecs.Codec, error) {
	switch m {
	case MethodLZ4:
		return lz4.Codec, nil
	case MethodZstd:
		return zstd.Codec, nil
	case MethodBrotli:
		return brotli.Codec, nil
	}
	return nil, fmt.Errorf("%w: compression %v", format.ErrUnsupported, m)
}

// decompress returns the size bytes that in holds, aligned to 64 bytes. The
// method is not MethodNone.
func decompress(m Method, in []byte, size int64) ([]byte, error) {
	if m.lossy() {
		// Their stored size was checked, so this is at most four times that.
		out, err := buffer(size)
		if err == nil {
			err = expand(m, out, in)
		}
		return out, err
	}
	c, err := codecOf(m)
	if err != nil {
		return nil, err
	}
	return c.Decompress(in, size)
}

// buffer returns size bytes, aligned to 64. That they are justified is the
// caller's to know.
func buffer(size int64) ([]byte, error) {
	if size > math.MaxInt-4096 {
		return nil, fmt.Errorf("%w: %d bytes are more than this platform can address", format.ErrLimit, size)
	}
	return memory.Aligned(int(size)), nil
}

// decompressInto is decompress into memory of the right size.
func decompressInto(m Method, out, in []byte) error {
	if m.lossy() {
		return expand(m, out, in)
	}
	c, err := codecOf(m)
	if err != nil {
		return err
	}
	return c.DecompressInto(out, in)
}

// expand undoes the lossy methods; in has the length that out needs.
func expand(m Method, out, in []byte) error {
	if m == MethodFloat16 {
		return widen(out, in, tensor.Float16, nil)
	}
	if in[5]|in[6]|in[7] != 0 {
		return fmt.Errorf("%w: the bytes after the zero point are % x, not 0", format.ErrCorrupt, in[5:8])
	}
	q := tensor.Quantization{
		Scales:     []float32{math.Float32frombits(binary.LittleEndian.Uint32(in))},
		ZeroPoints: []int32{int32(in[4])}, Axis: tensor.PerTensor,
	}
	return widen(out, in[int8Head:], tensor.Uint8, &q)
}

// widen converts elements to little-endian float32.
func widen(out, in []byte, d tensor.DType, q *tensor.Quantization) error {
	shape := tensor.Shape{int64(len(out) / 4)}
	v, err := tensor.FromBytes("", tensor.Float32, shape, out)
	if err != nil {
		return err
	}
	// On a big-endian host, and only there, the floats are made elsewhere first.
	floats, err := tensor.As[float32](v)
	direct := err == nil
	if !direct {
		floats = make([]float32, len(out)/4)
	}
	if q != nil {
		err = tensor.Dequantize(floats, in, d, shape, q)
	} else {
		var half tensor.View
		if half, err = tensor.FromBytes("", d, shape, in); err == nil {
			_, err = tensor.Decode(floats[:0], half)
		}
	}
	if !direct && err == nil {
		for i, x := range floats {
			binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(x))
		}
	}
	return err
}

// parts collects the chunks of a tensor: in one buffer when the compressed
// bytes make its size plausible, else each in its own, so that memory is only
// taken for what really comes out of them.
type parts struct {
	method Method
	whole  []byte
	single [][]byte
	size   int64
}

// isPlausible tells whether a size is believed before anything was decompressed.
func isPlausible(size, stored int64) bool { return size/16 <= stored+4<<10 }

func newParts(m Method, size, stored int64, n int) (p *parts, err error) {
	p = &parts{method: m, size: size}
	if n > 1 && isPlausible(size, stored) {
		p.whole, err = buffer(size)
	} else {
		p.single = make([][]byte, n)
	}
	return p, err
}

// decompress handles chunk i, whose size bytes belong at off.
func (p *parts) decompress(i int, in []byte, off, size int64) (err error) {
	if p.whole != nil {
		return decompressInto(p.method, p.whole[off:off+size:off+size], in)
	}
	p.single[i], err = decompress(p.method, in, size)
	return err
}

// join returns all bytes in one piece, aligned.
func (p *parts) join() ([]byte, error) {
	switch {
	case p.whole != nil:
		return p.whole, nil
	case len(p.single) == 1:
		return p.single[0], nil
	}
	out, err := buffer(p.size)
	at := out
	for _, b := range p.single {
		at = at[copy(at, b):]
	}
	return out, err
}
