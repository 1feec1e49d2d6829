package modelfile

import (
	"io"
	"slices"

	"github.com/weightmap/weightmap/tensor"
)

// Decodable reports whether a tensor can be decoded piece by piece.
func Decodable(info *tensor.Info) bool {
	e := info.Encoding
	if e == nil {
		return info.DType.Valid()
	}
	size, err := e.Bytes(info.Shape)
	return e.Decode != nil && err == nil && size == info.Size
}

// DecodeBlocks decodes a piece of a decodable tensor with an encoding, which may not be sliced.
func DecodeBlocks(dst []float32, v tensor.View, p Piece) ([]float32, error) {
	dst = Resize(dst, p.n)
	return dst, tensor.DecodeAt(dst, v, p.at)
}

// Resize returns a slice of n elements, reusing s if it is large enough.
func Resize[T any](s []T, n int64) []T {
	if int64(cap(s)) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Reader decodes a tensor of any type to float64, a piece at a time. Quantized elements are
// dequantized; a complex number becomes two values.
type Reader struct {
	V       tensor.View
	D       *TensorReader
	in      *sequence // nil if pieces are read from v
	raw     []byte
	out     []float64
	single  []float32
	complex []complex64
	Limits  int64 // quantized integers at the limits of their type so far
}

func (r *Reader) Read(p Piece) ([]float64, error) {
	err := r.D.Ctx.Err()
	if err != nil {
		return nil, err
	}
	defer r.D.Used(BytesOf(r.V, p))
	if r.V.Info().Encoding != nil {
		r.single, err = DecodeBlocks(r.single, r.V, p)
		if err != nil {
			return nil, err
		}
		r.out = Resize(r.out, p.n)
		for i, x := range r.single {
			r.out[i] = float64(x)
		}
		return r.out, nil
	}
	part, err := r.Part(p)
	if err != nil {
		return nil, err
	}
	if IsQuantized(r.V) {
		err := r.countLimits(part)
		if err != nil {
			return nil, err
		}
	}
	if part.DType() != tensor.Complex64 {
		r.out, err = tensor.Decode(r.out, part)
		return r.out, err
	}
	r.complex, err = tensor.Decode(r.complex, part)
	if err != nil {
		return nil, err
	}
	r.out = Resize(r.out, 2*p.n)
	for i, x := range r.complex {
		r.out[2*i] = float64(real(x))
		r.out[2*i+1] = float64(imag(x))
	}
	return r.out, nil
}

// IsQuantized reports whether a tensor has quantized integers of 8 or 16 bits.
func IsQuantized(v tensor.View) bool {
	info := v.Info()
	return info.Quant != nil && info.Encoding == nil &&
		(info.DType.Size() == 1 || info.DType.Size() == 2)
}

// countLimits counts the integers of a part of a quantized tensor that have the limits of their
// type, where quantization cuts off larger numbers. Without zero points, -127 is a limit like -128.
func (r *Reader) countLimits(part tensor.View) error {
	if r.in == nil {
		r.raw = Resize(r.raw, part.Info().Size)
		_, err := part.ReadIntoContext(r.D.Ctx, r.raw)
		if err != nil {
			return err
		}
	}
	info := r.V.Info()
	symmetric := int64(0)
	if !slices.ContainsFunc(info.Quant.ZeroPoints, func(z int32) bool { return z != 0 }) {
		symmetric = 1
	}
	size := int(info.DType.Size())
	highest := int64(1)<<(8*size) - 1
	lowest := int64(0)
	signed := info.DType == tensor.Int8 || info.DType == tensor.Int16
	if signed {
		highest /= 2
		lowest = symmetric - highest - 1
	}
	for e := range slices.Chunk(r.raw, size) {
		x := int64(e[0])
		if size == 2 {
			x |= int64(e[1]) << 8
		}
		if signed && x > highest {
			x -= 1 << (8 * size)
		}
		if x <= lowest || x >= highest {
			r.Limits++
		}
	}
	return nil
}

// NewReader starts reading the values of a tensor. The caller must close it.
func NewReader(d *TensorReader, v tensor.View) (*Reader, error) {
	r := &Reader{V: v, D: d}
	var err error
	if !decodes(v) || v.Info().Encoding != nil {
		r.V, err = d.Tensor(v)
		return r, err
	}
	r.in, err = d.Sequence(v)
	return r, err
}

func (r *Reader) Close() {
	if r.in != nil {
		r.in.Close()
	}
}

// Part returns a view of the elements of a piece.
func (r *Reader) Part(p Piece) (tensor.View, error) {
	if r.in == nil {
		return r.V.Slice(p.Ranges...)
	}
	info := r.V.Info()
	r.raw = Resize(r.raw, p.n*info.DType.Size())
	if _, err := io.ReadFull(r.in, r.raw); err != nil {
		return tensor.View{}, err
	}
	info.Quant = sliceQuant(&info, p)
	info.Shape = make(tensor.Shape, len(p.Ranges))
	for i, g := range p.Ranges {
		info.Shape[i] = g.To - g.From
	}
	return tensor.FromInfo(info, r.raw)
}

// sliceQuant returns the quantization of the elements of a piece.
func sliceQuant(info *tensor.Info, p Piece) *tensor.Quantization {
	q := info.Quant
	if q == nil || q.Axis < 0 || q.Axis >= len(info.Shape) ||
		int64(len(q.Scales)) != info.Shape[q.Axis] {
		return q
	}
	g := p.Ranges[q.Axis]
	c := *q
	c.Scales = q.Scales[g.From:g.To]
	if len(q.ZeroPoints) == len(q.Scales) {
		c.ZeroPoints = q.ZeroPoints[g.From:g.To]
	}
	return &c
}

// BytesOf returns the approximate size of a piece in bytes.
func BytesOf(v tensor.View, p Piece) int64 {
	return int64(float64(p.n) / float64(max(1, v.Elems())) * float64(v.Info().Size))
}
