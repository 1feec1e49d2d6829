package mle

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/weightmap/weightmap/format"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/codec/brotli"
	"github.com/weightmap/weightmap/internal/codec/lz4"
	"github.com/weightmap/weightmap/internal/codec/zstd"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/wire"
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
	if err := wire.CheckSize(size); err != nil {
		return nil, err
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

// isPlausible tells whether a size is believed before anything was decompressed.
func isPlausible(size, stored int64) bool { return size/16 <= stored+4<<10 }

// expandTo writes what decompress returns to w, piece by piece.
func expandTo(m Method, w io.Writer, in []byte, size int64) error {
	if m.lossy() {
		return expandPieces(m, w, in, func([]byte) {})
	}
	c, err := codecOf(m)
	if err != nil {
		return err
	}
	return c.Expand(w, in, size)
}

// expandPieces undoes the lossy methods piece by piece. fix may change what is read.
func expandPieces(m Method, w io.Writer, in []byte, fix func([]byte)) error {
	const step = 64 << 10
	head, width := 0, 2
	if m == MethodInt8 {
		head, width = int8Head, 1
	}
	piece, out := append(make([]byte, 0, head+step), in[:head]...), memory.Aligned(4*step/width)
	for in = in[head:]; len(in) > 0; in = in[len(piece)-head:] {
		piece = append(piece[:head], in[:min(step, len(in))]...)
		fix(piece[head:])
		floats := out[:4*(len(piece)-head)/width]
		if err := expand(m, floats, piece); err != nil {
			return err
		}
		if _, err := w.Write(floats); err != nil {
			return err
		}
	}
	return nil
}

// window returns how many bytes it takes to expand what is stored in so many.
func window(m Method, in []byte) int64 {
	if c, err := codecOf(m); err == nil {
		return c.Window(in)
	}
	return 0
}
