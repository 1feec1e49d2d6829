package mle

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/weightmap/weightmap/format"
	codecs "github.com/weightmap/weightmap/internal/codec"
	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
	"github.com/weightmap/weightmap/tensor"
)

// compress returns the compressed form of b and the CRC-32 of its decompressed form,
// which differs from b if m is lossy.
func compress(m Method, b []byte, level int) (out []byte, sum uint32, err error) {
	c := methods[m].codec
	out, err = c.Compress(b, level)
	if err != nil {
		return nil, 0, err
	}
	if !m.lossy() {
		return out, tensor.CRC32(b), nil
	}
	var back crc
	err = codecs.DataTo(&back, c, out, int64(len(b)), nil)
	return out, uint32(back), err
}

// approximation is the compressor of a lossy method. The caller checks the size of the
// bytes to decompress.
type approximation Method

// int8Head is the size of the header of MethodInt8: a float32 scale, a uint8 zero
// point, and three zero bytes.
const int8Head = 8

func int8Header(scale float32, zero byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, math.Float32bits(scale)), zero, 0, 0, 0)
}

// Compress refuses values that a byte or half cannot represent.
func (a approximation) Compress(src []byte, _ int) ([]byte, error) {
	o := tensor.QuantizeOptions{DType: tensor.Float16}
	if Method(a) == MethodInt8 {
		o = tensor.QuantizeOptions{DType: tensor.Uint8, Asymmetric: true}
	}
	floats, _ := floatsOf(src)
	out, q, stats, err := tensor.Quantize(floats, tensor.Shape{int64(len(floats))}, o)
	switch {
	case err != nil:
		return nil, err
	case q != nil:
		return append(int8Header(q.Scales[0], byte(q.ZeroPoints[0])), out...), nil
	case math.IsInf(stats.MaxAbs, 0):
		return nil, fmt.Errorf("%w: a value is beyond the range of float16", format.ErrQuantization)
	}
	return out, nil
}

// floatsOf returns the little-endian floats of b: its memory where the host allows that,
// else a copy.
func floatsOf(b []byte) (floats []float32, alias bool) {
	floats, ok := memory.Cast[float32](b)
	if ok && memory.LittleEndian {
		return floats, true
	}
	floats = make([]float32, len(b)/4)
	vector.Copy(floats, b, 4)
	return floats, false
}

// split returns the header of src, nil for MethodFloat16, the approximations behind it, and
// the size of each in bytes.
func (a approximation) split(src []byte) (head, rest []byte, width int) {
	if Method(a) == MethodInt8 {
		return src[:int8Head], src[int8Head:], 1
	}
	return nil, src, 2
}

// DecodeInto implements codecs.Codec.
func (a approximation) DecodeInto(dst, src []byte) error {
	head, rest, _ := a.split(src)
	return widen(dst, head, rest)
}

// DecodeTo implements codecs.Codec.
func (a approximation) DecodeTo(w io.Writer, src []byte, _ int64) error {
	const step = 64 << 10
	head, rest, width := a.split(src)
	out := memory.Aligned(4 * min(step, len(rest)) / width)
	for piece := range slices.Chunk(rest, step) {
		floats := out[:4*len(piece)/width]
		err := widen(floats, head, piece)
		if err != nil {
			return err
		}
		_, err = w.Write(floats)
		if err != nil {
			return err
		}
	}
	return nil
}

// Window implements codecs.Codec.
func (approximation) Window([]byte) int64 { return 0 }

// widen converts halves, or bytes if there is a header of MethodInt8, to little-endian float32.
func widen(out, head, in []byte) error {
	floats, alias := floatsOf(out)
	info := tensor.Info{DType: tensor.Float16, Shape: tensor.Shape{int64(len(floats))}}
	if head != nil {
		if head[5]|head[6]|head[7] != 0 {
			return fmt.Errorf("%w: the bytes after the zero point are % x, not 0", format.ErrCorrupt,
				head[5:])
		}
		scale := math.Float32frombits(binary.LittleEndian.Uint32(head))
		info.DType = tensor.Uint8
		info.Quant = &tensor.Quantization{
			Scales:     []float32{scale},
			ZeroPoints: []int32{int32(head[4])},
			Axis:       tensor.PerTensor,
		}
	}
	stored, err := tensor.FromInfo(info, in)
	if err != nil {
		return err
	}
	_, err = tensor.Decode(floats[:0], stored)
	if err != nil {
		return err
	}
	if !alias {
		vector.Copy(out, memory.BytesOf(floats), 4)
	}
	return nil
}
