package tensor

import (
	"fmt"

	"github.com/weightmap/weightmap/internal/memory"
	"github.com/weightmap/weightmap/internal/vector"
)

// Encode is the inverse of Decode for floating-point numbers. It fills dst with
// little-endian elements of dtype d, which is Float64, Float32, Float16 or BFloat16. Each is
// rounded once, to nearest, ties to even. dst must have the exact size of the result.
func Encode[F float32 | float64](dst []byte, d DType, src []F) error {
	if d < Float64 || d > BFloat16 {
		return fmt.Errorf("%w: cannot encode %T as %v", ErrDType, src, d)
	}
	if int64(len(dst)) != int64(len(src))*d.Size() {
		return fmt.Errorf("%w: %d bytes for %d elements of %v", ErrShape, len(dst), len(src), d)
	}
	switch d {
	case Float64:
		encodeAll[float64](dst, src)
	case Float32:
		encodeAll[float32](dst, src)
	case Float16:
		encodeHalves(dst, src, vector.EncodeFloat16)
	case BFloat16:
		encodeHalves(dst, src, vector.EncodeBFloat16)
	}
	return nil
}

// encodeHalves encodes numbers to two bytes each.
func encodeHalves[F float32 | float64](dst []byte, src []F, encode func([]byte, []float32)) {
	if single, ok := any(src).([]float32); ok {
		encode(dst, single)
		return
	}
	var piece [128]float32
	for len(src) > 0 {
		n := min(len(src), len(piece))
		for i, x := range src[:n] {
			piece[i] = vector.TowardOdd(float64(x))
		}
		encode(dst, piece[:n])
		src = src[n:]
		dst = dst[2*n:]
	}
}

// encodeAll is the inverse of toNumbers for floating-point numbers.
func encodeAll[T, F float32 | float64](dst []byte, src []F) {
	var piece [128]T
	size := len(memory.BytesOf(piece[:1]))
	for len(src) > 0 {
		n := min(len(src), len(piece))
		for i, x := range src[:n] {
			piece[i] = T(x)
		}
		vector.Copy(dst[:n*size], memory.BytesOf(piece[:n]), size)
		src = src[n:]
		dst = dst[n*size:]
	}
}
